"""Log-densities, slopes and exact draws of one coordinate of an independent reference.

A coordinate's constants are N_CONSTANTS entries of the array `constants`, from `start` on; further numbers are in
`table`, which all coordinates share. The functions of each family are in `sterna.distributions`.

A coordinate's `family` is the address of a table with the addresses of its functions, so that only families in use are
compiled. That of a normal coordinate, the most common one, is NORMAL, and its functions are part of their callers.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.core.compiler_lock import global_compiler_lock

from sterna.distributions import Family, Normal, real_line
from sterna.ground.compilation import (
    FLOATS,
    WORDS,
    address_of,
    caller,
    compiled,
    generated_function,
    inlined,
    int_pointer,
)
from sterna.ground.rows import fields
from sterna.ground.streams import GENERATOR, Stream
from sterna.types import FloatPointer, IntArray

# No address is 0.
NORMAL = 0

LOG_DENSITY = types.float64(FLOATS, types.int64, FLOATS, types.float64)
SLOPE = types.float64(FLOATS, types.int64, types.float64)
DRAW = types.float64(FLOATS, types.int64, FLOATS, WORDS)
DRAW_WITH_NUMPY = types.float64(FLOATS, types.int64, FLOATS, WORDS, GENERATOR)

call_log_density = caller(LOG_DENSITY)
call_slope = caller(SLOPE)
call_draw = caller(DRAW)
call_draw_with_numpy = caller(DRAW_WITH_NUMPY)


@fields
class Addresses:
    """A family's table of addresses of compiled functions."""

    log_density = 1
    slope = 1
    draw = 1
    draw_with_numpy = 1


FamilyFunction = Callable[..., float]


def family_functions(family: Family) -> tuple[FamilyFunction, FamilyFunction, FamilyFunction, FamilyFunction]:
    """Write a family's functions with the arguments that the engine passes, uncompiled, as `Addresses` lists them."""
    return (
        _with_constants(family, family.log_density, ("table", "x")),
        _with_constants(family, family.slope, ("x",)),
        _with_constants(family, family.draw, ("table", "stream")),
        _with_constants(family, family.draw_with_numpy or family.draw, ("table", "stream", "rng")),
    )


def _with_constants(family: Family, function: FamilyFunction | None, arguments: Sequence[str]) -> FamilyFunction:
    """Write a function of (constants, start, *arguments) that calls a function of the family; 0 if there is none."""
    called = "0.0" if function is None else f"function({', '.join(_passed(family, function, arguments))})"
    scope: dict[str, Any] = {"function": function, "__name__": __name__}
    source = f"def coordinate(constants, start, {', '.join(arguments)}):\n    return {called}"
    exec(source, scope)
    written: FamilyFunction = scope["coordinate"]
    written.__doc__ = source
    return written


def _passed(family: Family, function: FamilyFunction, arguments: Sequence[str]) -> list[str]:
    """Return what a function of a family is called with, found by the names of its parameters."""
    names = list(inspect.signature(getattr(function, "py_func", function)).parameters)
    unknown = set(names) - {*family.constants, *arguments}
    if unknown:
        raise TypeError(
            f"{function} takes {', '.join(sorted(unknown))}; a family's function may take its constants "
            f"({', '.join(family.constants)}) and {', '.join(arguments)}"
        )
    places = {name: f"constants[start + {place}]" for place, name in enumerate(family.constants)}
    return [places.get(name, name) for name in names]


# Tables of the families in use, whose addresses are in programs, with the functions that must stay alive.
_tables: dict[Family, tuple[IntArray, list[object]]] = {}


def family_address(family: Family) -> int:
    """Return what a program holds as the family of a coordinate; compiles the family's functions if need be."""
    if family is Normal.family:
        return NORMAL
    with global_compiler_lock:
        return _address_of_table(family)


def _address_of_table(family: Family) -> int:
    if family not in _tables:
        signatures = (LOG_DENSITY, SLOPE, DRAW, DRAW_WITH_NUMPY)
        functions = [
            generated_function(function, (str(function.__doc__),), {"function": function.__globals__["function"]})
            for function in family_functions(family)
        ]
        addresses = [address_of(*pair) for pair in zip(functions, signatures, strict=True)]
        _tables[family] = np.array(addresses, dtype=np.int64), functions
    return int(_tables[family][0].ctypes.data)


@inlined
def normal_log_density(constants: FloatPointer, start: int, x: float) -> float:
    """Log-density of a normal coordinate, without asking for the family."""
    return real_line.normal_log_density(x, constants[start], constants[start + 1], constants[start + 2])


@compiled
def coordinate_log_density(family: int, constants: FloatPointer, start: int, table: FloatPointer, x: float) -> float:
    """Log-density of one coordinate inside its support; the caller has checked the bounds."""
    if family == NORMAL:
        return normal_log_density(constants, start, x)
    return call_log_density(int_pointer(family)[Addresses.log_density], (constants, start, table, x))


@compiled
def coordinate_slope(family: int, constants: FloatPointer, start: int, x: float) -> float:
    """Slope of the log-density of one real coordinate inside its support."""
    if family == NORMAL:
        return real_line.normal_slope(x, constants[start], constants[start + 1])
    return call_slope(int_pointer(family)[Addresses.slope], (constants, start, x))


@compiled
def draw_coordinate(
    family: int,
    constants: FloatPointer,
    start: int,
    table: FloatPointer,
    stream: Stream,
    rng: np.random.Generator,
) -> float:
    """Draw one coordinate for the reference chain, by NumPy's methods if they are faster."""
    if family == NORMAL:
        return real_line.draw_normal_with_numpy(constants[start], constants[start + 1], rng)
    address = int_pointer(family)[Addresses.draw_with_numpy]
    return call_draw_with_numpy(address, (constants, start, table, stream, rng))


@compiled
def draw_from_stream(family: int, constants: FloatPointer, start: int, table: FloatPointer, stream: Stream) -> float:
    """Draw one coordinate from a stream alone, for explorers, which have no generator of NumPy's.

    A draw may round to the edge of an open support.
    """
    if family == NORMAL:
        return real_line.draw_normal(constants[start], constants[start + 1], stream)
    return call_draw(int_pointer(family)[Addresses.draw], (constants, start, table, stream))
