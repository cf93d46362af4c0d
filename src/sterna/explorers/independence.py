"""Independence proposals: fresh values from the reference, whatever the state (Hastings 1970)."""

from dataclasses import dataclass

import numpy as np
from numba import types

from sterna.engine.densities import coordinate_log_density, draw_from_stream
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program, log_likelihood
from sterna.errors import OptionError
from sterna.explorers.base import Bound, all_coordinates
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.line_moves import acceptance, check_moves
from sterna.ground.compilation import as_pointer, compiled
from sterna.ground.streams import Stream, uniform
from sterna.types import FloatPointer, IntArray, IntPointer

# Places in a chain's row of parameters: proposals in a scan, coordinates of the block, and how many a proposal renews.
MOVES, COUNT, AT_ONCE = 0, 1, 2


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
    """Propose fresh values of some coordinates; the reference is the proposal's law too, and cancels from the ratio."""
    coordinates = as_pointer(data[0], types.int64)
    count, at_once = int(parameters[COUNT]), int(parameters[AT_ONCE])
    for _ in range(int(parameters[MOVES])):
        first = 0
        if at_once < count:
            first = int(uniform(stream) * count)
        gain = 0.0
        for k in range(at_once):
            i = coordinates[(first + k) % count]
            family = program.family[i]
            # the row of statistics is the working memory: nothing is tuned
            statistics[k] = x[i]
            new = draw_from_stream(family, program.constants, 4 * i, program.table, stream)
            x[i] = min(max(new, program.lower[i]), program.upper[i])
            gain += coordinate_log_density(family, program.constants, 4 * i, program.table, x[i])
            gain -= coordinate_log_density(family, program.constants, 4 * i, program.table, statistics[k])
        likelihood = log_likelihood(program, x, log_densities)
        if uniform(stream) < acceptance(beta, 0.0, log_densities[LOG_LIKELIHOOD], likelihood):
            log_densities[LOG_REFERENCE] += gain
            log_densities[LOG_LIKELIHOOD] = likelihood
        else:
            for k in range(at_once):
                x[coordinates[(first + k) % count]] = statistics[k]


@dataclass(frozen=True)
class Independence:
    """Fresh values from the reference, accepted by the likelihood alone: one evaluation a proposal.

    Jumps as far as the reference reaches, and is accepted where the likelihood says little about the block: in chains
    near the reference, or for a few coordinates at a time. Best together with another explorer, in `Cycle`. For all
    named distributions, real or not; a reference of one's own, `sterna.Reference`, cannot be drawn from here.

    Parameters
    ----------
    moves
        How many proposals each scan makes; by default one.
    at_once
        How many neighbouring coordinates a proposal renews, wherever it begins; by default all of the block.

    Examples
    --------
    >>> import sterna
    >>> from sterna.explorers.independence import Independence
    >>> explorer = sterna.Cycle(Independence(moves=2), sterna.Slice(passes=0.5))
    >>> sterna.sample(sterna.models.normal(2), explorer=explorer, n_rounds=5, progress=False).explorer
    'cycle(independence, slice)'
    """

    moves: int = 1
    at_once: int | None = None
    name = "independence"

    def __post_init__(self) -> None:
        check_moves("Independence", self.moves)
        if self.at_once is not None and (not isinstance(self.at_once, (int, np.integer)) or self.at_once < 1):
            raise OptionError(
                f"Independence(at_once={self.at_once!r}): at_once is how many coordinates a proposal renews; "
                "give a whole number from 1 up, or leave it out for all."
            )

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for a target, whose reference must be of named distributions."""
        if target.program.log_reference != 0:
            raise OptionError(
                f"Independence draws from the reference, and that of {target.name} is a sterna.Reference, whose "
                "draw only the reference's chain can call: give a dict of named distributions, or use another explorer."
            )
        block = all_coordinates(target, coordinates)
        at_once = min(self.at_once or len(block), len(block))
        row = np.array([self.moves, len(block), at_once], dtype=np.float64)
        return Bound(kernel=explore, data=(block,), start=lambda draw: row, n_scratch=at_once)
