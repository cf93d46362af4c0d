"""Stick-breaking: a vector of positive parts that sum to 1, stored as the fractions broken off a stick in turn."""

import math
from typing import Any

import numpy as np

from sterna.ground.compilation import compiled_with_memory
from sterna.types import FloatArray


@compiled_with_memory
def stick(fractions: FloatArray) -> FloatArray:
    """Return the vector on the simplex of some fractions; the compiled form of `join_stick`."""
    result = np.empty(fractions.size + 1)
    rest = 1.0
    for k in range(fractions.size):
        result[k] = fractions[k] * rest
        rest *= 1.0 - fractions[k]
    result[fractions.size] = rest
    return result


def join_stick(fractions: FloatArray, library: Any = np) -> Any:
    """Return vectors on the simplex from fractions along the last axis, by NumPy or JAX."""
    rest = library.cumprod(1.0 - fractions, axis=-1)
    first = library.concatenate([library.ones_like(rest[..., :1]), rest[..., :-1]], axis=-1)
    return library.concatenate([fractions * first, rest[..., -1:]], axis=-1)


@compiled_with_memory
def break_stick(parts: FloatArray, fractions: FloatArray) -> None:
    """Write the fractions of a vector on the simplex: the inverse of `stick`."""
    rest = 1.0
    for k in range(fractions.size):
        share = parts[k] / rest if rest > 0.0 else 0.5
        fractions[k] = min(max(share, 2.3e-308), 1.0 - 2.0**-53)
        rest -= parts[k]


@compiled_with_memory
def stick_log_jacobian(fractions: FloatArray) -> float:
    """Return the log-determinant of the derivative of the map from fractions to the simplex."""
    total = 0.0
    for k in range(fractions.size):
        total += (fractions.size - 1 - k) * math.log1p(-fractions[k])
    return total


@compiled_with_memory
def stick_pullback(fractions: FloatArray, gradient: FloatArray, result: FloatArray) -> None:
    """Write the gradient with respect to the fractions, from that with respect to the vector on the simplex."""
    parts = stick(fractions)
    later = gradient[fractions.size] * parts[fractions.size]
    for k in range(fractions.size - 1, -1, -1):
        left = 1.0 - fractions[k]
        # of a stick that is used up nothing remains to be shared
        rest = parts[k] / fractions[k] if fractions[k] > 0.0 else 0.0
        result[k] = gradient[k] * rest - later / left
        later += gradient[k] * parts[k]


@compiled_with_memory
def add_stick_jacobian_slope(fractions: FloatArray, result: FloatArray) -> None:
    """Add the gradient of `stick_log_jacobian`."""
    for k in range(fractions.size):
        result[k] -= (fractions.size - 1 - k) / (1.0 - fractions[k])
