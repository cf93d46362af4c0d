"""Functions of one state that JAX compiles for many at once."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sterna.errors import TargetError
from sterna.target.batch_function import BatchFunction
from sterna.types import FloatArray

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

# A call with fewer rows takes about as long.
MIN_ROWS = 8

JAX_NOTE = "JAX compiles the target, and one call evaluates a step of all chains."


def import_jax() -> Any:
    """Import JAX, or say how to install it."""
    try:
        import jax
    except ImportError as error:
        raise TargetError(f"This target needs JAX, which cannot be imported ({error}): pip install jax.") from None
    return jax


def rows_for(count: int, size: int) -> int:
    """Return how many rows to compute for `count` points of `size` chains.

    JAX compiles a function again for every number of rows, so a run should need few of them, also while it searches for
    its number of chains. That number is rounded up to 8, 12, 16, 24, 32, ..., and halved when few chains still explore.
    """
    rows = MIN_ROWS
    while rows < size:
        rows = rows * 3 // 2 if rows & (rows - 1) == 0 else rows * 4 // 3
    while rows // 2 >= max(count, MIN_ROWS):
        rows //= 2
    return rows


def is_array(value: object) -> bool:
    """Whether a value can be an argument of a function that JAX compiles; other values are compiled into it."""
    return isinstance(value, (np.ndarray, import_jax().Array)) and value.dtype.kind in "biufc"


def in_64_bits(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Let JAX compute with 64 bits in a function, whatever its default: log-densities need the digits."""
    enable = import_jax().enable_x64

    def call(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
        with enable(True):
            return function(*arguments, **keywords)

    return call


def batch_function_of(function: Callable[..., Any], data: object, places: tuple[int, ...]) -> BatchFunction:
    """Compile `function(state, data)`, which returns an array for each of the places, for many states at once."""
    jax = import_jax()
    many = jax.jit(jax.vmap(function, in_axes=(0, None)))

    def evaluate(points: FloatArray, size: int) -> Sequence[Any]:
        count = len(points)
        given = np.empty((rows_for(count, size), points.shape[1]))
        given[:count], given[count:] = points, points[0]
        return [np.asarray(part)[:count] for part in many(given, data)]

    return BatchFunction(in_64_bits(evaluate), places, reason="")
