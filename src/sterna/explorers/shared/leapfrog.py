"""What explorers that follow the gradient share: points on the unconstrained line, leapfrog steps, and energies.

A block of real coordinates is transformed to a position u on the line (`engine/unconstrained.py`). The metric is a
factor S of the covariance of u: velocities are standard normal, the gradient acts on them through S', and they move u
through S.
"""

import math
from typing import NamedTuple

from sterna.engine.circles import shortest, wrapped
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
from sterna.ground.compilation import as_address, float_pointer, inlined, int_pointer, offset_pointer
from sterna.ground.rows import field_pointer, fields, sizes
from sterna.ground.values import HUGE
from sterna.types import FloatPointer, IntPointer

# How a step is taken. PLAIN is compiled separately: a diagonal metric for all coordinates of a target whose reference
# is independent normal. The line is then the state itself, and loops have neither bounds nor branches; their arrays are
# aligned to cache lines and padded with zeros to whole ones, which makes a step a third cheaper.
PLAIN, DIAGONAL, DENSE = 0, 1, 2

# Standardised draws are clipped at this distance, so that heavy tails have a scale too.
MAX_DISTANCE = 10.0

# Numbers of coordinates, of entries of the metric's factor (none unless it is dense), and of second moments.
COUNT, FACTOR, PRODUCTS = sizes(3)


@fields
class Parameters:
    """A chain's row of parameters.

    Trajectories per scan, step size, bounds of the number of leapfrog steps, number of coordinates, way of stepping;
    centres and scales of u, and the rows of the lower factor S of a dense metric.
    """

    trajectories = 1
    step_size = 1
    min_steps = 1
    max_steps = 1
    count = 1
    way = 1
    centre = COUNT
    scale = COUNT
    factor = FACTOR


@fields
class Statistics:
    """A chain's row of statistics.

    Trajectories, sums of their acceptance probabilities and of the doublings of their step size, number that diverged;
    draws, sums of the standardised draws, and of their squares or, for a dense metric, products.
    """

    tried = 1
    accepted = 1
    doublings = 1
    diverged = 1
    draws = 1
    sums = COUNT
    products = PRODUCTS


def triangle(count: int) -> int:
    """Return the number of entries in the lower triangle of a matrix."""
    return count * (count + 1) // 2


def sizes_of_metric(count: int, dense: bool) -> tuple[int, int, int]:
    """Return the sizes on which places in a chain's rows depend."""
    return (count, triangle(count), triangle(count)) if dense else (count, 0, count)


def scratch_size(count: int, dimension: int, points: int) -> int:
    """Return how much working memory a chain needs for a number of points, from the next cache line on."""
    return 8 + 2 * whole_lines(dimension) + (1 + 4 * points) * whole_lines(count)


@inlined
def whole_lines(count: int) -> int:
    """Round a number of entries up to whole cache lines."""
    return (count + 7) // 8 * 8


class Point(NamedTuple):
    """A point of phase space; `values` are the coordinates of the state itself, so that a rejection restores all bits.

    On a plain line, `values` are not used, and `gradient` is that of the likelihood alone.
    """

    position: FloatPointer
    velocity: FloatPointer
    gradient: FloatPointer
    values: FloatPointer


class Line(NamedTuple):
    """The block on the line, its metric, and memory for gradients with respect to all coordinates."""

    size: int
    length: int
    """The number of coordinates, on a plain line including the zeros behind them."""
    way: int
    coordinates: IntPointer
    means: FloatPointer
    precisions: FloatPointer
    centre: FloatPointer
    scale: FloatPointer
    factor: FloatPointer
    whole: FloatPointer
    spare: FloatPointer


@inlined
def open_line(
    program: Program, parameters: FloatPointer, statistics: FloatPointer, data: IntPointer, plain: bool
) -> tuple[Line, FloatPointer]:
    """Return the line of a chain, and the working memory for points behind its statistics.

    `plain` is a constant to the compiler, so that a kernel for plain lines contains no other way of stepping.
    """
    count = int(parameters[Parameters.count])
    way = PLAIN if plain else DENSE if parameters[Parameters.way] == DENSE else DIAGONAL
    n_products = count * (count + 1) // 2 if way == DENSE else count
    products = field_pointer(statistics, Statistics.products, count)
    memory = float_pointer((as_address(products) + 8 * n_products + 63) // 64 * 64)
    scale = offset_pointer(memory, 2 * whole_lines(program.dimension))
    given_scale = field_pointer(parameters, Parameters.scale, count)
    for k in range(count):
        scale[k] = given_scale[k]
    line = Line(
        count,
        whole_lines(count) if way == PLAIN else count,
        way,
        int_pointer(data[0]),
        float_pointer(data[1]),
        float_pointer(data[2]),
        field_pointer(parameters, Parameters.centre, count),
        scale,
        field_pointer(parameters, Parameters.factor, count),
        memory,
        offset_pointer(memory, whole_lines(program.dimension)),
    )
    return line, offset_pointer(scale, whole_lines(count))


@inlined
def point_at(line: Line, memory: FloatPointer, number: int) -> Point:
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
def state_of(line: Line, point: Point, x: FloatPointer) -> FloatPointer:
    """Return the state that belongs to the moving point, which on a plain line is its position."""
    return point.position if line.way == PLAIN else x


@inlined
def write_line_gradient(
    program: Program, line: Line, point: Point, x: FloatPointer, log_densities: FloatPointer, beta: float
) -> None:
    """Evaluate the gradient at the point, to which the state belongs."""
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
    """Change the velocity by the gradient, for a time."""
    if line.way == PLAIN:
        for k in range(line.length):
            slope = (line.means[k] - point.position[k]) * line.precisions[k] + beta * point.gradient[k]
            point.velocity[k] += time * line.scale[k] * slope
    elif line.way == DIAGONAL:
        for k in range(line.size):
            point.velocity[k] += time * line.scale[k] * point.gradient[k]
    else:
        row = 0
        for i in range(line.size):
            push = time * point.gradient[i]
            for j in range(i + 1):
                point.velocity[j] += push * line.factor[row + j]
            row += i + 1


@inlined
def drift(program: Program, line: Line, point: Point, x: FloatPointer, time: float) -> bool:
    """Move the position, and the state with it, for a time; return whether the position is finite."""
    outside, row = 0, 0
    for k in range(line.size):
        if line.way == DENSE:
            move = 0.0
            for j in range(k + 1):
                move += line.factor[row + j] * point.velocity[j]
            row += k + 1
            point.position[k] += time * move
        else:
            point.position[k] += time * line.scale[k] * point.velocity[k]
        outside += not abs(point.position[k]) <= HUGE
    if outside > 0:
        return False
    for k in range(line.size):
        i = line.coordinates[k]
        x[i] = wrapped(program.circles, i, from_line(point.position[k], program.lower[i], program.upper[i]))
    return True


@inlined
def kick_and_drift(
    program: Program, line: Line, point: Point, x: FloatPointer, beta: float, kicked: float, time: float
) -> bool:
    """Do both; on a plain line, in one loop."""
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
    program: Program,
    line: Line,
    point: Point,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    size: float,
    steps: int,
) -> bool:
    """Take leapfrog steps and return whether all positions were finite; the way back visits the same ones."""
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
    """Return half the squared length of the velocity."""
    total = 0.0
    for k in range(line.size):
        total += point.velocity[k] * point.velocity[k]
    return 0.5 * total


@inlined
def log_density(program: Program, line: Line, point: Point, reference: float, likelihood: float, beta: float) -> float:
    """Return the annealed log-density of a position on the line; at beta = 0 the likelihood may be zero."""
    total = reference
    if beta > 0.0:
        total += beta * likelihood
    if line.way != PLAIN:
        for k in range(line.size):
            i = line.coordinates[k]
            total += log_jacobian(point.position[k], program.lower[i], program.upper[i])
    return total


@inlined
def log_joint(
    program: Program, line: Line, point: Point, x: FloatPointer, log_densities: FloatPointer, beta: float
) -> tuple[float, float, float, float]:
    """Return the log-densities after a leap: of position and velocity, of the position, reference, likelihood.

    If the velocity is not finite, neither function is called.
    """
    kinetic = kinetic_energy(line, point)
    if not kinetic < math.inf:
        return -math.inf, -math.inf, -math.inf, -math.inf
    state = state_of(line, point, x)
    if line.way == PLAIN:
        # not needed here, but an error reports the state
        put_back(line, point, x)
    reference = log_reference(program, state, log_densities)
    if reference == -math.inf:
        return -math.inf, -math.inf, -math.inf, -math.inf
    likelihood = log_likelihood(program, state, reference, log_densities)
    density = log_density(program, line, point, reference, likelihood, beta)
    return density - kinetic, density, reference, likelihood


@inlined
def begin(
    program: Program, line: Line, point: Point, x: FloatPointer, log_densities: FloatPointer, beta: float
) -> float:
    """Set a point to the state, with its gradient, and return its log-density."""
    for k in range(line.size):
        i = line.coordinates[k]
        point.values[k] = x[i]
        point.position[k] = x[i] if line.way == PLAIN else to_line(x[i], program.lower[i], program.upper[i])
    for k in range(line.size, line.length):
        # a plain line needs zeros here, and working memory is not initialised
        line.scale[k], point.position[k], point.velocity[k], point.gradient[k] = 0.0, 0.0, 0.0, 0.0
    write_line_gradient(program, line, point, x, log_densities, beta)
    return log_density(program, line, point, log_densities[LOG_REFERENCE], log_densities[LOG_LIKELIHOOD], beta)


@inlined
def set_out(line: Line, start: Point, point: Point) -> None:
    """Copy a point to the moving one; the state follows at the first step."""
    for k in range(line.length):
        point.position[k] = start.position[k]
        point.velocity[k] = start.velocity[k]
        point.gradient[k] = start.gradient[k]


@inlined
def store(line: Line, point: Point, x: FloatPointer, stored: Point) -> None:
    """Store the moving point, and the state with it, in another point."""
    set_out(line, point, stored)
    if line.way != PLAIN:
        for k in range(line.size):
            stored.values[k] = x[line.coordinates[k]]


@inlined
def put_back(line: Line, point: Point, x: FloatPointer) -> None:
    """Set the state to a point."""
    for k in range(line.size):
        x[line.coordinates[k]] = point.position[k] if line.way == PLAIN else point.values[k]


@inlined
def add_draw(program: Program, line: Line, point: Point, statistics: FloatPointer) -> None:
    """Add a position to the sums from which the metric is learned."""
    statistics[Statistics.draws] += 1.0
    sums = field_pointer(statistics, Statistics.sums, line.size)
    products = field_pointer(statistics, Statistics.products, line.size)
    row = 0
    for k in range(line.size):
        z = standardised(program, line, point, k)
        sums[k] += z
        if line.way == DENSE:
            for j in range(k + 1):
                products[row + j] += z * standardised(program, line, point, j)
            row += k + 1
        else:
            products[k] += z * z


@inlined
def standardised(program: Program, line: Line, point: Point, k: int) -> float:
    """Return coordinate k of a position relative to its centre, in scales, clipped at `MAX_DISTANCE`."""
    away = point.position[k] - line.centre[k]
    if line.way != PLAIN:
        away = shortest(program.circles, line.coordinates[k], away)
    return min(max(away / line.scale[k], -MAX_DISTANCE), MAX_DISTANCE)
