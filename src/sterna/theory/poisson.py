"""Poisson probabilities, by which both scaling limits mix over the number of events."""

import math

import numpy as np

from sterna.types import FloatArray

# Counts are kept up to this many standard deviations above the mean, and some more because means may be small.
_MAX_DEVIATIONS, _EXTRA_COUNTS = 9.0, 40


def poisson_probabilities(mean: float) -> FloatArray:
    """Probabilities of 0, 1, 2, ... up to a count that is exceeded with probability below 1e-16."""
    from scipy.special import gammaln, xlogy

    counts = np.arange(math.ceil(mean + _MAX_DEVIATIONS * math.sqrt(mean)) + _EXTRA_COUNTS)
    probabilities = np.exp(xlogy(counts, mean) - mean - gammaln(counts + 1))
    # for large means the exponents lose digits to cancellation, all by the same amount
    return np.asarray(probabilities / probabilities.sum())
