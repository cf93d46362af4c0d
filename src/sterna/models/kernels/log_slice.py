"""Slice sampling of the logarithm of a positive number."""

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from sterna.ground.compilation import inlined
from sterna.ground.streams import Stream, exponential, uniform
from sterna.ground.values import HUGE

# What a density is conditional on.
Given = TypeVar("Given")

TINY = float(np.finfo(np.float64).tiny)
# First width of a slice on the logarithmic scale, and the maximum number of steps by which it grows.
FIRST_WIDTH, MAX_STEPS = 2.0, 400
# Slices shrink geometrically, so this many shrinks are never needed.
MAX_SHRINKS = 2000


@inlined
def slice_logarithm(density: Callable[[float, Given], float], given: Given, here: float, stream: Stream) -> float:
    """Update a positive number by slice sampling of its logarithm (Neal 2003, figures 3 and 5).

    `density(value, given)` is the log-density of the number itself.
    """
    start = math.log(here)
    level = density(here, given) + start - exponential(stream)
    left = start - FIRST_WIDTH * uniform(stream)
    right = left + FIRST_WIDTH
    steps = int(MAX_STEPS * uniform(stream))
    rest = MAX_STEPS - 1 - steps
    while steps > 0 and log_scale_density(density, given, left) > level:
        left -= FIRST_WIDTH
        steps -= 1
    while rest > 0 and log_scale_density(density, given, right) > level:
        right += FIRST_WIDTH
        rest -= 1
    for _ in range(MAX_SHRINKS):
        new = left + (right - left) * uniform(stream)
        if log_scale_density(density, given, new) >= level:
            return math.exp(new)
        if new < start:
            left = new
        else:
            right = new
    return here


@inlined
def log_scale_density(density: Callable[[float, Given], float], given: Given, logarithm: float) -> float:
    """Log-density of the logarithm of a number; zero density if the number overflows or underflows."""
    value = math.exp(logarithm)
    if not TINY <= value <= HUGE:
        return -math.inf
    return density(value, given) + logarithm
