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
        known = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]

        @functools.wraps(function)
        def call(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
            unknown = [keyword for keyword in keywords if keyword not in known]
            if unknown:
                raise OptionError(" ".join(explanation(name, keyword, known, hints, word) for keyword in unknown))
            return function(*arguments, **keywords)

        return call

    return decorate


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
