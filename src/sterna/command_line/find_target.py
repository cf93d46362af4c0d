"""The target that the command line names: a built-in model, or something in a user's file."""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from sterna.target.target import Target

Value = TypeVar("Value")


def built_in_models() -> dict[str, Callable[..., "Target"]]:
    """Return the built-in models by name."""
    from sterna import models as package

    return {name: getattr(package, name) for name in package.__all__}


def find_target(text: str, values: Mapping[str, str]) -> "Target":
    """Return the target that the command line names, built with the values of --set."""
    from sterna.errors import OptionError
    from sterna.run.given import as_target, is_pymc
    from sterna.target.target import Target

    if ".py:" in text:
        path, _, name = text.rpartition(":")
        module = _load(path)
        found = getattr(module, name, None)
        if isinstance(found, Target) or is_pymc(found):
            if values:
                raise OptionError(f"{text} is a finished target; --set needs a function that returns one.")
            return as_target(found, None, None)
        if found is None:
            near = "".join(f", but {one!r}" for one in get_close_matches(name, vars(module), 1))
            raise OptionError(f"{path} has nothing named {name!r}{near}.")
        expected = "a sterna.Target or a PyMC model"
        if not callable(found):
            raise OptionError(
                f"{text} is {type(found).__name__}; it must be {expected}, or a function that returns one."
            )
        built = _call(text, found, values)
        if not isinstance(built, Target) and not is_pymc(built):
            raise OptionError(f"{text} returned {type(built).__name__}; it must return {expected}.")
        return as_target(built, None, None)
    if Path(text).suffix == ".py" and Path(text).is_file():
        raise OptionError(f"{text} is a file: write {text}:name, with the name of its target, or of a function.")
    available = built_in_models()
    if text not in available:
        raise OptionError(
            f"There is no built-in model {text!r}; choose one of {', '.join(sorted(available))}. "
            "For your own target write file.py:name."
        )
    return _call(text, available[text], values)


def _call(what: str, function: Callable[..., Value], values: Mapping[str, str]) -> Value:
    """Call a model's function with values converted to the types of the defaults."""
    from sterna.errors import OptionError

    parameters = inspect.signature(function).parameters
    converted = {}
    for key, text in values.items():
        if key not in parameters:
            have = ", ".join(parameters) or "none"
            raise OptionError(f"--set {key}={text}: {what} has no parameter {key!r}; it has {have}.")
        converted[key] = _convert(key, text, parameters[key].default)
    missing = [p.name for p in parameters.values() if p.default is p.empty and p.name not in converted]
    if missing:
        raise OptionError(
            f"{what} needs {', '.join(missing)}: give values with --set, "
            "or name a sterna.Target or a function that returns one."
        )
    return _watched(what, lambda: function(**converted))


def _watched(what: str, action: Callable[[], Value]) -> Value:
    """Run code from a user's file; an exception becomes a one-line error that says where it was raised."""
    from sterna.errors import Error, OptionError

    try:
        return action()
    except Error:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        # the message of a SyntaxError names its line, and a single frame is the call above
        in_user_code = len(frames) > 1 and not isinstance(error, SyntaxError)
        location = f" (line {frames[-1].lineno} of {frames[-1].filename})" if in_user_code else ""
        raise OptionError(f"{what} raised {type(error).__name__}: {error}{location}") from error


def _convert(key: str, text: str, default: object) -> bool | int | float | str:
    from sterna.errors import OptionError

    if isinstance(default, bool):
        answers = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if text.lower() in answers:
            return answers[text.lower()]
        raise OptionError(f"--set {key}={text}: give true or false.")
    converters: list[Callable[[str], int | float | str]] = [int, float, str]
    if isinstance(default, int | float | str):
        converters = [type(default)]
    for convert in converters:
        try:
            return convert(text)
        except ValueError:
            continue
    raise OptionError(f"--set {key}={text}: give a number like the default {default!r}.")


def _load(path: str) -> ModuleType:
    from sterna.errors import OptionError

    if not Path(path).is_file():
        raise OptionError(f"There is no file {path}.")
    specification = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    loader = specification.loader
    _watched(path, lambda: loader.exec_module(module))
    return module


def pair_of(text: str) -> tuple[str, str]:
    """Return key and value of --set."""
    from sterna.errors import OptionError

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise OptionError(f"--set {text}: write KEY=VALUE, such as --set size=20.")
    return key, value
