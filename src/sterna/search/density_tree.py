"""A mixture of normal distributions fitted to independent draws: they are split as long as that raises the likelihood.

A set of draws is split at a quantile of a coordinate if two normal distributions describe its parts better than one
describes the whole. So a normal distribution stays whole, and a funnel is cut along its axis.
"""

import math

import numpy as np

from sterna.search.mixture import Mixture
from sterna.types import FloatArray

# Where draws are split, and along how many coordinates at most.
QUANTILES, MAX_AXES = (0.1, 0.25, 0.5, 0.75, 0.9), 16

# A part has at least so many draws, and so many more per coordinate.
LEAST_DRAWS, LEAST_PER_COORDINATE = 10, 5

# Coordinates may be rounded; a variance is at least this share of that of all draws.
LEAST_VARIANCE = 1e-12

# Log-likelihood per draw that a split must gain: otherwise parameters are fitted to noise.
LEAST_GAIN = 0.02


def density_tree(draws: FloatArray) -> Mixture:
    """Return a mixture fitted to draws, with the full covariance of every part; raise if a part has none."""
    ridge = LEAST_VARIANCE * np.var(draws, axis=0)
    parts, leaves = [draws], []
    while parts:
        part = parts.pop()
        halves = _best_split(part, ridge)
        if halves is None:
            leaves.append(part)
        else:
            parts += halves
    return Mixture(
        np.array([len(one) / len(draws) for one in leaves]),
        np.array([one.mean(axis=0) for one in leaves]),
        np.array([np.linalg.cholesky(_covariance(one, ridge)) for one in leaves]),
        0.0,
    )


def _best_split(part: FloatArray, ridge: FloatArray) -> list[FloatArray] | None:
    """Return both sides of the split that gains most, or None if none gains enough."""
    least, dimension = LEAST_DRAWS + LEAST_PER_COORDINATE * part.shape[1], part.shape[1]
    if len(part) < 2 * least:
        return None
    whole, best, sides = _log_volume(part, ridge), LEAST_GAIN, None
    for axis in np.unique(np.linspace(0, dimension - 1, min(dimension, MAX_AXES)).astype(int)):
        order = part[part[:, axis].argsort(kind="stable")]
        for quantile in QUANTILES:
            cut = int(quantile * len(part))
            if min(cut, len(part) - cut) < least:
                continue
            low, high, share = order[:cut], order[cut:], cut / len(part)
            gain = whole - share * _log_volume(low, ridge) - (1.0 - share) * _log_volume(high, ridge)
            gain += share * math.log(share) + (1.0 - share) * math.log1p(-share)
            if gain > best:
                best, sides = gain, [low, high]
    return sides


def _covariance(part: FloatArray, ridge: FloatArray) -> FloatArray:
    return np.atleast_2d(np.cov(part.T)) + np.diag(ridge)


def _log_volume(part: FloatArray, ridge: FloatArray) -> float:
    """Return half of the log-determinant of the covariance of some draws."""
    return 0.5 * float(np.linalg.slogdet(_covariance(part, ridge))[1])
