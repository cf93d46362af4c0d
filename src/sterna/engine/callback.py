"""How a plain Python function enters the compiled engine: by its handle in the target's data block."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

import numba
from numba import types

from sterna.ground.compilation import as_pointer, compiled_callback

# The head of every data block: handles of Python functions, and the dimension.
LIKELIHOOD, CHANGE, REFERENCE, REFERENCE_CHANGE, DRAW, GRADIENT, REFERENCE_GRADIENT, DIMENSION = range(8)
HEAD = 8


class Entry(NamedTuple):
    """A function of a user's, ready to be called by compiled code; whoever asked for it forgets its handle."""

    address: int
    """Of the compiled function, or of the callback to its Python form."""
    handle: int
    """Of the Python form; 0 if it is compiled."""
    notes: tuple[str, ...]
    """Why it is not compiled, if there is something to say."""


_functions: dict[int, Callable[..., Any]] = {}
_handles = count(1)


def register(function: Callable[..., Any]) -> int:
    """Give a Python function a handle, valid until `forget`."""
    handle = next(_handles)
    _functions[handle] = function
    return handle


def forget(handles: list[int]) -> None:
    """Let go of functions."""
    for handle in handles:
        _functions.pop(handle, None)


class _Thread(threading.local):
    """What takes the place of registered functions in this thread."""

    def __init__(self) -> None:
        self.override: Mapping[int, Callable[..., Any]] = {}


_thread = _Thread()


@contextmanager
def override(functions: Mapping[int, Callable[..., Any]]) -> Iterator[None]:
    """In this thread, let others take the place of registered functions: those that evaluate elsewhere."""
    before, _thread.override = _thread.override, functions
    try:
        yield
    finally:
        _thread.override = before


def call_python(handle: int, *arguments: Any) -> Any:
    """Call a registered function; what it raises passes through the compiled code."""
    function = _thread.override.get(handle) or _functions[handle]
    return function(*arguments)


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
    """Evaluate a Python log-density of the reference."""
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
    """Evaluate a Python local-change function of the reference."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    handle = block[REFERENCE_CHANGE]
    with numba.objmode(value="float64"):
        value = call_python(handle, x, coordinate, new)
    return value  # noqa: RET504


@compiled_callback
def python_draw(state: int, data: int, generator: Any) -> int:
    """Draw from a Python reference into the state."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    handle = block[DRAW]
    with numba.objmode():
        call_python(handle, x, generator)
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
    """Write the gradient of a Python log-density of the reference."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    out = numba.carray(as_pointer(gradient, types.float64), block[DIMENSION])
    handle = block[REFERENCE_GRADIENT]
    with numba.objmode():
        call_python(handle, x, out)
    return 0


@compiled_callback
def python_conditional(state: int, place: int, beta: float, weights: int, count: int, data: int, handle: int) -> int:
    """Write the log-probabilities of a Python conditional law; a target can have several, so the handle is passed."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    x = numba.carray(as_pointer(state, types.float64), block[DIMENSION])
    out = numba.carray(as_pointer(weights, types.float64), count)
    with numba.objmode():
        call_python(handle, x, place, beta, out)
    return 0
