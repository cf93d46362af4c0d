"""A target in the form that the compiled engine uses: addresses of functions, and tables of coordinates."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from sterna.engine.circles import wrapped
from sterna.engine.densities import coordinate_log_density, coordinate_slope, draw_coordinate
from sterna.engine.failures import N_KINDS, kind_of
from sterna.engine.stop import CEILING, REJECTS, poll
from sterna.ground.compilation import (
    FLOATS,
    INTEGERS,
    WORDS,
    as_address,
    as_pointer,
    caller,
    compiled,
    inlined,
    offset_pointer,
    overload,
)
from sterna.ground.rows import fields, size_of
from sterna.ground.streams import GENERATOR, Stream, generator_of
from sterna.ground.values import REAL
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer


@fields
class LogDensities:
    """A replica's row of log-densities, and how many evaluations and gradients it has needed."""

    log_reference = 1
    log_likelihood = 1
    evaluations = 1
    gradients = 1
    # evaluations that failed and count as densities of zero, by `sterna.engine.failures.Kind`
    failed_likelihoods = N_KINDS
    failed_references = N_KINDS
    # the largest of each, without sign, at any scan since it was last evaluated: running sums are rounded by that
    largest_reference = 1
    largest_likelihood = 1
    # along the path from a mixture, the prior's at the state at which the reference was evaluated last
    log_prior = 1


LOG_REFERENCE, LOG_LIKELIHOOD = LogDensities.log_reference, LogDensities.log_likelihood
EVALUATIONS, GRADIENTS = LogDensities.evaluations, LogDensities.gradients
FAILED_LIKELIHOODS, FAILED_REFERENCES = LogDensities.failed_likelihoods, LogDensities.failed_references
LOG_PRIOR = LogDensities.log_prior
LARGEST_REFERENCE, LARGEST_LIKELIHOOD = LogDensities.largest_reference, LogDensities.largest_likelihood
N_LOG_DENSITIES = size_of(LogDensities)


class Program(NamedTuple):
    """All that explorers and the round may ask of a target; arrays are pointers in compiled code.

    An address of 0 means that there is no such function. Without `log_reference`, coordinates of the reference are
    independent, by `family` (see `sterna.engine.densities`), `constants` (four per coordinate) and `table`. A
    `whole_gradient`, of both log-densities at once, is called instead of the other two. If `is_ratio` is 1, the
    reference contains a prior, whose log-density the function at `log_reference` writes as well, and the log-likelihood
    is that of the ratio prior * likelihood / reference: the reference is evaluated wherever a likelihood is.
    """

    dimension: int
    log_likelihood: int
    likelihood_change: int
    log_reference: int
    reference_change: int
    draw_reference: int
    likelihood_gradient: int
    reference_gradient: int
    whole_gradient: int
    is_ratio: int
    data: int
    value_type: IntArray
    lower: FloatArray
    upper: FloatArray
    family: IntArray
    constants: FloatArray
    table: FloatArray
    circles: FloatArray
    """(first, period) of every coordinate (`sterna.engine.circles`)."""
    stop: FloatArray
    """The words of `sterna.engine.stop.Stop`."""

    def block(self) -> IntArray:
        """Return numbers and addresses in one array, from which `view` makes the compiled form."""
        words = [field.ctypes.data if isinstance(field, np.ndarray) else field for field in self]
        return np.array(words, dtype=np.int64)


PROGRAM = types.NamedTuple([types.int64] * 11 + [INTEGERS, FLOATS, FLOATS, INTEGERS, *([FLOATS] * 4)], Program)

# f(state, data), by their addresses
LOG_DENSITY = types.float64(types.int64, types.int64)
# f(state, where to write the prior's log-density, data)
LOG_REFERENCE_AND_PRIOR = types.float64(types.int64, types.int64, types.int64)
# f(state, coordinate, new value, data)
CHANGE = types.float64(types.int64, types.int64, types.float64, types.int64)
# f(state, data, generator) writes the state
DRAW = types.int64(types.int64, types.int64, GENERATOR)
# f(state, gradient, data) writes the gradient
GRADIENT = types.int64(types.int64, types.int64, types.int64)
# f(state, beta, gradient, data) writes the gradient of log-reference + beta * log-likelihood
WHOLE_GRADIENT = types.int64(types.int64, types.float64, types.int64, types.int64)
# f(state, index in the block, beta, log-probabilities, their number, data, handle) writes the log-probabilities
CONDITIONAL = types.int64(types.int64, types.int64, types.float64, types.int64, types.int64, types.int64, types.int64)
# f(program, state, log_densities, beta, parameters, statistics, addresses of the explorer's data, stream)
EXPLORE = types.none(PROGRAM, FLOATS, FLOATS, types.float64, FLOATS, FLOATS, INTEGERS, WORDS)

call_log_density = caller(LOG_DENSITY)
call_log_reference_and_prior = caller(LOG_REFERENCE_AND_PRIOR)
call_change = caller(CHANGE)
call_draw = caller(DRAW)
call_gradient = caller(GRADIENT)
call_whole_gradient = caller(WHOLE_GRADIENT)


class NotANumber(Exception):  # noqa: N818 (never reaches a user: whoever runs the engine writes the message)
    """A log-density was NaN or +inf, at the state in the arrays of the round."""


class ImpossibleDraw(Exception):  # noqa: N818
    """The reference drew a state outside its space, or one at which its own density is zero."""


@compiled
def view(block: IntPointer) -> Program:
    """Return the compiled form of a program."""
    return Program(
        block[0],
        block[1],
        block[2],
        block[3],
        block[4],
        block[5],
        block[6],
        block[7],
        block[8],
        block[9],
        block[10],
        as_pointer(block[11], types.int64),
        as_pointer(block[12], types.float64),
        as_pointer(block[13], types.float64),
        as_pointer(block[14], types.int64),
        as_pointer(block[15], types.float64),
        as_pointer(block[16], types.float64),
        as_pointer(block[17], types.float64),
        as_pointer(block[18], types.float64),
    )


def likelihood_value(likelihood: Any, x: FloatPointer, dimension: int, data: int) -> float:
    """Evaluate a likelihood given by its address, or one that is compiled in place.

    The latter is a named tuple of the likelihood's constants whose class has a static method
    `value(constants, x, dimension, data)`. It saves a cheap model the call, but needs its own kernel.
    """
    raise NotImplementedError("exists in compiled code only")


@overload(likelihood_value)
def _likelihood_value(likelihood: Any, x: object, dimension: object, data: object) -> Callable[..., float]:
    if isinstance(likelihood, types.Integer):
        return lambda likelihood, x, dimension, data: call_log_density(likelihood, (as_address(x), data))
    return likelihood.instance_class.value


def write_gradient(likelihood: Any, x: FloatPointer, gradient: FloatPointer, dimension: int, data: int) -> None:
    """Write the likelihood's gradient, which is given by its address or, like the value, compiled in place.

    The latter is the static method `gradient(constants, x, gradient, dimension, data)` of the named tuple's class.
    """
    raise NotImplementedError("exists in compiled code only")


@overload(write_gradient)
def _write_gradient(
    likelihood: Any, x: object, gradient: object, dimension: object, data: object
) -> Callable[..., None]:
    if isinstance(likelihood, types.Integer):

        def call(likelihood: int, x: FloatPointer, gradient: FloatPointer, dimension: int, data: int) -> None:
            call_gradient(likelihood, (as_address(x), as_address(gradient), data))

        return call
    return likelihood.instance_class.gradient


def ceiling_of(likelihood: Any, stop: FloatPointer) -> float:
    """Return the ceiling of a likelihood that is given by its address; that of one compiled in place is always +inf.

    The latter is so cheap that looking would cost several percent. The round looks after every exploration.
    """
    raise NotImplementedError("exists in compiled code only")


@overload(ceiling_of)
def _ceiling_of(likelihood: Any, stop: object) -> Callable[..., float]:
    if isinstance(likelihood, types.Integer):
        return lambda likelihood, stop: stop[CEILING]
    return lambda likelihood, stop: math.inf


@inlined
def with_likelihood(p: Program, likelihood: Any, gradient: Any) -> Any:
    """Return the program with its likelihood, or with both likelihood and gradient, compiled in place."""
    return Program(
        p.dimension,
        likelihood,
        p.likelihood_change,
        p.log_reference,
        p.reference_change,
        p.draw_reference,
        gradient,
        p.reference_gradient,
        p.whole_gradient,
        p.is_ratio,
        p.data,
        p.value_type,
        p.lower,
        p.upper,
        p.family,
        p.constants,
        p.table,
        p.circles,
        p.stop,
    )


@inlined
def without_local_change(p: Program) -> Any:
    """Return the program without the local change of the likelihood, so that every update evaluates all of it."""
    return Program(
        p.dimension,
        p.log_likelihood,
        0,
        p.log_reference,
        p.reference_change,
        p.draw_reference,
        p.likelihood_gradient,
        p.reference_gradient,
        p.whole_gradient,
        p.is_ratio,
        p.data,
        p.value_type,
        p.lower,
        p.upper,
        p.family,
        p.constants,
        p.table,
        p.circles,
        p.stop,
    )


@inlined
def log_likelihood(program: Program, x: FloatPointer, reference: float | None, log_densities: FloatPointer) -> float:
    """Evaluate the log-likelihood at x and count the evaluation.

    `reference` is the log-density of the reference at x, which was evaluated there last. It may be None if that is
    independent, because then the likelihood is no ratio; this saves cheap models the question, which costs 5 %.
    """
    log_densities[EVALUATIONS] += 1.0
    possible = True
    # a question of types, which compiled code does not ask
    if reference is not None:
        # where the prior has no density, the likelihood need not be defined
        possible = program.is_ratio == 0 or log_densities[LOG_PRIOR] > -math.inf
    value = -math.inf
    if possible:
        value = likelihood_value(program.log_likelihood, x, program.dimension, program.data)
    if reference is not None:
        if program.is_ratio != 0 and value > -math.inf:
            value = log_densities[LOG_PRIOR] + value - reference
    if not value < ceiling_of(program.log_likelihood, program.stop):
        poll(program.stop)
        if not value < math.inf:
            return refused_likelihood(program.stop, value, log_densities)
    return value


@compiled
def refused_likelihood(stop: FloatPointer, value: float, log_densities: FloatPointer) -> float:
    """Count a log-likelihood of NaN or +inf as a likelihood of zero, if the run rejects such points, or raise."""
    if stop[REJECTS] == 0.0:
        if value == math.inf:
            raise NotANumber("log-likelihood is +inf")
        raise NotANumber("log-likelihood is NaN")
    log_densities[FAILED_LIKELIHOODS + kind_of(value)] += 1.0
    return -math.inf


@inlined
def joint_log_reference(program: Program, x: FloatPointer, log_densities: FloatPointer) -> float:
    """Evaluate the log-density of a joint reference at x, which may be NaN."""
    if program.is_ratio != 0:
        log_prior = as_address(offset_pointer(log_densities, LOG_PRIOR))
        return call_log_reference_and_prior(program.log_reference, (as_address(x), log_prior, program.data))
    return call_log_density(program.log_reference, (as_address(x), program.data))


@compiled
def log_reference(program: Program, x: FloatPointer, log_densities: FloatPointer) -> float:
    """Evaluate the reference's log-density at x."""
    if program.log_reference != 0:
        value = joint_log_reference(program, x, log_densities)
        if not value < math.inf:
            return refused_reference(program.stop, value, log_densities)
        return value
    total = 0.0
    for i in range(program.dimension):
        total += coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, x[i])
    return total


@compiled
def refused_reference(stop: FloatPointer, value: float, log_densities: FloatPointer) -> float:
    """Count a reference's log-density of NaN or +inf as a density of zero, if the run rejects such points, or raise."""
    if stop[REJECTS] == 0.0:
        if value == math.inf:
            raise NotANumber("reference's log-density is +inf")
        raise NotANumber("reference's log-density is NaN")
    log_densities[FAILED_REFERENCES + kind_of(value)] += 1.0
    return -math.inf


@compiled
def annealed_gradient(
    program: Program,
    x: FloatPointer,
    beta: float,
    log_densities: FloatPointer,
    gradient: FloatPointer,
    scratch: FloatPointer,
) -> None:
    """Write the gradient of the annealed log-density at x; gradient and scratch have an entry per coordinate.

    That of an integer is 0. If the likelihood's gradient is not finite, neither is the sum, and the caller rejects.
    """
    log_densities[GRADIENTS] += 1.0
    if ceiling_of(program.likelihood_gradient, program.stop) < math.inf:
        poll(program.stop)
    if program.whole_gradient != 0:
        call_whole_gradient(program.whole_gradient, (as_address(x), beta, as_address(gradient), program.data))
        return
    write_gradient(program.likelihood_gradient, x, gradient, program.dimension, program.data)
    add_reference_slope(program, x, 1.0, beta, gradient, scratch)


@inlined
def add_reference_slope(
    program: Program, x: FloatPointer, share: float, power: float, gradient: FloatPointer, scratch: FloatPointer
) -> None:
    """Replace the gradient g of the log-likelihood by power * g + share * gradient of the log-reference."""
    if program.log_reference != 0:
        call_gradient(program.reference_gradient, (as_address(x), as_address(scratch), program.data))
    for i in range(program.dimension):
        if program.value_type[i] != REAL:
            gradient[i] = 0.0
        elif program.log_reference != 0:
            gradient[i] = share * scratch[i] + power * gradient[i]
        else:
            slope = coordinate_slope(program.family[i], program.constants, 4 * i, x[i])
            gradient[i] = share * slope + power * gradient[i]


@compiled
def draw_reference(program: Program, x: FloatPointer, stream: Stream) -> None:
    """Replace x by an exact draw from the reference.

    A draw that rounds to the edge of an open support (1 from a Beta of tiny shape) becomes the nearest number inside.
    """
    rng = generator_of(stream)
    if program.draw_reference != 0:
        call_draw(program.draw_reference, (as_address(x), program.data, rng))
        for i in range(program.dimension):
            x[i] = wrapped(program.circles, i, x[i])
            inside = program.lower[i] <= x[i] <= program.upper[i]
            if not inside or (program.value_type[i] != REAL and x[i] != math.floor(x[i])):
                raise ImpossibleDraw
        return
    for i in range(program.dimension):
        value = draw_coordinate(program.family[i], program.constants, 4 * i, program.table, stream, rng)
        x[i] = wrapped(program.circles, i, min(max(value, program.lower[i]), program.upper[i]))


@compiled
def refresh(program: Program, x: FloatPointer, log_densities: FloatPointer) -> None:
    """Evaluate both log-densities of a state again."""
    log_densities[LOG_REFERENCE] = log_reference(program, x, log_densities)
    log_densities[LOG_LIKELIHOOD] = log_likelihood(program, x, log_densities[LOG_REFERENCE], log_densities)
    log_densities[LARGEST_REFERENCE] = 0.0
    log_densities[LARGEST_LIKELIHOOD] = 0.0


@compiled
def check_draw(log_densities: FloatPointer) -> None:
    """Raise if a draw from the reference has density zero, because then its two functions do not agree."""
    if log_densities[LOG_REFERENCE] == -math.inf:
        raise ImpossibleDraw


@inlined
def coordinate_reference(
    program: Program, x: FloatPointer, i: int, here: float, value: float, log_densities: FloatPointer
) -> float:
    """Return the log-density of the reference along coordinate i, up to a constant; writes the value into x.

    For an independent reference this is the coordinate's own term. A joint one with a local-change function evaluates
    local terms only, and adds them to the log-density at `here`, which is in `log_densities`.
    """
    x[i] = value
    if program.log_reference == 0:
        return coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, value)
    if program.reference_change == 0:
        return log_reference(program, x, log_densities)
    x[i] = here
    change = call_change(program.reference_change, (as_address(x), i, value, program.data))
    x[i] = value
    if not change < math.inf:
        raise NotANumber("local change of the reference's log-density is NaN or +inf")
    return log_densities[LOG_REFERENCE] + change


@inlined
def reference_of(program: Program, x: FloatPointer, i: int, here: float, log_densities: FloatPointer) -> float:
    """Return `coordinate_reference` at the state itself; that of a joint reference is in `log_densities`."""
    if program.log_reference == 0:
        return coordinate_log_density(program.family[i], program.constants, 4 * i, program.table, here)
    return log_densities[LOG_REFERENCE]


@inlined
def coordinate_likelihood(
    program: Program,
    x: FloatPointer,
    i: int,
    here: float,
    value: float,
    reference: float | None,
    log_densities: FloatPointer,
) -> float:
    """Return the log-likelihood with coordinate i at `value`, and leave `value` in x.

    `reference` is as for `log_likelihood`. A local-change function costs the local terms only, which are added to the
    log-likelihood in `log_densities`.
    """
    if program.likelihood_change == 0:
        x[i] = value
        return log_likelihood(program, x, reference, log_densities)
    log_densities[EVALUATIONS] += 1.0
    x[i] = here
    change = call_change(program.likelihood_change, (as_address(x), i, value, program.data))
    x[i] = value
    if not change < program.stop[CEILING]:
        poll(program.stop)
        if not change < math.inf:
            raise NotANumber("local change of the log-likelihood is NaN or +inf")
    return log_densities[LOG_LIKELIHOOD] + change
