"""Periodic coordinates: a state holds them in [first, first + period), and whatever leaves that interval wraps around.

An explorer moves on the line and writes positions through `wrapped`. A kernel that leaves a periodic density on the
line unchanged, and whose steps do not depend on where it starts, leaves the density on the circle unchanged. If they do
(towards a fixed point, or from a fixed distribution), it must not wrap, and takes the ends of the interval for bounds.

A program's `circles` are (first, period) of each coordinate; the period of a coordinate that does not repeat is 0.
"""

import numpy as np

from sterna.ground.compilation import inlined
from sterna.types import FloatArray, FloatPointer


@inlined
def wrapped(circles: FloatPointer, i: int, value: float) -> float:
    """Return the value of coordinate i inside its interval; one that does not repeat stays as it is."""
    first, period = circles[2 * i], circles[2 * i + 1]
    if period == 0.0 or first <= value < first + period:
        return value
    inside = value - period * np.floor((value - first) / period)
    # rounding may lead to the other end, which is the same place
    return first if inside < first or inside >= first + period else inside


@inlined
def is_lifted(circles: FloatPointer, i: int, value: float) -> bool:
    """Whether coordinate i repeats and the value lies outside its interval."""
    first, period = circles[2 * i], circles[2 * i + 1]
    return period > 0.0 and not first <= value < first + period


@inlined
def shortest(circles: FloatPointer, i: int, difference: float) -> float:
    """Return the shortest way around: the difference of two values of coordinate i without whole turns."""
    period = circles[2 * i + 1]
    return difference if period == 0.0 else difference - period * np.floor(difference / period + 0.5)


def wrap_states(circles: FloatArray, states: FloatArray) -> FloatArray:
    """Return states of shape (..., dimension) with all coordinates inside their intervals, as `wrapped` does."""
    first, period = circles[::2], circles[1::2]
    if not period.any():
        return states
    turn = np.where(period > 0.0, period, 1.0)
    inside = states - turn * np.floor((states - first) / turn)
    inside = np.where((inside < first) | (inside >= first + period), first, inside)
    return np.where((period == 0.0) | ((first <= states) & (states < first + period)), states, inside)
