"""What explorers that follow the gradient share: points on the unconstrained line, leapfrog steps, and energies.

A block of real coordinates is seen as a position u on the line (`engine/unconstrained.py`). The metric is a factor S of
the covariance of u: velocities are standard normal, and a step moves them by S' times the gradient, u by S times them.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from sterna.engine.densities import NORMAL
from sterna.engine.program import (
    GRADIENTS,
    LOG_LIKELIHOOD,
    LOG_REFERENCE,
    Program,
    annealed_gradient,
    log_likelihood,
    log_reference,
    write_gradient,
)
from sterna.engine.unconstrained import from_line, line_slope, log_jacobian, to_line
from sterna.errors import OptionError
from sterna.explorers.base import all_coordinates
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import as_address, as_pointer, inlined, offset_pointer
from sterna.ground.values import HUGE, REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# How a step is taken. Plain, which is compiled on its own: a diagonal metric for all coordinates of a target whose
# reference is independent normal. The line is then the state itself, and loops have neither bounds nor cases; their
# arrays begin at borders of cache lines and end with zeros that fill whole ones, which makes a step a third cheaper.
PLAIN, DIAGONAL, DENSE = 0, 1, 2

# Places in a chain's row of parameters: trajectories in a scan, step size, least and greatest number of leapfrog steps,
# number of coordinates, way of stepping; then the centres of u, its scales, and of a dense metric the lower factor S,
# row after row.
TRAJECTORIES, STEP_SIZE, FEWEST, MOST, COUNT, WAY, HEAD = 0, 1, 2, 3, 4, 5, 6

# Places in a chain's row of statistics: trajectories, the sum of their acceptance probabilities and of the doublings of
# their step size, those that diverged, draws; then sums of the standardised draws, and of their squares or (dense)
# products.
TRIED, ACCEPTED, DOUBLINGS, DIVERGED, DRAWS, SUMS = 0, 1, 2, 3, 4, 5

# Standardised draws count as no further out than this, so that heavy tails have a scale too.
FARTHEST = 10.0


def triangle(count: int) -> int:
    """Return the number of entries in the lower triangle of a matrix."""
    return count * (count + 1) // 2


def statistics_size(count: int, dense: bool) -> int:
    """Return how many numbers a chain's row of statistics has."""
    return SUMS + count + (triangle(count) if dense else count)


def scratch_size(count: int, dimension: int, points: int) -> int:
    """Return how much working memory a chain needs for a number of points, from the next border of a cache line on."""
    return 8 + 2 * whole_lines(dimension) + (1 + 4 * points) * whole_lines(count)


@inlined
def whole_lines(count: int) -> int:
    """Return a number of numbers that fills whole cache lines."""
    return (count + 7) // 8 * 8


class Point(NamedTuple):
    """A point of phase space; `values` are the state's own coordinates, which keeps what is rejected to the last bit.

    On a plain line, `values` are not needed, and `gradient` is that of the likelihood alone.
    """

    position: Any
    velocity: Any
    gradient: Any
    values: Any


class Line(NamedTuple):
    """The block on the line, its metric, and memory for gradients of full length."""

    size: int
    length: int
    """The number of coordinates, on a plain line with the zeros behind them."""
    way: int
    coordinates: Any
    means: Any
    precisions: Any
    centre: Any
    scale: Any
    factor: Any
    whole: Any
    spare: Any


@inlined
def open_line(
    program: Program, parameters: FloatPointer, statistics: FloatPointer, data: IntPointer, plain: bool
) -> Any:
    """Find the parts of a chain's rows, and the working memory behind its statistics.

    What is passed as a constant is one to the compiler: so a kernel for plain lines has no other ways in it.
    """
    count = int(parameters[COUNT])
    way = PLAIN if plain else DENSE if parameters[WAY] == DENSE else DIAGONAL
    size = SUMS + 2 * count if way != DENSE else SUMS + count + count * (count + 1) // 2
    memory = as_pointer((as_address(statistics) + 8 * size + 63) // 64 * 64, types.float64)
    scale = offset_pointer(memory, 2 * whole_lines(program.dimension))
    for k in range(count):
        scale[k] = parameters[HEAD + count + k]
    line = Line(
        count,
        whole_lines(count) if way == PLAIN else count,
        way,
        as_pointer(data[0], types.int64),
        as_pointer(data[1], types.float64),
        as_pointer(data[2], types.float64),
        offset_pointer(parameters, HEAD),
        scale,
        offset_pointer(parameters, HEAD + 2 * count),
        memory,
        offset_pointer(memory, whole_lines(program.dimension)),
    )
    return line, offset_pointer(scale, whole_lines(count))


@inlined
def point_at(line: Line, memory: Any, number: int) -> Any:
    """Return one of the points in the working memory."""
    size = whole_lines(line.size)
    first = 4 * size * number
    return Point(
        offset_pointer(memory, first),
        offset_pointer(memory, first + size),
        offset_pointer(memory, first + 2 * size),
        offset_pointer(memory, first + 3 * size),
    )


@inlined
def state_of(line: Line, point: Point, x: FloatPointer) -> Any:
    """Return where the state is that belongs to the moving point: on a plain line in the point itself."""
    return point.position if line.way == PLAIN else x


@inlined
def write_line_gradient(
    program: Any, line: Line, point: Point, x: FloatPointer, log_densities: FloatPointer, beta: float
) -> None:
    """Evaluate the gradient at the state, which is where the point is."""
    if line.way == PLAIN:
        log_densities[GRADIENTS] += 1.0
        write_gradient(program.likelihood_gradient, point.position, point.gradient, program.dimension, program.data)
        return
    annealed_gradient(program, x, beta, log_densities, line.whole, line.spare)
    for k in range(line.size):
        i = line.coordinates[k]
        point.gradient[k] = line_slope(line.whole[i], point.position[k], program.lower[i], program.upper[i])


@inlined
def kick(line: Line, point: Point, beta: float, time: float) -> None:
    """Let the gradient act on the velocity for a time."""
    if line.way == PLAIN:
        for k in range(line.length):
            slope = (line.means[k] - point.position[k]) * line.precisions[k] + beta * point.gradient[k]
            point.velocity[k] += time * line.scale[k] * slope
    elif line.way == DIAGONAL:
        for k in range(line.size):
            point.velocity[k] += time * line.scale[k] * point.gradient[k]
    else:
        place = 0
        for i in range(line.size):
            push = time * point.gradient[i]
            for j in range(i + 1):
                point.velocity[j] += push * line.factor[place + j]
            place += i + 1


@inlined
def drift(program: Program, line: Line, point: Point, x: FloatPointer, time: float) -> bool:
    """Move the position, and the state with it, for a time, unless it ceases to be finite."""
    outside, place = 0, 0
    for k in range(line.size):
        if line.way == DENSE:
            move = 0.0
            for j in range(k + 1):
                move += line.factor[place + j] * point.velocity[j]
            place += k + 1
            point.position[k] += time * move
        else:
            point.position[k] += time * line.scale[k] * point.velocity[k]
        outside += not abs(point.position[k]) <= HUGE
    if outside > 0:
        return False
    for k in range(line.size):
        i = line.coordinates[k]
        x[i] = from_line(point.position[k], program.lower[i], program.upper[i])
    return True


@inlined
def kick_and_drift(
    program: Program, line: Line, point: Point, x: FloatPointer, beta: float, kicked: float, time: float
) -> bool:
    """Do both, on a plain line in one loop."""
    if line.way != PLAIN:
        kick(line, point, beta, kicked)
        return drift(program, line, point, x, time)
    outside = 0
    for k in range(line.length):
        slope = (line.means[k] - point.position[k]) * line.precisions[k] + beta * point.gradient[k]
        point.velocity[k] += kicked * line.scale[k] * slope
        point.position[k] += time * line.scale[k] * point.velocity[k]
        outside += not abs(point.position[k]) <= HUGE
    return outside == 0


@inlined
def leap(
    program: Any,
    line: Line,
    point: Point,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    size: float,
    steps: int,
) -> bool:
    """Take leapfrog steps; say whether all positions were finite. The reverse way passes the same ones."""
    kicked = 0.5 * size
    for _ in range(steps):
        if not kick_and_drift(program, line, point, x, beta, kicked, size):
            return False
        write_line_gradient(program, line, point, x, log_densities, beta)
        kicked = size
    kick(line, point, beta, 0.5 * size)
    return True


@inlined
def kinetic_energy(line: Line, point: Point) -> float:
    """Half the square of the velocity."""
    total = 0.0
    for k in range(line.size):
        total += point.velocity[k] * point.velocity[k]
    return 0.5 * total


@inlined
def log_density(program: Program, line: Line, point: Point, reference: float, likelihood: float, beta: float) -> float:
    """Annealed log-density of a position on the line; likelihood zero counts for nothing at beta = 0."""
    total = reference
    if beta > 0.0:
        total += beta * likelihood
    if line.way != PLAIN:
        for k in range(line.size):
            i = line.coordinates[k]
            total += log_jacobian(point.position[k], program.lower[i], program.upper[i])
    return total


@inlined
def log_joint(program: Any, line: Line, point: Point, x: FloatPointer, log_densities: FloatPointer, beta: float) -> Any:
    """Return log-densities after a leap: of position and velocity, of the position, of reference and of likelihood.

    Where the velocity is not finite neither function is called.
    """
    kinetic = kinetic_energy(line, point)
    if not kinetic < math.inf:
        return -math.inf, -math.inf, -math.inf, -math.inf
    state = state_of(line, point, x)
    reference = log_reference(program, state)
    if reference == -math.inf:
        return -math.inf, -math.inf, -math.inf, -math.inf
    likelihood = log_likelihood(program, state, log_densities)
    density = log_density(program, line, point, reference, likelihood, beta)
    return density - kinetic, density, reference, likelihood


@inlined
def begin(program: Any, line: Line, point: Point, x: FloatPointer, log_densities: FloatPointer, beta: float) -> float:
    """Set a point to the state, with its gradient, and return its log-density."""
    for k in range(line.size):
        i = line.coordinates[k]
        point.values[k] = x[i]
        point.position[k] = x[i] if line.way == PLAIN else to_line(x[i], program.lower[i], program.upper[i])
    for k in range(line.size, line.length):
        # the working memory may hold anything where a plain line needs its zeros
        line.scale[k], point.position[k], point.velocity[k], point.gradient[k] = 0.0, 0.0, 0.0, 0.0
    write_line_gradient(program, line, point, x, log_densities, beta)
    return log_density(program, line, point, log_densities[LOG_REFERENCE], log_densities[LOG_LIKELIHOOD], beta)


@inlined
def set_out(line: Line, start: Point, point: Point) -> None:
    """Put the moving point where another is; the state follows at the first step."""
    for k in range(line.length):
        point.position[k] = start.position[k]
        point.velocity[k] = start.velocity[k]
        point.gradient[k] = start.gradient[k]


@inlined
def store(line: Line, point: Point, x: FloatPointer, place: Point) -> None:
    """Remember the moving point, and the state with it."""
    set_out(line, point, place)
    if line.way != PLAIN:
        for k in range(line.size):
            place.values[k] = x[line.coordinates[k]]


@inlined
def put_back(line: Line, point: Point, x: FloatPointer) -> None:
    """Give the state the values of a point."""
    for k in range(line.size):
        x[line.coordinates[k]] = point.position[k] if line.way == PLAIN else point.values[k]


@inlined
def add_draw(line: Line, point: Point, statistics: FloatPointer) -> None:
    """Add a position to the sums from which the metric is learned."""
    statistics[DRAWS] += 1.0
    place = SUMS + line.size
    for k in range(line.size):
        z = standardised(line, point, k)
        statistics[SUMS + k] += z
        if line.way == DENSE:
            for j in range(k + 1):
                statistics[place + j] += z * standardised(line, point, j)
            place += k + 1
        else:
            statistics[place + k] += z * z


@inlined
def standardised(line: Line, point: Point, k: int) -> float:
    """Position k in scales from its centre, but no further than `FARTHEST`."""
    return min(max((point.position[k] - line.centre[k]) / line.scale[k], -FARTHEST), FARTHEST)


def block_of(what: str, target: ExplorableTarget, coordinates: IntArray | None) -> IntArray:
    """Return the block's coordinates, checked: real ones of a target with a gradient."""
    if not target.has_gradient:
        raise OptionError(
            f"explorer={what}(...) follows the gradient, and that of {target.name} is not known: give gradient= to "
            "sterna.Target (and to a sterna.Reference), or use sterna.Slice()."
        )
    target.prepare_gradient()
    block = all_coordinates(target, coordinates)
    for v in target.space.variables:
        if v.value_type != REAL and np.isin(block, np.arange(v.start, v.stop)).any():
            raise OptionError(
                f"explorer={what}(...) moves real variables only, and {v.name} is not one: give it an explorer of its "
                f'own, such as {{"{v.name}": sterna.Slice(), ...: {what}()}}.'
            )
    return block


def tables(target: ExplorableTarget, block: IntArray, dense: bool) -> tuple[int, tuple[NDArray[Any], ...]]:
    """Return the way of stepping and the kernel's data: coordinates, and means and precisions of a plain reference."""
    program = target.program
    plain = (
        not dense
        and program.log_reference == 0
        and np.array_equal(block, np.arange(target.dimension))
        and bool(np.all(program.family == NORMAL))
    )
    means, precisions = at_border(len(block)), at_border(len(block))
    if plain:
        numbers = program.constants.reshape(-1, 4)
        means[: len(block)], precisions[: len(block)] = numbers[:, 0], numbers[:, 1] ** 2
    return PLAIN if plain else DENSE if dense else DIAGONAL, (block, means, precisions)


def at_border(count: int) -> FloatArray:
    """Return zeros that fill whole cache lines, from the border of one on."""
    size = (count + 7) // 8 * 8
    room = np.zeros(size + 8)
    first = -room.ctypes.data // 8 % 8
    return room[first : first + size]
