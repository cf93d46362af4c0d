"""Compiling a user's function together with the functions that it calls.

Functions with the same content are compiled once, however often they are made. The compiled copy bears its content in
its name: Numba finds machine code by names, and code of other processes may be loaded from disk.
"""

import builtins
import dis
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CellType, FunctionType
from typing import Any

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from sterna.ground.captured import CapturingCompiler, taking_captured
from sterna.ground.compilation import NO_WRAPPERS, as_pointer
from sterna.ground.fingerprint import (
    Key,
    TooLarge,
    can_be_copied,
    captured_values,
    closure_of,
    digest_of,
    is_persistent,
    key_of,
    key_of_function,
    names_of,
)
from sterna.ground.lazy_library import LazyCompiler
from sterna.ground.plain_reason import in_plain_words
from sterna.types import IntArray

# Functions of these packages are not compiled like a user's own: Numba has its own forms, or cannot compile them.
LIBRARIES = (
    "numpy", "scipy", "numba", "jax", "jaxlib", "numpyro", "torch", "tensorflow", "autograd", "pytensor", "pymc",
    "pandas", "xarray", "sklearn", "sympy",
)  # fmt: skip

JAX_REASON = (
    "it uses JAX, which Numba cannot compile; sterna.JaxTarget compiles it with JAX, evaluates all chains at once and "
    "derives the gradient itself"
)


class CannotCompile(Exception):  # noqa: N818
    """The reason why a function must run as Python; never shown to the user as an error."""


@dataclass(frozen=True)
class BridgedCode:
    """A function of another library's machine code, which it calls by address: source for Numba, and addresses."""

    source: str
    """Of `function(words, ...)`, in which `words[0]` is where the addresses are."""
    scope: Mapping[str, object]
    """What names in the source mean, besides those of `BRIDGED_SCOPE`."""
    meaning: Key
    """What is to be known of the scope."""
    addresses: list[int]
    """They are data, so that the code can be kept on disk and serves other models too."""
    kept_alive: object
    """What is at the addresses."""


@dataclass(frozen=True, eq=False)
class Bridged:
    """A function of one flat state, or of a generator, that another library makes and compiles on request."""

    plain: Callable[[Any], Any]
    compile: Callable[[], BridgedCode]
    """Compiles it with the other library, or raises `CannotCompile`; an empty message makes no note."""
    whole: "Bridged | None" = None
    """For a likelihood's gradient: that of log-reference + beta * log-likelihood, of state and beta."""
    words: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """Among the data of a target: where the addresses are, once it is compiled."""
    _kept_alive: list[object] = field(default_factory=list)

    def __call__(self, argument: object, /) -> Any:
        """Call it as Python."""
        return self.plain(argument)

    def compiled(self) -> Any:
        """Compile it, once for each source, as a function of `words` and its own arguments."""
        code = self.compile()
        addresses = np.array(code.addresses, dtype=np.int64)
        self._kept_alive.extend((addresses, code.kept_alive))
        self.words[0] = addresses.ctypes.data
        key = ("bridged", code.source, code.meaning)
        with global_compiler_lock:
            if key not in _compiled:
                scope: dict[str, Any] = {**BRIDGED_SCOPE, **code.scope, "__name__": __name__}
                exec(code.source, scope)
                if is_persistent(key):
                    scope["function"].__qualname__ = f"function_{digest_of(key)[:24]}"
                options = {"nogil": True, "error_model": "numpy", "pipeline_class": LazyCompiler, **NO_WRAPPERS}
                _compiled[key] = numba.njit(**options)(scope["function"])
                _compiled[key].content_key = key
            return _compiled[key]


BRIDGED_SCOPE = {"np": np, "carray": numba.carray, "as_pointer": as_pointer, "int64": numba.int64}


def compile_user_function(function: Callable[..., Any], as_arguments: tuple[str, ...] = ()) -> Any:
    """Compile a user's function, or raise `CannotCompile` with the reason.

    It takes the values that it captures under the names `as_arguments` before its own arguments.
    """
    if isinstance(function, Bridged):
        return function.compiled()
    if uses_jax(function):
        raise CannotCompile(JAX_REASON)
    if inspect.isfunction(function):
        _refuse_unsupported(function)
    elif not isinstance(function, Dispatcher):
        raise CannotCompile(
            getattr(function, "reason", f"it is a {type(function).__name__} object, not a plain function")
        )
    try:
        key = key_of(function, "function", (), as_arguments)
    except TooLarge as reason:
        raise CannotCompile(str(reason)) from None
    with global_compiler_lock:
        # Numba cannot free machine code, so nothing is gained by forgetting it.
        if key not in _compiled:
            compiled = _compile(function, (), as_arguments)
            if compiled is not function:
                compiled.content_key = key
            _compiled[key] = compiled
        return _compiled[key]


_compiled: dict[Key, Any] = {}


def _compile(function: Any, within: tuple[object, ...] = (), as_arguments: tuple[str, ...] = ()) -> Any:
    """Compile a function with those that it calls; one that the user has compiled keeps its options."""
    if isinstance(function, Dispatcher):
        if not can_be_copied(function):
            return function
        options = {name: option for name, option in function.targetoptions.items() if name != "cache"}
    else:
        # Without the check, an index out of bounds would read other memory and give a plausible but wrong result.
        options = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": True, **NO_WRAPPERS}
        options["pipeline_class"] = LazyCompiler
    copy = with_compiled_helpers(getattr(function, "py_func", function), within, as_arguments)
    if as_arguments:
        return numba.jit(**{**options, "pipeline_class": CapturingCompiler})(taking_captured(copy, as_arguments))
    return numba.jit(**options)(copy)


def with_compiled_helpers(
    function: FunctionType, within: tuple[object, ...] = (), as_arguments: tuple[str, ...] = ()
) -> FunctionType:
    """Return a copy of the function, named by its content, that calls compiled forms of the user's plain functions."""
    _refuse_assignments(function)
    inner = (*within, function)
    helpers = {name: _compile(value, inner) for name, value in _helpers(function, inner).items()}
    values = {name: _frozen(value) for name, value in closure_of(function).items()} | helpers
    cells = tuple(CellType(values[name]) if name in values else CellType() for name in function.__code__.co_freevars)
    names = names_of(function.__code__)
    used = {name: _frozen(value) for name, value in function.__globals__.items() if name in names}
    scope = used | helpers | {"__builtins__": function.__globals__.get("__builtins__", builtins)}
    if "objmode" in names:
        # Python code inside finds its globals in the module of the function, and is never kept on disk
        scope["__name__"] = function.__globals__.get("__name__")
        return _function(function, scope, cells)
    # code on disk must belong to a module that every process has
    copy = _function(function, {**scope, "__name__": __name__}, cells)
    key = key_of_function(function, (), as_arguments)
    if is_persistent(key):
        copy.__qualname__ = f"{function.__name__}_{digest_of(key)[:24]}"
    return copy


def _function(function: FunctionType, scope: dict[str, Any], cells: tuple[CellType, ...]) -> FunctionType:
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _frozen(value: Any) -> Any:
    """Return a copy of an array, because code for other types may be compiled after the user has changed it."""
    if type(value) is np.ndarray:
        return value.copy(order="K")
    return tuple(_frozen(part) for part in value) if type(value) is tuple else value


def _refuse_unsupported(function: FunctionType) -> None:
    """Refuse what Numba would misread silently, or refuse with a message that helps nobody."""
    if function.__code__.co_kwonlyargcount:
        raise CannotCompile("it has parameters behind a *, which can only be passed by name")
    huge = [one for one in function.__code__.co_consts if type(one) is int and abs(one) >= 2**63]
    if huge:
        raise CannotCompile(f"it contains an integer of {len(str(abs(huge[0])))} digits, more than 64 bits hold")


def _refuse_assignments(function: FunctionType) -> None:
    """Refuse a function that assigns to a variable of an enclosing function, which Numba ignores silently."""
    stored = {one.argval for one in dis.get_instructions(function) if one.opname == "STORE_DEREF"}
    outer = [name for name in function.__code__.co_freevars if name in stored]
    if outer:
        raise CannotCompile(f"it assigns to {', '.join(outer)} of the enclosing function")


def _helpers(function: FunctionType, within: tuple[object, ...]) -> dict[str, Any]:
    """Return the functions that a function calls by their names, except those that call it (`within`)."""
    return {
        name: value
        for name, value in captured_values(function).items()
        if "." not in name
        and not any(getattr(value, "py_func", value) is outer for outer in within)
        and _is_helper(value)
    }


def _is_helper(value: object) -> bool:
    """Return whether a function is compiled again with its caller; sterna's own compiled functions are not."""
    if isinstance(value, Dispatcher):
        return (value.__module__ or "").partition(".")[0] not in ("numpy", "scipy", "numba", "sterna")
    return inspect.isfunction(value) and _package_of(value) not in LIBRARIES


def _package_of(value: object) -> str:
    """Return the package in which a function, or the class of another object, is defined, or the name of a module."""
    if inspect.isfunction(value):
        # not `__module__`, which a wrapper such as that of jax.grad copies from the function that it wraps
        module = value.__globals__.get("__name__")
    else:
        module = value.__name__ if inspect.ismodule(value) else type(value).__module__
    return str(module).partition(".")[0]


def uses_jax(function: object, within: tuple[object, ...] = ()) -> bool:
    """Return whether a function is made by JAX, or refers to JAX, itself or in a function that it calls."""
    if "jax" not in sys.modules:
        return False
    if _package_of(function) in ("jax", "jaxlib"):
        return True
    if not inspect.isfunction(function):
        return False
    inner = (*within, function)
    return any(_package_of(value) in ("jax", "jaxlib") for value in captured_values(function).values()) or any(
        uses_jax(helper, inner) for helper in _helpers(function, inner).values()
    )


def source_places(function: object) -> set[tuple[str, str]]:
    """Return file and name of a function and of all functions that it calls, as tracebacks name them."""
    plain = getattr(function, "py_func", function)
    if not inspect.isfunction(plain):
        return set()
    codes, calling = {plain}, [plain]
    while calling:
        new = set(_helpers(calling.pop(), ()).values()) - codes
        codes |= new
        calling += new
    return {(one.__code__.co_filename, one.__code__.co_name) for one in codes}


def short_reason(error: Exception) -> str:
    """Return the line of Numba's long message that helps a user."""
    if "NumPyRandomGeneratorType_integers" in str(error):
        return "compiled code needs both bounds of integers, as in rng.integers(0, n)"
    # the call that sterna makes with what a log-density returns
    if returned := re.search(r">>> log_value\((.*)\)", str(error)):
        return in_plain_words(f"it returns {returned[1]}, not a number")
    skip = (
        "Failed in",
        "During",
        "File ",
        "[",
        "<source",
        "def ",
        "^",
        "~",
        "This error",
        "- ",
        "Enable",
        "There are",
        ">>>",
    )
    # without the colours that Numba uses if colorama is installed
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    useful = [line for line in lines if line and not line.startswith(skip) and " object at 0x" not in line]
    reason = useful[0] if useful else f"Numba raised {type(error).__name__}"
    # the path of a module does not help
    reason = in_plain_words(re.sub(r" from '[^']*'", "", reason).rstrip(".:"))
    return reason if len(reason) <= 200 else reason[:197] + "..."
