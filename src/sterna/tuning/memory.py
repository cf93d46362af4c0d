"""The effective sample size of autocorrelated series (Geyer 1992, as in Vehtari et al. 2021)."""

import math

import numpy as np

from sterna.types import FloatArray


def _autocovariance(draws: FloatArray) -> FloatArray:
    n = draws.shape[-1]
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(draws - draws.mean(axis=-1, keepdims=True), size, axis=-1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, size, axis=-1)[..., :n] / n)


def effective_size(draws: FloatArray) -> float:
    """Effective sample size of chains, (chains, draws), by Geyer's initial monotone sequence."""
    return float(effective_sizes(draws[None])[0])


def effective_sizes(draws: FloatArray) -> FloatArray:
    """Effective sample sizes of several quantities: (quantities, chains, draws). A constant counts all its draws."""
    chains, n = draws.shape[1:]
    covariance = _autocovariance(draws)
    within = covariance[:, :, 0].mean(axis=1) * n / (n - 1)
    total = within * (n - 1) / n
    if chains > 1:
        total = total + draws.mean(axis=2).var(axis=1, ddof=1)
    constant = draws.min(axis=(1, 2)) == draws.max(axis=(1, 2))
    rho = 1.0 - (within[:, None] - covariance.mean(axis=1)) / np.where(constant, 1.0, total)[:, None]
    rho[:, 0] = 1.0
    tau = _correlation_time(rho)
    size = chains * n
    return np.where(constant, float(size), size / np.maximum(tau, 1.0 / math.log10(size)))


def _correlation_time(rho: FloatArray) -> FloatArray:
    """Sum autocorrelations, a row per quantity, as long as those of neighbouring lags are positive together."""
    # the last lags are left out, as in Stan and ArviZ
    last = max((rho.shape[1] - 3) // 2, 0)
    pairs = rho[:, : 2 * last + 2].reshape(len(rho), -1, 2).sum(axis=2)
    ends = (pairs < 0).any(axis=1)
    stop = np.where(ends, np.argmax(pairs < 0, axis=1), last)
    sums = np.cumsum(np.minimum.accumulate(pairs, axis=1), axis=1)
    before = np.where(stop > 0, np.take_along_axis(sums, np.maximum(stop - 1, 0)[:, None], axis=1)[:, 0], 0.0)
    next_lag = np.take_along_axis(rho, 2 * stop[:, None], axis=1)[:, 0]
    # adding the even lag of the next pair improves the estimate for antithetic chains
    return np.where(~ends | (next_lag > 0), next_lag, 0.0) + 2.0 * before - 1.0
