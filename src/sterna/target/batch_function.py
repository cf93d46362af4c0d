"""Functions that answer for many points in one call, and may answer several questions about each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sterna.types import FloatArray


@dataclass(frozen=True)
class BatchFunction:
    """A function of many states that takes the place of several of a target's functions.

    `evaluate(points, size)` gets a row for each state, in stored coordinates, and the number of replicas, to which a
    function may pad that is compiled for every number of rows or whose bits depend on it. It returns one array for each
    of `places` (see `sterna.engine.callback`): a number, or a gradient by stored coordinate, for each point.
    """

    evaluate: Callable[[FloatArray, int], Sequence[Any]]
    places: tuple[int, ...]
    reason: str = "it takes many points at once"
    """Why it is not compiled by Numba, for the target's notes; empty if they say it in other words."""

    def __call__(self, points: FloatArray, size: int) -> Sequence[Any]:
        """Evaluate all points."""
        return self.evaluate(points, size)

    def one(self, place: int, x: FloatArray) -> Any:
        """Return what is asked about a lone point."""
        return self.evaluate(x[None, :], 1)[self.places.index(place)][0]
