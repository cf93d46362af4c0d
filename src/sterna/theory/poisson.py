"""Chances of a Poisson number, in which both laws of a number of events are sums."""

import math

import numpy as np

from sterna.types import FloatArray

# Standard deviations beyond which numbers are left out, and a few more for small means.
_DEVIATIONS, _MORE = 9.0, 40


def poisson_chances(mean: float) -> FloatArray:
    """Chances of 0, 1, 2, ... up to a number that is passed with a chance below 1e-16."""
    from scipy.special import gammaln, xlogy

    counts = np.arange(math.ceil(mean + _DEVIATIONS * math.sqrt(mean)) + _MORE)
    chances = np.exp(xlogy(counts, mean) - mean - gammaln(counts + 1))
    # for large means the exponent has lost digits to cancellation, all of them alike
    return np.asarray(chances / chances.sum())
