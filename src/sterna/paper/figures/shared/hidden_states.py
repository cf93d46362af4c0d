"""The most probable copy numbers along a chromosome (Viterbi's algorithm), given the parameters of the model."""

import math

import numpy as np

from sterna.models.kernels.hidden_chain import DENSITY_OF_STATE_0, HALF_LOG_TWO_PI
from sterna.types import FloatArray, IntArray


def most_probable_states(
    residuals: FloatArray, steps: IntArray, n_states: int, switch_rate: float, deviations: tuple[float, float]
) -> IntArray:
    """Return the most probable path of states 0 to n_states - 1.

    `residuals` are log reads minus the curve f, which are normal around log x in state x, with standard deviation
    `deviations[0] + deviations[1] * x`; `steps` counts the bins since the one before.
    """
    densities = log_densities(residuals, n_states, deviations)
    best, came_from = densities[0] - math.log(n_states), np.zeros(densities.shape, dtype=np.int64)
    for k in range(1, len(densities)):
        keep = math.exp(-switch_rate * steps[k])
        move = (1.0 - keep) / n_states
        # the best state before is the same one, or the best of all
        stay, jump = best + math.log(keep + move), best.max() + math.log(max(move, 1e-300))
        came_from[k] = np.where(stay >= jump, np.arange(n_states), best.argmax())
        best = np.maximum(stay, jump) + densities[k]
    path = np.empty(len(densities), dtype=np.int64)
    path[-1] = best.argmax()
    for k in range(len(densities) - 1, 0, -1):
        path[k - 1] = came_from[k, path[k]]
    return path


def log_densities(residuals: FloatArray, n_states: int, deviations: tuple[float, float]) -> FloatArray:
    """Return the log-density of each residual in each state: (bins, states)."""
    states = np.arange(1, n_states)
    scale = deviations[0] + deviations[1] * states
    away = (residuals[:, None] - np.log(states)) / scale
    normal = -0.5 * away * away - np.log(scale) - HALF_LOG_TWO_PI
    return np.column_stack([np.full(len(residuals), math.log(DENSITY_OF_STATE_0)), normal])
