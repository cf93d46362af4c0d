"""What a user's own move is given: the annealed log-density as a function, and NumPy's generator on the stream.

Both are made from one record, in the explorer's scratch, that the kernel fills before it calls the move. In compiled
code the log-density is a callable Numba type, and the generator's memory is the stream. In Python it is a callable
object, and the generator is lent the words of the stream during the call.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import models, register_model
from numpy.typing import ArrayLike, NDArray

from sterna.engine.callback import DIMENSION, call_python
from sterna.engine.callback import HEAD as DATA_HEAD
from sterna.engine.interrupts import uninterruptible
from sterna.errors import Error, EvaluationError, describe
from sterna.ground.compilation import (
    as_pointer,
    caller,
    compiled,
    compiled_callback,
    float_pointer,
    int_pointer,
    intrinsic,
    lowered,
)
from sterna.ground.rows import fields, size_of
from sterna.ground.streams import N_STATE, generator_in_python
from sterna.types import FloatArray, WordArray

# How many states a move's record remembers, with their log-densities: enough that none is evaluated twice.
MAX_REMEMBERED = 3


@fields
class MoveRecord:
    """The record of a move: addresses, beta, and remembered states.

    Behind it lie the move's x and the remembered states, each of as many numbers as the block has coordinates.
    """

    program = 1
    state = 1
    log_densities = 1
    stream = 1
    coordinates = 1
    constants = 1
    beta = 1
    remembered = 1
    newest = 1
    remembered_log_densities = 2 * MAX_REMEMBERED


@fields
class MoveConstants:
    """What does not change from call to call: the size of the block, addresses of functions, and handles.

    The last three addresses are those of the functions by which NumPy's generator draws.
    """

    count = 1
    evaluate = 1
    move = 1
    move_handle = 1
    move_data = 1
    refuse = 1
    refuse_handle = 1
    next_64 = 1
    next_32 = 1
    next_double = 1


RECORD_SIZE = size_of(MoveRecord)
# In the place of a record's address, after its move has returned.
ENDED = 0
N_CONSTANTS = size_of(MoveConstants)

# f(record, values, their number)
EVALUATION = types.float64(types.int64, types.int64, types.int64)
# f(state, record, beta, data, handle) writes the move's x
MOVE = types.none(types.int64, types.int64, types.float64, types.int64, types.int64)
# f(values, their number, handle) raises
REFUSAL = types.none(types.int64, types.int64, types.int64)

call_evaluation = caller(EVALUATION)
call_move = caller(MOVE)
call_refusal = caller(REFUSAL)


class LogDensityType(types.Callable):  # type: ignore[misc]
    """The type of `log_density` in compiled code: the address of a record, which can be called."""

    def __init__(self) -> None:
        super().__init__(name="LogDensity")

    def get_call_type(self, context: object, arguments: Sequence[Any], keywords: object) -> object:
        """Accept one vector of numbers."""
        if keywords or len(arguments) != 1:
            return None
        vector = arguments[0]
        good = (
            isinstance(vector, types.Array)
            and vector.ndim == 1
            and isinstance(vector.dtype, (types.Integer, types.Float))
        )
        return signature(types.float64, vector, recvr=self) if good else None

    def get_call_signatures(self) -> tuple[list[object], bool]:
        """Return no fixed signatures."""
        return [], False

    def get_impl_key(self, _: object) -> object:
        """Return the key of `_call_log_density`."""
        return LogDensityType


LOG_DENSITY_TYPE = LogDensityType()


@register_model(LogDensityType)
class _LogDensityModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: object, type_: object) -> None:
        super().__init__(manager, type_, [("record", types.int64)])


@intrinsic
def log_density_on(typing_context: object, record: object) -> object:
    """Return the callable for a record."""

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        made = cgutils.create_struct_proxy(LOG_DENSITY_TYPE)(context, builder)
        made.record = values[0]
        return made._getvalue()

    return LOG_DENSITY_TYPE(types.int64), generate


@compiled
def evaluate_at(record: int, values: FloatArray) -> float:
    """Evaluate the annealed log-density of a record, by the function whose address is among its constants."""
    constants = int_pointer(int_pointer(record)[MoveRecord.constants])
    return call_evaluation(constants[MoveConstants.evaluate], (record, values.ctypes.data, values.size))


def _evaluate_plain_vector(record: int, values: FloatArray) -> float:
    return evaluate_at(record, values)


def _evaluate_other_vector(record: int, values: NDArray[np.generic]) -> float:
    # the new array stays alive until the function returns
    return evaluate_at(record, values.astype(np.float64))


@lowered(LogDensityType, LogDensityType, types.Array)
def _call_log_density(context: Any, builder: Any, call: Any, values: Any) -> object:
    vector = call.args[1]
    plain = vector.dtype == types.float64 and vector.layout == "C"
    function = _evaluate_plain_vector if plain else _evaluate_other_vector
    record = builder.extract_value(values[0], 0)
    return context.compile_internal(builder, function, types.float64(types.int64, vector), (record, values[1]))


def argument_lines(count: int) -> list[str]:
    """Return code that makes a move's first three arguments, `own`, `log_density` and `generator`, from its record."""
    names = ("next_64", "next_32", "next_double")
    next_64, next_32, next_double = (f"constants[{getattr(MoveConstants, name)}]" for name in names)
    return [
        f"    own = carray(as_pointer(record + {8 * RECORD_SIZE}, float64), {count})",
        f"    words = carray(as_pointer(record, int64), {RECORD_SIZE})",
        f"    constants = carray(as_pointer(words[{MoveRecord.constants}], int64), {N_CONSTANTS})",
        f"    generator = generator_on(words[{MoveRecord.stream}], {next_64}, {next_32}, {next_double})",
        "    log_density = log_density_on(record)",
    ]


@compiled_callback
def python_move(state: int, record: int, beta: float, data: int, handle: int) -> None:
    """Make a Python move."""
    words = int_pointer(record)
    constants = int_pointer(words[MoveRecord.constants])
    record_x = numba.carray(float_pointer(record + 8 * RECORD_SIZE), constants[MoveConstants.count])
    stream = numba.carray(as_pointer(words[MoveRecord.stream], types.uint64), N_STATE)
    block = numba.carray(int_pointer(data), DATA_HEAD)
    x = numba.carray(float_pointer(state), block[DIMENSION])
    with numba.objmode():
        call_python(handle, x, record_x, stream, record, beta)


@compiled_callback
def python_refusal(values: int, count: int, handle: int) -> None:
    """Raise, in Python, the error for a state to which a move must not go, because compiled code has no strings."""
    given = numba.carray(float_pointer(values), count)
    with numba.objmode():
        call_python(handle, given)


class LogDensity:
    """The annealed log-density that a Python move calls."""

    def __init__(self, record: int, record_x: FloatArray, x: FloatArray, what: str) -> None:
        self.record, self.record_x, self.x, self.what = record, record_x, x, what
        self.at_work = False
        """Whether an exception was raised here, and not by the move."""

    def __call__(self, state: ArrayLike) -> float:
        """Evaluate it at a vector, which is copied."""
        values = np.ascontiguousarray(state, dtype=np.float64)
        if np.ndim(state) != 1:
            raise EvaluationError(f"{self.what} called log_density with {state!r}; it takes a vector like x.")
        if self.record == ENDED:
            raise EvaluationError(
                f"log_density was called after the call of {self.what.replace('The', 'the', 1)} that it was passed to "
                "had returned: it knows the other coordinates and beta of that call only. Do not keep it; each call of "
                "the move is given its own."
            )
        self.record_x[:] = self.x
        self.at_work = True
        value = uninterruptible(evaluate_at, self.record, values)
        self.at_work = False
        return value

    def end(self) -> None:
        """Forget the record, whose memory is freed or used by others once the move has returned."""
        self.record, self.record_x = ENDED, np.empty(0)


def run_python_move(
    move: Callable[[FloatArray, LogDensity, np.random.Generator], object],
    what: str,
    record_x: FloatArray,
    stream: WordArray,
    record: int,
) -> None:
    """Call a Python move on a copy of its x."""
    x = record_x.copy()
    log_density = LogDensity(record, record_x, x, what)
    try:
        with generator_in_python(stream) as generator:
            returned = move(x, log_density, generator)
    except Error:
        raise
    except Exception as error:
        if log_density.at_work:
            raise
        raise EvaluationError(f"{what} raised {describe(error)}.") from error
    finally:
        log_density.end()
    if returned is not None:
        raise EvaluationError(
            f"{what} returned {returned!r}, which is not used: write the new state into x, by x[:] = new or "
            "x[i] = value, and return nothing."
        )
    record_x[:] = x
