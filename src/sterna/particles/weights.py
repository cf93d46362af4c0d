"""Weights of particles, as logarithms: their sum, and how many particles of equal weight they are worth."""

import math

import numpy as np

from sterna.types import FloatArray


def log_sum(log_weights: FloatArray) -> float:
    """Return the logarithm of the sum of weights, without overflow; -inf if all of them are zero."""
    largest = float(log_weights.max())
    if largest == -math.inf:
        return largest
    return largest + math.log(float(np.exp(log_weights - largest).sum()))


def normalised(log_weights: FloatArray) -> FloatArray:
    """Return weights that sum to one."""
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def effective_size(weights: FloatArray) -> float:
    """Return how many particles of equal weight have the same sum of squared weights, which sum to one."""
    return float(1.0 / np.square(weights).sum())


def conditional_ess(log_weights: FloatArray, log_increments: FloatArray) -> float:
    """Return the conditional effective sample size of one step, relative to the number of particles (Zhou et al. 2016).

    It is 1 if all increments of the log-weights are equal. The weights before the step sum to one. In logarithms, since
    the increments of all particles that have weight can be below the largest by any amount.
    """
    with np.errstate(over="ignore"):
        factors = log_increments - log_increments.max()
        log_square = 2.0 * log_sum(log_weights + factors) - log_sum(log_weights + 2.0 * factors)
    return math.exp(min(log_square, 0.0))
