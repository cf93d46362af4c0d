"""Checks of what a user's Python function returned."""

from typing import Any

import numpy as np

from sterna.errors import TargetError
from sterna.types import FloatArray


def as_number(value: Any, label: str) -> float:
    """Check that a function returned one number."""
    if type(value) is float:
        return value
    if isinstance(value, (tuple, list)):
        kind = type(value).__name__
        raise TargetError(
            f"{label} returned a {kind} of {len(value)}; it must return one number, and nothing beside it."
        )
    if isinstance(value, (bool, np.bool_)) or (np.ndim(value) == 0 and getattr(value, "dtype", None) == np.bool_):
        raise TargetError(
            f"{label} returned {bool(value)}, a truth value; it must return one number, such as 0.0 where a condition "
            "holds and -inf where it does not."
        )
    if isinstance(value, (str, bytes)):
        raise TargetError(f"{label} returned {value!r}; it must return one number.")
    if np.ndim(value) != 0:
        raise TargetError(
            f"{label} returned an array of shape {np.shape(value)}; it must return one number (did you forget a sum?)."
        )
    try:
        if np.iscomplexobj(value):
            raise TypeError
        return float(value)
    except OverflowError:
        raise TargetError(f"{label} returned an integer beyond 1.8e308, the largest float64 number.") from None
    except (TypeError, ValueError):
        raise TargetError(f"{label} returned {value!r}; it must return one number.") from None


def as_numbers(values: object, points: FloatArray, label: str) -> FloatArray:
    """Check that a vectorised function returned one number for each point."""
    array, count = np.asarray(values), len(points)
    if array.shape != (count,) or array.dtype.kind not in "fiu":
        raise TargetError(
            f"{label} returned {array.dtype} of shape {array.shape} for {count} points; with vectorized=True it gets "
            f"every variable with a row for each point and must return {count} numbers, of shape ({count},)."
        )
    return array.astype(np.float64)
