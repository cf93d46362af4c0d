"""Draws of a standard normal variable between two bounds, by rejection (Robert 1995)."""

import math

from sterna.ground.compilation import compiled
from sterna.ground.streams import Stream, exponential, standard_normal, uniform

# On an interval around the mode that is longer than this, plain normal draws are accepted more often than uniform ones.
MIN_LENGTH_FOR_NORMAL_DRAWS = 2.5


@compiled
def draw_in_interval(low: float, high: float, stream: Stream) -> float:
    """Draw a standard normal number between two bounds in a few tries, also far in a tail."""
    if high <= 0.0:
        return -draw_in_positive_interval(-high, -low, stream)
    if low >= 0.0:
        return draw_in_positive_interval(low, high, stream)
    if high - low > MIN_LENGTH_FOR_NORMAL_DRAWS:
        while True:
            z = standard_normal(stream)
            if low <= z <= high:
                return z
    return draw_in_short_interval(low, high, 0.0, stream)


@compiled
def draw_in_positive_interval(low: float, high: float, stream: Stream) -> float:
    """Draw a standard normal number in 0 <= low < high, as in a tail unless the interval is short."""
    if (high - low) * (low + math.sqrt(low * low + 4.0)) > 2.0:
        return draw_in_tail(low, high, stream)
    return draw_in_short_interval(low, high, low, stream)


@compiled
def draw_in_tail(low: float, high: float, stream: Stream) -> float:
    """Draw a standard normal number in 0 <= low < high by rejection from an exponential distribution."""
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    while True:
        z = low + exponential(stream) / rate
        if z <= high and 2.0 * exponential(stream) >= (z - rate) * (z - rate):
            return z


@compiled
def draw_in_short_interval(low: float, high: float, mode: float, stream: Stream) -> float:
    """Draw a standard normal number in a short interval by rejection from a uniform distribution."""
    while True:
        z = low + (high - low) * uniform(stream)
        if 2.0 * exponential(stream) >= (z - mode) * (z + mode):
            return z
