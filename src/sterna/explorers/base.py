"""What every explorer offers, and what tuning does for all of them."""

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sterna.engine.program import Program

Numbers = NDArray[np.float64]


class Explorer(Protocol):
    """A kernel and the numbers it is tuned by.

    `kernel` is a compiled function of signature `sterna.engine.program.EXPLORE`. It must leave the annealed
    distribution at its beta unchanged, return both log-densities in `logs`, and draw only from its stream.
    `parameters` are a row of numbers per chain, frozen during a round; `statistics` a row of sums per chain.
    """

    @property
    def name(self) -> str:
        """The name by which the command line and the result know the explorer."""

    @property
    def kernel(self) -> Any:
        """The compiled function."""

    def data(self) -> tuple[NDArray[np.int64], ...]:
        """Arrays that the kernel needs; it receives their addresses."""

    def n_statistics(self, dimension: int) -> int:
        """How many sums a chain's row of statistics has."""

    def start(self, program: Program, draws: Numbers) -> Numbers:
        """Return the first round's parameters for every chain, given draws from the reference."""

    def tune(self, program: Program, parameters: Numbers, statistics: Numbers) -> Numbers:
        """Return the next round's parameters for the chains at which the statistics were taken."""


def carry_over(parameters: Numbers, old_schedule: Numbers, new_schedule: Numbers) -> Numbers:
    """Read the parameters tuned at the old betas at the new ones, by linear interpolation.

    Chain 0 draws from the reference and is never explored, so it takes the parameters of chain 1.
    """
    tuned = parameters.copy()
    tuned[0] = tuned[1]
    moved = np.empty((len(new_schedule), tuned.shape[1]))
    for column in range(tuned.shape[1]):
        values = tuned[:, column]
        if np.isfinite(values).all():
            moved[:, column] = np.interp(new_schedule, old_schedule, values)
        else:
            moved[:, column] = values[0]
    return moved


def updates_of(passes: float, dimension: int) -> int:
    """Return the number of updates in a scan: a share of the coordinates, but one at least unless `passes` is 0."""
    if passes == 0:
        return 0
    return max(1, math.floor(passes * dimension))
