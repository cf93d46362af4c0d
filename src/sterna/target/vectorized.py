"""Functions of many points at once (`vectorized=True`): their arguments, what they return, and two easy mistakes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sterna.errors import Error, EvaluationError, TargetError
from sterna.reference.space import Space
from sterna.target.binding import Argument, Data
from sterna.types import FloatArray

# Single precision, and sums in another order, change a value by less; points that mix change it by more.
TOLERANCE = 1e-3


def batch_function(
    function: Callable[..., Any],
    arguments: tuple[Argument, ...],
    space: Space,
    data: Data,
    read: Callable[[Any, FloatArray], FloatArray],
    what: str,
    padded: bool,
) -> Callable[[FloatArray, int], tuple[FloatArray]]:
    """Return what evaluates a user's function at states, and once compares a batch with its first point alone."""
    take = batch_arguments(arguments, space, data)
    checked = False

    def evaluate(points: FloatArray, size: int) -> FloatArray:
        missing = size - len(points) if padded else 0
        given = np.concatenate([points, np.repeat(points[:1], missing, axis=0)])
        return read(_call(function, take(given), arguments, what), given)[: len(points)]

    def batch(points: FloatArray, size: int) -> tuple[FloatArray]:
        nonlocal checked
        values = evaluate(points, size)
        if not checked and len(points) > 1:
            _check_alone(values[0], evaluate(points[:1], size)[0], len(points), what)
            checked = True
        return (values,)

    return batch


def _call(
    function: Callable[..., Any],
    given: tuple[list[Any], dict[str, Any]],
    arguments: tuple[Argument, ...],
    what: str,
) -> Any:
    values, keywords = given
    try:
        return function(*values, **keywords)
    except Error:
        raise
    except Exception as error:
        own = {a.name for a in arguments if a.source != "data"}
        named = dict(zip([a.name for a in arguments if not a.keyword], values, strict=True)) | keywords
        shapes = {name: np.shape(value) for name, value in named.items() if name in own}
        each = ", ".join(f"{name} of shape {shape}" for name, shape in shapes.items())
        numbers = [name for name, shape in shapes.items() if len(shape) == 1]
        hint = f"; beside an array of data, {numbers[0]} is written as {numbers[0]}[:, None]" if numbers else ""
        raise EvaluationError(
            f"{what} raised {type(error).__name__}: {str(error).strip()}. With vectorized=True it gets a row for each "
            f"point ({each}){hint}."
        ) from error


def _check_alone(together: Any, alone: Any, count: int, what: str) -> None:
    if not np.allclose(together, alone, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        raise TargetError(
            f"{what} returned {together} for a point among {count}, and {alone} for the same point alone. With "
            "vectorized=True a point's value must not depend on the points beside it: sum over data only, "
            "not over the first axis, and use no random numbers."
        )


def batch_arguments(
    arguments: tuple[Argument, ...], space: Space, data: Data
) -> Callable[[Any], tuple[list[Any], dict[str, Any]]]:
    """Return how a vectorised function's arguments follow from states: data as they are, all else a row for each."""

    def get(argument: Argument, x: FloatArray) -> Any:
        if argument.source == "data":
            return data.given[argument.name]
        if argument.source == "flat":
            return space.flat(x.copy())
        variable = next(v for v in space.variables if v.name == argument.name)
        return variable.value(x.copy())

    def take(states: FloatArray) -> tuple[list[Any], dict[str, Any]]:
        x = space.prepared(states)
        placed = [get(a, x) for a in arguments if not a.keyword]
        return placed, {a.name: get(a, x) for a in arguments if a.keyword}

    return take


def as_numbers(values: Any, points: FloatArray, what: str) -> FloatArray:
    """Check that a vectorised function returned a number for each point."""
    array, count = np.asarray(values), len(points)
    if array.shape != (count,) or array.dtype.kind not in "fiu":
        raise TargetError(
            f"{what} returned {array.dtype} of shape {array.shape} for {count} points; with vectorized=True it gets "
            f"every variable with a row for each point and must return {count} numbers, of shape ({count},)."
        )
    return array.astype(np.float64)
