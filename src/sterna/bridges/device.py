"""Functions of one state that JAX compiles for many at once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sterna.errors import TargetError
from sterna.target.batch_function import BatchFunction
from sterna.types import FloatArray

# Fewer rows than this cost a call about as much.
FEWEST_ROWS = 8

NOTE = "JAX compiles the target, and one call serves a step of all chains."


def import_jax() -> Any:
    """Import JAX, or say how to get it."""
    try:
        import jax
    except ImportError as error:
        raise TargetError(
            f"JAX is needed for this target, and cannot be imported ({error}): pip install jax."
        ) from None
    return jax


def rows_for(count: int, size: int) -> int:
    """Return how many rows to compute for `count` points of `size` chains.

    JAX compiles a function for every number of rows, so a run should meet few, also while it looks for its number of
    chains: these are rounded up to 8, 12, 16, 24, 32, ..., which is halved where few chains are still at work.
    """
    rows = FEWEST_ROWS
    while rows < size:
        rows = rows * 3 // 2 if rows & (rows - 1) == 0 else rows * 4 // 3
    while rows // 2 >= max(count, FEWEST_ROWS):
        rows //= 2
    return rows


def is_array(value: Any) -> bool:
    """Whether JAX can be given a value when it calls a compiled function; all others are compiled into it."""
    return isinstance(value, (np.ndarray, import_jax().Array)) and value.dtype.kind in "biufc"


def in_64_bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let JAX compute with 64 bits in a function, whatever it does elsewhere: log-densities need the digits."""
    enable = import_jax().enable_x64

    def call(*arguments: Any) -> Any:
        with enable(True):
            return function(*arguments)

    return call


def together(function: Callable[..., Any], data: Any, places: tuple[int, ...]) -> BatchFunction:
    """Compile `function(state, data)`, which returns an array for each of the places, for many states at once."""
    jax = import_jax()
    many = jax.jit(jax.vmap(function, in_axes=(0, None)))

    def evaluate(points: FloatArray, size: int) -> Sequence[Any]:
        count = len(points)
        given = np.empty((rows_for(count, size), points.shape[1]))
        given[:count], given[count:] = points, points[0]
        return [np.asarray(part)[:count] for part in many(given, data)]

    return BatchFunction(in_64_bits(evaluate), places, reason="")
