"""Functions that answer for many points in one call, and may answer several questions about each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sterna.types import FloatArray


@dataclass(frozen=True)
class BatchFunction:
    """A function of many states that stands in for several of a target's functions.

    `evaluate(points, size)` gets a row for each state, in stored coordinates, and the number of replicas: a function
    that is compiled for each number of rows, or whose bits depend on it, may pad its rows to that number. It returns
    one array for each of `slots` (see `sterna.engine.callback`): for each point a number, or a gradient by stored
    coordinate.
    """

    evaluate: Callable[[FloatArray, int], Sequence[Any]]
    slots: tuple[int, ...]
    reason: str = "it takes many points at once"
    """Why Numba does not compile it, for the target's notes; empty if other notes say so."""

    def __call__(self, points: FloatArray, size: int) -> Sequence[Any]:
        """Evaluate all points."""
        return self.evaluate(points, size)


@dataclass(frozen=True)
class SinglePoint:
    """One of the answers of a batch function, at a single point: the form in which the engine calls it back."""

    function: BatchFunction
    slot: int

    def __call__(self, x: FloatArray, out: FloatArray | None = None) -> float | None:
        """Return a log-density, or write a gradient."""
        answer = self.function(x[None, :], 1)[self.function.slots.index(self.slot)][0]
        if out is None:
            return float(answer)
        out[:] = answer
        return None
