"""Whether a run has missed mass: the mass around each optimum against evidence times the share of draws there.

The mass of an ellipsoid, the evidence and the share of draws in the ellipsoid are three estimates of which the first is
the product of the others, for any ellipsoid and any target. If the lower bound of the mass exceeds what evidence and
draws allow, or the reverse, the draws or the evidence are wrong.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sterna.search.curvature import Optimum
from sterna.search.landscape import Landscape
from sterna.search.mass import cost_of_mass, mass_around
from sterna.search.shares import lower_share, upper_mass, upper_share
from sterna.tuning.estimate import Estimate
from sterna.types import BoolArray, FloatArray

# Probability that any of the bounds of one run is wrong, if the run is right. They count journeys as if each told of
# one place only, and hold more often than that: none of 189 healthy runs would have had an alarm at 0.01.
FALSE_ALARM = 0.005

# Optima whose mass by Laplace's method is smaller than what draws and evidence allow, by so many nats, are not looked
# at: the method would have to be that wrong.
LAPLACE_ERROR = 2.0


@dataclass(frozen=True)
class Discrepancy:
    """An ellipsoid whose mass differs from evidence times share of draws by more than all errors."""

    centre: FloatArray
    """The state at its centre."""
    log_mass: float
    """The bound of its mass by importance sampling that is nearest to what the run says."""
    log_allowed: float
    """The bound of evidence times share of draws that is nearest to that."""
    share: float
    """Share of the draws in it."""

    @property
    def missed(self) -> bool:
        """Whether the run has too little mass there; otherwise it has too much."""
        return self.log_mass > self.log_allowed

    def to_dict(self) -> dict[str, float | list[float]]:
        """Return numbers and lists that JSON can hold."""
        return {
            "centre": self.centre.tolist(),
            "log_mass": self.log_mass,
            "log_allowed": self.log_allowed,
            "share": self.share,
        }


@dataclass(frozen=True)
class Draws:
    """What a run knows: its draws as points on the line, how many of them are independent, and its evidence."""

    points: FloatArray
    size: float
    log_evidence: Estimate

    def bounds(self, inside: BoolArray, level: float) -> tuple[float, float]:
        """Return bounds of evidence times the share of draws inside, each of which holds with probability `level`."""
        low, high = self.log_evidence.interval(2.0 * level - 1.0)
        lowest, highest = lower_share(inside, self.size, level), upper_share(inside, self.size, level)
        # the first sees that the evidence alone is too small, the second that a region has too few draws
        allowed = min(high + math.log(highest), upper_mass(inside, self.size, self.log_evidence, level))
        return low + math.log(lowest) if lowest > 0.0 else -math.inf, allowed


def discrepancies(
    landscape: Landscape, optima: Sequence[Optimum], draws: Draws, budget: int, rng: np.random.Generator
) -> tuple[list[Discrepancy], int]:
    """Return where the masses around optima contradict the run, the worst first, and how many masses were estimated."""
    if not optima or not math.isfinite(draws.log_evidence.error):
        return [], 0
    level = 1.0 - FALSE_ALARM / len(optima)
    began, found, estimated = landscape.spent, [], 0
    chosen = worth_estimating(optima, draws, landscape, level)
    for optimum in chosen:
        left = budget - (landscape.spent - began)
        if left < cost_of_mass(len(optimum.factor)):
            break
        mass = mass_around(landscape, optimum, level, rng, left // (len(chosen) - estimated))
        estimated += 1
        inside = mass.region.holds(draws.points, landscape)
        low, high = draws.bounds(inside, level)
        centre, share = landscape.variables(mass.region.centre[None])[0][0], float(inside.mean())
        if mass.log_lower > high:
            found.append(Discrepancy(centre, mass.log_lower, high, share))
        elif mass.log_upper < low:
            found.append(Discrepancy(centre, mass.log_upper, low, share))
    return sorted(found, key=lambda one: -one.log_mass), estimated


def worth_estimating(optima: Sequence[Optimum], draws: Draws, landscape: Landscape, level: float) -> list[Optimum]:
    """Return the optimum with most draws, and those that may have more mass than the run has found, the worst first."""
    inside = [optimum.ellipsoid.holds(draws.points, landscape) for optimum in optima]
    most = max(range(len(optima)), key=lambda k: inside[k].sum())
    excess = [o.log_mass - draws.bounds(i, level)[1] for o, i in zip(optima, inside, strict=True)]
    order = sorted(range(len(optima)), key=lambda k: -excess[k])
    chosen = [most] + [k for k in order if k != most and excess[k] > -LAPLACE_ERROR]
    return [optima[k] for k in chosen]
