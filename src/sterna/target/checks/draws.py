"""Draws of a reference compared with its density, if both are the user's.

Metropolis moves that leave the density unchanged are applied to independent draws. If these have that density, the
state before and the state after the moves are exchangeable. Then the change of any statistic is as likely as its
opposite, and the sum of the changes over independent draws exceeds z times the root of the sum of their squares with a
probability of at most 2 exp(-z**2 / 2) (Hoeffding), whatever the distribution. The density need not be normalised,
because the run does not use its constant.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sterna.engine.evaluation import evaluate_references
from sterna.errors import TargetError
from sterna.ground.user_function import Bridged
from sterna.ground.values import BINARY, REAL
from sterna.target.checks.agreement import attempt
from sterna.target.density import REFERENCE
from sterna.target.draw import ENTRY_POINT as DRAW
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray, IntArray

# The probability that a sound reference is refused.
FALSE_ALARM = 1e-7

# Draws that only find centres and spreads, and draws that are compared; of these as many as the seconds pay for.
# Slow functions in Python are timed with a few.
PILOT_DRAWS, MAX_DRAWS, MIN_DRAWS, MAX_SECONDS, TIMED_DRAWS = 256, 4096, 256, 0.15, 32

# Moves of each draw, and the range of their lengths, in spreads.
MOVES, SHORTEST, LONGEST = 10, 0.2, 4.0

# Statistics are bounded, so that a few draws far out do not decide.
BOUND = 3.0

# Single coordinates are compared if there are not more; variables always are.
MAX_COORDINATES = 32

Draw = Callable[[int], FloatArray]


class Statistic(NamedTuple):
    """A statistic of states, with its name in messages."""

    name: str
    value: Callable[[FloatArray], FloatArray]


def spreads_of(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the medians and the spreads of coordinates: half of the range that holds 68 % of the draws."""
    low, centre, high = np.quantile(draws, [0.16, 0.5, 0.84], axis=0)
    spread = 0.5 * (high - low)
    return centre, np.where(spread > 0, spread, np.maximum(np.std(draws, axis=0), 1e-6 * (1.0 + np.abs(centre))))


def check_draws(target: PreparedTarget, draw: Draw, rng: np.random.Generator) -> None:
    """Refuse a reference of two functions whose draws do not have its density."""
    if not _is_own(target):
        return
    pilot = draw(PILOT_DRAWS)
    n = attempt(_number_of_draws, target, draw, pilot)
    if n is None:
        return
    before = draw(PILOT_DRAWS + n)[PILOT_DRAWS:]
    after = attempt(moved, target, before, spreads_of(pilot)[1], rng)
    if after is not None:
        _compare(target, pilot, before, after)


def _is_own(target: PreparedTarget) -> bool:
    """Return whether the user wrote both functions; those of other libraries' models are not tested here."""
    kinds = {one.function.entry_point: one.function.given for one in target.functions}
    both = [kinds.get(REFERENCE), kinds.get(DRAW)]
    return all(given is not None and not isinstance(given, Bridged) for given in both)


def _number_of_draws(target: PreparedTarget, draw: Draw, pilot: FloatArray) -> int:
    """Return how many draws to compare: all if both functions are compiled, otherwise as many as can be paid for."""
    if all(one.python_form is None for one in target.functions if one.function.entry_point in (REFERENCE, DRAW)):
        return MAX_DRAWS
    _log_densities(target, pilot[:1])  # which may load code
    began = time.thread_time()
    draw(TIMED_DRAWS)
    drawn = time.thread_time()
    _log_densities(target, pilot[:TIMED_DRAWS])
    seconds = drawn - began + (1 + MOVES) * (time.thread_time() - drawn)
    return int(np.clip(TIMED_DRAWS * MAX_SECONDS / max(seconds, 1e-9), MIN_DRAWS, MAX_DRAWS))


def _log_densities(target: PreparedTarget, states: FloatArray) -> FloatArray:
    found = np.empty(len(states))
    evaluate_references(target.block, np.ascontiguousarray(states), found)
    return found


def moved(target: PreparedTarget, states: FloatArray, spreads: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return states after Metropolis moves of single coordinates, drawn at random, which are reversible."""
    program, rows, now = target.program, np.arange(len(states)), states.copy()
    log_densities = _log_densities(target, now)
    for _ in range(MOVES):
        i = rng.integers(target.dimension, size=len(now))
        proposed = now.copy()
        proposed[rows, i] = _proposals(
            program.value_type[i], now[rows, i], program.lower[i] + program.upper[i], spreads[i], rng
        )
        value = proposed[rows, i]
        inside = np.flatnonzero((program.lower[i] <= value) & (value <= program.upper[i]))
        found = np.full(len(now), -np.inf)
        found[inside] = _log_densities(target, proposed[inside])
        accepted = np.log(rng.random(len(now))) < found - log_densities
        now[accepted], log_densities[accepted] = proposed[accepted], found[accepted]
    return now


def _proposals(
    value_type: IntArray, here: FloatArray, both_bounds: FloatArray, spread: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return proposals that are as likely as the moves back."""
    length = spread * SHORTEST * (LONGEST / SHORTEST) ** rng.random(len(here)) * rng.standard_normal(len(here))
    whole = np.sign(length) * np.ceil(np.abs(length))
    with np.errstate(over="ignore"):
        jumps = np.where(value_type == REAL, length, whole)
        return np.where(value_type == BINARY, both_bounds - here, here + jumps)


def _statistics(target: PreparedTarget, pilot: FloatArray) -> list[Statistic]:
    """Return locations and widths of all variables, and of single coordinates if they are few."""
    centre, spread = spreads_of(pilot)

    def location(part: slice) -> Callable[[FloatArray], FloatArray]:
        return lambda states: _standardised(states, centre, spread)[:, part].mean(axis=1)

    def width(part: slice) -> Callable[[FloatArray], FloatArray]:
        return lambda states: np.abs(_standardised(states, centre, spread)[:, part]).mean(axis=1)

    parts = [(v.name, slice(v.start, v.stop)) for v in target.space.variables]
    if target.dimension <= MAX_COORDINATES:
        parts += [
            (f"coordinate {i} of {v.name}", slice(v.start + i, v.start + i + 1))
            for v in target.space.variables
            for i in range(v.size)
            if v.size > 1
        ]
    found = [Statistic(f"the location of {name}", location(part)) for name, part in parts]
    return found + [Statistic(f"the width of {name}", width(part)) for name, part in parts]


def _standardised(states: FloatArray, centre: FloatArray, spread: FloatArray) -> FloatArray:
    return np.clip((states - centre) / spread, -BOUND, BOUND)


def _compare(target: PreparedTarget, pilot: FloatArray, before: FloatArray, after: FloatArray) -> None:
    """Raise if a statistic has changed by more than chance."""
    names, columns = [], []
    for statistic in _statistics(target, pilot):
        names.append(statistic.name)
        columns.append((statistic.value(before), statistic.value(after)))
    density = [_log_densities(target, states) for states in (before, after)]
    names.append("log_density")
    columns.append((density[0], density[0] + np.clip(density[1] - density[0], -BOUND, BOUND)))
    bound = math.sqrt(2.0 * math.log(2.0 * len(names) / FALSE_ALARM))
    changes = np.array([new - old for old, new in columns])
    sizes = np.sqrt((changes**2).sum(axis=1))
    scores = np.divide(changes.sum(axis=1), sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    worst = int(np.abs(scores).argmax())
    if abs(scores[worst]) > bound:
        old, new = (float(np.mean(values)) for values in columns[worst])
        raise TargetError(
            f"The reference's draw and log_density do not describe the same distribution: {names[worst]} has the mean "
            f"{old:.4g} over {len(before)} draws, and {new:.4g} after moves that leave log_density unchanged, "
            f"{abs(scores[worst]):.1f} standard errors apart (normal: below {bound:.1f}). Check scales, and that a "
            "density of a transformed variable has its Jacobian. The first draw was "
            f"{target.describe_point(before[0])}."
        )
