"""What every explorer offers, and what tuning does for all of them."""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sterna.engine.compilation import inlined
from sterna.engine.program import Program
from sterna.engine.streams import Stream, uniform

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

    def start(self, program: Program, draw: Callable[[int], Numbers]) -> Numbers:
        """Return the first round's parameters for every chain; `draw(n)` gives n draws from the reference."""

    def tune(self, program: Program, parameters: Numbers, statistics: Numbers) -> Numbers:
        """Return the next round's parameters for the chains at which the statistics were taken."""


def carry_over(parameters: Numbers, old_schedule: Numbers, new_schedule: Numbers) -> Numbers:
    """Read the parameters tuned at the old betas at the new ones, by linear interpolation.

    Chain 0 draws from the reference and is never explored, so it takes the parameters of chain 1.
    """
    tuned = parameters.copy()
    tuned[0] = tuned[1]
    left = np.clip(np.searchsorted(old_schedule, new_schedule, side="right") - 1, 0, len(old_schedule) - 2)
    share = (new_schedule - old_schedule[left]) / (old_schedule[left + 1] - old_schedule[left])
    with np.errstate(invalid="ignore"):
        moved = tuned[left] + share[:, None] * (tuned[left + 1] - tuned[left])
    # an infinite parameter is the same for all chains
    return np.where(np.isfinite(tuned[1]), moved, tuned[1])


def updates_of(passes: float, dimension: int) -> int:
    """Return the number of updates in a scan: a share of the coordinates, but one at least unless `passes` is 0."""
    if passes == 0:
        return 0
    return max(1, math.floor(passes * dimension))


@inlined
def first_coordinate(updates: int, dimension: int, stream: Stream) -> int:
    """Return where a sweep begins: anywhere if it is not of whole passes, so that all coordinates have their share."""
    if updates % dimension == 0:
        return 0
    return int(uniform(stream) * dimension)
