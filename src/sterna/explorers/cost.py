"""What an evaluation of a target costs, measured, which decides on the explorers that suit it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sterna.engine.program import N_LOG_DENSITIES, evaluate_often, gradient_often
from sterna.engine.round import draw_states
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.streams import new_generator

# A stretch of so many seconds can be timed; the best of so many stretches counts, as others were disturbed.
LONG, STRETCHES = 1e-4, 9
# What takes so many seconds twice is not done again, and no disturbance of the machine makes a difference.
TOO_LONG = 1e-2

# Gradients are said to cost from 1 to so many evaluations.
MOST = 64


@dataclass(frozen=True)
class Cost:
    """What an evaluation costs."""

    seconds: float = 0.0
    gradient: int = 2
    """Evaluations that a gradient costs, rounded to a power of two, so that it rarely differs between two runs."""


def measured(target: ExplorableTarget) -> Cost:
    """Time evaluations at a draw from the reference, two or more of them; nobody counts these.

    What goes wrong here is left for the run to meet, which can say where it happened.
    """
    draws, log_densities = np.zeros((1, target.dimension)), np.zeros(N_LOG_DENSITIES)
    slope, scratch = np.zeros(target.dimension), np.zeros(target.dimension)
    try:
        draw_states(target.block, 0, draws, np.zeros(1, dtype=np.int64), *new_generator())
        seconds = seconds_of(lambda times: evaluate_often(target.block, draws[0], log_densities, times))
        if not target.has_gradient:
            return Cost(seconds)
        target.prepare_gradient()
        slow = seconds_of(lambda times: gradient_often(target.block, draws[0], log_densities, slope, scratch, times))
    except Exception:
        return Cost()
    return Cost(seconds, 2 ** round(math.log2(min(max(slow / seconds, 1.0), MOST))))


def seconds_of(call: Callable[[int], object]) -> float:
    """Return the seconds of what `call` does a number of times; what is long is done twice, as the first may load."""
    least = min(clocked(call, 1), clocked(call, 1))
    if least > TOO_LONG:
        return least
    times = 1
    while True:
        # a stretch is long enough only if the best of them is: one that was disturbed says nothing
        least = min(clocked(call, times) for _ in range(STRETCHES))
        if least > LONG:
            return least / times
        times *= 4


def clocked(call: Callable[[int], object], times: int) -> float:
    """Return the seconds of one call."""
    began = time.perf_counter()
    call(times)
    return time.perf_counter() - began
