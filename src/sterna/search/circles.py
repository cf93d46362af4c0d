"""Points of periodic coordinates, which may be whole turns away from each other and yet be the same."""

import math

import numpy as np

from sterna.types import FloatArray


def shortest_ways(periods: FloatArray, differences: FloatArray) -> FloatArray:
    """Return differences of points, (..., dimension), without whole turns; a period of 0 means that there is none."""
    if not periods.any():
        return differences
    turn = np.where(periods > 0.0, periods, 1.0)
    return np.where(periods > 0.0, differences - turn * np.floor(differences / turn + 0.5), differences)


def around_mean(periods: FloatArray, points: FloatArray) -> FloatArray:
    """Return points, (rows, dimension), with each periodic coordinate relative to its circular mean."""
    if not periods.any():
        return points
    angles = 2.0 * math.pi * points / np.where(periods > 0.0, periods, math.inf)
    mean = np.arctan2(np.sin(angles).mean(axis=0), np.cos(angles).mean(axis=0)) * periods / (2.0 * math.pi)
    return shortest_ways(periods, points - mean)
