"""Shares of the target's draws in a region, with upper bounds that know that a journey brings news only once."""

import math

import numpy as np

from sterna.tuning.estimate import Estimate
from sterna.types import BoolArray, FloatArray

# Bounds of masses are found to so many nats, by at most so many bisections.
PRECISION, BISECTIONS = 1e-7, 60


def upper_share(inside: BoolArray | FloatArray, size: float, level: float) -> float:
    """Return the upper bound of a share (Clopper and Pearson), as if `size` of the draws were independent."""
    from scipy.special import betaincinv

    hits = float(np.mean(inside)) * size
    if hits >= size:
        return 1.0
    return float(betaincinv(hits + 1.0, size - hits, level))


def lower_share(inside: BoolArray | FloatArray, size: float, level: float) -> float:
    """Return the lower bound of a share, as if `size` of the draws were independent."""
    return 1.0 - upper_share(1.0 - np.asarray(inside, dtype=np.float64), size, level)


def upper_mass(inside: BoolArray | FloatArray, size: float, log_evidence: Estimate, level: float) -> float:
    """Return the logarithm of the largest mass of a region with which so few draws inside are not too improbable.

    If the region has the mass m, its share is m / (m + r), where r is the evidence of the rest. The run's evidence has
    what was found of the region, so r is that evidence times the share of draws outside: evidence and share miss the
    same mass. The probability of so few draws is averaged over the error of the evidence, where a product of two
    bounds would add the worst of both.
    """
    from scipy.special import betainc, ndtri, stdtrit

    share = float(np.mean(inside))
    if share * size >= size:
        return math.inf
    # probabilities at equal steps of their logit reach far into the tails
    logits = np.linspace(-20.0, 20.0, 161)
    u = 1.0 / (1.0 + np.exp(-logits))
    weights = u * (1.0 - u)
    deviations = ndtri(u) if math.isinf(log_evidence.freedom) else stdtrit(log_evidence.freedom, u)
    log_rest = log_evidence.value + log_evidence.error * deviations + math.log1p(-share)
    low, high = float(log_rest.min()) - 50.0, float(log_rest.max()) + 50.0
    for _ in range(BISECTIONS):
        # numbers of 1e10 are further apart than that
        if high - low <= PRECISION:
            break
        middle = 0.5 * (low + high)
        outside = 1.0 / (1.0 + np.exp(np.minimum(middle - log_rest, 700.0)))
        few = float(weights @ betainc(size * (1.0 - share), share * size + 1.0, outside) / weights.sum())
        low, high = (middle, high) if few > 1.0 - level else (low, middle)
    return float(high)
