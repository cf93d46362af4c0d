"""Modes of one variable, found from its draws alone: peaks of its histogram that chance and tails cannot explain.

The density of a variable with one mode falls on both sides of it, however skewed or heavy-tailed it is. So of three
intervals of the same width in a row, the middle one never holds less than both others. Peaks are compared with the
deepest valley that separates them from a higher one, as counts of independent draws, in histograms of several widths.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sterna.types import FloatArray

# Of a uniform distribution, where chance is most likely to make a second peak and a valley beside it, each is expected
# in so many histograms: both in one of 5000.
CHANCE = 0.014

# Histograms of so many bins between the 1 % and the 99 % quantile.
BINS = (5, 8, 16, 32, 64)

# A variable with fewer values than this has no histogram, unless they lie on a lattice with at most so many places.
MIN_VALUES, MAX_LATTICE = 40, 100_000

# More modes are too many to be read.
MAX_MODES = 12


@dataclass(frozen=True)
class Mode:
    """A cluster of draws between two valleys."""

    low: float
    high: float
    """The draws from `low` (excluded unless it is -inf) to `high`."""


def find_modes(draws: FloatArray, size: float) -> list[Mode]:
    """Return the modes of a variable whose draws are worth `size` independent ones; one mode spans the whole line."""
    whole = [Mode(-math.inf, math.inf)]
    flat = draws.ravel()
    if not np.isfinite(flat).all() or not size > 0 or flat.size < 2:
        return whole
    values = np.unique(flat)
    step = lattice_step(values)
    if step is None and len(values) < min(MIN_VALUES, flat.size / 3):
        return whole
    # values on a lattice become integers, which fall into bins of whole widths: none is empty because of its place
    origin, unit = (0.0, 1.0) if step is None else (float(values[0]), step)
    flat = flat if step is None else np.round((flat - origin) / unit)
    low, high = (float(end) for end in np.quantile(flat, [0.01, 0.99]))
    # numbers too large or too close for differences have no histogram
    if not 1e-300 < high - low < 1e300:
        return whole
    best: list[float] = []
    for bins in BINS:
        width = (high - low) / bins if step is None else math.ceil((high - low) / bins)
        valleys = _valleys(flat, low if step is None else low - 0.5, high, width, min(size, flat.size) / flat.size)
        if len(best) < len(valleys) < MAX_MODES:
            best = valleys
        if step is not None and width == 1:
            break
    edges = [-math.inf, *(origin + unit * place for place in best), math.inf]
    return [Mode(*pair) for pair in pairwise(edges)]


def lattice_step(values: FloatArray) -> float | None:
    """Return the step of values, increasing, that are all an integer number of steps apart, or None."""
    if len(values) < 2 or len(values) > MAX_LATTICE:
        return None
    with np.errstate(all="ignore"):
        step = float(np.diff(values).min())
        places = (values - values[0]) / step
        off = np.abs(places - np.round(places))
        return step if step > 0.0 and places[-1] < MAX_LATTICE and (off < 1e-6).all() else None


def _valleys(flat: FloatArray, first: float, high: float, width: float, worth: float) -> list[float]:
    """Return the places between significant peaks of a histogram whose draws are worth so much each."""
    from scipy.special import ndtri

    # a few bins on both sides; what is beyond belongs to the outermost ones of these, which are no peaks
    n = math.ceil((high - first) / width)
    numbers = np.clip(np.floor((flat - first) / width), -1, n).astype(np.int64) + 1
    counts = np.bincount(numbers, minlength=n + 2).astype(np.float64)
    counts[0] = counts[-1] = 0.0
    # roots of counts have a standard deviation of one half: a peak and a valley, each so many above and below the mean
    peaks = _prominent_peaks(np.sqrt(worth * counts), float(ndtri(1.0 - CHANCE / n)))
    found = []
    for left, right in pairwise(peaks):
        between = counts[left : right + 1]
        lowest = np.flatnonzero(between == between.min())
        # the middle of the widest valley floor
        floor = left + lowest[len(lowest) // 2]
        found.append(first + (floor - 0.5) * width)
    return found


def _prominent_peaks(heights: FloatArray, least: float) -> list[int]:
    """Return peaks that rise by at least so much above the pass to any higher peak, in order."""
    order = np.argsort(-heights, kind="stable")
    owner = np.full(len(heights), -1, dtype=np.int64)
    alive: dict[int, bool] = {}
    for place in order:
        neighbours = {int(owner[other]) for other in (place - 1, place + 1) if 0 <= other < len(heights)} - {-1}
        if not neighbours:
            owner[place], alive[int(place)] = place, True
            continue
        highest = max(neighbours, key=lambda peak: (heights[peak], -peak))
        owner[place] = highest
        for lower in neighbours - {highest}:
            alive[lower] = bool(heights[lower] - heights[place] >= least)
            owner[owner == lower] = highest
    return sorted(peak for peak, counts in alive.items() if counts)
