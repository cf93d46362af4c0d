"""Log-densities along lines, from their centres outwards: as far as mass is found, and evaluations are not slow.

Nobody has been beyond the draws, and there a solver may take minutes. So a line leaves their range step by step, and
ends where what it passes is no longer worth counting: a normal density at four standard deviations, and one of Cauchy
at a few hundred.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

from sterna.search.landscape import Landscape
from sterna.types import BoolArray, FloatArray

# A side of a line ends where a step adds less than this share of the line's integral, and less than the one before.
LEAST_SHARE = 3e-4

# Evaluations beyond the draws may take so many times as long as those among them, and at least so many seconds in all.
SLOWER, LEAST_SECONDS = 10.0, 1.0


@dataclass
class Patience:
    """How long evaluations have taken among the draws, and beyond them."""

    near_rows: int = 0
    near_seconds: float = 0.0
    far_rows: int = 0
    far_seconds: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether evaluations beyond the draws are too slow to go on."""
        usual = self.near_seconds / max(self.near_rows, 1)
        return self.far_seconds > max(LEAST_SECONDS, SLOWER * usual * self.far_rows)

    def near(self, landscape: Landscape, points: FloatArray) -> FloatArray:
        """Evaluate points among the draws."""
        began = time.perf_counter()
        values = landscape.values(points)
        self.near_rows += len(points)
        self.near_seconds += time.perf_counter() - began
        return values

    def far(self, landscape: Landscape, points: FloatArray) -> FloatArray:
        """Evaluate points beyond the draws, the first two one by one; -inf where patience was over."""
        values = np.full(len(points), -math.inf)
        for part in (slice(0, 1), slice(1, 2), slice(2, None)):
            if len(points[part]) and not self.is_over:
                began = time.perf_counter()
                values[part] = landscape.values(points[part])
                self.far_rows += len(points[part])
                self.far_seconds += time.perf_counter() - began
        return values


def along(lines: FloatArray, i: int, distances: FloatArray) -> FloatArray:
    """Return, for each line, points below its centre, the centre, and points above: (lines, points, dimension)."""
    points = np.repeat(lines[:, None], 2 * len(distances) + 1, axis=1)
    points[:, :, i] += np.concatenate([-distances[::-1], [0.0], distances])
    return points


def values_outwards(
    landscape: Landscape, points: FloatArray, known: BoolArray, distances: FloatArray, patience: Patience
) -> FloatArray:
    """Return log-densities at the points of `along`, -inf where a line has ended.

    `known` says which points are among the draws, where all are evaluated.
    """
    values, n = np.full(points.shape[:2], -math.inf), len(distances)
    values[known] = patience.near(landscape, points[known])
    going = np.ones((len(points), 2), dtype=bool)
    for k in range(n):
        both = [n - 1 - k, n + 1 + k]
        rows, sides = np.nonzero(going & ~known[:, both])
        if len(rows) == 0:
            continue
        # one of each side first, because one may be slow where the other is not
        first = np.unique(sides, return_index=True)[1]
        order = np.concatenate([first, np.setdiff1d(np.arange(len(sides)), first)])
        rows, places = rows[order], np.array(both)[sides[order]]
        values[rows, places] = patience.far(landscape, points[rows, places])
        if patience.is_over:
            break
        going &= known[:, both] | worth_going_on(values, distances, k)
    return values


def worth_going_on(values: FloatArray, distances: FloatArray, k: int) -> BoolArray:
    """Return whether each side of each line may have more mass beyond its distance k: (lines, 2)."""
    n = len(distances)
    with np.errstate(invalid="ignore"):
        shares = np.exp(values - values.max(axis=1, keepdims=True))
    shares *= np.concatenate([distances[::-1], distances[:1], distances])
    now, before = shares[:, [n - 1 - k, n + 1 + k]], shares[:, [n - k, n + k]]
    return np.asarray((now > LEAST_SHARE * shares.sum(axis=1, keepdims=True)) | (now > before))
