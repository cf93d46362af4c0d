"""What a user's own move works with: the annealed log-density as a function, and NumPy's generator on the stream.

Both follow from one record, words in the explorer's scratch that the kernel fills before it calls the move. Compiled
code gets a Numba type of its own that can be called like a function, and a generator whose memory is the stream.
Python code gets an object that can be called, and a generator whose memory takes the stream's words for the time.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import models, register_model
from numpy.typing import NDArray

from sterna.engine.callback import DIMENSION, call_python
from sterna.engine.callback import HEAD as DATA_HEAD
from sterna.engine.program import GENERATOR
from sterna.errors import Error, EvaluationError
from sterna.ground.compilation import as_pointer, caller, compiled, compiled_callback, intrinsic, lowered
from sterna.ground.streams import new_generator
from sterna.types import FloatArray, WordArray

# Places in the record: addresses of the program's block, of the whole state, its log-densities, the stream, the
# coordinates of
# the block explored and the constants; beta; how many states are remembered, and which one is the newest.
PROGRAM, STATE, LOGS, STREAM, COORDINATES, CONSTANTS, BETA, REMEMBERED, NEWEST = range(9)
# Behind them both log-densities of three remembered states, the move's x, and the remembered states.
REMEMBERED_LOGS = 9
HEAD = REMEMBERED_LOGS + 2 * 3

# Places in the constants: size of the block; addresses of `annealed_at`, of the move and its handle, of the callback
# for complaints and its handle, and of the three functions by which NumPy's generator draws.
COUNT, EVALUATE, MOVE_ADDRESS, MOVE_HANDLE, COMPLAINT, COMPLAINT_HANDLE, NEXT_64, NEXT_32, NEXT_DOUBLE = range(9)

# f(record, values, their number)
EVALUATION = types.float64(types.int64, types.int64, types.int64)
# f(state, record, beta, data, handle) writes the move's x
MOVE = types.none(types.int64, types.int64, types.float64, types.int64, types.int64)
# f(values, their number, handle) raises
COMPLAINING = types.none(types.int64, types.int64, types.int64)

call_evaluation = caller(EVALUATION)
call_move = caller(MOVE)
call_complaint = caller(COMPLAINING)


def drawing_functions() -> list[int]:
    """Addresses of the functions that draw from an SFC64 state, the same for all generators."""
    interface = np.random.SFC64(0).ctypes
    functions = (interface.next_uint64, interface.next_uint32, interface.next_double)
    return [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]


@intrinsic
def generator_on(typing_context: Any, stream: Any, next_64: Any, next_32: Any, next_double: Any) -> Any:
    """Return NumPy's generator in its compiled form, drawing from a stream; there is no Python object behind it."""

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        bits = cgutils.create_struct_proxy(types.NumPyRandomBitGeneratorType("bit_generator"))(context, builder)
        bits.state_address = bits.state = values[0]
        bits.fnptr_next_uint64, bits.fnptr_next_uint32, bits.fnptr_next_double = values[1:]
        made = cgutils.create_struct_proxy(GENERATOR)(context, builder)
        made.bit_generator = bits._getvalue()
        return made._getvalue()

    return GENERATOR(*[types.int64] * 4), generate


class LogDensityType(types.Callable):  # type: ignore[misc]
    """The type of `log_density` in compiled code: the address of a record that can be called."""

    def __init__(self) -> None:
        super().__init__(name="LogDensity")

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        """Take one vector of numbers."""
        if keywords or len(arguments) != 1:
            return None
        vector = arguments[0]
        good = (
            isinstance(vector, types.Array)
            and vector.ndim == 1
            and isinstance(vector.dtype, (types.Integer, types.Float))
        )
        return signature(types.float64, vector, recvr=self) if good else None

    def get_call_signatures(self) -> Any:
        """Nothing to list."""
        return [], False

    def get_impl_key(self, _: Any) -> Any:
        """Return the key of `_call_log_density`."""
        return LogDensityType


LOG_DENSITY_TYPE = LogDensityType()


@register_model(LogDensityType)
class _LogDensityModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("record", types.int64)])


@intrinsic
def log_density_on(typing_context: Any, record: Any) -> Any:
    """Return the callable for a record."""

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        made = cgutils.create_struct_proxy(LOG_DENSITY_TYPE)(context, builder)
        made.record = values[0]
        return made._getvalue()

    return LOG_DENSITY_TYPE(types.int64), generate


@compiled
def evaluate_at(record: int, values: FloatArray) -> float:
    """Evaluate the annealed log-density of a record, by the function that the record names."""
    constants = as_pointer(as_pointer(record, types.int64)[CONSTANTS], types.int64)
    return call_evaluation(constants[EVALUATE], (record, values.ctypes.data, values.size))


def _evaluate_plain_vector(record: int, values: FloatArray) -> float:
    return evaluate_at(record, values)


def _evaluate_other_vector(record: int, values: NDArray[Any]) -> float:
    # the caller of a function keeps the array alive until it returns
    return evaluate_at(record, values.astype(np.float64))


@lowered(LogDensityType, LogDensityType, types.Array)
def _call_log_density(context: Any, builder: Any, call: Any, values: Any) -> Any:
    vector = call.args[1]
    plain = vector.dtype == types.float64 and vector.layout == "C"
    function = _evaluate_plain_vector if plain else _evaluate_other_vector
    record = builder.extract_value(values[0], 0)
    return context.compile_internal(builder, function, types.float64(types.int64, vector), (record, values[1]))


def argument_lines(count: int) -> list[str]:
    """Code that makes a move's first three arguments, `own`, `log_density` and `generator`, from its record."""
    return [
        f"    own = carray(as_pointer(record + {8 * HEAD}, float64), {count})",
        f"    words = carray(as_pointer(record, int64), {HEAD})",
        f"    constants = carray(as_pointer(words[{CONSTANTS}], int64), {NEXT_DOUBLE + 1})",
        f"    drawing = constants[{NEXT_64}], constants[{NEXT_32}], constants[{NEXT_DOUBLE}]",
        f"    generator = generator_on(words[{STREAM}], drawing[0], drawing[1], drawing[2])",
        "    log_density = log_density_on(record)",
    ]


@compiled_callback
def python_move(state: int, record: int, beta: float, data: int, handle: int) -> None:
    """Make a Python move."""
    words = as_pointer(record, types.int64)
    constants = as_pointer(words[CONSTANTS], types.int64)
    own = numba.carray(as_pointer(record + 8 * HEAD, types.float64), constants[COUNT])
    stream = numba.carray(as_pointer(words[STREAM], types.uint64), 5)
    block = numba.carray(as_pointer(data, types.int64), DATA_HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    with numba.objmode():
        call_python(handle, x, own, stream, record, beta)


@compiled_callback
def python_complaint(values: int, count: int, handle: int) -> None:
    """Say in Python what is wrong with the state to which a move went, as compiled code has no words for it."""
    given = numba.carray(as_pointer(values, types.float64), count)
    with numba.objmode():
        call_python(handle, given)


class LogDensity:
    """The annealed log-density that a Python move calls."""

    def __init__(self, record: int, own: FloatArray, x: FloatArray, what: str) -> None:
        self.record, self.own, self.x, self.what = record, own, x, what
        self.at_work = False
        """Whether an exception comes from here, and not from the move."""

    def __call__(self, state: Any) -> float:
        """Evaluate it at a vector, of whose numbers the engine takes a copy."""
        values = np.ascontiguousarray(state, dtype=np.float64)
        if np.ndim(state) != 1:
            raise EvaluationError(f"{self.what} called log_density with {state!r}; it takes a vector like x.")
        self.own[:] = self.x
        self.at_work = True
        value = evaluate_at(self.record, values)
        self.at_work = False
        return value


class _Thread(threading.local):
    """Generators that no move of this thread uses; several may be under way, each in a greenlet."""

    def __init__(self) -> None:
        self.free: list[tuple[Any, Any]] = []


_thread = _Thread()


def run_python_move(
    move: Callable[[FloatArray, LogDensity, np.random.Generator], Any],
    what: str,
    own: FloatArray,
    stream: WordArray,
    record: int,
) -> None:
    """Call a Python move on a copy of its x, with a generator of this thread in the place of the stream."""
    own_generator = words, generator = _thread.free.pop() if _thread.free else new_generator()
    x = own.copy()
    log_density = LogDensity(record, own, x, what)
    words[:] = stream
    try:
        returned = move(x, log_density, generator)
    except Error:
        raise
    except Exception as error:
        if log_density.at_work:
            raise
        raise EvaluationError(f"{what} raised {type(error).__name__}: {error}.") from error
    finally:
        _thread.free.append(own_generator)
    if returned is not None:
        raise EvaluationError(
            f"{what} returned {returned!r}, and what a move returns is lost: write the new state into x, by x[:] = new "
            "or x[i] = value, and return nothing."
        )
    stream[:] = words
    own[:] = x
