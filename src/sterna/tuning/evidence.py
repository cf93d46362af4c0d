"""The evidence, log Z(1)/Z(0): the table of its estimators, and which of them is reported.

An estimator in `ESTIMATORS` is exact for every schedule: it estimates log Z(beta')/Z(beta) for every pair of
neighbouring chains. Thermodynamic integration is reported beside them, with its bias.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sterna.tuning.batches import Batches
from sterna.tuning.bennett import bennett
from sterna.tuning.energies import Energies
from sterna.tuning.estimate import Estimate
from sterna.tuning.evidence_curve import EvidenceCurve, evidence_curve
from sterna.tuning.journey_influence import JourneyInfluence
from sterna.tuning.stepping_stones import backward_stones, combined_stones, forward_stones
from sterna.tuning.steps import Steps
from sterna.tuning.thermodynamic import thermodynamic_integration
from sterna.types import FloatArray


@dataclass(frozen=True)
class Estimator:
    """A row of the table of estimators."""

    steps: Callable[[Batches, FloatArray], Steps]
    """Estimate all steps from a round's batches and the pivots, which are guesses of the steps."""
    rank: int
    """Place in the order from the most robust (0) to the last resort, which decides if standard errors do not."""
    reliable_error: bool
    """Whether the stated standard error is reliable enough to choose the estimator by it."""


ESTIMATORS = {
    "bennett": Estimator(bennett, 0, True),
    "stepping_stone": Estimator(lambda batches, pivot: combined_stones(batches), 1, True),
    "stepping_stone_forward": Estimator(lambda batches, pivot: forward_stones(batches), 3, False),
    "stepping_stone_backward": Estimator(lambda batches, pivot: backward_stones(batches), 2, False),
}
PREFERENCE = tuple(sorted(ESTIMATORS, key=lambda name: ESTIMATORS[name].rank))

# Estimators that must agree if the chains overlap and there are enough draws; they are compared pair by pair.
COMPARED = (
    ("stepping_stone_forward", "stepping_stone_backward"),
    ("stepping_stone_forward", "bennett"),
    ("stepping_stone_backward", "bennett"),
)


@dataclass(frozen=True)
class Evidence:
    """Every estimator of one round, and what follows from the best of them."""

    estimates: dict[str, Estimate]
    curve: EvidenceCurve
    differences: dict[tuple[str, str], Estimate]
    """Differences between estimators that must agree, with their own errors: the estimators share their draws."""
    best_steps: FloatArray
    """The most robust finite estimate of every step log Z(beta')/Z(beta), for the next round's pivots."""
    influence: FloatArray
    """Influence of the batches on the best estimate."""
    least_variance: float
    """The least variance of the best estimate."""
    best_name: str

    @property
    def best(self) -> Estimate:
        """The best estimate available."""
        return self.estimates[self.best_name]


def evidence(
    schedule: FloatArray,
    pivot: FloatArray,
    batches: Batches,
    energies: Energies,
    journeys: JourneyInfluence | None = None,
) -> Evidence:
    """Estimate the evidence by every estimator; errors are at least those that the journeys show."""
    steps = {name: estimator.steps(batches, pivot) for name, estimator in ESTIMATORS.items()}
    parts = None if journeys is None else journeys.evidence
    estimates = {name: part.total(parts) for name, part in steps.items()}
    name = best_name(estimates)
    best = steps[name]
    return Evidence(
        estimates=estimates | thermodynamic_integration(schedule, energies),
        curve=evidence_curve(schedule, best, energies, None if journeys is None else journeys.curve_error),
        differences={pair: steps[pair[0]].minus(steps[pair[1]]).total() for pair in COMPARED},
        best_steps=_first_finite([*(steps[other].value for other in PREFERENCE), pivot]),
        influence=best.influence.sum(axis=2),
        least_variance=float(np.sum(best.least_variance)),
        best_name=name,
    )


def without_errors(evidence: Evidence) -> Evidence:
    """Return the evidence with errors that are unknown, because nothing travelled from the reference to the target."""
    estimates = {name: replace(one, error=math.nan, freedom=1.0) for name, one in evidence.estimates.items()}
    curve = replace(evidence.curve, error=np.where(evidence.curve.schedule > 0, np.nan, 0.0))
    return replace(evidence, estimates=estimates, curve=curve)


def _first_finite(candidates: list[FloatArray]) -> FloatArray:
    """Return for every pair the first candidate that is finite, or the last one."""
    found = candidates[0]
    for candidate in candidates[1:]:
        found = np.where(np.isfinite(found), found, candidate)
    return found


def best_name(estimates: dict[str, Estimate]) -> str:
    """Return the estimator with the smallest error of those whose errors are reliable, or otherwise the most robust.

    The errors come from the same draws and rise and fall together, so choosing by them hardly changes the coverage.
    """
    reliable = [
        name
        for name in PREFERENCE
        if ESTIMATORS[name].reliable_error and estimates[name].valid and math.isfinite(estimates[name].error)
    ]
    if reliable:
        return min(reliable, key=lambda name: estimates[name].error)
    return next((name for name in PREFERENCE if estimates[name].valid), PREFERENCE[0])
