"""Calls from the compiled engine to plain Python functions, by their handles in the target's data block."""

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numba
from numba import types
from numba.core import cgutils

from sterna.ground.compilation import as_pointer, compiled_callback, intrinsic
from sterna.ground.rows import fields, size_of
from sterna.ground.streams import N_STATE, generator_in_python, state_address
from sterna.types import FloatArray, WordArray


@fields
class DataHead:
    """The head of every data block: handles of Python functions, the dimension of the state, and addresses of compiled
    functions that are called through a guard (`sterna.engine.failures`).
    """

    likelihood = 1
    change = 1
    reference = 1
    reference_change = 1
    draw = 1
    gradient = 1
    reference_gradient = 1
    dimension = 1
    guarded_likelihood = 1
    guarded_reference = 1


LIKELIHOOD, CHANGE, GRADIENT = DataHead.likelihood, DataHead.change, DataHead.gradient
REFERENCE, REFERENCE_CHANGE = DataHead.reference, DataHead.reference_change
REFERENCE_GRADIENT, DRAW, DIMENSION = DataHead.reference_gradient, DataHead.draw, DataHead.dimension
GUARDED_LIKELIHOOD, GUARDED_REFERENCE = DataHead.guarded_likelihood, DataHead.guarded_reference
HEAD = size_of(DataHead)


class Entry(NamedTuple):
    """A user's function, ready to be called by compiled code; whoever asks for it owns its handle."""

    address: int
    """Of the compiled function, or of the callback to its Python form."""
    handle: int
    """Of the Python form; 0 if the function is compiled."""
    notes: tuple[str, ...]
    """Why the function is not compiled, if there is a reason to report."""
    data: int = 0
    """Address of the data block that an explorer passes to the function; 0 if the engine passes the target's."""


# By handle: the function, and a weak reference to its owner, if it has one.
_functions: dict[int, tuple[Callable[..., Any], weakref.ref[Any] | None]] = {}
_handles = count(1)


def register(function: Callable[..., Any]) -> int:
    """Give a Python function a handle, which is valid until `forget`, or as long as its owner lives."""
    handle = next(_handles)
    _functions[handle] = function, None
    return handle


def forget_with(owner: object, handle: int) -> None:
    """Remove a function as soon as its owner is freed; a handle of 0 is no function.

    No Python code runs then, as it would in `weakref.finalize`: it can call the handler of a signal, and what that
    raises is ignored in a destructor. Ctrl-C would be lost.
    """
    if handle != 0:
        # the reference that a callback is given becomes the default of `pop`
        _functions[handle] = _functions[handle][0], weakref.ref(owner, partial(_functions.pop, handle))


def forget(handles: list[int]) -> None:
    """Remove functions by their handles."""
    for handle in handles:
        _functions.pop(handle, None)


class _Thread(threading.local):
    """Functions that this thread calls instead of registered ones."""

    def __init__(self) -> None:
        self.override: Mapping[int, Callable[..., Any]] = {}


_thread = _Thread()


@contextmanager
def override(functions: Mapping[int, Callable[..., Any]]) -> Iterator[None]:
    """In this thread, call other functions instead of registered ones, such as those that evaluate elsewhere."""
    before, _thread.override = _thread.override, functions
    try:
        yield
    finally:
        _thread.override = before


def call_python(handle: int, *arguments: object) -> Any:
    """Call a registered function; its exceptions pass through the compiled code, marked with the handle."""
    function = _thread.override.get(handle) or _functions[handle][0]
    try:
        return function(*arguments)
    except Exception as error:
        if failed_handle(error) == 0:
            with suppress(Exception):  # a user's exception may refuse attributes
                error.sterna_handle = handle  # type: ignore[attr-defined]
        raise


def failed_handle(error: BaseException) -> int:
    """Return the handle of the function that raised an exception; 0 if none did, or compiled code did."""
    return int(getattr(error, "sterna_handle", 0))


def draw_in_python(handle: int, x: FloatArray, stream: WordArray) -> None:
    """Call a registered draw with NumPy's generator on a stream."""
    with generator_in_python(stream) as generator:
        call_python(handle, x, generator)


@compiled_callback
def python_log_likelihood(state: int, data: int) -> float:
    """Evaluate a Python log-likelihood."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    handle = block[LIKELIHOOD]
    with numba.objmode(value="float64"):
        value = call_python(handle, x)
    return value  # noqa: RET504


@compiled_callback
def python_log_reference(state: int, data: int) -> float:
    """Evaluate the reference's Python log-density."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    handle = block[REFERENCE]
    with numba.objmode(value="float64"):
        value = call_python(handle, x)
    return value  # noqa: RET504


@compiled_callback
def python_change(state: int, coordinate: int, new: float, data: int) -> float:
    """Evaluate a Python local-change function."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    handle = block[CHANGE]
    with numba.objmode(value="float64"):
        value = call_python(handle, x, coordinate, new)
    return value  # noqa: RET504


@compiled_callback
def python_reference_change(state: int, coordinate: int, new: float, data: int) -> float:
    """Evaluate the reference's Python local-change function."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    handle = block[REFERENCE_CHANGE]
    with numba.objmode(value="float64"):
        value = call_python(handle, x, coordinate, new)
    return value  # noqa: RET504


@compiled_callback
def python_draw(state: int, data: int, generator: object) -> int:
    """Draw from a Python reference into the state; the generator has no Python object, so that Python is lent one."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    handle = block[DRAW]
    stream = numba.carray(as_pointer(state_address(generator), types.uint64), N_STATE)
    with numba.objmode():
        draw_in_python(handle, x, stream)
    return 0


@compiled_callback
def python_gradient(state: int, gradient: int, data: int) -> int:
    """Write the gradient of a Python log-likelihood."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    out = numba.carray(as_pointer(gradient, types.float64), block[DIMENSION])
    handle = block[GRADIENT]
    with numba.objmode():
        call_python(handle, x, out)
    return 0


@compiled_callback
def python_reference_gradient(state: int, gradient: int, data: int) -> int:
    """Write the gradient of the reference's Python log-density."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    out = numba.carray(as_pointer(gradient, types.float64), block[DIMENSION])
    handle = block[REFERENCE_GRADIENT]
    with numba.objmode():
        call_python(handle, x, out)
    return 0


@compiled_callback
def python_conditional(state: int, index: int, beta: float, weights: int, count: int, data: int, handle: int) -> int:
    """Write a Python conditional distribution's log-probabilities; a target can have several, so a handle is passed."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    out = numba.carray(as_pointer(weights, types.float64), count)
    with numba.objmode():
        call_python(handle, x, index, beta, out)
    return 0


@intrinsic
def call_registered(typing_context: object, handle: object) -> object:
    """Call a registered function without arguments, as `numba.objmode` does, which compiles at every start."""

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        python = context.get_python_api(builder)
        lock = python.gil_ensure()
        function = python.unserialize(python.serialize_object(call_python))
        argument = python.long_from_longlong(values[0])
        returned = python.call_function_objargs(function, (argument,))
        python.decref(argument)
        python.decref(function)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, returned)):
            python.gil_release(lock)
            context.call_conv.return_exc(builder)
        python.decref(returned)
        python.gil_release(lock)
        return context.get_dummy_value()

    return types.none(types.int64), generate


@compiled_callback
def python_poll(handle: int) -> None:
    """Let Python run, which then handles signals, and ask a registered function whether the run may go on."""
    call_registered(handle)
