"""Coordinate slice sampling with doubling and shrinkage (Neal 2003, figures 4, 5 and 6)."""

import math
from dataclasses import dataclass
from functools import partial

from sterna.engine.circles import wrapped
from sterna.engine.densities import NORMAL, normal_log_density
from sterna.engine.program import (
    LOG_LIKELIHOOD,
    LOG_REFERENCE,
    Program,
    coordinate_likelihood,
    coordinate_reference,
    reference_of,
    without_local_change,
)
from sterna.explorers.base import Bound, Draw, all_coordinates, annealed, first_coordinate, updates_of
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.gibbs import draw_value
from sterna.explorers.shared.options import as_typed, check_flag, check_passes
from sterna.explorers.shared.slice_widths import (
    DRAWS_FOR_SPREAD,
    Parameters,
    Statistics,
    first_doublings,
    first_widths,
    tune_widths,
)
from sterna.ground.compilation import compiled, inlined, int_pointer
from sterna.ground.rows import field_pointer, new_row, size_of
from sterna.ground.streams import Stream, exponential, uniform
from sterna.ground.values import BINARY, INTEGER, MIN_LOG_REFERENCE
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# A shrinkage divides the interval by e on average, so that this many lead from the longest interval to the shortest.
MAX_SHRINKS = 2000

# Types of line along which a slice runs, each compiled separately: integers, real numbers, and real numbers whose
# reference is an independent normal distribution. The last is the most common and needs neither bounds nor branches.
INTEGERS, REALS, NORMALS = 0, 1, 2


@inlined
def density_at(
    program: Program,
    x: FloatPointer,
    i: int,
    here: float,
    position: float,
    beta: float,
    log_densities: FloatPointer,
    line: int,
) -> tuple[float, float, float]:
    """Return the annealed log-density of coordinate i at a position, and its parts (reference, likelihood).

    The position of an integer is anywhere in the cell of width 1 around it. Outside the support the density is zero,
    and neither function is called.
    """
    if line == NORMALS:
        reference = normal_log_density(program.constants, 4 * i, position)
        # one value that differs, not three, is 5 % faster
        likelihood = -math.inf
        if not reference < MIN_LOG_REFERENCE:
            likelihood = coordinate_likelihood(program, x, i, here, position, None, log_densities)
        return annealed(reference, beta, likelihood), reference, likelihood
    value = wrapped(program.circles, i, position) if line == REALS else math.floor(position + 0.5)
    if not (program.lower[i] <= value <= program.upper[i]):
        return -math.inf, -math.inf, -math.inf
    reference = coordinate_reference(program, x, i, here, value, log_densities)
    if reference < MIN_LOG_REFERENCE:
        return -math.inf, -math.inf, -math.inf
    if line == INTEGERS and value == here:
        likelihood = log_densities[LOG_LIKELIHOOD]
    elif line == REALS and program.log_reference != 0:
        likelihood = coordinate_likelihood(program, x, i, here, value, reference, log_densities)
    else:
        likelihood = coordinate_likelihood(program, x, i, here, value, None, log_densities)
    return annealed(reference, beta, likelihood), reference, likelihood


@inlined
def reachable(
    program: Program,
    x: FloatPointer,
    i: int,
    here: float,
    beta: float,
    log_densities: FloatPointer,
    line: int,
    start: float,
    candidate: float,
    level: float,
    left: float,
    right: float,
    doublings: int,
    at_left: float,
    at_right: float,
) -> bool:
    """Return whether doubling from the candidate could have produced the same interval (Neal's test).

    Ends that are not evaluated yet are NaN, and are evaluated only if the test needs them. Halvings are counted,
    because a comparison of lengths could fail by rounding.
    """
    apart = False
    for _ in range(doublings):
        middle = 0.5 * (left + right)
        if (start < middle) != (candidate < middle):
            apart = True
        if candidate < middle:
            right, at_right = middle, math.nan
        else:
            left, at_left = middle, math.nan
        if apart:
            if math.isnan(at_left):
                at_left = density_at(program, x, i, here, left, beta, log_densities, line)[0]
            if at_left < level:
                if math.isnan(at_right):
                    at_right = density_at(program, x, i, here, right, beta, log_densities, line)[0]
                if at_right < level:
                    return False
    return True


@inlined
def slice_update(
    program: Program,
    x: FloatPointer,
    i: int,
    beta: float,
    width: float,
    max_doublings: int,
    log_densities: FloatPointer,
    stream: Stream,
    line: int,
) -> float:
    """Update coordinate i and return how far it moved."""
    here = x[i]
    start = here
    lowest, highest = program.lower[i], program.upper[i]
    if line == INTEGERS:
        # A uniform position in the integer's cell makes the discrete distribution a continuous one.
        start = here - 0.5 + uniform(stream)
        lowest, highest = lowest - 0.5, highest + 0.5
    reference_here = reference_of(program, x, i, here, log_densities)
    level = annealed(reference_here, beta, log_densities[LOG_LIKELIHOOD]) - exponential(stream)
    doublings = 0
    at_left = at_right = -math.inf
    if width == math.inf:
        left, right = lowest, highest
    else:
        left = start - width * uniform(stream)
        right = left + width
        # the ends of an interval that is never doubled, such as a whole circle, tell nothing
        if max_doublings > 0:
            at_left = density_at(program, x, i, here, left, beta, log_densities, line)[0]
            at_right = density_at(program, x, i, here, right, beta, log_densities, line)[0]
        while doublings < max_doublings and (at_left >= level or at_right >= level):
            if uniform(stream) < 0.5:
                left -= right - left
                at_left = density_at(program, x, i, here, left, beta, log_densities, line)[0]
            else:
                right += right - left
                at_right = density_at(program, x, i, here, right, beta, log_densities, line)[0]
            doublings += 1
    inner_left, inner_right = max(left, lowest), min(right, highest)
    for _ in range(MAX_SHRINKS):
        candidate = inner_left + (inner_right - inner_left) * uniform(stream)
        density, reference, likelihood = density_at(program, x, i, here, candidate, beta, log_densities, line)
        if density >= level and (
            doublings == 0
            or reachable(
                program, x, i, here, beta, log_densities, line, start, candidate,
                level, left, right, doublings, at_left, at_right,
            )
        ):  # fmt: skip
            x[i] = math.floor(candidate + 0.5) if line == INTEGERS else candidate
            if line == REALS:
                x[i] = wrapped(program.circles, i, candidate)
            log_densities[LOG_REFERENCE] += reference - reference_here
            log_densities[LOG_LIKELIHOOD] = likelihood
            return abs(candidate - start)
        if candidate < start:
            inner_left = candidate
        else:
            inner_right = candidate
    # The slice is narrower than the spacing of floating-point numbers: stay.
    x[i] = here
    return 0.0


@inlined
def sweep(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Update coordinates in turn, each with its width, and sum how far and how often each of them moved.

    If a slice contains only a few floating-point numbers, most updates do not move. Those that do show its length.
    """
    coordinates = int_pointer(data[0])
    updates, count = int(parameters[Parameters.updates]), int(parameters[Parameters.count])
    widths = field_pointer(parameters, Parameters.widths, count)
    limits = field_pointer(parameters, Parameters.doublings, count)
    moved, moves = (
        field_pointer(statistics, Statistics.moved, count),
        field_pointer(statistics, Statistics.moves, count),
    )
    independent = program.log_reference == 0
    k = first_coordinate(updates, count, stream)
    for _ in range(updates):
        i = coordinates[k]
        if program.value_type[i] == BINARY:
            draw_value(program, x, i, beta, log_densities, stream)
        else:
            limit = int(limits[k])
            if independent and program.family[i] == NORMAL:
                distance = slice_update(program, x, i, beta, widths[k], limit, log_densities, stream, NORMALS)
            elif program.value_type[i] == INTEGER:
                distance = slice_update(program, x, i, beta, widths[k], limit, log_densities, stream, INTEGERS)
            else:
                distance = slice_update(program, x, i, beta, widths[k], limit, log_densities, stream, REALS)
            moved[k] += distance
            moves[k] += 1.0 if distance > 0.0 else 0.0
        k += 1
        if k == count:
            k = 0


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
    """Explore one replica: the kernel for any target."""
    sweep(program, x, log_densities, beta, parameters, statistics, data, stream)


@compiled
def explore_whole(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Explore one replica by full evaluations of the likelihood, even if it has a local change."""
    sweep(without_local_change(program), x, log_densities, beta, parameters, statistics, data, stream)


@dataclass(frozen=True)
class Slice:
    """Coordinate slice sampling, for real, integer and binary coordinates.

    Parameters
    ----------
    passes
        Updates of each coordinate per scan. A fraction updates that share of the coordinates; with 0, the reference
        chain alone explores.
    local
        Whether to use the target's local change, if it has one. For variables on which all terms of the likelihood
        depend, a local change costs two evaluations, and one full evaluation is cheaper.

    Examples
    --------
    >>> import sterna
    >>> result = sterna.sample(
    ...     sterna.models.normal(), explorer=sterna.Slice(passes=0.5), n_chains=5, n_rounds=5, progress=False
    ... )
    >>> result.explorer
    'slice'
    """

    passes: float = 1.0
    local: bool = True
    name = "slice"

    def __post_init__(self) -> None:
        check_passes(self)
        check_flag(self, "local")

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target, with a width for each coordinate and chain, tuned by how far the coordinate moves."""
        block, program = all_coordinates(target, coordinates), target.program
        count = len(block)
        updates = updates_of(self.passes, count)

        def start(draw: Draw) -> FloatArray:
            draws = draw(DRAWS_FOR_SPREAD)[:, block]
            widths = first_widths(program, block, draws)
            return new_row(
                Parameters,
                (count,),
                updates=updates,
                count=count,
                widths=widths,
                first_widths=widths,
                doublings=first_doublings(program, block, draws, widths),
            )

        return Bound(
            kernel=target.kernels.get(explore, explore) if self.local else explore_whole,
            data=(block,),
            start=start,
            n_parameters=size_of(Parameters, count),
            n_statistics=size_of(Statistics, count),
            tune=partial(tune_widths, program, block),
        )
