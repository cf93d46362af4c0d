"""Areas under curves that are given at points, and between them."""

import numpy as np

from sterna.types import FloatArray


def area(x: FloatArray, y: FloatArray) -> float:
    """Return the area under a curve by the trapezoidal rule."""
    return float(np.sum(0.5 * np.diff(x) * (y[1:] + y[:-1])))


def area_between(x: FloatArray, y: FloatArray, other: FloatArray) -> float:
    """Return the area between two curves, relative to that under the second."""
    return area(x, np.abs(y - other)) / area(x, other)
