"""Betas at equal distances along the path (Syed, Bouchard-Côté, Chern and Doucet 2024), found in rounds.

The square of a step's length is the log of the mean square of its weights, scaled to mean one. To first order in the
steps, the variance of log Z is the sum of these squares over the number of particles, and it is least if all steps
have the same length. Rounds of 2, 4, 8, ... steps measure the lengths. Unlike steps that a pilot chooses one at
a time, they take a known number of evaluations.
"""

import numpy as np

from sterna.theory.cumulative_barrier import Barrier
from sterna.theory.monotone import monotone_cubic
from sterna.tuning.schedule import update_schedule
from sterna.types import FloatArray

# A conditional effective sample size that rounds to 0 counts as this.
SMALLEST = 1e-300


def step_lengths(conditional_ess: FloatArray) -> FloatArray:
    """Return the lengths of steps from their conditional effective sample sizes, relative to the number of particles.

    For short steps it is the change of beta times the standard deviation of the log-likelihood.
    """
    return np.asarray(np.sqrt(np.maximum(-np.log(np.maximum(conditional_ess, SMALLEST)), 0.0)))


def optimised_schedule(schedule: FloatArray, conditional_ess: FloatArray, n_steps: int) -> FloatArray:
    """Return the betas of so many steps of equal length, from what a population has measured along a schedule."""
    lengths = np.concatenate([[0.0], np.cumsum(step_lengths(conditional_ess))])
    return update_schedule(Barrier(monotone_cubic(schedule, lengths), 0.0), n_steps + 1)
