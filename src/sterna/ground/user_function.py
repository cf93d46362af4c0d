"""Compiling a user's own function, with the functions that it calls and a key for the values that it captures.

Numba freezes captured values into machine code, so a function is compiled again when one of them has changed.
"""

import dis
import hashlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, FunctionType
from typing import Any

import numba
import numpy as np

# Numba copies arrays that a function captures into its machine code; beyond this it takes too long.
_LARGEST_CAPTURE = 100_000


class CannotCompile(Exception):  # noqa: N818
    """Why a function has to run as Python; never reaches the user as an error."""


@dataclass(frozen=True, eq=False)
class Bridged:
    """A function of one flat state, or of a generator, that another library makes and compiles when asked to."""

    plain: Callable[[Any], Any]
    compile: Callable[[], Any]
    """Returns what Numba compiled, or raises `CannotCompile`, whose empty message makes no note."""
    compile_whole: Callable[[], Any] | None = None
    """Of a likelihood's gradient: compiles the gradient of log-reference + beta * log-likelihood, of state and beta."""

    def __call__(self, argument: Any, /) -> Any:
        """Call it as Python."""
        return self.plain(argument)


def compile_user_function(function: Callable[..., Any]) -> Any:
    """Compile a user's own function, or say why that cannot be."""
    if isinstance(function, Bridged):
        return function.compile()
    if hasattr(function, "py_func"):
        return function
    if not inspect.isfunction(function):
        raise CannotCompile(
            getattr(function, "reason", f"it is a {type(function).__name__} object, not a plain function")
        )
    return _compiled_once(function, _captured(function))


@lru_cache(maxsize=128)
def _compiled_once(function: Callable[..., Any], captured: tuple[Any, ...]) -> Any:
    return _compile(with_compiled_helpers(function))


def _compile(function: Any) -> Any:
    # Without the check an index out of bounds would read foreign memory and sample a plausible wrong answer.
    return numba.njit(nogil=True, error_model="numpy", boundscheck=True)(function)


def with_compiled_helpers(function: Any, within: tuple[Any, ...] = ()) -> Any:
    """Return the function with the plain Python functions that it calls compiled too, and theirs."""
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


def _refuse_assignments(function: Any) -> None:
    """Refuse what assigns to a variable of the function around it, which Numba leaves out without a word."""
    stored = {one.argval for one in dis.get_instructions(function) if one.opname == "STORE_DEREF"}
    outer = [name for name in function.__code__.co_freevars if name in stored]
    if outer:
        raise CannotCompile(f"it assigns to {', '.join(outer)} of the function around it")


def _helpers(function: Any, within: tuple[Any, ...]) -> dict[str, Any]:
    """Plain functions of the user's that a function calls, but for those that call it (`within`) and for libraries."""
    return {
        name: value
        for name, value in _captured_values(function).items()
        if inspect.isfunction(value)
        and not any(value is outer for outer in within)
        and (value.__module__ or "").partition(".")[0] not in ("numpy", "scipy", "numba")
    }


def _captured(function: Callable[..., Any], within: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """A fingerprint of the values that a function captures, as Numba freezes them into its machine code."""
    inner = (*within, function)
    helpers = _helpers(function, inner)
    values = sorted(_captured_values(function).items())
    return tuple((name, _fingerprint(name, value, helpers, inner)) for name, value in values)


def _fingerprint(name: str, value: Any, helpers: Mapping[str, Any], within: tuple[Any, ...]) -> Any:
    """What changes when a value does; objects that Numba does not look into stand for themselves, and stay alive."""
    if isinstance(value, np.ndarray):
        if value.size > _LARGEST_CAPTURE:
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
    """An object as a key, by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _captured_values(function: Any) -> dict[str, Any]:
    """Values that a function reads from outside, also in comprehensions and inner functions, and from modules."""
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


def _names_of(code: Any) -> set[str]:
    inner = [_names_of(constant) for constant in code.co_consts if inspect.iscode(constant)]
    return set(code.co_names).union(*inner)


def short_reason(error: Exception) -> str:
    """The line of Numba's long message that a user can act on."""
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
    # colours, which Numba takes where colorama is installed
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    useful = [line for line in lines if line and not line.startswith(skip)]
    reason = useful[0] if useful else type(error).__name__
    # the place of a module on this machine says nothing
    reason = re.sub(r" from '[^']*'", "", reason).rstrip(".:")
    return reason if len(reason) <= 200 else reason[:197] + "..."
