"""Log-densities, slopes and exact draws of one coordinate of an independent reference, by the number of its family.

A coordinate's constants are N_CONSTANTS entries of the array `constants`, from `start` on; further numbers are in
`table`, which all coordinates share. The functions of each family are in `sterna.distributions`.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sterna.distributions import FAMILIES, Family, Normal, real_line
from sterna.ground.compilation import compiled, compiled_in_callers, inlined
from sterna.ground.streams import Stream
from sterna.types import FloatPointer

NORMAL = FAMILIES.index(Normal.family)

Choice = Callable[..., float]


def family_switch(
    families: Sequence[Family], function_of: Callable[[Family], Choice | None], arguments: Sequence[str]
) -> Choice:
    """Write a function of (family, constants, start, *arguments) that calls a function of the family with that number.

    A family without such a function gives 0, and a number that belongs to no family is an error.
    """
    lines: list[str] = []
    scope: dict[str, Any] = {}
    for number, family in enumerate(families):
        function = function_of(family)
        called = "0.0" if function is None else f"function_{number}({', '.join(_passed(family, function, arguments))})"
        lines += [f"    if family == {number}:", f"        return {called}"]
        scope[f"function_{number}"] = function
    header = f"family, constants, start, {', '.join(arguments)}"
    lines = [f"def switch({header}):", *lines, "    raise ValueError('no family of distributions has this number')"]
    exec("\n".join(lines), scope)
    switch: Choice = scope["switch"]
    return compiled_in_callers(switch)


def _passed(family: Family, function: Choice, arguments: Sequence[str]) -> list[str]:
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


def family_switches(families: Sequence[Family]) -> tuple[Choice, Choice, Choice, Choice]:
    """Return the switches for log-densities, slopes, draws from a stream, and draws with NumPy's generator as well."""
    return (
        family_switch(families, lambda family: family.log_density, ("table", "x")),
        family_switch(families, lambda family: family.slope, ("x",)),
        family_switch(families, lambda family: family.draw, ("table", "stream")),
        family_switch(families, lambda family: family.draw_with_numpy or family.draw, ("table", "stream", "rng")),
    )


_log_density, _slope, _draw, _draw_with_numpy = family_switches(FAMILIES)


@inlined
def normal_log_density(constants: FloatPointer, start: int, x: float) -> float:
    """Log-density of a normal coordinate, the most common family, without asking for the family."""
    return real_line.normal_log_density(x, constants[start], constants[start + 1], constants[start + 2])


@compiled
def coordinate_log_density(family: int, constants: FloatPointer, start: int, table: FloatPointer, x: float) -> float:
    """Log-density of one coordinate inside its support; the caller has checked the bounds."""
    return _log_density(family, constants, start, table, x)


@compiled
def coordinate_slope(family: int, constants: FloatPointer, start: int, x: float) -> float:
    """Slope of the log-density of one real coordinate inside its support."""
    return _slope(family, constants, start, x)


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
    return _draw_with_numpy(family, constants, start, table, stream, rng)


@compiled
def draw_from_stream(family: int, constants: FloatPointer, start: int, table: FloatPointer, stream: Stream) -> float:
    """Draw one coordinate from a stream alone, for explorers, which have no generator of NumPy's.

    A draw may round to the edge of an open support.
    """
    return _draw(family, constants, start, table, stream)
