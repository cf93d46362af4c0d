"""The limit of DEO's index process: a piecewise-deterministic Markov process (paper, section on scaling limits).

A position w in [0, 1] moves at speed 1 in its direction, which reverses at the ends and at the rate lambda(G(w)) G'(w).
Between two turns the rate integrates to differences of the cumulative hazard Lambda(G(w)), so the next turn is where
the hazard has grown by an exponential variate. Under the optimal generator the hazard is Lambda w.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.ground.compilation import compiled
from sterna.ground.streams import Stream, exponential
from sterna.theory.checks import check_direction, check_number, check_numbers, check_start, check_time, check_whole
from sterna.theory.poisson import poisson_probabilities
from sterna.theory.reflection import fold, folded_cdf
from sterna.theory.scaled_index_process import ScaledPath
from sterna.theory.streams import PIECEWISE_DETERMINISTIC, new_stream
from sterna.types import FloatArray

Hazard = float | Callable[[FloatArray], ArrayLike]

# Number of points between which a general hazard is interpolated linearly; the error is below 1e-8 of its curvature.
_N_HAZARD_POINTS = 4097


@compiled
def interpolate(at: float, xs: FloatArray, ys: FloatArray) -> float:
    """Linear interpolation between increasing points; with xs and ys exchanged it is the inverse."""
    low, high = 0, xs.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xs[middle] <= at:
            low = middle
        else:
            high = middle
    width = xs[high] - xs[low]
    return float(ys[low] + (ys[high] - ys[low]) * ((at - xs[low]) / width) if width > 0 else ys[low])


@compiled
def flight(position: float, up: int, budget: float, points: FloatArray, hazards: FloatArray) -> tuple[float, float]:
    """Return where the direction reverses next, by the hazard or at an end, and the hazard left over in the budget."""
    here = interpolate(position, points, hazards)
    room = hazards[hazards.size - 1] - here if up else here
    if budget >= room:
        return float(up), budget - room
    return interpolate(here + budget if up else here - budget, hazards, points), 0.0


@compiled
def fly(position: float, up: int, time: float, points: FloatArray, hazards: FloatArray, words: Stream) -> float:
    """Return the position of a path at `time`."""
    budget = exponential(words)
    while True:
        turn, budget = flight(position, up, budget, points, hazards)
        if abs(turn - position) >= time:
            return position + time if up else position - time
        time -= abs(turn - position)
        position, up = turn, 1 - up
        if budget == 0.0:
            budget = exponential(words)


@compiled
def fly_to_ends(
    position: float, up: int, time: float, points: FloatArray, hazards: FloatArray, words: Stream, ends: FloatArray
) -> None:
    """Write the position of each path at `time`."""
    for path in range(ends.size):
        ends[path] = fly(position, up, time, points, hazards, words)


def _hazard_table(hazard: Hazard) -> tuple[FloatArray, FloatArray]:
    """Return points of the cumulative hazard; for a number, Lambda, two points are exact."""
    if not callable(hazard):
        total = check_number("hazard", hazard, 0.0, "give Lambda, finite and nonnegative, or a function of position")
        return np.array([0.0, 1.0]), np.array([0.0, total])
    points = np.linspace(0.0, 1.0, _N_HAZARD_POINTS)
    hazards = np.array(np.broadcast_to(hazard(points), points.shape), dtype=np.float64)
    if not np.isfinite(hazards).all() or hazards[0] != 0 or not (np.diff(hazards) >= 0).all():
        raise OptionError(
            "hazard(positions) must be finite, start at 0 and never decrease; give the barrier up to G(position)."
        )
    return points, hazards


def piecewise_deterministic_path(
    hazard: Hazard, time: float, start: float = 0.0, direction: int = 1, seed: int = 1
) -> ScaledPath:
    """Simulate one path up to `time`; returns its turns, between which it is linear.

    `hazard` is Lambda, for the optimal generator, or the function w -> Lambda(G(w)) of an array of positions.

    Examples
    --------
    >>> piecewise_deterministic_path(0.0, time=2.5, start=0.25).place
    array([0.25, 1.  , 0.  , 0.75])
    """
    points, hazards = _hazard_table(hazard)
    words, _ = new_stream(seed, PIECEWISE_DETERMINISTIC)
    clock, position, up, until = 0.0, check_start(start), check_direction(direction), check_time(time)
    path, budget = [(clock, position, 2 * up - 1)], 0.0
    while clock < until:
        budget = exponential(words) if budget == 0.0 else budget
        turn, budget = flight(position, up, budget, points, hazards)
        end = min(clock + abs(turn - position), until)
        position = turn if end < until else position + (end - clock) * (2 * up - 1)
        up = 1 - up if end < until else up
        clock = end
        path.append((clock, position, 2 * up - 1))
    times, positions, directions = zip(*path, strict=True)
    return ScaledPath(np.array(times), np.array(positions), np.array(directions, dtype=np.int8))


def piecewise_deterministic_ends(
    hazard: Hazard, time: float, n_paths: int, start: float = 0.0, direction: int = 1, seed: int = 1
) -> FloatArray:
    """Simulate many paths from one start and return their positions at `time`.

    Examples
    --------
    >>> piecewise_deterministic_ends(0.0, time=1.5, n_paths=2, start=0.25)
    array([0.25, 0.25])
    """
    points, hazards = _hazard_table(hazard)
    ends = np.empty(check_whole("n_paths", n_paths, 1, "give the number of paths, at least 1", bytes_each=8))
    words, _ = new_stream(seed, PIECEWISE_DETERMINISTIC)
    fly_to_ends(check_start(start), check_direction(direction), check_time(time), points, hazards, words, ends)
    return ends


def piecewise_deterministic_cdf(
    place: ArrayLike, barrier: float, time: float, start: float = 0.0, direction: int = 1
) -> FloatArray:
    """P(W(time) <= place) under the optimal generator, in closed form.

    The rate of turns is then constant and the ends act as mirrors. On the line without ends, n turns divide the time
    uniformly into n + 1 pieces, so the share spent in the first direction has a beta distribution. The paths without a
    turn form an atom of mass exp(-Lambda time).

    Examples
    --------
    >>> piecewise_deterministic_cdf([0.69, 0.71, 1.0], 2.0, time=0.4, start=0.3).round(4)
    array([0.5426, 1.    , 1.    ])
    """
    total = check_number("barrier", barrier, 0.0, "give a finite, nonnegative number")
    until, first = check_time(time), check_start(start)
    sign = 2 * check_direction(direction) - 1
    positions = check_numbers("place", place, "give one position or several")
    probabilities = poisson_probabilities(total * until)
    never_turned = np.where(positions >= fold(first + sign * until), probabilities[0], 0.0)
    if until == 0 or total == 0:
        return never_turned

    def free_cdf(ends: FloatArray) -> FloatArray:
        share = np.clip(0.5 * (1.0 + sign * (ends - first) / until), 0.0, 1.0)
        below = _share_cdf(share, probabilities)
        return below if sign > 0 else 1.0 - probabilities[0] - below

    return never_turned + folded_cdf(positions, free_cdf, 1.0 + until)


def _share_cdf(share: FloatArray, probabilities: FloatArray) -> FloatArray:
    """P(at least one turn, and at most `share` of the time in the first direction)."""
    from scipy.special import betainc

    total = np.zeros(share.shape)
    for turns in range(1, len(probabilities)):
        total += probabilities[turns] * betainc(turns // 2 + 1, (turns + 1) // 2, share)
    return total
