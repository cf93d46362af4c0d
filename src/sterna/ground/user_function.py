"""Compiling a user's function together with the functions that it calls.

Numba freezes the values that a function captures into machine code, so the function is compiled again if one of them
has changed.
"""

import dis
import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

import numba
import numpy as np

# Numba copies captured arrays into machine code, which takes too long if they have more elements than this.
_MAX_CAPTURE = 100_000

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


@dataclass(frozen=True, eq=False)
class Bridged:
    """A function of one flat state, or of a generator, that another library makes and compiles on request."""

    plain: Callable[[Any], Any]
    compile: Callable[[], Any]
    """Returns the compiled function, or raises `CannotCompile`; an empty message makes no note."""
    compile_whole: Callable[[], Any] | None = None
    """For a likelihood's gradient: compiles that of log-reference + beta * log-likelihood, of state and beta."""

    def __call__(self, argument: object, /) -> Any:
        """Call it as Python."""
        return self.plain(argument)


def compile_user_function(function: Callable[..., Any]) -> Any:
    """Compile a user's function, or raise `CannotCompile` with the reason."""
    if isinstance(function, Bridged):
        return function.compile()
    if hasattr(function, "py_func"):
        return function
    if uses_jax(function):
        raise CannotCompile(JAX_REASON)
    if inspect.isfunction(function):
        _refuse_unsupported(function)
    else:
        raise CannotCompile(
            getattr(function, "reason", f"it is a {type(function).__name__} object, not a plain function")
        )
    return _compiled_once(function, _captured(function))


@lru_cache(maxsize=128)
def _compiled_once(function: FunctionType, captured: tuple[object, ...]) -> Any:
    return _compile(with_compiled_helpers(function))


def _compile(function: FunctionType) -> Any:
    # Without the check, an index out of bounds would read other memory and give a plausible but wrong result.
    return numba.njit(nogil=True, error_model="numpy", boundscheck=True)(function)


def with_compiled_helpers(function: FunctionType, within: tuple[object, ...] = ()) -> FunctionType:
    """Return the function with all plain Python functions that it calls, directly or not, compiled too."""
    _refuse_assignments(function)
    inner = (*within, function)
    helpers = {name: _compile(with_compiled_helpers(value, inner)) for name, value in _helpers(function, inner).items()}
    if not helpers:
        return function
    cells = tuple(
        CellType(helpers.get(name, cell.cell_contents))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    )
    scope = {**function.__globals__, **helpers}
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)


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


def _helpers(function: FunctionType, within: tuple[object, ...]) -> dict[str, FunctionType]:
    """Return the user's plain functions that a function calls, except those that call it (`within`)."""
    return {
        name: value
        for name, value in _captured_values(function).items()
        if inspect.isfunction(value)
        and not any(value is outer for outer in within)
        and _package_of(value) not in LIBRARIES
    }


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
    return any(_package_of(value) in ("jax", "jaxlib") for value in _captured_values(function).values()) or any(
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


def _captured(function: FunctionType, within: tuple[object, ...] = ()) -> tuple[Any, ...]:
    """Return a key of the values that a function captures, because Numba freezes them into machine code."""
    inner = (*within, function)
    helpers = _helpers(function, inner)
    values = sorted(_captured_values(function).items())
    return tuple((name, _fingerprint(name, value, helpers, inner)) for name, value in values)


def _fingerprint(name: str, value: object, helpers: Mapping[str, FunctionType], within: tuple[object, ...]) -> Any:
    """Return a key that changes with a value; other objects are compared by identity, and kept alive."""
    if isinstance(value, np.ndarray):
        if value.size > _MAX_CAPTURE:
            raise CannotCompile(
                f"it captures the array {name!r} of {value.size} elements; pass it as data={{{name!r}: {name}}}"
            )
        return value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()
    if isinstance(value, tuple):
        return type(value), tuple(_fingerprint(name, part, helpers, within) for part in value)
    if isinstance(value, (int, float, complex, str, bytes, np.generic)):
        return type(value), repr(value)
    if inspect.isfunction(value) and name in helpers:
        return value, _captured(value, within)
    return _Identity(value)


class _Identity:
    """An object as a key that is compared by identity."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _captured_values(function: FunctionType) -> dict[str, Any]:
    """Return the values that a function reads from outside, also in comprehensions, inner functions and modules."""
    closure = inspect.getclosurevars(function)
    values = {**closure.nonlocals}
    names = _names_of(function.__code__)
    for name in names:
        if name in function.__globals__:
            values[name] = function.__globals__[name]
    for module_name, module in list(values.items()):
        if inspect.ismodule(module):
            for name in names:
                value = vars(module).get(name)
                if isinstance(value, (int, float, complex, str, bytes, bool, tuple, np.ndarray)):
                    values[f"{module_name}.{name}"] = value
    return values


def _names_of(code: CodeType) -> set[str]:
    inner = [_names_of(constant) for constant in code.co_consts if inspect.iscode(constant)]
    return set(code.co_names).union(*inner)


def short_reason(error: Exception) -> str:
    """Return the line of Numba's long message that helps a user."""
    if "NumPyRandomGeneratorType_integers" in str(error):
        return "compiled code needs both bounds of integers, as in rng.integers(0, n)"
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
    reason = re.sub(r" from '[^']*'", "", reason).rstrip(".:")
    return reason if len(reason) <= 200 else reason[:197] + "..."
