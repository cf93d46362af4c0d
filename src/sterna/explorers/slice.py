"""Coordinate slice sampling with doubling and shrinkage (Neal 2003, figures 4, 5 and 6)."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

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
from sterna.ground.compilation import compiled, inlined, int_pointer
from sterna.ground.rows import columns, field_pointer, fields, new_row, size_of, sizes
from sterna.ground.streams import Stream, exponential, uniform
from sterna.ground.values import BINARY, HUGE, INTEGER
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

MAX_DOUBLINGS = 30
# A shrinkage divides the interval by e on average, so that this many lead from the longest interval to the shortest.
MAX_SHRINKS = 2000
DRAWS_FOR_SPREAD = 100
# Doubling makes an interval up to 2^30 times as long, which must still be a finite number.
MIN_WIDTH, MAX_WIDTH = 1e-300, 2.0**-32 * HUGE

# Types of line along which a slice runs, each compiled separately: integers, real numbers, and real numbers whose
# reference is an independent normal distribution. The last is the most common and needs neither bounds nor branches.
INTEGERS, REALS, NORMALS = 0, 1, 2

(COUNT,) = sizes(1)


@fields
class Parameters:
    """A chain's row of parameters: updates per scan, number of coordinates, their widths, those of the first round."""

    updates = 1
    count = 1
    widths = COUNT
    first_widths = COUNT


@fields
class Statistics:
    """A chain's row of statistics: for each coordinate the sum of its moves, and how many updates moved it."""

    moved = COUNT
    moves = COUNT


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
        likelihood = coordinate_likelihood(program, x, i, here, position, log_densities)
        return annealed(reference, beta, likelihood), reference, likelihood
    value = position if line == REALS else math.floor(position + 0.5)
    if not (program.lower[i] <= value <= program.upper[i]):
        return -math.inf, -math.inf, -math.inf
    reference = coordinate_reference(program, x, i, here, value, log_densities)
    if reference == -math.inf:
        return -math.inf, -math.inf, -math.inf
    if line == INTEGERS and value == here:
        likelihood = log_densities[LOG_LIKELIHOOD]
    else:
        likelihood = coordinate_likelihood(program, x, i, here, value, log_densities)
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
        at_left = density_at(program, x, i, here, left, beta, log_densities, line)[0]
        at_right = density_at(program, x, i, here, right, beta, log_densities, line)[0]
        while doublings < MAX_DOUBLINGS and (at_left >= level or at_right >= level):
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
            x[i] = candidate if line != INTEGERS else math.floor(candidate + 0.5)
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
            if independent and program.family[i] == NORMAL:
                distance = slice_update(program, x, i, beta, widths[k], log_densities, stream, NORMALS)
            elif program.value_type[i] == INTEGER:
                distance = slice_update(program, x, i, beta, widths[k], log_densities, stream, INTEGERS)
            else:
                distance = slice_update(program, x, i, beta, widths[k], log_densities, stream, REALS)
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
            widths = first_widths(program, block, draw)
            return new_row(Parameters, (count,), updates=updates, count=count, widths=widths, first_widths=widths)

        return Bound(
            kernel=target.kernels.get(explore, explore) if self.local else explore_whole,
            data=(block,),
            start=start,
            n_parameters=size_of(Parameters, count),
            n_statistics=size_of(Statistics, count),
            tune=partial(tune_widths, program, block),
        )


def first_widths(program: Program, block: IntArray, draw: Draw) -> FloatArray:
    """Return the widths of the first round, for every chain: the spread of draws from the reference.

    The spread of a reference with many scales is far below its largest draws. Doubling must be able to span these too,
    otherwise a chain that came there would never leave.
    """
    draws = draw(DRAWS_FOR_SPREAD)[:, block]
    value_type, lower, upper = program.value_type[block], program.lower[block], program.upper[block]
    with np.errstate(over="ignore"):
        spread = 2.0 * np.median(np.abs(draws - np.median(draws, axis=0)), axis=0)
        span = np.minimum(draws.max(axis=0) - draws.min(axis=0), HUGE)
    widths = np.maximum(spread, 2.0**-20 * span)
    widths = np.where(widths > 0, widths, 1.0)
    widths = np.where(value_type == INTEGER, np.maximum(widths, 2.0), widths)
    # A small finite set is an interval itself: there is nothing to double or to tune.
    small = (value_type == INTEGER) & (upper < lower + 32)
    return np.where(small, np.inf, _clip_widths(program, block, widths))


def tune_widths(program: Program, block: IntArray, parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return new widths by chain: three times the mean move, which is the mean length of a slice.

    Two uniform points of an interval are on average a third of its length apart. A coordinate that did not move returns
    to its first width, because the ends of its last interval may have been equal as floating-point numbers.
    """
    count, tuned = len(block), parameters.copy()
    moved, moves = columns(statistics, Statistics.moved, count), columns(statistics, Statistics.moves, count)
    with np.errstate(over="ignore"):
        widths = _clip_widths(program, block, 3.0 * (moved / np.maximum(moves, 1.0)))
    first = columns(parameters, Parameters.first_widths, count)
    columns(tuned, Parameters.widths, count)[:] = np.where((moved > 0) & np.isfinite(first), widths, first)
    return tuned


def _clip_widths(program: Program, block: IntArray, widths: FloatArray) -> FloatArray:
    """Keep widths within the support, and within what can be doubled without overflow."""
    integer = program.value_type[block] == INTEGER
    with np.errstate(over="ignore"):
        support = program.upper[block] - program.lower[block]
    smallest = np.where(integer, 1.0, MIN_WIDTH)
    largest = np.asarray(np.minimum(support + integer, MAX_WIDTH))
    return np.clip(widths, smallest, np.maximum(largest, smallest))
