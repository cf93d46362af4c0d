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
from typing import NoReturn

import numpy as np

from sterna.engine.evaluation import move_by_reference
from sterna.errors import TargetError
from sterna.ground.user_function import Bridged
from sterna.target.checks.agreement import attempt
from sterna.target.density import REFERENCE
from sterna.target.draw import ENTRY_POINT as DRAW
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray

# Bounds the probability that a sound reference is refused; that of a normal distribution is a tenth of it.
FALSE_ALARM = 1e-5

# Draws that only find centres and spreads, and draws that are compared; of these as many as the seconds pay for.
PILOT_DRAWS, MAX_DRAWS, MIN_DRAWS, MAX_SECONDS, TIMED_DRAWS = 64, 4096, 256, 0.1, 16

# All draws together have at most so many coordinates.
MAX_NUMBERS = 10**6

# Moves of each draw, and the range of their lengths, in spreads.
MOVES, SHORTEST, LONGEST = 6, 0.3, 4.0

# Statistics are bounded, so that a few draws far out do not decide.
BOUND = 3.0

# Single coordinates of a variable are compared if it has not more; whole variables always are.
MAX_COORDINATES = 32

Draw = Callable[[int], FloatArray]


def spreads_of(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the medians and the spreads of coordinates: half of the range that holds 68 % of the draws."""
    low, centre, high = np.quantile(draws, [0.16, 0.5, 0.84], axis=0)
    spread = 0.5 * (high - low)
    with np.errstate(all="ignore"):
        others = np.maximum(np.std(draws, axis=0), 1e-6 * (1.0 + np.abs(centre)))
    return centre, np.where(spread > 0, spread, others)


def check_draws(
    target: PreparedTarget,
    draw: Draw,
    rng: np.random.Generator,
    max_draws: int = MAX_DRAWS,
    max_seconds: float = MAX_SECONDS,
) -> None:
    """Refuse a reference of two functions whose draws do not have its density."""
    if not draws_and_density_are_own(target):
        return
    pilot = draw(PILOT_DRAWS)
    n = attempt(_number_of_draws, target, draw, pilot, rng, max_draws, max_seconds)
    if n is None:
        return
    before = draw(PILOT_DRAWS + n)[PILOT_DRAWS:]
    with np.errstate(all="ignore"):
        found = attempt(moved, target, before, rng, spreads_of(pilot)[1])
        if found is not None and np.isfinite(found[1]).all():
            # a draw of density zero is an error of the run
            _compare(target, pilot, before, *found)


def draws_and_density_are_own(target: PreparedTarget) -> bool:
    """Return whether the user wrote both functions; those of other libraries' models are not tested here."""
    kinds = {one.function.entry_point: one.function.given for one in target.functions}
    both = [kinds.get(REFERENCE), kinds.get(DRAW)]
    return all(given is not None and not isinstance(given, Bridged) for given in both)


def _number_of_draws(
    target: PreparedTarget,
    draw: Draw,
    pilot: FloatArray,
    rng: np.random.Generator,
    max_draws: int,
    max_seconds: float,
) -> int:
    """Return how many draws to compare: as many as can be paid for."""
    moved(target, pilot[:1], rng, np.ones(target.dimension))  # which may load code
    began = time.thread_time()
    draw(TIMED_DRAWS)
    moved(target, pilot[:TIMED_DRAWS], rng, np.ones(target.dimension))
    seconds = time.thread_time() - began
    most = min(max_draws, MAX_NUMBERS // target.dimension)
    return max(MIN_DRAWS, min(most, int(TIMED_DRAWS * max_seconds / max(seconds, 1e-9))))


def moved(
    target: PreparedTarget, states: FloatArray, rng: np.random.Generator, spreads: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return states after Metropolis moves of coordinates drawn at random, which are reversible, and log-densities.

    These are those before and after, in two columns.
    """
    shape, now, log_densities = (len(states), MOVES), states.copy(), np.empty((len(states), 2))
    coordinates = rng.integers(target.dimension, size=shape)
    lengths = spreads[coordinates] * SHORTEST * (LONGEST / SHORTEST) ** rng.random(shape)
    steps, log_uniforms = lengths * rng.standard_normal(shape), np.log(rng.random(shape))
    move_by_reference(target.block, now, log_densities, coordinates, steps, log_uniforms)
    return now, log_densities


def _compare(
    target: PreparedTarget, pilot: FloatArray, before: FloatArray, after: FloatArray, log_densities: FloatArray
) -> None:
    """Raise if a statistic has changed by more than chance."""
    centre, spread = spreads_of(pilot)
    old, new = (np.clip((states - centre) / spread, -BOUND, BOUND) for states in (before, after))
    names, parts = _parts(target)
    gain = np.clip(log_densities[:, 1] - log_densities[:, 0], -BOUND, BOUND)
    columns = {
        "the location of": (_means(old, parts), _means(new, parts)),
        "the width of": (_means(np.abs(old), parts), _means(np.abs(new), parts)),
        "": (log_densities[:, :1], log_densities[:, :1] + gain[:, None]),
    }
    bound = math.sqrt(2.0 * math.log(2.0 * (2 * len(names) + 1) / FALSE_ALARM))
    for what, (first, second) in columns.items():
        scores = _scores(second - first)
        worst = int(np.abs(scores).argmax())
        if abs(scores[worst]) > bound:
            name = f"{what} {names[worst]}" if what else "log_density"
            means = float(first[:, worst].mean()), float(second[:, worst].mean())
            _raise(target, name, means, before, (abs(float(scores[worst])), bound))


def _parts(target: PreparedTarget) -> tuple[list[str], list[slice]]:
    """Return what is compared: all variables, and single coordinates if they are few; with where they are stored."""
    names, parts = [], []
    for v in target.space.variables:
        names.append(v.name)
        parts.append(slice(v.start, v.stop))
        if 1 < v.size <= MAX_COORDINATES:
            names += [f"coordinate {i} of {v.name}" for i in range(v.size)]
            parts += [slice(i, i + 1) for i in range(v.start, v.stop)]
    return names, parts


def _means(states: FloatArray, parts: list[slice]) -> FloatArray:
    """Return the mean of the coordinates of each part, by state."""
    return np.stack([states[:, part].mean(axis=1) for part in parts], axis=1)


def _scores(changes: FloatArray) -> FloatArray:
    """Return the sums of changes in units of the roots of their sums of squares."""
    sizes: FloatArray = np.sqrt((changes**2).sum(axis=0))
    scores: FloatArray = np.divide(changes.sum(axis=0), sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    return scores


def _raise(
    target: PreparedTarget, name: str, means: tuple[float, float], draws: FloatArray, score: tuple[float, float]
) -> NoReturn:
    raise TargetError(
        f"The reference's draw and log_density do not describe the same distribution: {name} has the mean "
        f"{means[0]:.4g} over {len(draws)} draws, and {means[1]:.4g} after moves that leave log_density unchanged, "
        f"{score[0]:.1f} standard errors apart (normal: below {score[1]:.1f}; locations and widths are in spreads of "
        "the draws). Check scales, and that the density of a transformed variable has its Jacobian. The first draw was "
        f"{target.describe_point(draws[0])}."
    )
