"""Coordinate slice sampling with doubling and shrinkage (Neal 2003, figures 4, 5 and 6)."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import types

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
from sterna.explorers.base import Bound, Draw, all_coordinates, annealed, check_passes, first_coordinate, updates_of
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.gibbs import draw_value
from sterna.ground.compilation import as_pointer, compiled, inlined
from sterna.ground.streams import Stream, exponential, uniform
from sterna.ground.values import BINARY, HUGE, INTEGER
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

MAX_DOUBLINGS = 30
# A shrinkage divides the interval by e in the mean: so many lead from the longest interval to the shortest.
MAX_SHRINKS = 2000
DRAWS_FOR_SPREAD = 100
# Doubling makes the widest of these 2^30 times as long, which must still be a number.
NARROWEST, WIDEST = 1e-300, 2.0**-32 * HUGE

# Places in a chain's row of parameters: updates in a scan, number of coordinates, and then their widths; behind these
# are the widths of the first round.
UPDATES, COUNT, WIDTHS = 0, 1, 2

# Kinds of line along which a slice runs, each compiled on its own: integers, real numbers, and real numbers whose
# reference is an independent normal distribution. The last is the most common and has neither bounds nor cases.
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
    """Annealed log-density of coordinate i at a position, with its two parts (reference, likelihood).

    An integer's position is anywhere in the cell of width 1 around it. Outside the support the density is
    zero and neither function is called.
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
    """Neal's test: could doubling from the candidate have made the same interval?

    Ends not yet evaluated hold NaN; they are evaluated only where the test needs them. Halvings are counted, as lengths
    would not tell when to stop where they round.
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
        # A uniform place in the integer's cell makes the discrete law a continuous one.
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
    # The slice is narrower than floating point can tell apart: stay.
    x[i] = here
    return 0.0


@inlined
def sweep(
    program: Any,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Update coordinates in turn, each with its width; for every one of them sum how far it moved, and how often.

    Where a slice holds only a few numbers that floating point can tell apart, most updates do not move. Those that do
    tell how long it is.
    """
    coordinates = as_pointer(data[0], types.int64)
    updates, count = int(parameters[UPDATES]), int(parameters[COUNT])
    independent = program.log_reference == 0
    place = first_coordinate(updates, count, stream)
    for _ in range(updates):
        i = coordinates[place]
        if program.value_type[i] == BINARY:
            draw_value(program, x, i, beta, log_densities, stream)
        else:
            width = parameters[WIDTHS + place]
            if independent and program.family[i] == NORMAL:
                moved = slice_update(program, x, i, beta, width, log_densities, stream, NORMALS)
            elif program.value_type[i] == INTEGER:
                moved = slice_update(program, x, i, beta, width, log_densities, stream, INTEGERS)
            else:
                moved = slice_update(program, x, i, beta, width, log_densities, stream, REALS)
            statistics[place] += moved
            statistics[count + place] += 1.0 if moved > 0.0 else 0.0
        place += 1
        if place == count:
            place = 0


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
    """Explore one replica by whole evaluations of the likelihood, though it may have a local change."""
    sweep(without_local_change(program), x, log_densities, beta, parameters, statistics, data, stream)


@dataclass(frozen=True)
class Slice:
    """Coordinate slice sampling, for real, integer and binary coordinates alike.

    Parameters
    ----------
    passes
        How many times each scan updates every coordinate. A fraction updates that share of them;
        0 leaves exploration to the reference chain alone.
    local
        Whether to use the target's local change, if it has one. For variables that all terms of the likelihood know of,
        the change is the difference of two evaluations, and one whole evaluation is cheaper.

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
        check_passes("Slice", self.passes)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for a target: a width for each coordinate and chain, tuned by how far it moves."""
        block, program = all_coordinates(target, coordinates), target.program
        updates = updates_of(self.passes, len(block))

        def start(draw: Draw) -> FloatArray:
            widths = first_widths(program, block, draw)
            return np.concatenate([[updates, len(block)], widths, widths])

        return Bound(
            kernel=target.kernels.get(explore, explore) if self.local else explore_whole,
            data=(block,),
            start=start,
            n_statistics=2 * len(block),
            tune=partial(tune_widths, program, block),
        )


def first_widths(program: Program, block: IntArray, draw: Draw) -> FloatArray:
    """Return the widths of the first round, for every chain: the spread of draws from the reference.

    A reference of many scales has a spread far below its largest draws. Doubling must be able to span these too, or a
    chain that came there would never leave.
    """
    draws = draw(DRAWS_FOR_SPREAD)[:, block]
    value_type, lower, upper = program.value_type[block], program.lower[block], program.upper[block]
    with np.errstate(over="ignore"):
        spread = 2.0 * np.median(np.abs(draws - np.median(draws, axis=0)), axis=0)
        span = np.minimum(draws.max(axis=0) - draws.min(axis=0), HUGE)
    widths = np.maximum(spread, 2.0**-20 * span)
    widths = np.where(widths > 0, widths, 1.0)
    widths = np.where(value_type == INTEGER, np.maximum(widths, 2.0), widths)
    # A small finite set is its own interval: nothing to double, nothing to tune.
    small = (value_type == INTEGER) & (upper < lower + 32)
    return np.where(small, np.inf, _within_reason(program, block, widths))


def tune_widths(program: Program, block: IntArray, parameters: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return new widths by chain: three times the mean move, which is the mean length of a slice.

    Two uniform points of an interval are a third of its length apart. A coordinate that did not move begins anew with
    its first width, as the last may be too small for floating point to tell the ends of its interval apart.
    """
    count = len(block)
    moved, moves = statistics[:, :count], statistics[:, count:]
    with np.errstate(over="ignore"):
        tuned = _within_reason(program, block, 3.0 * (moved / np.maximum(moves, 1.0)))
    first = parameters[:, WIDTHS + count :]
    widths = np.where((moved > 0) & np.isfinite(first), tuned, first)
    return np.hstack([parameters[:, :WIDTHS], widths, first])


def _within_reason(program: Program, block: IntArray, widths: FloatArray) -> FloatArray:
    """Keep widths inside the support and inside what floating point can double."""
    whole = program.value_type[block] == INTEGER
    with np.errstate(over="ignore"):
        support = program.upper[block] - program.lower[block]
    smallest = np.where(whole, 1.0, NARROWEST)
    largest: Any = np.minimum(support + whole, WIDEST)
    return np.clip(widths, smallest, np.maximum(largest, smallest))
