"""Entries of data that no function takes: one may be misspelt, beside a parameter that silently keeps its default."""

from difflib import get_close_matches
from inspect import Parameter

from sterna.errors import TargetError
from sterna.ground.user_function import Bridged
from sterna.target.arguments import signature_of
from sterna.target.prepared import PreparedTarget
from sterna.target.user_function import UserFunction


def check_data_names(target: PreparedTarget) -> tuple[str, ...]:
    """Refuse unused data that a parameter with a default probably waits for; return notes on other unused data."""
    functions = target.given_functions
    taken = {argument.name for function in functions for argument in function.arguments}
    unused = [name for name in target.data if name not in taken]
    if not unused:
        return ()
    for function in functions:
        for parameter in _kept_defaults(function):
            near = get_close_matches(parameter.name.lower(), [name.lower() for name in unused], 1)
            if near or parameter.default is None:
                _raise(function, parameter, near[0] if near else unused[0].lower(), unused)
    if any(_is_sternas(function) for function in functions):
        # kernels of built-in models read data by themselves
        return ()
    names = ", ".join(f"data[{name!r}]" for name in unused)
    return (f"{names} {'is' if len(unused) == 1 else 'are'} not used: no function has a parameter of that name.",)


def _kept_defaults(function: UserFunction) -> list[Parameter]:
    """Return the parameters of a function that keep their defaults."""
    if not callable(function.given) or isinstance(function.given, Bridged):
        return []
    try:
        parameters = signature_of(function.given).parameters.values()
    except (TypeError, ValueError):
        return []
    taken = {argument.name for argument in function.arguments}
    return [one for one in parameters if one.default is not one.empty and one.name not in taken]


def _is_sternas(function: UserFunction) -> bool:
    plain = getattr(function.given, "py_func", function.given)
    return str(getattr(plain, "__module__", "sterna")).partition(".")[0] == "sterna"


def _raise(function: UserFunction, parameter: Parameter, near: str, unused: list[str]) -> None:
    name = next(one for one in unused if one.lower() == near)
    raise TargetError(
        f"{function.label}: {parameter} keeps its default, because no data are called {parameter.name!r}, and "
        f"data[{name!r}] is not used by any function: rename the entry of data or the parameter, or leave data["
        f"{name!r}] out."
    )
