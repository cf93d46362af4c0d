"""Exploration of `hierarchical` with its probabilities integrated out.

Given mean and size, each probability has a beta distribution at every beta. So mean and size are updated by slice
sampling of their marginal distribution, and then every probability is drawn from its conditional distribution. Slice
sampling of all coordinates would move mean and size only a little at a time.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numba import types

from sterna.distributions.gamma_draw import log_gamma_draw
from sterna.engine.program import Program, refresh
from sterna.errors import OptionError
from sterna.explorers.base import Bound
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.options import take_whole
from sterna.ground.compilation import as_pointer, compiled
from sterna.ground.rows import fields, new_row
from sterna.ground.streams import Stream, exponential, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer


@fields
class Parameters:
    """A chain's row of parameters."""

    passes = 1  # updates of mean and size per scan
    n_kinds = 1  # distinct pairs of trials and failures
    min_probability = 1
    max_probability = 1


@fields
class State:
    """The state; the other probabilities follow the first."""

    mean = 1
    size = 1
    first_probability = 1


# A slice shrinks by about a half each time, so this many shrinks can only be due to a density that is not continuous.
MAX_SHRINKS = 2000


@compiled
def log_collapsed(kinds: FloatPointer, count: int, beta: float, m: float, s: float) -> float:
    """Annealed log-density of mean and size, up to a constant; a kind is (trials, failures, multiplicity)."""
    a, b = m * s, (1.0 - m) * s
    alone = math.lgamma(s) - math.lgamma(a) - math.lgamma(b)
    total = -0.1 * s
    for k in range(0, 3 * count, 3):
        trials, failures = beta * kinds[k], beta * kinds[k + 1]
        after = math.lgamma(a + failures) + math.lgamma(b + trials - failures) - math.lgamma(s + trials)
        total += kinds[k + 2] * (alone + after)
    return total


@compiled
def draw_mean(program: Program, kinds: FloatPointer, count: int, beta: float, x: FloatPointer, stream: Stream) -> None:
    """Update the mean by slice sampling, shrinking from the whole unit interval."""
    level = log_collapsed(kinds, count, beta, x[State.mean], x[State.size]) - exponential(stream)
    left, right = program.lower[State.mean], program.upper[State.mean]
    for _ in range(MAX_SHRINKS):
        new = left + (right - left) * uniform(stream)
        if log_collapsed(kinds, count, beta, new, x[State.size]) >= level:
            x[State.mean] = new
            return
        if new < x[State.mean]:
            left = new
        else:
            right = new


@compiled
def draw_size(program: Program, kinds: FloatPointer, count: int, beta: float, x: FloatPointer, stream: Stream) -> None:
    """Update the size s by slice sampling of s / (10 + s), which is in the unit interval."""
    mean, old = x[State.mean], x[State.size]
    here = old / (10.0 + old)
    level = log_collapsed(kinds, count, beta, mean, old) + 2.0 * math.log(10.0 + old) - exponential(stream)
    left, right = 0.0, 1.0
    for _ in range(MAX_SHRINKS):
        new = left + (right - left) * uniform(stream)
        size = 10.0 * new / (1.0 - new)
        if program.lower[State.size] <= size <= program.upper[State.size]:
            if log_collapsed(kinds, count, beta, mean, size) + 2.0 * math.log(10.0 + size) >= level:
                x[State.size] = size
                return
        if new < here:
            left = new
        else:
            right = new


@compiled
def explore(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Update mean and size a number of times, and then draw all probabilities."""
    kinds, count = as_pointer(data[0], types.float64), int(parameters[Parameters.n_kinds])
    trials, failures = as_pointer(data[1], types.float64), as_pointer(data[2], types.float64)
    for _ in range(int(parameters[Parameters.passes])):
        draw_mean(program, kinds, count, beta, x, stream)
        draw_size(program, kinds, count, beta, x, stream)
    a, b = x[State.mean] * x[State.size], (1.0 - x[State.mean]) * x[State.size]
    lower, upper = parameters[Parameters.min_probability], parameters[Parameters.max_probability]
    for r in range(program.dimension - State.first_probability):
        success = log_gamma_draw(a + beta * failures[r], stream)
        other = log_gamma_draw(b + beta * (trials[r] - failures[r]), stream)
        p = 1.0 / (1.0 + math.exp(other - success))
        x[State.first_probability + r] = min(max(p, lower), upper)
    refresh(program, x, log_densities)


@dataclass(frozen=True)
class BetaBinomial:
    """The explorer of `hierarchical`.

    Each scan updates mean and size `passes` times, an integer, and draws every probability once.
    """

    trials: FloatArray = dataclasses.field(repr=False)
    failures: FloatArray = dataclasses.field(repr=False)
    min_probability: float
    max_probability: float
    passes: int = 1
    name: str = dataclasses.field(default="beta_binomial", init=False)

    def __post_init__(self) -> None:
        take_whole(self, "passes", 0, "mean and size are updated so often per scan; give an integer from 0 up")

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Prepare the explorer for a target, which must be the one that it was made for."""
        other = target.explorer
        if not (
            isinstance(other, BetaBinomial)
            and np.array_equal(other.trials, self.trials)
            and np.array_equal(other.failures, self.failures)
        ):
            raise OptionError(
                "explorer=BetaBinomial(...) was made for another model: use the target's own explorer, as in "
                "dataclasses.replace(target.explorer, passes=3)."
            )
        if coordinates is not None and len(coordinates) < target.dimension:
            raise OptionError("explorer=BetaBinomial(...) explores all variables of its model, not a part of them.")
        kinds, counts = np.unique(np.stack([self.trials, self.failures]), axis=1, return_counts=True)
        table = np.ascontiguousarray(np.vstack([kinds, counts]).T)
        row = new_row(
            Parameters,
            passes=self.passes,
            n_kinds=len(table),
            min_probability=self.min_probability,
            max_probability=self.max_probability,
        )
        data = (table, np.ascontiguousarray(self.trials), np.ascontiguousarray(self.failures))
        return Bound(kernel=explore, data=data, start=lambda draw: row, n_parameters=len(row))
