"""What every explorer offers, and what tuning does for all of them.

A user's explorer is a recipe, such as `Slice(passes=3)`. Bound to a target, and to those of its coordinates that it is
to explore, it is a `Bound`: a compiled kernel with all that it needs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sterna.errors import OptionError
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import inlined
from sterna.ground.streams import Stream, uniform
from sterna.types import FloatArray, IntArray

Draw = Callable[[int], FloatArray]


# A larger share of a chain's trajectories than this does not diverge by chance.
MOST_DIVERGED = 0.002


class Explorer(Protocol):
    """A recipe for exploration."""

    @property
    def name(self) -> str:
        """The name by which the command line and the result know the explorer."""

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> "Bound":
        """Make the explorer ready for a target, and for some of its coordinates or all."""


def carry_over(parameters: FloatArray, old_schedule: FloatArray, new_schedule: FloatArray) -> FloatArray:
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


def carry_nearest(parameters: FloatArray, old_schedule: FloatArray, new_schedule: FloatArray) -> FloatArray:
    """Give every new chain the parameters of the old chain nearest to it, of those that were explored."""
    nearest = np.abs(new_schedule[:, None] - old_schedule[None, 1:]).argmin(axis=1) + 1
    return np.asarray(parameters[nearest])


def add_up(statistics: Sequence[FloatArray]) -> FloatArray:
    """Merge the statistics of all copies, in their order, by their sum."""
    return np.asarray(np.sum(statistics, axis=0))


def keep(parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Tune nothing."""
    return parameters


def never(statistics: FloatArray) -> FloatArray:
    """Return a share of 0 for every chain."""
    return np.zeros(len(statistics))


def choose_nothing(parameters: FloatArray) -> None:
    """Have nothing to choose from."""


@dataclass(frozen=True)
class Bound:
    """An explorer made ready for a target.

    The kernel is a compiled function of signature `sterna.engine.program.EXPLORE`. It must leave the annealed
    distribution at its beta unchanged, return both log-densities in `log_densities`, and draw only from its stream.
    """

    kernel: Any
    data: tuple[NDArray[Any], ...]
    """Arrays that the kernel needs; it receives their addresses."""
    start: Callable[[Draw], FloatArray]
    """Return the first round's parameters, a row for every chain alike; `draw(n)` gives n draws from the reference."""
    n_statistics: int = 0
    """How many numbers of a chain's row of statistics the tuning reads."""
    n_scratch: int = 0
    """How many more the kernel needs as working memory; they come behind."""
    tune: Callable[[FloatArray, FloatArray], FloatArray] = keep
    """Return the next round's parameters from (parameters, statistics) of all chains."""
    carry: Callable[[FloatArray, FloatArray, FloatArray], FloatArray] = carry_over
    """Read (parameters, old schedule) at the new schedule."""
    merge: Callable[[Sequence[FloatArray]], FloatArray] = add_up
    """Merge the statistics of all copies."""
    diverged: Callable[[FloatArray], FloatArray] = never
    """Return for every chain the share of trajectories that diverged, from the statistics: such a kernel does not reach
    all of the law."""
    chosen: Callable[[FloatArray], str | None] = choose_nothing
    """Return the name of the explorer that was chosen of several, from the parameters; None if there is no choice."""
    python: tuple[str, ...] = ()
    """A note on every function of the user's that the kernel calls and that runs as Python."""

    @property
    def n_row(self) -> int:
        """Length of a chain's row of statistics; never 0, as the kernel is passed its address."""
        return max(1, self.n_statistics + self.n_scratch)


def all_coordinates(target: ExplorableTarget, coordinates: IntArray | None) -> IntArray:
    """Return the coordinates given, or all, as an array that the kernel can read."""
    if coordinates is None:
        return np.arange(target.dimension, dtype=np.int64)
    return np.ascontiguousarray(coordinates, dtype=np.int64)


def check_passes(what: str, passes: float) -> None:
    """Check how often a scan updates each coordinate."""
    if not (math.isfinite(passes) and passes >= 0):
        raise OptionError(
            f"{what}(passes={passes!r}): passes is how often a scan updates each coordinate; "
            "give a number from 0 up, such as 0.5 or 3."
        )


def updates_of(passes: float, dimension: int) -> int:
    """Return the number of updates in a scan: a share of the coordinates, but one at least unless `passes` is 0."""
    if passes == 0:
        return 0
    return max(1, math.floor(passes * dimension))


@inlined
def annealed(reference: float, beta: float, likelihood: float) -> float:
    """Return the annealed log-density; at beta = 0 the reference's own, even where the likelihood is zero."""
    return reference + beta * likelihood if beta > 0.0 else reference


@inlined
def first_coordinate(updates: int, dimension: int, stream: Stream) -> int:
    """Return where a sweep begins: anywhere if it is not of whole passes, so that all coordinates have their share."""
    if updates % dimension == 0:
        return 0
    return int(uniform(stream) * dimension)
