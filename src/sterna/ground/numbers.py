"""Numbers as users give them: what counts as a whole number, what as a number, and how much memory there is."""

import math
import operator
import os
from fractions import Fraction
from numbers import Real
from pathlib import Path

import numpy as np

from sterna.types import FloatArray

# What a container may use of the machine's memory, if it has a limit.
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def whole_number(value: object) -> int | None:
    """Return a whole number, also if it was given as a float or by NumPy; None for anything else.

    True and False are no numbers, and neither are numbers in strings.

    >>> whole_number(1000.0), whole_number(np.float64(8.0)), whole_number(1000.5), whole_number(True)
    (1000, 8, None, None)
    """
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = real_number(value)
    return int(number) if number is not None and number.is_integer() else None


def real_number(value: object) -> float | None:
    """Return a number, which may be infinite or NaN; None for anything else, such as a bool or a string.

    >>> real_number(3), real_number(np.array(0.5)), real_number("3"), real_number([3.0])
    (3.0, 0.5, None, None)
    """
    if isinstance(value, (bool, np.bool_)):
        return None
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        # a number of NumPy or JAX
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > Fraction(0) else -math.inf


def float_array(values: object) -> FloatArray | None:
    """Return an array of numbers; None for anything else, such as strings, None, complex numbers or ragged lists.

    Numbers that are too large for float64 become infinite.

    >>> float_array([1, 2.5]), float_array([1, None]), float_array("1")
    (array([1. , 2.5]), None, None)
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind == "O" and all(isinstance(value, Real) for value in given.flat):
            return np.array([real_number(value) for value in given.flat], dtype=np.float64).reshape(given.shape)
        return np.asarray(given, dtype=np.float64) if given.dtype.kind in "biuf" else None
    except (TypeError, ValueError):
        return None


def machine_memory() -> float:
    """Return the bytes of memory that this machine, or this container, has; infinite if that is not known."""
    try:
        total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return math.inf
    try:
        return min(total, float(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):
        return total


def in_bytes(number: float) -> str:
    """Write a number of bytes with its unit.

    >>> in_bytes(24.6e9), in_bytes(6.4e13)
    ('25 GB', '64 TB')
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    power = min(int(math.log(max(number, 1), 1000) + 1e-9), len(units) - 1)
    amount = number / 1000**power
    return f"{amount:.2g} {units[power]}" if amount < 10 or amount >= 1000 else f"{amount:.0f} {units[power]}"
