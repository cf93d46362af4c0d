"""What a target is, by the content of its functions and data: to tell whether a saved run goes on with the same one.

Each part has a name that a user knows and a short text that changes with its content. Objects of other libraries are
known by their types alone; a run that goes on also compares log-densities at its saved states.
"""

import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from sterna.ground.fingerprint import Identity, TooLarge, key_of_function
from sterna.target.prepared import PreparedTarget

# How far objects within objects are looked at.
MAX_DEPTH = 4


def identity_of(target: PreparedTarget) -> dict[str, str]:
    """Return the parts of a target by name.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.Target(lambda mu, y: -(y - mu) ** 2, {"mu": sterna.Normal()}, {"y": 3.0}, name="squares")
    >>> list(identity_of(target.prepare()))
    ['variables', "the reference of 'mu'", "data['y']", 'log_likelihood']
    """
    found = {"variables": ", ".join(f"{v.name}{list(v.shape)}" for v in target.space.variables)}
    found |= _references(target)
    found |= {f"data[{name!r}]": digest(value) for name, value in target.data.items()}
    return found | {one.label: digest(one.given) for one in target.given_functions}


def _references(target: PreparedTarget) -> dict[str, str]:
    """Describe the reference of each variable by what the engine reads of it, except for addresses."""
    tables = {name: table for name, table in target.tables.items() if name != "family"}
    found = {}
    for v in target.space.variables:
        rows = slice(v.start, v.stop)
        own = [_rows(table, target.dimension)[rows] for table in tables.values() if len(table) % target.dimension == 0]
        found[f"the reference of {v.name!r}"] = digest((v.transform, v.value_type, v.affine, *own))
    return found


def _rows(table: Any, dimension: int) -> Any:
    return table.reshape(dimension, -1)


def digest(value: object) -> str:
    """Return a short text that changes with a value."""
    return hashlib.sha256(repr(_content(value, MAX_DEPTH)).encode()).hexdigest()[:16]


def _content(value: Any, depth: int) -> object:
    """Return what is known of a value, as plain values whose repr is the same in every process."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _content_of_array(np.asarray(value))
    if depth == 0:
        return type(value).__qualname__
    if isinstance(value, Identity):
        return _content(value.value, depth - 1)
    if isinstance(value, Mapping):
        return {str(name): _content(part, depth - 1) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [_content(part, depth) for part in value]
    plain = getattr(value, "py_func", value)
    if inspect.isfunction(plain):
        return _content_of_function(plain, depth)
    return _content_of_object(value, depth)


def _content_of_array(value: Any) -> object:
    if value.dtype.hasobject:
        return value.dtype.str, value.shape
    return value.dtype.str, value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()


def _content_of_function(function: Any, depth: int) -> object:
    """Return the content of a function: its code, and what it captures."""
    try:
        return _content(key_of_function(function), depth + MAX_DEPTH)
    except (TooLarge, RecursionError):
        return function.__code__.co_code, function.__qualname__


def _content_of_object(value: object, depth: int) -> object:
    """Return the content of an object: its type's name, what it does when it is called, and its attributes."""
    called = inspect.getattr_static(type(value), "__call__", None)
    code = _content_of_function(called, depth - 1) if inspect.isfunction(called) else None
    attributes = getattr(value, "__dict__", {})
    own = {name: _content(part, depth - 1) for name, part in attributes.items() if not name.startswith("_")}
    return type(value).__qualname__, code, own
