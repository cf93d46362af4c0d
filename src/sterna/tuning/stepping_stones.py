"""Stepping stones: log Z(beta')/Z(beta) as the logarithm of a mean of importance weights, in both directions."""

import numpy as np

from sterna.engine.record import Stones
from sterna.tuning.batches import Batches
from sterna.tuning.steps import Steps
from sterna.types import FloatArray


def forward_stones(batches: Batches) -> Steps:
    """Stepping stones up: the mean of exp((beta' - beta) log_likelihood) at the lower beta.

    The draws understate its variance if the largest weights are too rare to be drawn. The second moment of the weights
    is a mean over the upper chain, in which large weights are common.
    """
    value, influence = _log_of_mean(batches, Stones.forward)
    square, _ = _log_of_mean(batches, Stones.forward_square)
    return Steps(value, influence, _variance(square - value, batches))


def backward_stones(batches: Batches) -> Steps:
    """Stepping stones down: one over the mean of exp(-(beta' - beta) log_likelihood) at the upper beta.

    The upper chain never visits states of zero likelihood. If these make up a share p0 of the reference, its estimate
    holds for the remaining share 1 - p0.
    """
    value, influence = _log_of_mean(batches, Stones.backward)
    square, _ = _log_of_mean(batches, Stones.backward_square)
    square -= value
    value, influence = -value, -influence
    share = batches.zero_share
    if share > 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            value[0] += np.log1p(-share)
            square[0] -= np.log1p(-share)
            influence[:, :, 0] -= batches.influence(batches.zeros) / (1.0 - share)
    variance = _variance(square, batches)
    variance[0] += share / (1.0 - share) / batches.scans.sum() if share < 1 else np.inf
    return Steps(value, influence, variance)


def combined_stones(batches: Batches) -> Steps:
    """Mean of forward and backward stepping stones, pair by pair, weighted by their variances."""
    return combined(forward_stones(batches), backward_stones(batches))


def combined(first: Steps, second: Steps) -> Steps:
    """Mean of two estimates, pair by pair, with weights inversely proportional to their variances.

    If both variances are infinite, the result is NaN.
    """
    variances = first.least_variance, second.least_variance
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(variances[1] / (variances[0] + variances[1]), nan=0.5)
    share = np.where(np.isinf(variances[1]) & np.isfinite(variances[0]), 1.0, share)
    unknown = np.isinf(variances[0]) & np.isinf(variances[1])
    return Steps(
        np.where(unknown, np.nan, _weighted(share, first.value, second.value)),
        _weighted(share, first.influence, second.influence),
        _weighted(share**2, variances[0], 0.0) + _weighted((1.0 - share) ** 2, variances[1], 0.0),
    )


def _weighted(share: FloatArray, first: FloatArray, second: FloatArray | float) -> FloatArray:
    """Return share * first + (1 - share) * second, in which zero times infinity is zero."""
    with np.errstate(invalid="ignore"):
        return np.where(share > 0, share * first, 0.0) + np.where(share < 1, (1.0 - share) * second, 0.0)


def _variance(log_square: FloatArray, batches: Batches) -> FloatArray:
    """Variance of the log of a mean, from the log of the second moment of weights of mean one."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = np.maximum(np.expm1(log_square), 0.0) / batches.scans.sum()
    return np.where(np.isnan(variance), np.inf, variance)


def _log_of_mean(batches: Batches, direction: int) -> tuple[FloatArray, FloatArray]:
    """Log of the mean of scaled sums, and its influence."""
    scale, sums = batches.stone_scale[direction], batches.stone_sum[direction]
    top = scale.max(axis=(0, 1))
    with np.errstate(all="ignore"):
        weights = np.where(sums > 0, sums * np.exp(scale - top), 0.0)
        mean = batches.mean(weights)
        return np.where(mean > 0, top + np.log(mean), -np.inf), batches.influence(weights) / mean
