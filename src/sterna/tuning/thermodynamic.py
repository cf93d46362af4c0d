"""Thermodynamic integration: the evidence as the integral over beta of the mean log-likelihood."""

import math

import numpy as np

from sterna.tuning.batches import estimate
from sterna.tuning.energies import Energies
from sterna.tuning.estimate import Estimate
from sterna.types import FloatArray


def thermodynamic_integration(schedule: FloatArray, energies: Energies) -> dict[str, Estimate]:
    """Integrate the mean log-likelihood over beta, by the paper's sum over upper ends and by the trapezoidal rule.

    The bias of each is its distance from the trapezoidal rule corrected by the slopes of the integrand, which are
    variances of the log-likelihood. If a part of the reference has zero likelihood, the integrand is infinite at 0 and
    neither has a value.
    """
    if energies.zero_share > 0:
        invalid = Estimate(math.nan, math.nan, 1.0, math.nan)
        return {"thermodynamic_sum": invalid, "thermodynamic_trapezoid": invalid}
    step = np.diff(schedule)
    upper = np.concatenate([[0.0], step])
    both = 0.5 * (upper + np.concatenate([step, [0.0]]))
    with np.errstate(invalid="ignore", over="ignore"):
        correction = float(np.sum(step**2 / 12.0 * np.diff(energies.variance)))
    truth = float(both @ energies.mean) - correction
    estimates = {}
    for name, weights in (("thermodynamic_sum", upper), ("thermodynamic_trapezoid", both)):
        value = float(weights @ energies.mean)
        estimates[name] = estimate(value, energies.influence @ weights, bias=value - truth)
    return estimates
