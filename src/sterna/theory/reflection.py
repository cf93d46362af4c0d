"""Reflection at both ends of [0, 1] by folding the line; both scaling limits use it."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from sterna.types import FloatArray


def fold(position: ArrayLike) -> FloatArray:
    """Fold the line onto [0, 1], with mirrors at all integers.

    Examples
    --------
    >>> fold([0.25, 1.25, 2.25, -0.25])
    array([0.25, 0.75, 0.25, 0.25])
    """
    once = np.mod(np.asarray(position, dtype=np.float64), 2.0)
    return np.minimum(once, 2.0 - once)


def folded_cdf(position: ArrayLike, free_cdf: Callable[[FloatArray], FloatArray], reach: float) -> FloatArray:
    """P(fold(X) <= position) from the cdf of X on the line, which has no atoms and lies within `reach` of 0."""
    positions = np.asarray(position, dtype=np.float64)
    total = np.zeros(positions.shape)
    for image in range(-math.ceil(reach / 2) - 1, math.ceil(reach / 2) + 2):
        total += free_cdf(2 * image + positions) - free_cdf(2 * image - positions)
    return np.where(positions < 0, 0.0, np.where(positions >= 1, free_cdf(np.array(np.inf)), total))
