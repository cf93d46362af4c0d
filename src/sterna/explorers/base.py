"""What every explorer provides, and what tuning does for all of them.

A user's explorer is a recipe, such as `Slice(passes=3)`. Bound to a target and to the coordinates that it explores, it
becomes a `Bound`: a compiled kernel with everything that it needs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sterna.engine.program import Program
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import inlined
from sterna.ground.streams import Stream, uniform
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

Draw: TypeAlias = Callable[[int], FloatArray]
"""`draw(n)` returns n draws from the reference."""

Tune: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""Returns new parameters from (parameters, statistics) of all chains."""

# If a larger share than this of a chain's trajectories diverges, that is not by chance.
MAX_DIVERGED = 0.002


class Kernel(Protocol):
    """A compiled function that explores one replica, of signature `sterna.engine.program.EXPLORE`.

    It must leave the annealed distribution at `beta` unchanged, write both log-densities of the new state into
    `log_densities`, and draw from its stream only. Rows of parameters and statistics are those of the replica's chain.
    """

    def __call__(
        self,
        program: Program,
        x: FloatPointer,
        log_densities: FloatPointer,
        beta: float,
        parameters: FloatPointer,
        statistics: FloatPointer,
        data: IntPointer,
        stream: Stream,
        /,
    ) -> None:
        """Explore the state x in place."""


class Explorer(Protocol):
    """A recipe for exploration."""

    @property
    def name(self) -> str:
        """The explorer's name on the command line and in results."""

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> "Bound":
        """Prepare the explorer for a target, and for some or all of its coordinates."""


def carry_over(parameters: FloatArray, old_schedule: FloatArray, new_schedule: FloatArray) -> FloatArray:
    """Interpolate linearly, at the new betas, the parameters tuned at the old ones.

    Chain 0 draws from the reference and is never explored, so it takes the parameters of chain 1.
    """
    tuned = parameters.copy()
    tuned[0] = tuned[1]
    left = np.clip(np.searchsorted(old_schedule, new_schedule, side="right") - 1, 0, len(old_schedule) - 2)
    share = (new_schedule - old_schedule[left]) / (old_schedule[left + 1] - old_schedule[left])
    with np.errstate(invalid="ignore"):
        moved = tuned[left] + share[:, None] * (tuned[left + 1] - tuned[left])
    # an infinite parameter is the same in all chains
    return np.where(np.isfinite(tuned[1]), moved, tuned[1])


def carry_nearest(parameters: FloatArray, old_schedule: FloatArray, new_schedule: FloatArray) -> FloatArray:
    """Give each new chain the parameters of the nearest old chain among those that were explored."""
    nearest = np.abs(new_schedule[:, None] - old_schedule[None, 1:]).argmin(axis=1) + 1
    return np.asarray(parameters[nearest])


def add_up(statistics: Sequence[FloatArray]) -> FloatArray:
    """Merge the statistics of all copies by summing them in order."""
    return np.asarray(np.sum(statistics, axis=0))


def keep(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Tune nothing."""
    return parameters


def never(statistics: FloatArray) -> FloatArray:
    """Return a share of 0 for every chain."""
    return np.zeros(len(statistics))


def choose_nothing(parameters: FloatArray) -> None:
    """Return None, because there is only one explorer."""


@dataclass(frozen=True)
class Bound:
    """An explorer prepared for a target.

    It is complete once it is made and never changes. What is learned from one round for the next is in the parameters,
    so that an explorer bound again, in another process, goes on from saved parameters with the same bits.
    """

    kernel: Kernel
    data: tuple[NDArray[np.generic], ...]
    """Arrays that the kernel needs; it receives their addresses."""
    start: Callable[[Draw], FloatArray]
    """Return the first round's parameters, one row that serves for every chain."""
    n_parameters: int
    """Length of a chain's row of parameters."""
    n_statistics: int = 0
    """How many entries of a chain's row of statistics are used for tuning."""
    n_scratch: int = 0
    """How many further entries the kernel needs as working memory, behind the statistics."""
    tune: Tune = keep
    """Return the next round's parameters from (parameters, statistics) of all chains."""
    settle: Tune = keep
    """Return the parameters with every choice between explorers made, whatever is known about them by then."""
    carry: Callable[[FloatArray, FloatArray, FloatArray], FloatArray] = carry_over
    """Return the parameters at a new schedule from (parameters, old schedule, new schedule)."""
    merge: Callable[[Sequence[FloatArray]], FloatArray] = add_up
    """Merge the statistics of all copies."""
    diverged: Callable[[FloatArray], FloatArray] = never
    """Return each chain's share of trajectories that diverged, from the statistics. A kernel with divergent
    trajectories does not reach all of the distribution."""
    chosen: Callable[[FloatArray], str | None] = choose_nothing
    """Return from the parameters the name of the explorer that was chosen among several; None if there is no choice."""
    python: tuple[str, ...] = ()
    """A note for each of the user's functions that the kernel calls and that runs as Python."""

    @property
    def n_row(self) -> int:
        """Length of a chain's row of statistics; never 0, because the kernel is passed its address."""
        return max(1, self.n_statistics + self.n_scratch)


def all_coordinates(target: ExplorableTarget, coordinates: IntArray | None) -> IntArray:
    """Return the given coordinates, or all of them, as an array that the kernel can read."""
    if coordinates is None:
        return np.arange(target.dimension, dtype=np.int64)
    return np.ascontiguousarray(coordinates, dtype=np.int64)


def updates_of(passes: float, dimension: int) -> int:
    """Return the number of updates per scan: `passes` times the dimension, but at least one unless `passes` is 0."""
    if passes == 0:
        return 0
    return max(1, math.floor(passes * dimension))


@inlined
def annealed(reference: float, beta: float, likelihood: float) -> float:
    """Return the annealed log-density; at beta = 0 that of the reference, even if the likelihood is zero."""
    return reference + beta * likelihood if beta > 0.0 else reference


@inlined
def first_coordinate(updates: int, dimension: int, stream: Stream) -> int:
    """Return where a sweep begins: at random unless it makes whole passes, so that no coordinate is favoured."""
    if updates % dimension == 0:
        return 0
    return int(uniform(stream) * dimension)
