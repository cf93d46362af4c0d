"""What a user's function is called with: its parameters matched with variables and data, or with one flat vector."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from sterna.errors import TargetError
from sterna.ground.user_function import Bridged
from sterna.ground.values import REAL
from sterna.reference.space import Space
from sterna.target.data import Inputs
from sterna.types import FloatArray

# What functions of other kinds than a density are passed first, by the number of these parameters.
LEADING = {1: "rng", 2: "i, beta", 3: "x, i, new"}


@dataclass(frozen=True)
class Argument:
    """Where an argument of a user's function comes from: the flat vector, a variable or an entry of data."""

    source: Literal["flat", "variable", "data"]
    name: str
    keyword: bool = False
    """Whether it must be passed by keyword, because a parameter before it keeps its default."""


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return a function's signature, also of one that the user compiled with Numba."""
    return inspect.signature(getattr(function, "py_func", function))


def arguments_of(
    function: Callable[..., Any], label: str, space: Space, data: Mapping[str, object], leading: int = 0
) -> tuple[Argument, ...]:
    """Match a function's parameters with variables and data, or with the flat vector.

    The first `leading` parameters (such as a generator) are passed by position, whatever their names.
    """
    try:
        parameters = list(signature_of(function).parameters.values())
    except (TypeError, ValueError):
        return (Argument("flat", "x"),)
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TargetError(
                f"{label} takes {parameter}; sterna passes arguments by name, so list the variables and data by name."
            )
    if len(parameters) < leading:
        raise TargetError(
            f"{label} has {len(parameters)} parameters; it must begin with ({LEADING[leading]}), which are passed by "
            "position, whatever their names."
        )
    available = {*space.names, *data}
    # A parameter with a default that matches nothing keeps its default.
    wanted = [p for p in parameters[leading:] if p.default is p.empty or p.name in available]
    names = [p.name for p in wanted]
    if leading == 0 and isinstance(function, Bridged):
        # no parameter of a user
        return (Argument("flat", ""),)
    takes_vector = leading == 0 and [name for name in names if name not in data] == names[:1] != []
    arguments = []
    for position, parameter in enumerate(wanted):
        name = parameter.name
        keyword = parameter.kind == parameter.KEYWORD_ONLY or parameter != parameters[leading + position]
        if name in space.names:
            arguments.append(Argument("variable", name, keyword))
        elif name in data:
            arguments.append(Argument("data", name, keyword))
        elif takes_vector and position == 0 and not get_close_matches(name, space.names, cutoff=0.7):
            arguments.append(Argument("flat", name, keyword))
        else:
            raise TargetError(
                f"{label} has a parameter {name!r}, which is neither a variable ({', '.join(space.names)}) "
                f"nor an entry of data ({', '.join(data) or 'none given'}). "
                "Name parameters after variables and data, or take one flat vector."
            )
    return tuple(arguments)


def note_on_flat_vector(arguments: tuple[Argument, ...], label: str, space: Space) -> list[str]:
    """Note that a parameter is taken for the flat vector, unless its name `x` says so."""
    named_x = any(argument.source == "flat" and argument.name == "x" for argument in arguments)
    remark = remark_on_flat_vector(arguments, label, space)
    return [remark] if remark and not named_x else []


def remark_on_flat_vector(arguments: tuple[Argument, ...], label: str, space: Space) -> str:
    """Say what a parameter receives that is not called like a variable; nothing if there is none in the function."""
    name = next((argument.name for argument in arguments if argument.source == "flat"), "")
    names = ", ".join(space.names)
    if not name:
        return ""
    if [variable.shape for variable in space.variables] == [()]:
        return (
            f"{label}: {name} is not a variable, so it receives the vector of all variables, which is {names} alone: "
            f"call the parameter {names} to receive a number, or write {name}[0]."
        )
    return f"{label}: {name} is not a variable, so it receives all of them ({names}) as one vector."


def note_on_unused_variables(arguments: tuple[Argument, ...], label: str, space: Space) -> list[str]:
    """Note the variables that a function of variables by name does not take: a name may be misspelt."""
    taken = {argument.name for argument in arguments if argument.source == "variable"}
    unused = [name for name in space.names if name not in taken]
    if not unused or any(argument.source == "flat" for argument in arguments):
        return []
    outcome = f"{unused[0]} keeps its prior" if len(unused) == 1 else "they keep their priors"
    return [f"{label} does not take {', '.join(unused)} of the reference: {outcome}."]


def python_caller(function: Callable[..., Any], arguments: tuple[Argument, ...], inputs: Inputs) -> Callable[..., Any]:
    """Return `call(state, *leading, **keywords)`, which calls a Python function with its arguments at a state.

    The arguments never share memory with the state.
    """
    space = inputs.space
    by_position = [_getter(argument, inputs) for argument in arguments if not argument.keyword]
    by_keyword = {argument.name: _getter(argument, inputs) for argument in arguments if argument.keyword}

    def call(state: FloatArray, *leading: object, **keywords: object) -> Any:
        x = space.prepared(state)
        named = {name: get(x) for name, get in by_keyword.items()}
        return function(*leading, *[get(x) for get in by_position], **named, **keywords)

    return call


def _getter(argument: Argument, inputs: Inputs) -> Callable[[FloatArray], object]:
    """Return what makes one argument from a state."""
    space = inputs.space
    if argument.source == "data":
        value = inputs.data.given[argument.name]
        return lambda x: value
    if argument.source == "flat":
        return lambda x: space.flat(x.copy())
    variable = next(v for v in space.variables if v.name == argument.name)
    if variable.shape == () and variable.transform != "none":
        return lambda x: variable.value(x).item()
    if variable.shape == () and variable.value_type == REAL:
        return lambda x: x.item(variable.start)
    if variable.shape == ():
        return lambda x: int(x.item(variable.start))
    return lambda x: variable.value(x.copy())
