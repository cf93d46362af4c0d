"""Independence proposals: values from the reference that do not depend on the state (Hastings 1970)."""

from dataclasses import dataclass

from sterna.engine.circles import wrapped
from sterna.engine.densities import coordinate_log_density, draw_from_stream
from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program, log_likelihood
from sterna.errors import OptionError
from sterna.explorers.base import Bound, all_coordinates
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.line_moves import acceptance
from sterna.explorers.shared.options import as_typed, take_moves, take_whole
from sterna.ground.compilation import compiled, int_pointer
from sterna.ground.rows import fields, new_row
from sterna.ground.streams import Stream, uniform
from sterna.types import FloatPointer, IntArray, IntPointer


@fields
class Parameters:
    """A chain's row of parameters: proposals per scan, coordinates of the block, coordinates changed per proposal."""

    moves = 1
    count = 1
    at_once = 1


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
    """Propose new values of some coordinates; the reference is also the proposal, and cancels from the ratio.

    The row of statistics is working memory, because nothing is tuned.
    """
    coordinates, before = int_pointer(data[0]), statistics
    count, at_once = int(parameters[Parameters.count]), int(parameters[Parameters.at_once])
    for _ in range(int(parameters[Parameters.moves])):
        first = 0
        if at_once < count:
            first = int(uniform(stream) * count)
        gain = 0.0
        for k in range(at_once):
            i = coordinates[(first + k) % count]
            family = program.family[i]
            before[k] = x[i]
            new = draw_from_stream(family, program.constants, 4 * i, program.table, stream)
            x[i] = wrapped(program.circles, i, min(max(new, program.lower[i]), program.upper[i]))
            gain += coordinate_log_density(family, program.constants, 4 * i, program.table, x[i])
            gain -= coordinate_log_density(family, program.constants, 4 * i, program.table, before[k])
        likelihood = log_likelihood(program, x, None, log_densities)
        if uniform(stream) < acceptance(beta, 0.0, log_densities[LOG_LIKELIHOOD], likelihood):
            log_densities[LOG_REFERENCE] += gain
            log_densities[LOG_LIKELIHOOD] = likelihood
        else:
            for k in range(at_once):
                x[coordinates[(first + k) % count]] = before[k]


@dataclass(frozen=True)
class Independence:
    """New values from the reference, accepted according to the likelihood: one evaluation per proposal.

    Proposals reach as far as the reference, and are accepted if the likelihood carries little information on the block:
    in chains near the reference, or for a few coordinates at a time. Best combined with another explorer, in `Cycle`.
    For all named distributions, real or not, but not for a `sterna.Reference`.

    Parameters
    ----------
    moves
        Proposals per scan; by default one.
    at_once
        Number of neighbouring coordinates that a proposal changes, from a random one on; by default all of the block.

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
        take_moves(self)
        if self.at_once is not None:
            advice = (
                "at_once is the number of coordinates per proposal; give a positive integer, or leave it out for all"
            )
            take_whole(self, "at_once", 1, advice)

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target, whose reference must consist of named distributions."""
        if target.program.log_reference != 0:
            raise OptionError(
                f"Independence draws from the reference, and that of {target.name} is a sterna.Reference, from which "
                "only the reference chain can draw: give a dict of named distributions, or use another explorer."
            )
        block = all_coordinates(target, coordinates)
        at_once = min(self.at_once or len(block), len(block))
        row = new_row(Parameters, moves=self.moves, count=len(block), at_once=at_once)
        return Bound(kernel=explore, data=(block,), start=lambda draw: row, n_parameters=len(row), n_scratch=at_once)
