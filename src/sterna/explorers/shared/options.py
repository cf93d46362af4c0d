"""Options of explorers: what a user gave, checked, and shown again as one could type it."""

import math
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from sterna.errors import OptionError
from sterna.ground.numbers import real_number, whole_number


def take_whole(recipe: Any, name: str, lowest: int, advice: str) -> None:
    """Check that an option of a frozen recipe is a whole number, and store it as an integer."""
    given = getattr(recipe, name)
    number = whole_number(given)
    if number is None or number < lowest:
        raise OptionError(f"{type(recipe).__name__}({name}={given!r}): {advice}.")
    object.__setattr__(recipe, name, number)


def check_number(
    recipe: object, name: str, advice: str, lower: float = 0.0, upper: float = math.inf, above: bool = False
) -> None:
    """Check that an option is a finite number from `lower` (or strictly above it) to `upper`."""
    given = getattr(recipe, name)
    number = real_number(given)
    good = number is not None and math.isfinite(number) and lower <= number <= upper
    if not good or (above and number == lower):
        raise OptionError(f"{type(recipe).__name__}({name}={given!r}): {advice}.")


def check_flag(recipe: object, name: str) -> None:
    """Check that an option is True or False: a string such as "no" would count as true."""
    given = getattr(recipe, name)
    if not isinstance(given, (bool, np.bool_)):
        raise OptionError(f"{type(recipe).__name__}({name}={given!r}): give True or False.")


def check_choice(recipe: object, name: str, choices: tuple[str | None, ...], advice: str) -> None:
    """Check that an option is one of a few words."""
    given = getattr(recipe, name)
    if not (given is None or isinstance(given, str)) or given not in choices:
        raise OptionError(f"{type(recipe).__name__}({name}={given!r}): {advice}.")


def check_passes(recipe: object) -> None:
    """Check the number of updates of each coordinate per scan."""
    check_number(
        recipe,
        "passes",
        "passes is the number of updates of each coordinate per scan; give a number that is not negative, such as 0.5 "
        "or 3",
    )


def take_moves(recipe: Any, lowest: int = 1) -> None:
    """Check the number of proposals per scan, and store it as an integer; None is the default."""
    if recipe.moves is None and recipe.__dataclass_fields__["moves"].default is None:
        return
    take_whole(
        recipe,
        "moves",
        lowest,
        "moves is the number of proposals per scan, each of which costs one evaluation; give a positive integer, or "
        "leave it out for the default",
    )


def check_metric(recipe: object) -> None:
    """Check the metric's name."""
    check_choice(recipe, "metric", ("diagonal", "dense"), 'give "diagonal" or "dense"')


def as_typed(recipe: Any) -> str:
    """Return a recipe as one could type it: without the options that have their defaults."""
    given = [
        f"{one.name}={name_of(value)}"
        for one in fields(recipe)
        if (value := getattr(recipe, one.name)) is not one.default and not _is_default(value, one.default)
    ]
    return f"{type(recipe).__name__}({', '.join(given)})"


def _is_default(value: object, default: object) -> bool:
    return default is not MISSING and type(value) is type(default) and value == default


def name_of(value: object) -> str:
    """Return a value as one could type it: a function by its name."""
    is_function = callable(value) and not hasattr(value, "bind")
    return str(getattr(value, "__name__", repr(value))) if is_function else repr(value)
