"""States that differ from a draw of the reference in one coordinate."""

from collections.abc import Iterator

import numpy as np

from sterna.ground.values import BINARY, REAL
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray


def neighbours(
    target: PreparedTarget, state: FloatArray, draws: FloatArray, count: int, rng: np.random.Generator
) -> Iterator[tuple[int, float]]:
    """Yield up to `count` coordinates, drawn without replacement, each with another value of the support for it."""
    program, left = target.program, count
    for i in rng.permutation(target.dimension):
        here, lower, upper = state[i], program.lower[i], program.upper[i]
        if program.value_type[i] == BINARY:
            new = lower + upper - here
        else:
            new = draws[rng.integers(len(draws)), i]
            if new == here and program.value_type[i] != REAL:
                new = here + 1 if here < upper else here - 1
        if new != here and lower <= new <= upper:
            yield int(i), float(new)
            left -= 1
        if left == 0:
            return
