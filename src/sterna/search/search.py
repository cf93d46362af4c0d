"""The search for optima: climbs in waves, as many as a budget pays for; each wave knows the optima before it."""

from dataclasses import dataclass, field, replace

import numpy as np

from sterna.search.climb import DIFFERENCE, climb
from sterna.search.curvature import Optimum, curvature_at
from sterna.search.hill import Hill, Hills, hill_of
from sterna.search.landscape import Landscape
from sterna.search.planted import Planted
from sterna.types import BoolArray, FloatArray, IntArray

# An end of a climb this near an optimum, in squared units of its curvature, is the same optimum.
SAME = 2.0

# Beyond this number only optima with more mass than the least of them are kept.
MAX_OPTIMA = 50

# After so many climbs a search ends if most of the next lead to new optima: they are on a ridge or a shell, or
# there are too many to find.
ENOUGH_CLIMBS = 2 * MAX_OPTIMA

# A climb goes on if the full curvature promises more than this, in nats, at some of these parts of the promised step.
ON_RIDGE, LENGTHS, MAX_SETTLING = 0.1, (2.0, 1.0, 0.5, 0.2, 0.05), 6

# A small wave costs as much overhead as a large one, which takes memory: its climbs have at most so many coordinates.
SMALLEST_WAVE, FIRST_WAVE, LARGEST_WAVE, MAX_COORDINATES = 2, 8, 1024, 250_000

# A budget for fewer climbs than this begins with the smallest wave.
SMALL_BUDGET = 32

# Starts that are left for climbs that end only near an optimum.
MAX_SECOND = 1000

# The share of the climbs that one evaluation has ended which are made to the end, to see whether they lead where it
# said, with at most this share of the budget.
CHECKED, FOR_CHECKS = 0.05, 0.1


@dataclass(frozen=True)
class Search:
    """What climbs have found."""

    optima: tuple[Optimum, ...] = ()
    """By estimated mass, the largest first."""
    climbs: int = 0
    evaluations: int = 0
    gradients: int = 0
    checked: int = 0
    """Climbs that one evaluation had ended, and that were then made to the end."""
    elsewhere: int = 0
    """How many of these led to another optimum than the evaluation said."""
    planted: Planted = field(default_factory=Planted)
    """How narrow a mode may be before this search overlooks it."""


def search(
    landscape: Landscape,
    starts: FloatArray,
    scales: FloatArray,
    budget: int,
    before: Search,
    independent: BoolArray | None = None,
) -> Search:
    """Climb from starts, in their order, until `budget` evaluations are spent; go on from the optima found before.

    `independent` says which starts are independent draws of the reference. With the first half of the budget, climbs
    end as soon as one evaluation tells whose hill they are on. With the rest they end only near an optimum, because
    what is far from a hill may hide another.
    """
    hills, done, cut_off = Hills(tuple(hill_of(landscape, optimum) for optimum in before.optima)), 0, 0
    checked = elsewhere = 0
    began, largest = landscape.spent, min(LARGEST_WAVE, max(SMALLEST_WAVE, MAX_COORDINATES // len(scales)))
    for far, share in ((True, 0.5), (False, 1.0)):
        until = began + int(share * budget)
        cost = float(cost_of_climb(len(scales)))
        # what a climb costs is not known yet: if all began at once, a small budget might end before any of them
        size = FIRST_WAVE if until - landscape.spent >= SMALL_BUDGET * cost else SMALLEST_WAVE
        last = len(starts) - (min(MAX_SECOND, len(starts) // 2) if far else 0)
        while done < last:
            affordable = max(0, int((until - landscape.spent) / cost))
            wave = starts[done : min(last, done + min(size, affordable))]
            if len(wave) < min(SMALLEST_WAVE, last - done):
                break
            spent = landscape.spent
            counted = np.zeros(len(wave), dtype=bool) if independent is None else independent[done : done + len(wave)]
            hills, unfinished, new = climb_wave(landscape, wave, scales, hills, far, until, counted)
            done, cut_off = done + len(wave), cut_off + unfinished
            if before.climbs + done >= ENOUGH_CLIMBS and 2 * new > len(wave):
                break
            cost = max(1.5 * (landscape.spent - spent) / len(wave), 2.0)
            size = min(4 * size, largest)
        if far and independent is not None:
            until = min(landscape.spent + int(FOR_CHECKS * budget), began + budget)
            counted = starts[:done][independent[:done]]
            hills, checked, elsewhere = check_climbs(landscape, counted, scales, hills, until)
    return replace(
        before,
        optima=tuple(hill.optimum for hill in hills),
        climbs=before.climbs + done - cut_off,
        checked=before.checked + checked,
        elsewhere=before.elsewhere + elsewhere,
    )


def check_climbs(
    landscape: Landscape, starts: FloatArray, scales: FloatArray, hills: Hills, until: int
) -> tuple[Hills, int, int]:
    """Make some climbs to the end that one evaluation would end; return hills, how many, and how many led elsewhere.

    Starts are independent draws, so that the first of them are as random as any.
    """
    affordable = (until - landscape.spent) // cost_of_climb(len(scales))
    some = starts[: max(0, min(int(CHECKED * len(starts)), affordable))]
    if len(some) == 0:
        return hills, 0, 0
    promised = labels_of(landscape, hills, some, landscape.values(some), far=True)
    some, promised = some[promised >= 0], promised[promised >= 0]
    ended = climb(landscape, some, scales, Leaving(hills, landscape, far=False), until)
    whole = ~ended.stopped | (labels_of(landscape, hills, ended.points, ended.values, far=False) >= 0)
    found = hills
    for k in np.flatnonzero(whole & ~ended.stopped & np.isfinite(ended.values)):
        found = _with_end(landscape, found, ended.points[k], float(ended.values[k]), ended.steps[k], until)
    reached = labels_of(landscape, found, ended.points, ended.values, far=False)
    return found, int(whole.sum()), int((whole & (reached != promised)).sum())


def climb_wave(
    landscape: Landscape,
    wave: FloatArray,
    scales: FloatArray,
    hills: Hills,
    far: bool,
    until: int,
    counted: BoolArray,
) -> tuple[Hills, int, int]:
    """Climb from some starts; return the hills with those found, and how many climbs were cut off and found a new one.

    Each hill counts the climbs among `counted` that have led to it.
    """
    ended = climb(landscape, wave, scales, Leaving(hills, landscape, far), until)
    found = hills
    for k in np.argsort(-ended.values, kind="stable"):
        if np.isfinite(ended.values[k]) and not ended.stopped[k]:
            found = _with_end(landscape, found, ended.points[k], float(ended.values[k]), ended.steps[k], until)
    counted_here = _with_basins(landscape, found, ended.points[counted], ended.values[counted], far)
    kept = sorted(counted_here, key=lambda hill: -hill.optimum.log_mass)[:MAX_OPTIMA]
    return Hills(tuple(kept)), ended.cut_off, len(found) - len(hills)


def _with_basins(landscape: Landscape, hills: Hills, points: FloatArray, values: FloatArray, far: bool) -> list[Hill]:
    """Return the hills with the climbs that ended at their optimum, or were left on their way to it."""
    labels, counted = labels_of(landscape, hills, points, values, far), []
    for number, hill in enumerate(hills):
        here = int((labels == number).sum())
        counted.append(replace(hill, optimum=replace(hill.optimum, basin=hill.optimum.basin + here)) if here else hill)
    return counted


def labels_of(landscape: Landscape, hills: Hills, points: FloatArray, values: FloatArray, far: bool) -> IntArray:
    """Return the hill to which each point belongs, of several the one that predicts its density best, or -1."""
    if not hills:
        return np.full(len(points), -1)
    near = hills.distances(landscape, points) < SAME
    off = np.where(near, 0.0, np.nan_to_num(np.abs(values - hills.predictions(landscape, points)), nan=np.inf))
    off[~(near | hills.holds(landscape, points, values, far))] = np.inf
    return np.where(np.isfinite(off).any(axis=0), off.argmin(axis=0), -1)


def cost_of_climb(dimension: int) -> int:
    """Return about how many evaluations a climb takes, before any was made."""
    return 10 * (2 * dimension + 1)


@dataclass(frozen=True)
class Leaving:
    """Says which climbs need not go on, because they are on a known hill."""

    hills: Hills
    landscape: Landscape
    far: bool
    """Whether also those that are far from its optimum."""

    def __call__(self, points: FloatArray, values: FloatArray) -> BoolArray:
        """Return whether each climb may end."""
        return np.asarray(self.hills.holds(self.landscape, points, values, self.far).any(axis=0))


def _with_end(
    landscape: Landscape, hills: Hills, point: FloatArray, value: float, steps: FloatArray, until: int
) -> Hills:
    """Return the hills with that of the end of a climb, unless it is a known optimum or leads to one."""
    if _is_known(landscape, hills, point):
        return hills
    optimum = settled(landscape, point, value, steps, until)
    if optimum is None or _is_known(landscape, hills, optimum.point):
        return hills
    return Hills((*hills, hill_of(landscape, optimum)))


def _is_known(landscape: Landscape, hills: Hills, point: FloatArray) -> bool:
    return bool((hills.distances(landscape, point[None]) < SAME).any())


def settled(landscape: Landscape, point: FloatArray, value: float, steps: FloatArray, until: int) -> Optimum | None:
    """Return the optimum near the end of a climb, or None if the density is zero next to it or the budget is spent.

    A climb ends on a narrow ridge, along which its metric promises nothing. The full curvature promises more, and then
    the climb goes on from the best point in that direction.
    """
    optimum = None
    for _ in range(MAX_SETTLING):
        found = curvature_at(landscape, point, value, steps, until - landscape.spent)
        if found is None:
            return optimum
        optimum, slopes = Optimum(point.copy(), value, found[0]), found[1]
        white = slopes * found[0] if found[0].ndim == 1 else slopes @ found[0]
        if white @ white < 2.0 * ON_RIDGE or landscape.spent >= until:
            return optimum
        trials = np.tile(point, (len(LENGTHS), 1))
        trials[:, landscape.free] += np.outer(LENGTHS, optimum.ellipsoid.scaled(white[None])[0])
        values = landscape.values(trials)
        best = int(values.argmax())
        if not values[best] > value + 0.1 * ON_RIDGE:
            return optimum
        ended = climb(landscape, trials[best : best + 1], steps / DIFFERENCE, None, until)
        point, value, steps = ended.points[0], float(ended.values[0]), ended.steps[0]
    return optimum
