"""The effective sample size of autocorrelated series (Geyer 1992, as in Vehtari et al. 2021)."""

import math

import numpy as np

from sterna.types import FloatArray


def _autocovariance(draws: FloatArray) -> FloatArray:
    n = draws.shape[1]
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(draws - draws.mean(axis=1, keepdims=True), size, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n] / n)


def effective_size(draws: FloatArray) -> float:
    """Effective sample size of chains by Geyer's initial monotone sequence."""
    chains, n = draws.shape
    if draws.min() == draws.max():
        return float(draws.size)
    covariance = _autocovariance(draws)
    within = covariance[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n
    if chains > 1:
        total += draws.mean(axis=1).var(ddof=1)
    rho = 1.0 - (within - covariance.mean(axis=0)) / total
    rho[0] = 1.0
    # the last lags are left out, as in Stan and ArviZ
    last = max((n - 3) // 2, 0)
    pairs = rho[: 2 * last + 2].reshape(-1, 2).sum(axis=1)
    ends = bool((pairs < 0).any())
    stop = int(np.argmax(pairs < 0)) if ends else last
    tau = -1.0 + 2.0 * np.minimum.accumulate(pairs[:stop]).sum()
    # adding the even lag of the next pair improves the estimate for antithetic chains
    if not ends or rho[2 * stop] > 0:
        tau += rho[2 * stop]
    return float(draws.size / max(tau, 1.0 / math.log10(draws.size)))
