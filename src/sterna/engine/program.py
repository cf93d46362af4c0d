"""A target as the compiled engine sees it: addresses of functions, and tables of coordinates."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from sterna.engine.compilation import (
    FLOATS,
    INTEGERS,
    WORDS,
    as_address,
    as_pointer,
    caller,
    compiled,
    inlined,
)
from sterna.engine.densities import coordinate_log_density, draw_coordinate
from sterna.engine.streams import Stream

REAL, INTEGER, BINARY = 0, 1, 2

# Places in a row of `logs`, which travels with every replica.
LOG_REFERENCE, LOG_LIKELIHOOD, EVALUATIONS = 0, 1, 2

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]


class Program(NamedTuple):
    """All that explorers and the round may ask of a target; compiled functions see pointers for arrays.

    An address of zero means that there is no such function: without `log_reference` the coordinates of the
    reference are independent and described by `kind`, `numbers` (four for each coordinate) and `table`.
    """

    dimension: int
    log_likelihood: int
    likelihood_change: int
    log_reference: int
    draw_reference: int
    data: int
    sort: Integers
    lower: Numbers
    upper: Numbers
    kind: Integers
    numbers: Numbers
    table: Numbers

    def block(self) -> Integers:
        """Numbers and addresses in one array, from which `view` makes the compiled form."""
        fields = [field.ctypes.data if isinstance(field, np.ndarray) else field for field in self]
        return np.array(fields, dtype=np.int64)


PROGRAM = types.NamedTuple([types.int64] * 6 + [INTEGERS, FLOATS, FLOATS, INTEGERS, FLOATS, FLOATS], Program)
GENERATOR = types.NumPyRandomGeneratorType("NumPyRandomGeneratorType")

# f(state, data): states and data travel as addresses.
LOG_DENSITY = types.float64(types.int64, types.int64)
# f(state, coordinate, new value, data)
CHANGE = types.float64(types.int64, types.int64, types.float64, types.int64)
# f(state, data, generator) writes the state
DRAW = types.int64(types.int64, types.int64, GENERATOR)
# f(program, state, logs, beta, parameters, statistics, addresses of the explorer's data, stream)
EXPLORE = types.none(PROGRAM, FLOATS, FLOATS, types.float64, FLOATS, FLOATS, INTEGERS, WORDS)

call_log_density = caller(LOG_DENSITY)
call_change = caller(CHANGE)
call_draw = caller(DRAW)


class NotANumber(Exception):  # noqa: N818 (never reaches a user: `sterna.sampling` words the message)
    """A log-density was NaN or +inf; the state in the round's arrays is where it happened."""


class ImpossibleDraw(Exception):  # noqa: N818
    """The reference drew a state outside of its space, or one at which its own density is zero."""


@compiled
def view(block: Integers) -> Program:
    """Return the compiled form of a program."""
    return Program(
        block[0],
        block[1],
        block[2],
        block[3],
        block[4],
        block[5],
        as_pointer(block[6], types.int64),
        as_pointer(block[7], types.float64),
        as_pointer(block[8], types.float64),
        as_pointer(block[9], types.int64),
        as_pointer(block[10], types.float64),
        as_pointer(block[11], types.float64),
    )


def likelihood_value(likelihood: Any, x: Numbers, dimension: int, data: int) -> float:
    """Evaluate a likelihood given by its address, or one that is compiled in place.

    The latter is a named tuple of the likelihood's constants whose class has a static method
    `value(constants, x, dimension, data)`. It saves a cheap model the call, and costs a kernel of its own.
    """
    raise NotImplementedError("exists in compiled code only")


@overload(likelihood_value, jit_options={"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True})
def _likelihood_value(likelihood, x, dimension, data):  # type: ignore[no-untyped-def]
    if isinstance(likelihood, types.Integer):
        return lambda likelihood, x, dimension, data: call_log_density(likelihood, (as_address(x), data))
    return likelihood.instance_class.value


@inlined
def with_likelihood(p: Program, likelihood: Any) -> Any:
    """Return the program with its likelihood compiled in place."""
    return Program(
        p.dimension,
        likelihood,
        p.likelihood_change,
        p.log_reference,
        p.draw_reference,
        p.data,
        p.sort,
        p.lower,
        p.upper,
        p.kind,
        p.numbers,
        p.table,
    )


@inlined
def log_likelihood(program: Program, x: Numbers, logs: Numbers) -> float:
    """Evaluate the log-likelihood at x and count the evaluation."""
    logs[EVALUATIONS] += 1.0
    value = likelihood_value(program.log_likelihood, x, program.dimension, program.data)
    if not value < math.inf:
        if value == math.inf:
            raise NotANumber("log-likelihood is +inf")
        raise NotANumber("log-likelihood is NaN")
    return value


@compiled
def log_reference(program: Program, x: Numbers) -> float:
    """Evaluate the reference's log-density at x."""
    if program.log_reference != 0:
        value = call_log_density(program.log_reference, (as_address(x), program.data))
        if not value < math.inf:
            raise NotANumber("reference's log-density is NaN or +inf")
        return value
    total = 0.0
    for i in range(program.dimension):
        total += coordinate_log_density(program.kind[i], program.numbers, 4 * i, program.table, x[i])
    return total


@compiled
def draw_reference(program: Program, x: Numbers, stream: Stream, rng: Any) -> None:
    """Replace x by an exact draw from the reference.

    A draw that rounds to the edge of an open support (a Beta of tiny shape at 1, say) takes the nearest number inside.
    """
    if program.draw_reference != 0:
        call_draw(program.draw_reference, (as_address(x), program.data, rng))
        for i in range(program.dimension):
            inside = program.lower[i] <= x[i] <= program.upper[i]
            if not inside or (program.sort[i] != REAL and x[i] != math.floor(x[i])):
                raise ImpossibleDraw
        return
    for i in range(program.dimension):
        value = draw_coordinate(program.kind[i], program.numbers, 4 * i, program.table, stream, rng)
        x[i] = min(max(value, program.lower[i]), program.upper[i])


@compiled
def refresh(program: Program, x: Numbers, logs: Numbers) -> None:
    """Evaluate both log-densities of a state anew."""
    logs[LOG_REFERENCE] = log_reference(program, x)
    logs[LOG_LIKELIHOOD] = log_likelihood(program, x, logs)


@compiled
def check_draw(logs: Numbers) -> None:
    """Stop where a reference's two functions do not belong together."""
    if logs[LOG_REFERENCE] == -math.inf:
        raise ImpossibleDraw


@inlined
def coordinate_reference(program: Program, x: Numbers, i: int, value: float) -> float:
    """Log-density of the reference along coordinate i, up to a constant; writes the value into x.

    For an independent reference this is the coordinate's own term.
    """
    x[i] = value
    if program.log_reference == 0:
        return coordinate_log_density(program.kind[i], program.numbers, 4 * i, program.table, value)
    return log_reference(program, x)


@inlined
def reference_of(program: Program, x: Numbers, i: int, here: float, logs: Numbers) -> float:
    """Value of `coordinate_reference` at the state itself, which logs hold for a joint reference."""
    if program.log_reference == 0:
        return coordinate_log_density(program.kind[i], program.numbers, 4 * i, program.table, here)
    return logs[LOG_REFERENCE]


@inlined
def coordinate_likelihood(program: Program, x: Numbers, i: int, here: float, value: float, logs: Numbers) -> float:
    """Log-likelihood with coordinate i at `value`, where logs hold that of `here`; leaves `value` in x.

    With a local-change function this costs the local terms only.
    """
    if program.likelihood_change == 0:
        x[i] = value
        return log_likelihood(program, x, logs)
    logs[EVALUATIONS] += 1.0
    x[i] = here
    change = call_change(program.likelihood_change, (as_address(x), i, value, program.data))
    x[i] = value
    if not change < math.inf:
        raise NotANumber("local change of the log-likelihood is NaN or +inf")
    return logs[LOG_LIKELIHOOD] + change


@compiled
def evaluate(block: Integers, x: Numbers, logs: Numbers) -> None:
    """Evaluate both log-densities of a state, called from Python."""
    refresh(
        view(block),
        as_pointer(x.ctypes.data, types.float64),
        as_pointer(logs.ctypes.data, types.float64),
    )
