"""The classes of which a run's state consists, by which it is taken apart into a document and arrays, and back."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from sterna.engine.record import Layout, Record
from sterna.engine.round import Copy
from sterna.explorers.cost import Cost
from sterna.result.saved import CLASSES as OF_RESULTS
from sterna.run.state import FittedDistribution, RunState, Seconds, Tuned
from sterna.search.planted import Planted
from sterna.storage import document
from sterna.storage.document import Arrays, Json, by_name

CLASSES: dict[str, Any] = {
    **OF_RESULTS, **by_name(RunState, Tuned, FittedDistribution, Seconds, Cost, Copy, Record, Layout, Planted),
}  # fmt: skip


def take_apart(state: RunState) -> tuple[Json, Arrays]:
    """Return the state as a JSON document and the arrays that it names.

    Examples
    --------
    >>> take_apart(Seconds(1.5))
    ({'Seconds': {'compile': 1.5, 'tuning': 0.0, 'sampling': 0.0, 'this_round': 0.0}}, {})
    """
    return document.take_apart(state, CLASSES, "state")


def put_together(parts: Json, arrays: Mapping[str, NDArray[Any]]) -> RunState:
    """Return the state of which these are the parts.

    Examples
    --------
    >>> put_together(*take_apart(Seconds(1.5)))
    Seconds(compile=1.5, tuning=0.0, sampling=0.0, this_round=0.0)
    """
    state: RunState = document.put_together(parts, arrays, CLASSES)
    return state
