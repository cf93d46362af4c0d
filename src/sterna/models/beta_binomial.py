"""Exploration of `hierarchical` without its probabilities: given mean and size each has a Beta law, at every beta.

So mean and size are updated by slices of their own law, from which all probabilities are integrated out, and then every
probability is drawn from its conditional law. Slices of all coordinates would move mean and size by little at a time.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numba import types

from sterna.engine.program import Program, refresh
from sterna.engine.stream_draws import log_gamma_draw
from sterna.errors import OptionError
from sterna.explorers.base import Bound, check_passes
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import as_pointer, compiled
from sterna.ground.streams import Stream, exponential, uniform
from sterna.types import FloatArray, IntArray

# Places in a chain's row of parameters: updates of mean and size in a scan, how many kinds of trials there are, and
# between what a probability is kept.
PASSES, KINDS, LEAST, MOST = 0, 1, 2, 3
# Places in the state.
MEAN, SIZE, FIRST = 0, 1, 2
# A slice shrinks by a half or so each time: more lead nowhere.
MAX_SHRINKS = 2000


@compiled
def log_collapsed(kinds: FloatArray, count: int, beta: float, m: float, s: float) -> float:
    """Annealed log-density of mean and size, up to a constant; a kind is (trials, failures, number of them)."""
    a, b = m * s, (1.0 - m) * s
    alone = math.lgamma(s) - math.lgamma(a) - math.lgamma(b)
    total = -0.1 * s
    for k in range(0, 3 * count, 3):
        trials, failures = beta * kinds[k], beta * kinds[k + 1]
        after = math.lgamma(a + failures) + math.lgamma(b + trials - failures) - math.lgamma(s + trials)
        total += kinds[k + 2] * (alone + after)
    return total


@compiled
def draw_mean(program: Program, kinds: FloatArray, count: int, beta: float, x: FloatArray, stream: Stream) -> None:
    """Update the mean by a slice of the whole unit interval that shrinks."""
    level = log_collapsed(kinds, count, beta, x[MEAN], x[SIZE]) - exponential(stream)
    left, right = program.lower[MEAN], program.upper[MEAN]
    for _ in range(MAX_SHRINKS):
        new = left + (right - left) * uniform(stream)
        if log_collapsed(kinds, count, beta, new, x[SIZE]) >= level:
            x[MEAN] = new
            return
        if new < x[MEAN]:
            left = new
        else:
            right = new


@compiled
def draw_size(program: Program, kinds: FloatArray, count: int, beta: float, x: FloatArray, stream: Stream) -> None:
    """Update the size s by a slice of s / (10 + s), which is in the unit interval."""
    here = x[SIZE] / (10.0 + x[SIZE])
    level = log_collapsed(kinds, count, beta, x[MEAN], x[SIZE]) + 2.0 * math.log(10.0 + x[SIZE]) - exponential(stream)
    left, right = 0.0, 1.0
    for _ in range(MAX_SHRINKS):
        new = left + (right - left) * uniform(stream)
        size = 10.0 * new / (1.0 - new)
        if program.lower[SIZE] <= size <= program.upper[SIZE]:
            if log_collapsed(kinds, count, beta, x[MEAN], size) + 2.0 * math.log(10.0 + size) >= level:
                x[SIZE] = size
                return
        if new < here:
            left = new
        else:
            right = new


@compiled
def explore(
    program: Program,
    x: FloatArray,
    log_densities: FloatArray,
    beta: float,
    parameters: FloatArray,
    statistics: FloatArray,
    data: IntArray,
    stream: Stream,
) -> None:
    """Update mean and size some times, and then draw all probabilities."""
    kinds, count = as_pointer(data[0], types.float64), int(parameters[KINDS])
    trials, failures = as_pointer(data[1], types.float64), as_pointer(data[2], types.float64)
    for _ in range(int(parameters[PASSES])):
        draw_mean(program, kinds, count, beta, x, stream)
        draw_size(program, kinds, count, beta, x, stream)
    a, b = x[MEAN] * x[SIZE], (1.0 - x[MEAN]) * x[SIZE]
    for r in range(program.dimension - FIRST):
        success = log_gamma_draw(a + beta * failures[r], stream)
        other = log_gamma_draw(b + beta * (trials[r] - failures[r]), stream)
        p = 1.0 / (1.0 + math.exp(other - success))
        x[FIRST + r] = min(max(p, parameters[LEAST]), parameters[MOST])
    refresh(program, x, log_densities)


@dataclass(frozen=True)
class BetaBinomial:
    """The explorer of `hierarchical`.

    A scan updates mean and size `passes` times, a whole number, and draws every probability once.
    """

    trials: FloatArray
    failures: FloatArray
    least: float
    most: float
    passes: int = 1
    name: str = dataclasses.field(default="beta_binomial", init=False)

    def __post_init__(self) -> None:
        check_passes("BetaBinomial", self.passes)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for the target, which must be the one that this was made for."""
        own = target.explorer
        if not (
            isinstance(own, BetaBinomial)
            and np.array_equal(own.trials, self.trials)
            and np.array_equal(own.failures, self.failures)
        ):
            raise OptionError(
                "explorer=BetaBinomial(...) was made for another model: use that of the target, "
                "dataclasses.replace(target.explorer, passes=3)."
            )
        if coordinates is not None and len(coordinates) < target.dimension:
            raise OptionError("explorer=BetaBinomial(...) explores all variables of its model, not a part of them.")
        kinds, counts = np.unique(np.stack([self.trials, self.failures]), axis=1, return_counts=True)
        table = np.ascontiguousarray(np.vstack([kinds, counts]).T)
        row = np.array([self.passes, len(table), self.least, self.most])
        data = (table, np.ascontiguousarray(self.trials), np.ascontiguousarray(self.failures))
        return Bound(kernel=explore, data=data, start=lambda draw: row)
