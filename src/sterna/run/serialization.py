"""A run's state as arrays by name and a JSON document, and back; nothing is ever unpickled."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sterna.engine.record import Layout, Record
from sterna.engine.round import Copy
from sterna.errors import OptionError
from sterna.explorers.cost import Cost
from sterna.result.goal import Goal
from sterna.result.settings import Settings
from sterna.run.state import FittedDistribution, RunState, Seconds, Tuned
from sterna.search.curvature import Optimum
from sterna.search.mixture import Mixture
from sterna.search.planted import Planted
from sterna.search.search import Search
from sterna.tuning.energies import Energies
from sterna.tuning.estimate import Estimate
from sterna.tuning.evidence import Evidence
from sterna.tuning.evidence_curve import EvidenceCurve
from sterna.tuning.journey_influence import JourneyInfluence
from sterna.tuning.rounds import Round

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays: TypeAlias = dict[str, NDArray[Any]]

# All classes of which a state consists, by their names in the document.
CLASSES: dict[str, Any] = {
    found.__name__: found
    for found in (
        RunState, Tuned, FittedDistribution, Seconds, Settings, Cost, Copy, Record, Round, Evidence, EvidenceCurve,
        Energies, Estimate, JourneyInfluence, Search, Optimum, Mixture, Planted, Goal, Layout,
    )
}  # fmt: skip


def take_apart(state: RunState) -> tuple[Json, Arrays]:
    """Return the state as a JSON document and the arrays that it names.

    Examples
    --------
    >>> take_apart(Seconds(1.5, math.inf))
    ({'Seconds': {'compile': 1.5, 'tuning': {'float': 'inf'}, 'sampling': 0.0}}, {})
    """
    arrays: Arrays = {}
    return _document_of(state, "state", arrays), arrays


def put_together(document: Json, arrays: Mapping[str, NDArray[Any]]) -> RunState:
    """Return the state of which these are the parts.

    Examples
    --------
    >>> put_together(*take_apart(Seconds(1.5, math.inf)))
    Seconds(compile=1.5, tuning=inf, sampling=0.0)
    """
    state: RunState = _value_of(document, arrays)
    return state


def _document_of(value: object, name: str, arrays: Arrays) -> Json:
    """Describe a value; its arrays go where their names in the document lead."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    fields = _fields_of(value)
    if fields is not None:
        parts = {field: _document_of(part, f"{name}.{field}", arrays) for field, part in fields.items()}
        return {type(value).__name__: parts}
    if isinstance(value, (tuple, list)):
        entries = [_document_of(part, f"{name}.{index}", arrays) for index, part in enumerate(value)]
        return {type(value).__name__: entries}
    if isinstance(value, dict):
        pairs = [[_document_of(key, name, arrays), _document_of(value[key], f"{name}.{key}", arrays)] for key in value]
        return {"dict": [list(pair) for pair in pairs]}
    raise TypeError(f"{name} is a {type(value).__name__}, which a run's state must not contain.")


def _fields_of(value: object) -> dict[str, object] | None:
    """Return the fields of a class that states consist of, or None."""
    if type(value) is not CLASSES.get(type(value).__name__):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(value._asdict())  # type: ignore[attr-defined]


def _value_of(document: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the value that a document describes."""
    if not isinstance(document, dict):
        return document
    ((name, content),) = document.items()
    if name == "float":
        return float(content)
    if name == "array":
        return arrays[content]
    if name in ("tuple", "list"):
        entries = [_value_of(part, arrays) for part in content]
        return tuple(entries) if name == "tuple" else entries
    if name == "dict":
        return {_value_of(key, arrays): _value_of(part, arrays) for key, part in content}
    if name not in CLASSES:
        raise OptionError(f"The state of a run contains a {name}, which this version of sterna does not know.")
    return CLASSES[name](**{field: _value_of(part, arrays) for field, part in content.items()})
