"""Keywords that a function does not have: the error names the one that the user may have meant."""

import functools
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from sterna.errors import OptionError

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def explains_keywords(
    name: str, hints: Mapping[str, str], word: str = "option"
) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Let a function answer unknown keywords by hints, or by its nearest keyword and the list of all.

    Its signature stays what it is for `help`, for type checkers and for editors.
    """

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        parameters = inspect.signature(function).parameters
        known = [parameter for parameter in parameters if parameter != "self"]
        by_position = positional(parameters)

        @functools.wraps(function)
        def call(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
            unknown = [keyword for keyword in keywords if keyword not in known]
            if unknown:
                raise OptionError(" ".join(explanation(name, keyword, known, hints, word) for keyword in unknown))
            if by_position is not None and len(arguments) > len(by_position):
                listed = ", ".join(parameter for parameter in by_position if parameter != "self")
                others = ", ".join(f"{parameter}=" for parameter in known if parameter not in by_position)
                raise OptionError(f"{name} takes {listed} by position: give its other {word}s by name ({others}).")
            return function(*arguments, **keywords)

        return call

    return decorate


def positional(parameters: Mapping[str, inspect.Parameter]) -> list[str] | None:
    """Return the names of parameters that can be given by position; None if any number can."""
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()):
        return None
    return [name for name, parameter in parameters.items() if parameter.kind is not parameter.KEYWORD_ONLY]


def explanation(name: str, keyword: str, known: list[str], hints: Mapping[str, str], word: str = "option") -> str:
    """Return what a user reads about an unknown keyword.

    >>> explanation("f", "sede", ["seed", "thin"], {})
    'f has no option sede=: did you mean seed=? Its options are seed, thin.'
    """
    if keyword.lower() in hints:
        return f"{name} has no {word} {keyword}=: {hints[keyword.lower()]}."
    nearest = get_close_matches(keyword.lower(), known, 1)
    question = f"did you mean {nearest[0]}=? Its" if nearest else "its"
    return f"{name} has no {word} {keyword}=: {question} {word}s are {', '.join(known)}."
