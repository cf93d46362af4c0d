"""The numbers and switches that a user gives to a built-in model, checked by the types of its parameters."""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from sterna.errors import Error, OptionError, describe
from sterna.ground.keywords import explanation
from sterna.ground.numbers import real_number, whole_number

Parameters = ParamSpec("Parameters")
Made = TypeVar("Made")


def _flag(value: object) -> bool | None:
    return bool(value) if isinstance(value, (bool, np.bool_)) else None


# How a parameter is read, by its annotation, and what it must be.
READERS: dict[object, tuple[Callable[[object], object | None], str]] = {
    int: (whole_number, "a whole number"),
    float: (real_number, "a number"),
    bool: (_flag, "True or False"),
    float | None: (real_number, "a number, or None"),
}


def checked(model: Callable[Parameters, Made]) -> Callable[Parameters, Made]:
    """Let a model refuse, by its name, a number that is none; a whole float becomes an integer if one is expected."""
    signature = inspect.signature(model)

    @functools.wraps(model)
    def make(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Made:
        unknown = next((keyword for keyword in keywords if keyword not in signature.parameters), None)
        if unknown is not None:
            raise OptionError(explanation(model.__name__, unknown, list(signature.parameters), {}, "parameter"))
        try:
            given = signature.bind(*arguments, **keywords)
        except TypeError:
            # Python's own message also names the function
            return model(*arguments, **keywords)
        for name, value in given.arguments.items():
            annotation = signature.parameters[name].annotation
            if annotation in READERS and not (value is None and annotation == float | None):
                read, expected = READERS[annotation]
                given.arguments[name] = read(value)
                if given.arguments[name] is None:
                    raise OptionError(f"{model.__name__}({name}={value!r}): {name} must be {expected}.")
        try:
            return model(*given.args, **given.kwargs)
        except Error:
            raise
        except (TypeError, ValueError) as error:
            raise OptionError(f"{model.__name__} raised {describe(error)}: check its arguments.") from error

    return make
