"""The limit of DEO's index process: a piecewise-deterministic Markov process (paper, section on scaling limits).

A place w in [0, 1] moves at speed 1 in its direction, which turns at the ends and at the rate lambda(G(w)) G'(w). Along
a flight the rate adds up to differences of the cumulative hazard Lambda(G(w)), so a turn is where that has grown by an
exponential number. Under the optimal generator it is Lambda w.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.ground.compilation import compiled
from sterna.ground.streams import exponential
from sterna.theory.checks import check_direction, check_number, check_start, check_time, check_whole
from sterna.theory.poisson import poisson_chances
from sterna.theory.reflection import fold, folded_cdf
from sterna.theory.scaled_index_process import ScaledPath
from sterna.theory.streams import PIECEWISE_DETERMINISTIC, new_stream
from sterna.types import FloatArray

Hazard = float | Callable[[FloatArray], ArrayLike]

# Points between which a hazard other than Lambda w is taken to be linear: its error is below 1e-8 of its curvature.
_POINTS = 4097


@compiled
def interpolate(at: float, xs: Any, ys: Any) -> Any:
    """Value at `at` of the line through increasing points, which serves as its inverse too."""
    low, high = 0, xs.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xs[middle] <= at:
            low = middle
        else:
            high = middle
    width = xs[high] - xs[low]
    return ys[low] + (ys[high] - ys[low]) * ((at - xs[low]) / width) if width > 0 else ys[low]


@compiled
def flight(place: float, up: int, budget: float, places: FloatArray, hazards: FloatArray) -> tuple[float, float]:
    """Return where the direction turns next, by the hazard or at an end, and what is then left of the budget."""
    here = interpolate(place, places, hazards)
    room = hazards[hazards.size - 1] - here if up else here
    if budget >= room:
        return float(up), budget - room
    return interpolate(here + budget if up else here - budget, hazards, places), 0.0


@compiled
def fly(place: float, up: int, time: float, places: FloatArray, hazards: FloatArray, words: Any) -> float:
    """Return where a path is at `time`."""
    budget = exponential(words)
    while True:
        turn, budget = flight(place, up, budget, places, hazards)
        if abs(turn - place) >= time:
            return place + time if up else place - time
        time -= abs(turn - place)
        place, up = turn, 1 - up
        if budget == 0.0:
            budget = exponential(words)


@compiled
def fly_to_ends(
    place: float, up: int, time: float, places: FloatArray, hazards: FloatArray, words: Any, ends: Any
) -> None:
    """Write where each path is at `time`."""
    for path in range(ends.size):
        ends[path] = fly(place, up, time, places, hazards, words)


def _hazard_table(hazard: Hazard) -> tuple[FloatArray, FloatArray]:
    """Points of the cumulative hazard; a number is Lambda, whose two points are exact."""
    if not callable(hazard):
        total = check_number("hazard", hazard, 0.0, "give Lambda, finite and not negative, or a function of the place")
        return np.array([0.0, 1.0]), np.array([0.0, total])
    places = np.linspace(0.0, 1.0, _POINTS)
    hazards = np.array(np.broadcast_to(hazard(places), places.shape), dtype=np.float64)
    if not np.isfinite(hazards).all() or hazards[0] != 0 or not (np.diff(hazards) >= 0).all():
        raise OptionError("hazard(places) must start at 0 and never decrease: give the cumulative barrier of G(place).")
    return places, hazards


def piecewise_deterministic_path(
    hazard: Hazard, time: float, start: float = 0.0, direction: int = 1, seed: int = 1
) -> ScaledPath:
    """Simulate one path up to `time`: its turns, between which it is straight.

    `hazard` is Lambda, for the optimal generator, or the function w -> Lambda(G(w)) of an array of places.

    Examples
    --------
    >>> piecewise_deterministic_path(0.0, time=2.5, start=0.25).place
    array([0.25, 1.  , 0.  , 0.75])
    """
    places, hazards = _hazard_table(hazard)
    words, _ = new_stream(seed, PIECEWISE_DETERMINISTIC)
    clock, place, up, until = 0.0, check_start(start), check_direction(direction), check_time(time)
    path, budget = [(clock, place, 2 * up - 1)], 0.0
    while clock < until:
        budget = exponential(words) if budget == 0.0 else budget
        turn, budget = flight(place, up, budget, places, hazards)
        end = min(clock + abs(turn - place), until)
        place = turn if end < until else place + (end - clock) * (2 * up - 1)
        up = 1 - up if end < until else up
        clock = end
        path.append((clock, place, 2 * up - 1))
    times, positions, directions = zip(*path, strict=True)
    return ScaledPath(np.array(times), np.array(positions), np.array(directions, dtype=np.int8))


def piecewise_deterministic_ends(
    hazard: Hazard, time: float, n_paths: int, start: float = 0.0, direction: int = 1, seed: int = 1
) -> FloatArray:
    """Simulate many paths from one start and return where they are at `time`.

    Examples
    --------
    >>> piecewise_deterministic_ends(0.0, time=1.5, n_paths=2, start=0.25)
    array([0.25, 0.25])
    """
    places, hazards = _hazard_table(hazard)
    ends = np.empty(check_whole("n_paths", n_paths, 1, "give the number of paths, at least 1"))
    words, _ = new_stream(seed, PIECEWISE_DETERMINISTIC)
    fly_to_ends(check_start(start), check_direction(direction), check_time(time), places, hazards, words, ends)
    return ends


def piecewise_deterministic_cdf(
    place: ArrayLike, barrier: float, time: float, start: float = 0.0, direction: int = 1
) -> FloatArray:
    """P(W(time) <= place) under the optimal generator, in closed form.

    The hazard is then the same everywhere and the ends are mirrors. On the line without ends, n turns cut the time
    into n + 1 uniform pieces, so the share that is spent in the first direction has a beta law. The paths without a
    turn are an atom of mass exp(-Lambda time).

    Examples
    --------
    >>> piecewise_deterministic_cdf([0.69, 0.71, 1.0], 2.0, time=0.4, start=0.3).round(4)
    array([0.5426, 1.    , 1.    ])
    """
    total = check_number("barrier", barrier, 0.0, "give a barrier that is finite and not negative")
    until, first = check_time(time), check_start(start)
    sign = 2 * check_direction(direction) - 1
    places = np.asarray(place, dtype=np.float64)
    chances = poisson_chances(total * until)
    never_turned = np.where(places >= fold(first + sign * until), chances[0], 0.0)
    if until == 0 or total == 0:
        return never_turned

    def free_cdf(ends: FloatArray) -> FloatArray:
        share = np.clip(0.5 * (1.0 + sign * (ends - first) / until), 0.0, 1.0)
        below = _share_cdf(share, chances)
        return below if sign > 0 else 1.0 - chances[0] - below

    return never_turned + folded_cdf(places, free_cdf, 1.0 + until)


def _share_cdf(share: FloatArray, chances: FloatArray) -> FloatArray:
    """P(at least one turn, and at most `share` of the time in the first direction)."""
    from scipy.special import betainc

    total = np.zeros(share.shape)
    for turns in range(1, len(chances)):
        total += chances[turns] * betainc(turns // 2 + 1, (turns + 1) // 2, share)
    return total
