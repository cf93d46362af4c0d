"""Functions of many points at once (`vectorized=True`): their arguments, their results, and two frequent mistakes."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sterna.errors import Error, EvaluationError, TargetError, describe
from sterna.ground.user_function import CannotCompile
from sterna.target.arguments import Argument
from sterna.target.batch_function import BatchFunction, SinglePoint
from sterna.target.data import Inputs
from sterna.target.user_function import EntryPoint, PythonForm, UserFunction
from sterna.types import FloatArray

Vectorized: TypeAlias = bool | str
"""False, True or "padded"."""

Reader: TypeAlias = Callable[[Inputs, Any, FloatArray], FloatArray]
"""Turns what a function returned for some points into one array, after a check."""

# Single precision and sums in another order change a value by less; points that mix change it by more.
TOLERANCE = 1e-3


def batch_entry(function: BatchFunction, label: str, entry_point: EntryPoint) -> UserFunction:
    """Enter a function of many points, which a single point calls as a batch of one."""

    def compile(_: Inputs) -> object:
        raise CannotCompile(function.reason)

    def python_form(_: Inputs) -> PythonForm:
        return SinglePoint(function, entry_point.slot)

    return UserFunction(label, entry_point, compile, python_form)


def vectorized_function(
    function: Callable[..., Any],
    arguments: tuple[Argument, ...],
    read: Reader,
    label: str,
    entry_point: EntryPoint,
    vectorized: Vectorized,
    notes: Sequence[str] = (),
) -> UserFunction:
    """Enter a user's vectorised function."""

    def compile(_: Inputs) -> object:
        raise CannotCompile(BatchFunction.reason)

    def python_form(inputs: Inputs) -> PythonForm:
        evaluate = batch_evaluator(function, arguments, inputs, read, label, padded=vectorized == "padded")
        return SinglePoint(BatchFunction(evaluate, (entry_point.slot,)), entry_point.slot)

    return UserFunction(label, entry_point, compile, python_form, tuple(notes), function, arguments)


def batch_evaluator(
    function: Callable[..., Any],
    arguments: tuple[Argument, ...],
    inputs: Inputs,
    read: Reader,
    label: str,
    padded: bool,
) -> Callable[[FloatArray, int], tuple[FloatArray]]:
    """Return what evaluates a vectorised function at states; once, it compares a batch with its first point alone."""
    is_checked = False

    def evaluate(points: FloatArray, size: int) -> FloatArray:
        missing = size - len(points) if padded else 0
        rows = np.concatenate([points, np.repeat(points[:1], missing, axis=0)])
        return read(inputs, _call(function, arguments, inputs, rows, label), rows)[: len(points)]

    def evaluate_batch(points: FloatArray, size: int) -> tuple[FloatArray]:
        nonlocal is_checked
        values = evaluate(points, size)
        if not is_checked and len(points) > 1:
            _compare(values[0], evaluate(points[:1], size)[0], len(points), label)
            is_checked = True
        return (values,)

    return evaluate_batch


def _call(
    function: Callable[..., Any], arguments: tuple[Argument, ...], inputs: Inputs, states: FloatArray, label: str
) -> Any:
    """Call a vectorised function, and explain an error by the shapes of its arguments."""
    values = batch_arguments(arguments, inputs, states)
    by_position = [values[argument.name] for argument in arguments if not argument.keyword]
    by_keyword = {argument.name: values[argument.name] for argument in arguments if argument.keyword}
    try:
        return function(*by_position, **by_keyword)
    except Error:
        raise
    except Exception as error:
        of_state = [argument.name for argument in arguments if argument.source != "data"]
        shapes = {name: np.shape(values[name]) for name in of_state}
        each = ", ".join(f"{name} of shape {shape}" for name, shape in shapes.items())
        scalars = [name for name, shape in shapes.items() if len(shape) == 1]
        hint = f"; beside an array of data, {scalars[0]} is written as {scalars[0]}[:, None]" if scalars else ""
        raise EvaluationError(
            f"{label} raised {describe(error)}. With vectorized=True it gets a row for each point ({each}){hint}."
        ) from error


def batch_arguments(arguments: tuple[Argument, ...], inputs: Inputs, states: FloatArray) -> dict[str, Any]:
    """Return a vectorised function's arguments by name: data as they are, and one row for each state."""
    x = inputs.space.prepared(states)
    variables = {variable.name: variable for variable in inputs.space.variables}

    def value_of(argument: Argument) -> object:
        if argument.source == "data":
            return inputs.data.given[argument.name]
        if argument.source == "flat":
            return inputs.space.flat(x.copy())
        return variables[argument.name].value(x.copy())

    return {argument.name: value_of(argument) for argument in arguments}


def _compare(in_batch: object, alone: object, count: int, label: str) -> None:
    """Refuse a function whose value at a point depends on the other points."""
    if not np.allclose(np.asarray(in_batch), np.asarray(alone), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        raise TargetError(
            f"{label} returned {in_batch} for a point among {count}, and {alone} for the same point alone. With "
            "vectorized=True a point's value must not depend on the points beside it: sum over data only, "
            "not over the first axis, and use no random numbers."
        )
