"""What a run was begun with, as texts by name: a run that goes on must be of the same target and explorer."""

import platform
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import numpy as np

from sterna.errors import StorageError
from sterna.ground.numbers import whole_number
from sterna.run.options import Options
from sterna.target.identity import REMEMBERED, digest, identity_of
from sterna.target.prepared import PreparedTarget
from sterna.version import __version__

# Options that do not change what a run does, or may be given anew.
FREE = ("workers", "until", "max_seconds")


def origin_of(
    target: PreparedTarget, options: Options, explorer: object, command: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what a run is begun with."""
    return {
        "name": target.name,
        "target": identity_of(target),
        "explorer": text_of_explorer(explorer),
        "options": {one.name: _text_of(getattr(options, one.name)) for one in fields(options) if one.name not in FREE},
        "versions": versions(),
        "command": None if command is None else dict(command),
    }


def _text_of(option: object) -> str:
    """Return a text that is the same for an option however it is given: 4, 4.0 or numpy.int64(4)."""
    number = whole_number(option)
    if number is not None and not isinstance(option, bool):
        return str(number)
    if isinstance(option, (list, tuple, np.ndarray)):
        return repr([float(one) for one in np.ravel(np.asarray(option, dtype=float))])
    return repr(option)


def versions() -> dict[str, str]:
    """Return the versions on which the bits of a run may depend."""
    libraries = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"sterna": __version__, "python": platform.python_version(), "machine": platform.machine(), **libraries}


def text_of_explorer(explorer: object) -> str:
    """Return a text by which an explorer is known again."""
    if explorer is None or isinstance(explorer, str):
        return repr(explorer)
    return f"{type(explorer).__name__} {digest(explorer)}"


def check_same(place: object, before: Mapping[str, Any], now: Mapping[str, Any], with_options: bool) -> None:
    """Refuse to go on with a run of another target, explorer, version or, if they were given again, other options."""
    changes = [*_other_versions(before["versions"], now["versions"])]
    if _minor(before["versions"]["python"]) == _minor(now["versions"]["python"]):
        # another Python has other bytecode, so that only names of functions could be compared
        changes += _changes(_fixed(before["target"]), _fixed(now["target"]), "{} has changed")
    if before["explorer"] != now["explorer"]:
        changes.append(f"the explorer was {before['explorer']} and is {now['explorer']}")
    if with_options:
        changes += _changes(before["options"], now["options"], "{} was {} and is {}")
    if changes:
        raise StorageError(
            f"The run in {place} cannot go on, because it would not be the same run: {'; '.join(changes)}. "
            "Give what it was begun with, or begin another run in another folder."
        )


def _fixed(target: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of a target that a run must not find changed."""
    return {name: content for name, content in target.items() if not name.startswith(REMEMBERED)}


def notes_on_memory(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note if lists, dicts or attributes that functions can change themselves have other content."""
    names = [name for name in now if name.startswith(REMEMBERED) and before.get(name) != now[name]]
    if not names:
        return ()
    return (
        f"The run went on although {' and '.join(names)}, in lists, dicts or attributes, was not the same as before: "
        "the log-densities at its saved states were.",
    )


def _changes(before: Mapping[str, str], now: Mapping[str, str], text: str) -> list[str]:
    """Say what is different, missing or new."""
    found = [f"{name} is no longer there" for name in before if name not in now]
    found += [f"{name} is new" for name in now if name not in before]
    return found + [
        text.format(name, before[name], now[name]) for name in before if name in now and before[name] != now[name]
    ]


def _other_versions(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    if _minor(before["sterna"]) == _minor(now["sterna"]):
        return []
    return [f"it was begun with sterna {before['sterna']}, and this is {now['sterna']}"]


def notes_on_versions(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note if a run goes on with other libraries, which may compute other bits."""
    other = [f"{name} {now[name]} instead of {before[name]}" for name in now if before.get(name) != now[name]]
    if not other:
        return ()
    return (f"The run went on with {', '.join(other)}: bits may differ from those of a run that was not interrupted.",)


def _minor(text: str) -> str:
    return ".".join(text.split(".")[:2])
