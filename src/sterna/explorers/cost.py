"""The measured cost of evaluating a target, which decides which explorers are suitable."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sterna.engine.evaluation import evaluate_often, gradient_often, refresh_often
from sterna.engine.program import N_LOG_DENSITIES
from sterna.engine.round import draw_states
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.streams import new_stream
from sterna.types import FloatArray

# An evaluation that takes more seconds than this dominates the cost of an explorer.
EXPENSIVE = 1e-5

# A timing must take at least so many seconds; the best of so many timings counts, because others were disturbed.
MIN_SECONDS, TIMINGS = 1e-4, 9
# A call that takes longer twice is not repeated, because disturbances make no difference to it.
MAX_SECONDS = 1e-2

# The largest cost of a gradient, in evaluations.
MAX_GRADIENT_COST = 64


@dataclass(frozen=True)
class Cost:
    """The cost of evaluating a target."""

    seconds: float = 0.0
    gradient: int = 2
    """Cost of a gradient in evaluations, rounded to a power of two, so that it rarely differs between two runs."""

    @property
    def expensive(self) -> bool:
        """Whether evaluations dominate the cost of a run."""
        return self.seconds > EXPENSIVE


def measured(target: ExplorableTarget) -> Cost:
    """Time evaluations at a draw from the reference; these are not counted.

    Errors are ignored here, because the run will meet them too and can report the state at which they occur.
    """
    draws, log_densities = np.zeros((1, target.dimension)), np.zeros(N_LOG_DENSITIES)
    slope, scratch = np.zeros(target.dimension), np.zeros(target.dimension)
    try:
        draw_states(target.block, 0, draws, np.zeros(1, dtype=np.int64), new_stream())
        seconds = seconds_of(lambda times: evaluate_often(target.block, draws[0], log_densities, times))
        if not target.has_gradient:
            return Cost(seconds)
        target.prepare_gradient()
        slow = seconds_of(lambda times: gradient_often(target.block, draws[0], log_densities, slope, scratch, times))
    except Exception:
        return Cost()
    return Cost(seconds, 2 ** round(math.log2(min(max(slow / seconds, 1.0), MAX_GRADIENT_COST))))


def seconds_at(target: ExplorableTarget, state: FloatArray) -> float:
    """Time what an update evaluates at a state; 0 if that fails.

    That is the log-likelihood, and the log-density of a joint reference; of an independent one it is a term at most.
    """
    log_densities = np.zeros(N_LOG_DENSITIES)
    often = evaluate_often if target.program.log_reference == 0 else refresh_often
    try:
        return seconds_of(lambda times: often(target.block, state, log_densities, times))
    except Exception:
        return 0.0


def seconds_of(call: Callable[[int], object]) -> float:
    """Return the seconds per repetition of `call(times)`; a long call is made twice, as the first may load code."""
    best = min(clocked(call, 1), clocked(call, 1))
    if best > MAX_SECONDS:
        return best
    times = 1
    while True:
        # the best of the timings must be long enough, because the others may have been disturbed
        best = min(clocked(call, times) for _ in range(TIMINGS))
        if best > MIN_SECONDS:
            return best / times
        times *= 4


def clocked(call: Callable[[int], object], times: int) -> float:
    """Return the seconds of one call."""
    began = time.perf_counter()
    call(times)
    return time.perf_counter() - began
