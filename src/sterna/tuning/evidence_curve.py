"""The curve log Z(beta)/Z(0) over all beta, by cubic interpolation between the chains."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sterna.theory.checks import check_betas
from sterna.theory.monotone import PiecewiseCubic
from sterna.tuning.batches import standard_errors
from sterna.tuning.energies import Energies
from sterna.tuning.steps import Steps
from sterna.types import FloatArray


@dataclass(frozen=True)
class EvidenceCurve:
    """log Z(beta)/Z(0) at the betas of the schedule, and between them by its slope, the mean log-likelihood."""

    schedule: FloatArray
    value: FloatArray
    error: FloatArray
    slope: FloatArray
    jump: float
    """log(1 - p0): by how much the curve falls at 0 if the likelihood is zero on a share p0 of the reference."""

    def __call__(self, beta: ArrayLike) -> FloatArray:
        """Value at any beta from 0 to 1."""
        at = check_betas(beta)
        beyond = np.concatenate([[self.jump], self.value[1:]])
        with np.errstate(invalid="ignore"):
            return np.where(at > 0, PiecewiseCubic(self.schedule, beyond, self.slope)(at), 0.0)


def evidence_curve(
    schedule: FloatArray, steps: Steps, energies: Energies, error_of_journeys: FloatArray | None = None
) -> EvidenceCurve:
    """Add up the steps; between them the curve follows its slopes at the betas, which are mean log-likelihoods."""
    with np.errstate(invalid="ignore"):
        # steps of a short round may be infinite, in both directions
        value = np.concatenate([[0.0], np.cumsum(steps.value)])
    drawn = standard_errors(np.cumsum(steps.influence, axis=2))
    least = np.sqrt(np.cumsum(steps.least_variance))
    if error_of_journeys is not None:
        least = np.maximum(least, np.nan_to_num(error_of_journeys))
    error = np.concatenate([[0.0], np.maximum(drawn, least)])
    jump = math.log1p(-energies.zero_share) if energies.zero_share < 1 else -math.inf
    with np.errstate(invalid="ignore"):
        secants = np.diff(np.concatenate([[jump], value[1:]])) / np.diff(schedule)
    return EvidenceCurve(schedule, value, error, convex_slopes(secants, energies.mean), jump)


def convex_slopes(secants: FloatArray, slopes: FloatArray) -> FloatArray:
    """Keep slopes between the secants on either side, and bound those at the ends so that the curve stays convex.

    The true curve is convex. Slopes leave these bounds only by noise, or if log-likelihoods have no mean under the
    reference.
    """
    secants = np.where(np.isfinite(secants), secants, 0.0)
    low, high = np.minimum(secants[:-1], secants[1:]), np.maximum(secants[:-1], secants[1:])
    bounded = np.array(slopes, dtype=np.float64)
    bounded[1:-1] = np.clip(slopes[1:-1], low, high)
    first, last = secants[0], secants[-1]
    bounded[0] = np.clip(slopes[0], min(3.0 * first - 2.0 * bounded[1], first), first)
    bounded[-1] = np.clip(slopes[-1], last, max(3.0 * last - 2.0 * bounded[-2], last))
    return np.where(np.isfinite(bounded), bounded, np.append(secants, last))
