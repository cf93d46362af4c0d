"""Options of `sterna.sample` in warnings, notes and errors, as the command line spells them."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sterna.result.result import Result

SPELLING = {
    "n_chains": "--chains",
    "n_rounds": "--rounds",
    "n_scans": "--scans",
    "n_copies": "--copies",
    "explorer": "--explorer",
    "explorations": "--explorations",
    "scheme": "--scheme",
    "path": "--path",
    "seed": "--seed",
    "workers": "--workers",
    "max_seconds": "--max-seconds",
    "on_error": "--on-error",
}
# What messages say of Python alone.
PHRASES = {
    "sterna.resume(folder, target) goes on with it, resume=True lets this call do so, and": (
        "sterna resume goes on with it, and"
    ),
    "Give until= or more_scans=, not both": "Give --until or --scans, not both",
    "sterna.sample(..., folder=...)": "sterna run ... --out DIR",
    "folder=": "--out ",
    "more_scans=": "--scans ",
    "more_rounds=": "--rounds ",
}
# A number, or a text in quotes. What else a Python program may give, such as sterna.HMC(), has no other spelling.
_VALUE = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w(])|\"[^\"]*\"|'[^']*'"
_OPTION = re.compile(rf"\b({'|'.join(SPELLING)})=({_VALUE})|\b(n_chains|n_rounds|n_scans|n_copies)\b(?!=)")


def for_command_line(text: str) -> str:
    """Return a text with the command line's options.

    >>> for_command_line('Use n_rounds=12, n_chains="auto" or more copies (n_copies).')
    'Use --rounds 12, --chains auto or more copies (--copies).'
    """
    for python, command in PHRASES.items():
        text = text.replace(python, command)
    return _OPTION.sub(_respelled, text)


def _respelled(found: re.Match[str]) -> str:
    name, value, alone = found.groups()
    return SPELLING[alone] if name is None else f"{SPELLING[name]} {value.strip(chr(34) + chr(39))}"


def result_for_command_line(result: "Result") -> "Result":
    """Return a result whose warnings and notes name the command line's options, in the report, as JSON or in a file."""
    copy = replace(result, notes=[for_command_line(note) for note in result.notes])
    # where the cached property keeps its value
    copy.__dict__["warnings"] = [for_command_line(warning) for warning in result.warnings]
    return copy
