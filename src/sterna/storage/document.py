"""Values as a JSON document and arrays by name, and back: nothing is ever unpickled.

Only instances of given classes, plain values and arrays can be taken apart, and only these come back.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sterna.errors import StorageError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays: TypeAlias = dict[str, NDArray[Any]]
Classes: TypeAlias = Mapping[str, Any]
"""Dataclasses, named tuples and subclasses of list, by their names in documents."""

# Where the classes of a document also hold below which names other values are kept as texts.
LABELS = "labels as texts"


def by_name(*classes: Any) -> dict[str, Any]:
    """Return classes by their names."""
    return {found.__name__: found for found in classes}


def take_apart(value: object, classes: Classes, name: str = "value", labels: str = "") -> tuple[Json, Arrays]:
    """Return a value as a JSON document and the arrays that it names.

    Below a name that contains `labels`, values of other classes, such as dates, are kept as texts.

    Examples
    --------
    >>> from sterna.tuning.estimate import Estimate
    >>> take_apart((1.5, math.inf, {"x": None}), {})
    ({'tuple': [1.5, {'float': 'inf'}, {'dict': [['x', None]]}]}, {})
    """
    arrays: Arrays = {}
    return _document_of(value, name, arrays, {**classes, LABELS: labels}), arrays


def put_together(document: Json, arrays: Mapping[str, NDArray[Any]], classes: Classes) -> Any:
    """Return the value of which these are the parts.

    Examples
    --------
    >>> put_together(*take_apart((1.5, math.inf, {"x": None}), {}), {})
    (1.5, inf, {'x': None})
    """
    try:
        return _value_of(document, arrays, classes)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise StorageError(f"The document is damaged: {type(error).__name__}: {error}") from error


def _document_of(value: object, name: str, arrays: Arrays, classes: Classes) -> Json:
    """Describe a value; its arrays go where their names in the document lead."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, np.ndarray):
        return _document_of_array(value, name, arrays, classes)
    fields = _fields_of(value, classes)
    if fields is not None:
        parts = {field: _document_of(part, f"{name}.{field}", arrays, classes) for field, part in fields.items()}
        return {type(value).__name__: parts}
    if isinstance(value, (tuple, list, frozenset)):
        kind = type(value).__name__
        entries = [_document_of(part, f"{name}.{index}", arrays, classes) for index, part in enumerate(value)]
        if kind in ("tuple", "list", "frozenset") or kind in classes:
            return {kind: entries}
    if isinstance(value, Mapping):
        return {"dict": [_pair(key, value[key], f"{name}.{index}", arrays, classes) for index, key in enumerate(value)]}
    if classes[LABELS] and classes[LABELS] in name:
        return str(value)
    raise TypeError(f"{name} is a {type(value).__name__}, which cannot be saved.")


def _pair(key: object, value: object, name: str, arrays: Arrays, classes: Classes) -> list[Json]:
    place = f"{name}.{key}" if isinstance(key, str) else name
    return [_document_of(key, f"{name}.key", arrays, classes), _document_of(value, place, arrays, classes)]


def _document_of_array(value: NDArray[Any], name: str, arrays: Arrays, classes: Classes) -> Json:
    """Describe an array: numbers go to the arrays, texts and times into the document."""
    if value.dtype.kind in "fiub":
        arrays[name] = value
        return {"array": name}
    if value.dtype.kind in "Mm":
        arrays[name] = value.view(np.int64)
        return {"times": [name, value.dtype.str]}
    entries = [_document_of(part, f"{name}.{index}", arrays, classes) for index, part in enumerate(value.reshape(-1))]
    return {"texts": [list(value.shape), "U" if value.dtype.kind == "U" else "O", entries]}


def _fields_of(value: object, classes: Classes) -> dict[str, object] | None:
    """Return the fields of a dataclass or a named tuple that can be saved, or None."""
    if type(value) is not classes.get(type(value).__name__):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    as_dict = getattr(value, "_asdict", None)
    return None if as_dict is None else dict(as_dict())


def _value_of(document: Any, arrays: Mapping[str, NDArray[Any]], classes: Classes) -> Any:
    """Return the value that a document describes."""
    if not isinstance(document, dict):
        return document
    ((name, content),) = document.items()
    if name in _SIMPLE:
        return _SIMPLE[name](content, arrays)
    if name == "dict":
        return {_value_of(key, arrays, classes): _value_of(part, arrays, classes) for key, part in content}
    if name == "texts":
        shape, kind, entries = content
        texts = np.empty(len(entries), dtype=object)
        texts[:] = [_value_of(part, arrays, classes) for part in entries]
        longest = max(map(len, map(str, texts)), default=0)
        if kind == "U" and len(texts) * longest > 100 * sum(map(len, map(str, texts))) + 1_000_000:
            raise StorageError("It contains texts of impossible lengths.")
        return texts.reshape(shape).astype({"U": np.str_, "O": object}[kind])
    if name in _SEQUENCES:
        return _SEQUENCES[name](_value_of(part, arrays, classes) for part in content)
    if name not in classes:
        raise StorageError(f"It contains a {name}, which this version of sterna does not know.")
    if isinstance(content, list):
        return classes[name](_value_of(part, arrays, classes) for part in content)
    return classes[name](**{field: _value_of(part, arrays, classes) for field, part in content.items()})


_SIMPLE: dict[str, Any] = {
    "float": lambda content, arrays: float(content),
    "bytes": lambda content, arrays: bytes.fromhex(content),
    "array": lambda content, arrays: arrays[content],
    "times": lambda content, arrays: arrays[content[0]].view(np.dtype(content[1])),
}
_SEQUENCES: dict[str, Any] = {"tuple": tuple, "list": list, "frozenset": frozenset}
