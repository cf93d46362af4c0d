"""Climbs to local optima of a log-density, many at once: L-BFGS with slopes from central differences or a gradient.

Differences are taken over a fifth of a standard deviation of the local curvature, not over tiny steps: a climb needs
an optimum to a fraction of its width, and rounding of a large log-density must not matter. They show the curvature of
each coordinate too, which scales the first step; so independent coordinates of any widths need two steps.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sterna.search.landscape import Landscape
from sterna.types import BoolArray, FloatArray, IntArray

# A climb ends if its next step promises less than this, in nats; a draw lies d / 2 nats below its optimum.
ENOUGH_NATS = 0.01

MAX_STEPS = 40
MEMORY = 8

# Differences are taken over this many local standard deviations, which change at most tenfold from step to step.
DIFFERENCE = 0.2
MAX_CHANGE = 10.0

# A step is accepted if it gains this share of what the slope promises, and made longer if it gains nearly all of it;
# at the optimum of a quadratic it gains half.
LEAST_SHARE, NEARLY_LINEAR = 1e-3, 0.75
LEAST_PROMISE = 0.02
SHRINK, GROW, MAX_TRIALS = 0.25, 3.0, 8


@dataclass
class Climbs:
    """Climbs under way or ended, a row each."""

    points: FloatArray
    values: FloatArray
    steps: FloatArray
    """Over which differences are taken, by coordinate; 0 for integers."""
    stopped: BoolArray
    """Whether a climb ended before its optimum, because it may leave or must end."""
    cut_off: int = 0
    """How many of these had to end."""


def climb(
    landscape: Landscape,
    starts: FloatArray,
    scales: FloatArray,
    leave: Callable[[FloatArray, FloatArray], BoolArray] | None = None,
    until: int | None = None,
) -> Climbs:
    """Climb from every start; `scales` are guesses of the width of the target in each coordinate.

    `leave(points, values)` says which climbs need not go on, because they are on their way to a known optimum. No
    climb makes another step after the landscape has spent `until` evaluations; those under way have no optimum.
    """
    points, count = starts.copy(), len(starts)
    values = landscape.values(points)
    steps = np.tile(np.where(landscape.free, DIFFERENCE * scales, 0.0), (count, 1))
    alive, stopped = np.isfinite(values), np.zeros(count, dtype=bool)
    failed = np.zeros(count, dtype=bool)
    history, cut_off = History(count, starts.shape[1]), 0
    for _ in range(MAX_STEPS):
        if leave is not None:
            rows = np.flatnonzero(alive)
            stopped[rows] = leave(points[rows], values[rows])
            alive &= ~stopped
        rows = np.flatnonzero(alive)
        if len(rows) == 0:
            break
        if until is not None and landscape.spent >= until:
            stopped[rows], cut_off = True, len(rows)
            break
        slopes, metric, steps[rows] = local_shape(landscape, points[rows], values[rows], steps[rows])
        history.add(rows, points[rows], slopes)
        directions, gain = history.directions(rows, slopes, metric)
        far = np.maximum(np.abs(directions / landscape.limits).max(axis=1), 1.0)
        directions, gain = directions / far[:, None], gain / far
        going = gain > 2.0 * ENOUGH_NATS
        alive[rows[~going]] = False
        rows = rows[going]
        moved = advance(landscape, points, values, rows, directions[going], gain[going])
        # the curvature of moves far away may mislead: try once more without it
        alive[rows[~moved & failed[rows]]] = False
        failed[rows] = ~moved
        history.forget(rows[~moved])
    return Climbs(points, values, steps, stopped, cut_off)


def local_shape(
    landscape: Landscape, points: FloatArray, values: FloatArray, steps: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return slopes, a diagonal guess of the inverse curvature, and the steps of the next differences."""
    if landscape.has_slopes:
        slopes = landscape.slopes(points)
        slopes[~np.isfinite(slopes)] = 0.0
        return slopes, (steps / DIFFERENCE) ** 2, steps
    around = landscape.stencils(points, steps)
    known = np.isfinite(around).all(axis=2) & (steps > 0.0)
    size = np.where(steps > 0.0, steps, 1.0)
    with np.errstate(invalid="ignore"):
        slopes = np.where(known, (around[..., 0] - around[..., 1]) / (2.0 * size), one_sided(around, values, size))
        curvature = np.where(known, np.abs(around.sum(axis=2) - 2.0 * values[:, None]) / size**2, 0.0)
    # where the density is zero on one side, the next difference is taken over less
    wanted = np.where(known, DIFFERENCE / np.sqrt(np.maximum(curvature, 1e-300)), 0.0)
    steps_next = np.clip(wanted, steps / MAX_CHANGE, steps * MAX_CHANGE)
    return slopes, (steps_next / DIFFERENCE) ** 2, steps_next


def one_sided(around: FloatArray, values: FloatArray, size: FloatArray) -> FloatArray:
    """Return slopes where the density is zero one step up or down: from the other side, or 0."""
    up = np.where(np.isfinite(around[..., 0]), around[..., 0] - values[:, None], 0.0)
    down = np.where(np.isfinite(around[..., 1]), values[:, None] - around[..., 1], 0.0)
    return np.asarray((up + down) / size)


def advance(
    landscape: Landscape,
    points: FloatArray,
    values: FloatArray,
    rows: IntArray,
    directions: FloatArray,
    gain: FloatArray,
) -> BoolArray:
    """Move some rows along their directions, in place, by a step that gains; return which of them moved."""
    best, length = values[rows].copy(), np.ones(len(rows))
    taken, growing = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    trying = np.arange(len(rows))
    for _ in range(MAX_TRIALS):
        if len(trying) == 0:
            break
        moves = length[trying, None] * directions[trying]
        found = landscape.values(points[rows[trying]] + moves)
        gained = found - values[rows[trying]]
        good = (gained >= LEAST_SHARE * length[trying] * gain[trying]) & (found > best[trying])
        better = trying[good]
        best[better], taken[better] = found[good], length[better]
        grows = good & (gained > NEARLY_LINEAR * length[trying] * gain[trying])
        grows &= (np.abs(GROW * moves) <= landscape.limits).all(axis=1)
        shrinks = ~good & ~growing[trying]
        growing[trying[grows]] = True
        length[trying[grows]] *= GROW
        length[trying[shrinks]] *= SHRINK
        trying = trying[grows | shrinks]
    points[rows] += taken[:, None] * directions
    values[rows] = best
    return taken > 0.0


class History:
    """The last moves of every climb and how its slopes changed (Nocedal 1980)."""

    def __init__(self, count: int, dimension: int) -> None:
        self.points, self.slopes = np.zeros((count, dimension)), np.zeros((count, dimension))
        self.moves: list[FloatArray] = []
        self.changes: list[FloatArray] = []
        self.begun = False

    def add(self, rows: IntArray, points: FloatArray, slopes: FloatArray) -> None:
        """Remember where some climbs are; only those are asked about from now on."""
        if self.begun:
            moves, changes = np.zeros_like(self.points), np.zeros_like(self.points)
            moves[rows], changes[rows] = points - self.points[rows], self.slopes[rows] - slopes
            self.moves, self.changes = [*self.moves, moves][-MEMORY:], [*self.changes, changes][-MEMORY:]
        self.begun = True
        self.points[rows], self.slopes[rows] = points, slopes

    def forget(self, rows: IntArray) -> None:
        """Forget the moves of some climbs."""
        for moves in self.moves:
            moves[rows] = 0.0

    def directions(self, rows: IntArray, slopes: FloatArray, metric: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directions of the next moves, slopes times an estimate of the inverse curvature, and their gains.

        A gain is what the slope promises. Where the history promises far less than the metric alone, it is not used.
        """
        pairs = [(s[rows], y[rows]) for s, y in zip(self.moves, self.changes, strict=True)]
        products = [(s * y).sum(axis=1) for s, y in pairs]
        # a pair along which the log-density is not concave says nothing about the curvature of its optimum
        inverse = [np.where(p > 1e-12 * _norms(s, y), 1.0 / np.where(p > 0.0, p, 1.0), 0.0) for p, (s, y) in
                   zip(products, pairs, strict=True)]  # fmt: skip
        result, factors = slopes.copy(), []
        for (s, y), share in zip(reversed(pairs), reversed(inverse), strict=True):
            factor = share * (s * result).sum(axis=1)
            factors.append(factor)
            result -= factor[:, None] * y
        result *= metric
        for (s, y), share, factor in zip(pairs, inverse, reversed(factors), strict=True):
            result += (factor - share * (y * result).sum(axis=1))[:, None] * s
        gain, plain = (result * slopes).sum(axis=1), (metric * slopes * slopes).sum(axis=1)
        misled = gain < LEAST_PROMISE * plain
        return np.where(misled[:, None], metric * slopes, result), np.where(misled, plain, gain)


def _norms(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((s * s).sum(axis=1) * (y * y).sum(axis=1)))
