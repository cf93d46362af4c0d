"""Whether the density of a reference integrates to one, if its user says so.

The integral is bounded from draws of the reference and points of a mixture that is fitted to them
(`sterna.search.integral`), on the unconstrained line. In up to 10 dimensions a factor of 2 is noticed, unless the
density is far from everything that a few dozen normal distributions can describe.
"""

from collections.abc import Callable

import numpy as np

from sterna.engine.line_evaluation import evaluate_references, to_lines
from sterna.engine.round import new_copy
from sterna.errors import TargetError
from sterna.ground.streams import new_stream
from sterna.ground.values import REAL
from sterna.search.integral import Integral, integral_of
from sterna.target.checks.agreement import attempt
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray

# Draws; half of them are for the mixture.
DRAWS = 4096

Draw = Callable[[int], FloatArray]


def check_normalised(target: PreparedTarget, draw: Draw, rng: np.random.Generator) -> None:
    """Refuse a density that its user says is normalised if its integral is not one.

    Nothing depends on it if there are integers or angles, to which no mixture is fitted.
    """
    program = target.program
    if not target.says_normalized or (program.value_type != REAL).any() or program.circles.any():
        return
    found = attempt(integral_of_reference, target, draw(DRAWS), rng)
    if found is None or found.low <= 1.0 <= found.high:
        return
    raise TargetError(
        f"Reference(normalized=True): the integral of log_density's exponential is {found.value:.3g} (between "
        f"{found.low:.3g} and {found.high:.3g}, from {DRAWS} draws), not 1. Add the constants that are left out, and "
        "the probability of what restricts the draws, or leave normalized out."
    )


def integral_of_reference(target: PreparedTarget, states: FloatArray, rng: np.random.Generator) -> Integral | None:
    """Return the integral of a joint reference's density from its draws."""
    points = np.empty_like(states)
    to_lines(target.block, states, points)
    with np.errstate(all="ignore"):
        return integral_of(points, lambda rows: log_references(target, rows), rng)


def log_references(target: PreparedTarget, points: FloatArray) -> FloatArray:
    """Return the reference's log-density at points of the line."""
    values = np.empty((len(points), 1))
    # as replicas of which none moves
    copy = new_copy(len(points), target.dimension)
    evaluate_references(target.block, np.ascontiguousarray(points), values, copy, 0, len(points), new_stream())
    return np.where(np.isnan(values[:, 0]), -np.inf, values[:, 0])
