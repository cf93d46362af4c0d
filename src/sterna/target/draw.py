"""A draw from a joint reference."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.engine import callback
from sterna.engine.program import DRAW
from sterna.errors import Error, TargetError, describe
from sterna.ground.numbers import float_array
from sterna.ground.values import REAL
from sterna.reference.space import Space, break_sticks
from sterna.target.arguments import arguments_of, python_caller
from sterna.target.code import EntryCode
from sterna.target.data import Inputs
from sterna.target.pullback import size_check
from sterna.target.user_function import EntryPoint, PythonForm, UserFunction, check_callable
from sterna.types import FloatArray

ENTRY_POINT = EntryPoint(DRAW, callback.python_draw, "draw_reference", callback.DRAW)

# The parts of a simplex must sum to 1 with this error.
SIMPLEX_TOLERANCE = 1e-6


def reference_draw(function: Callable[..., Any], inputs: Inputs) -> UserFunction:
    """Read `draw(rng, ...)`, and call it once to see whether it returns a tuple or one flat vector."""
    label = "the reference's draw"
    check_callable(function, label)
    arguments = arguments_of(function, label, inputs.space, inputs.data.given, leading=1)
    for argument in arguments:
        if argument.source == "variable":
            raise TargetError(
                f"{label} has a parameter {argument.name!r}, which is a variable: a draw is independent of the "
                "state, so it takes only a generator and entries of data."
            )
    call_once = python_caller(getattr(function, "py_func", function), arguments, inputs)
    try:
        example = call_once(np.zeros(inputs.space.dimension), np.random.default_rng(0))
    except Error:
        raise
    except Exception as error:
        raise TargetError(f"The reference's draw raised {describe(error)}.") from error
    check_draw(inputs.space, example)
    by_variable = isinstance(example, tuple)
    is_number = not by_variable and np.ndim(example) == 0

    def compile(inputs: Inputs) -> object:
        code = EntryCode(function, arguments, inputs)
        code.scope["TargetError"] = TargetError
        store = ["x[0] = values"] if is_number else storing_lines(inputs.space, by_variable)
        body = [f"values = {code.call('generator')}", *store, "return 0"]
        return code.compile("def entry(state, data, generator):", body, DRAW)

    def python_form(inputs: Inputs) -> PythonForm:
        call, space = python_caller(function, arguments, inputs), inputs.space

        def draw(x: FloatArray, generator: np.random.Generator) -> None:
            values = call(x, generator)
            check_draw(space, values)
            flat = np.concatenate([np.ravel(v) for v in values]) if by_variable else np.ravel(values)
            x[:] = break_sticks(space, np.asarray(flat, dtype=np.float64))

        return draw

    return UserFunction(label, ENTRY_POINT, compile, python_form, given=function, arguments=arguments)


def storing_lines(space: Space, by_variable: bool) -> list[str]:
    """Return code that stores a draw, `values`, in the state, unless its shape is another one than before."""
    size = sum(v.natural_size for v in space.variables)
    lines = [] if by_variable else size_check("values", (size,), "The reference's draw returned")
    begin = 0
    for index, v in enumerate(space.variables):
        size = v.natural_size
        value = f"values[{index}]" if by_variable else f"values[{begin}:{begin + size}]"
        if by_variable and v.shape != ():
            lines += size_check(value, v.shape, f"The reference's draw returned, for {v.name},")
        if v.transform == "simplex":
            lines.append(f"break_stick({value}, x[{v.start}:{v.stop}])")
        elif by_variable and v.shape == ():
            lines.append(f"x[{v.start}] = {value}")
        elif by_variable and len(v.shape) > 1:
            lines.append(f"copy_into(x[{v.start}:{v.stop}], np.ascontiguousarray({value}).reshape({v.size}))")
        else:
            lines.append(f"copy_into(x[{v.start}:{v.stop}], {value})")
        begin += size
    return lines


def check_draw(space: Space, drawn: ArrayLike | tuple[ArrayLike, ...]) -> None:
    """Check the shapes and the values of a draw."""
    variables = space.variables
    parts = drawn if isinstance(drawn, tuple) else (drawn,)
    if drawn is not None and any(float_array(part) is None for part in parts):
        raise TargetError(
            f"The reference's draw returned {drawn!r}; return a tuple with a number or an array for each of "
            f"{', '.join(space.names)}, or one flat vector."
        )
    if isinstance(drawn, tuple):
        shapes, given = [v.shape for v in variables], [np.shape(part) for part in drawn]
        if given != shapes:
            raise TargetError(
                f"The reference's draw returned values of shapes {given}; "
                f"the variables {', '.join(space.names)} have shapes {shapes}."
            )
        _check_values(space, [np.ravel(np.asarray(part, dtype=np.float64)) for part in drawn])
        return
    size = sum(v.natural_size for v in variables)
    if drawn is None:
        raise TargetError("The reference's draw returned None: return the values drawn.")
    if np.size(drawn) != size or np.ndim(drawn) > 1:
        raise TargetError(
            f"The reference's draw returned an array of shape {np.shape(drawn)}; return a tuple with one entry "
            f"for each of {', '.join(space.names)}, or one flat vector of {size} numbers."
        )
    ends = np.cumsum([v.natural_size for v in variables])[:-1]
    _check_values(space, np.split(np.ravel(np.asarray(drawn, dtype=np.float64)), ends))


def _check_values(space: Space, parts: list[FloatArray]) -> None:
    for v, part in zip(space.variables, parts, strict=True):
        inside = v.periodic or ((part >= v.lower).all() and (part <= v.upper).all())
        good = np.isfinite(part).all() and inside
        if good and v.value_type != REAL:
            good = (part == np.floor(part)).all()
        if good and v.transform == "simplex":
            good = abs(part.sum() - 1.0) < SIMPLEX_TOLERANCE
        if not good:
            raise TargetError(f"The reference's draw returned {v.name}={part}, which is not in its space.")
