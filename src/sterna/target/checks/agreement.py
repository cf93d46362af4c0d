"""When two numbers that should be equal differ by more than rounding."""

import math
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

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


def differ(first: float, second: float, size: float = 0.0, negligible: float = NEGLIGIBLE) -> bool:
    """Return whether two log-densities differ by more than rounding; they were computed from terms up to `size`."""
    if first == second or (math.isnan(first) and math.isnan(second)):
        return False
    if not (math.isfinite(first) and math.isfinite(second)):
        return True
    scale = max(abs(first), abs(second), size)
    return abs(first - second) > negligible + tolerance_of(first, second) * scale


def attempt(
    function: Callable[Parameters, Returned], *arguments: Parameters.args, **keywords: Parameters.kwargs
) -> Returned | None:
    """Call a user's function; None if it fails, which the run reports if it happens there too."""
    try:
        return function(*arguments, **keywords)
    except Exception:
        return None
