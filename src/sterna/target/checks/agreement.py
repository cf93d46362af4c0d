"""When two numbers that should be equal differ by more than rounding."""

import math
from collections.abc import Callable
from inspect import isfunction
from typing import ParamSpec, TypeVar

import numpy as np

from sterna.ground.fingerprint import captured_values
from sterna.target.prepared import PreparedTarget

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

# Sums of many terms in another order, and libraries' logarithms, differ by less, relative to the terms.
DOUBLE_TOLERANCE, SINGLE_TOLERANCE = 1e-9, 1e-5

# A difference of log-densities by less changes no result.
NEGLIGIBLE = 1e-6


def tolerance_of(*values: float) -> float:
    """Return the relative tolerance for numbers that were computed alike, perhaps all in single precision."""
    with np.errstate(over="ignore"):
        is_single = all(float(np.float32(value)) == value for value in values)
    return SINGLE_TOLERANCE if is_single else DOUBLE_TOLERANCE


def uses_single(target: PreparedTarget) -> bool:
    """Return whether functions compute with numbers in single precision, which Python and Numba mix differently."""
    plain = [getattr(one.given, "py_func", one.given) for one in target.given_functions]
    captured = [value for one in plain if isfunction(one) for value in captured_values(one).values()]
    arrays = [value for value in captured if isinstance(value, (np.ndarray, np.generic))]
    return any(array.dtype == np.float32 for array in [*target.inputs.data.arrays.values(), *arrays])


def differ(
    first: float, second: float, size: float = 0.0, negligible: float = NEGLIGIBLE, single: bool = False
) -> bool:
    """Return whether two log-densities differ by more than rounding.

    They were computed from terms up to `size`, some of them perhaps in single precision.
    """
    if first == second or (math.isnan(first) and math.isnan(second)):
        return False
    if not (math.isfinite(first) and math.isfinite(second)):
        return True
    scale = max(abs(first), abs(second), size)
    tolerance = SINGLE_TOLERANCE if single else tolerance_of(first, second)
    return abs(first - second) > negligible + tolerance * scale


def differ_for(target: PreparedTarget, first: float, second: float, size: float = 0.0) -> bool:
    """Return whether two values of a target's functions differ by more than rounding."""
    # most numbers agree, and looking for single precision takes a millisecond
    return differ(first, second, size) and differ(first, second, size, single=uses_single(target))


def attempt(
    function: Callable[Parameters, Returned], *arguments: Parameters.args, **keywords: Parameters.kwargs
) -> Returned | None:
    """Call a user's function; None if it fails, which the run reports if it happens there too."""
    try:
        return function(*arguments, **keywords)
    except Exception:
        return None
