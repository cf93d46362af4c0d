"""Draws of integers by inversion, from the mode outwards."""

import math
from collections.abc import Callable

from sterna.ground.compilation import compiled_in_callers
from sterna.ground.streams import Stream, uniform

# Probabilities below this do not change a sum to 1.
NEGLIGIBLE = 1e-18


def inversion_from_mode(log_density: Callable[..., float]) -> Callable[..., float]:
    """Return a function of (mode, last, stream, *constants) that draws an integer from 0 to `last`.

    `log_density` is a compiled function of the integer and the constants. A draw takes about as many evaluations as the
    standard deviation.
    """

    def draw(mode: float, last: float, stream: Stream, *constants: float) -> float:
        rest = uniform(stream) - math.exp(log_density(mode, *constants))
        distance = 0.0
        while rest >= 0.0:
            distance += 1.0
            below = above = 0.0
            if mode + distance <= last:
                above = math.exp(log_density(mode + distance, *constants))
                rest -= above
                if rest < 0.0:
                    return mode + distance
            if mode - distance >= 0.0:
                below = math.exp(log_density(mode - distance, *constants))
                rest -= below
                if rest < 0.0:
                    return mode - distance
            if max(below, above) < NEGLIGIBLE:
                # rounding has left about 1e-13 that belongs to no integer
                break
        return mode

    return compiled_in_callers(draw)
