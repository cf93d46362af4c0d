"""The target's log-density at points of the unconstrained line, with its Jacobian, for searches outside of the chains.

Integers stay as they are. A density that is NaN or +inf counts as zero, because a search goes where no chain may ever
be. Rows are explored like replicas, so that whoever explores replicas can evaluate them too.
"""

import math

from sterna.engine.circles import wrapped
from sterna.engine.densities import coordinate_log_density
from sterna.engine.program import (
    EVALUATIONS,
    LOG_PRIOR,
    Program,
    annealed_gradient,
    joint_log_reference,
    likelihood_value,
    view,
)
from sterna.engine.round import Copy
from sterna.engine.stop import CEILING, poll
from sterna.engine.unconstrained import from_line, line_slope, log_jacobian, to_line
from sterna.ground.compilation import compiled, inlined, row
from sterna.ground.values import MIN_LOG_REFERENCE, REAL
from sterna.types import FloatArray, FloatPointer, IntArray, WordArray


@compiled
def to_lines(block: IntArray, states: FloatArray, points: FloatArray) -> None:
    """Write the points of states; called from Python."""
    program = view(block)
    for k in range(states.shape[0]):
        for i in range(program.dimension):
            x = states[k, i]
            points[k, i] = to_line(x, program.lower[i], program.upper[i]) if program.value_type[i] == REAL else x


@compiled
def from_lines(block: IntArray, points: FloatArray, states: FloatArray, log_jacobians: FloatArray) -> None:
    """Write the states of points, and each coordinate's log-Jacobian; called from Python."""
    program = view(block)
    for k in range(points.shape[0]):
        place(program, row(points, k), row(states, k))
        for i in range(program.dimension):
            log_jacobians[k, i] = 0.0
            if program.value_type[i] == REAL:
                log_jacobians[k, i] = log_jacobian(points[k, i], program.lower[i], program.upper[i])


@inlined
def state_at(program: Program, i: int, u: float) -> float:
    """Return the value of a real coordinate at a point of its line."""
    return wrapped(program.circles, i, from_line(u, program.lower[i], program.upper[i]))


@compiled
def place(program: Program, u: FloatPointer, x: FloatPointer) -> None:
    """Write the state of a point."""
    for i in range(program.dimension):
        x[i] = state_at(program, i, u[i]) if program.value_type[i] == REAL else u[i]


@inlined
def term(program: Program, i: int, u: float, x: float) -> float:
    """Return the log-Jacobian of a coordinate, plus its log-density if the reference is independent."""
    total = 0.0
    if program.value_type[i] == REAL:
        total = log_jacobian(u, program.lower[i], program.upper[i])
    if program.log_reference == 0:
        total += coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, x)
    return total


@compiled
def terms(program: Program, u: FloatPointer, x: FloatPointer) -> float:
    """Return the sum of all coordinates' terms."""
    total = 0.0
    for i in range(program.dimension):
        total += term(program, i, u[i], x[i])
    return total


@compiled
def log_density_on_line(program: Program, x: FloatPointer, total: float, log_densities: FloatPointer) -> float:
    """Return the target's log-density at a state whose terms have this sum, and count an evaluation."""
    if program.log_reference != 0:
        reference = joint_log_reference(program, x, log_densities)
        total += reference if program.is_ratio == 0 else log_densities[LOG_PRIOR]
    # a likelihood need not be defined where the reference has no density, and may cancel with it to rounding errors, on
    # which a search would climb
    if not total > MIN_LOG_REFERENCE:
        return -math.inf
    log_densities[EVALUATIONS] += 1.0
    value = likelihood_value(program.log_likelihood, x, program.dimension, program.data)
    if not value < program.stop[CEILING]:
        poll(program.stop)
    total += value
    return total if -math.inf < total < math.inf else -math.inf


@compiled
def evaluate_points(
    block: IntArray,
    points: FloatArray,
    values: FloatArray,
    copy: Copy,
    first: int,
    last: int,
    stream: WordArray,
) -> None:
    """Write the log-densities of points `first` to `last - 1`; the copy may have more rows than there are points."""
    program = view(block)
    for k in range(first, min(last, points.shape[0])):
        copy.at_work[0] = k
        u, x = row(points, k), row(copy.states, k)
        place(program, u, x)
        values[k, 0] = log_density_on_line(program, x, terms(program, u, x), row(copy.log_densities, k))


@compiled
def evaluate_stencils(
    block: IntArray,
    points: FloatArray,
    steps: FloatArray,
    values: FloatArray,
    copy: Copy,
    first: int,
    last: int,
    stream: WordArray,
) -> None:
    """Write the log-density one step up and one step down each coordinate: 2 i and 2 i + 1 of a row of values.

    A coordinate whose step is 0 is not evaluated.
    """
    program = view(block)
    for k in range(first, min(last, points.shape[0])):
        copy.at_work[0] = k
        u, x, log_densities = row(points, k), row(copy.states, k), row(copy.log_densities, k)
        place(program, u, x)
        total = terms(program, u, x)
        for i in range(program.dimension):
            if steps[k, i] == 0.0:
                continue
            here = x[i]
            others = total - term(program, i, u[i], here)
            for side in range(2):
                there = u[i] + steps[k, i] * (1.0 - 2.0 * side)
                x[i] = state_at(program, i, there)
                values[k, 2 * i + side] = log_density_on_line(
                    program, x, others + term(program, i, there, x[i]), log_densities
                )
            x[i] = here


@compiled
def evaluate_slopes(
    block: IntArray,
    points: FloatArray,
    slopes: FloatArray,
    scratch: FloatArray,
    copy: Copy,
    first: int,
    last: int,
    stream: WordArray,
) -> None:
    """Write the gradients of the log-density on the line; the target must have a gradient."""
    program = view(block)
    for k in range(first, min(last, points.shape[0])):
        copy.at_work[0] = k
        u, x, gradient = row(points, k), row(copy.states, k), row(slopes, k)
        place(program, u, x)
        annealed_gradient(program, x, 1.0, row(copy.log_densities, k), gradient, row(scratch, k))
        for i in range(program.dimension):
            if program.value_type[i] == REAL:
                gradient[i] = line_slope(gradient[i], u[i], program.lower[i], program.upper[i])


@compiled
def evaluate_references(
    block: IntArray,
    points: FloatArray,
    values: FloatArray,
    copy: Copy,
    first: int,
    last: int,
    stream: WordArray,
) -> None:
    """Write the reference's log-densities on the line, which may be NaN; the likelihood is not evaluated."""
    program = view(block)
    for k in range(first, min(last, points.shape[0])):
        copy.at_work[0] = k
        u, x = row(points, k), row(copy.states, k)
        place(program, u, x)
        values[k, 0] = terms(program, u, x)
        if program.log_reference != 0:
            values[k, 0] += joint_log_reference(program, x, row(copy.log_densities, k))
