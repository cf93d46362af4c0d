"""Piecewise cubic interpolation: with given slopes (Hermite), and monotone (Fritsch and Carlson 1980)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.types import FloatArray


@dataclass(frozen=True)
class PiecewiseCubic:
    """The piecewise cubic through points (x, y) with the given slopes there."""

    x: FloatArray
    y: FloatArray
    slopes: FloatArray

    def _local(self, at: ArrayLike) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
        """Return the interval, the position within it from 0 to 1, and the length of the interval."""
        points = np.clip(np.asarray(at, dtype=np.float64), self.x[0], self.x[-1])
        k = np.clip(np.searchsorted(self.x, points, side="right") - 1, 0, len(self.x) - 2)
        length = self.x[k + 1] - self.x[k]
        return k, (points - self.x[k]) / length, length

    def __call__(self, at: ArrayLike) -> FloatArray:
        """Value of the curve; beyond the points, the value at the nearest one."""
        k, t, length = self._local(at)
        return self._hermite(k, t, length)

    def _hermite(self, k: NDArray[np.intp], t: FloatArray, length: FloatArray) -> FloatArray:
        rise = self.y[k + 1] - self.y[k]
        start, end = self.slopes[k] * length, self.slopes[k + 1] * length
        inner = t * t * (3 - 2 * t) * rise + t * (1 - t) * ((1 - t) * start - t * end)
        return np.asarray(self.y[k] + inner)


class MonotoneCubic(PiecewiseCubic):
    """A piecewise cubic that never decreases."""

    def derivative(self, at: ArrayLike) -> FloatArray:
        """Slope of the curve: a piecewise quadratic, never negative."""
        k, t, length = self._local(at)
        rise = (self.y[k + 1] - self.y[k]) / length
        start, end = self.slopes[k], self.slopes[k + 1]
        slope = 6 * t * (1 - t) * rise + (1 - t) * (1 - 3 * t) * start + t * (3 * t - 2) * end
        return np.asarray(np.maximum(slope, 0.0))

    def inverse(self, values: ArrayLike) -> FloatArray:
        """Solve curve(x) = value by bisection within the interval that contains the value."""
        heights = np.clip(np.asarray(values, dtype=np.float64), self.y[0], self.y[-1])
        k = np.clip(np.searchsorted(self.y, heights, side="right") - 1, 0, len(self.x) - 2)
        length = self.x[k + 1] - self.x[k]
        low, high = np.zeros(heights.shape), np.ones(heights.shape)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = self._hermite(k, middle, length) < heights
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(self.x[k] + high * length)


def monotone_cubic(x: FloatArray, y: FloatArray) -> MonotoneCubic:
    """Interpolate increasing x and non-decreasing y."""
    secants = np.diff(y) / np.diff(x)
    slopes = np.empty_like(x)
    slopes[0], slopes[-1] = secants[0], secants[-1]
    slopes[1:-1] = 0.5 * (secants[:-1] + secants[1:])
    # a flat piece has zero slopes at its ends; other slopes are scaled back to the circle of radius 3
    flat = secants == 0
    slopes[:-1][flat] = 0.0
    slopes[1:][flat] = 0.0
    # beside a piece that is flat but for the smallest numbers the size overflows, and slopes become 0
    with np.errstate(over="ignore"):
        for k in np.flatnonzero(~flat):
            size = np.hypot(slopes[k], slopes[k + 1]) / secants[k]
            if size > 3:
                slopes[k] *= 3 / size
                slopes[k + 1] *= 3 / size
    return MonotoneCubic(x, y, slopes)
