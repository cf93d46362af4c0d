"""Log-densities whose exceptions are counted instead of raised, for `on_error="reject"`.

Compiled functions are called through a guard in compiled code, all others through the classes here, also in worker
processes. Interrupts are never caught, nor errors that no other point would help against, such as a returned tuple.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sterna.engine.failures import RAISED
from sterna.engine.interrupts import is_of_signal
from sterna.errors import Error, EvaluationError
from sterna.ground.compilation import address_of
from sterna.target.batch_function import SinglePoint
from sterna.target.density import LIKELIHOOD, REFERENCE
from sterna.target.user_function import EnteredFunction, PythonForm, reentered
from sterna.types import FloatArray, IntArray

DENSITY_SLOTS = (LIKELIHOOD.slot, REFERENCE.slot)


def guarded(entered: EnteredFunction, block: IntArray) -> EnteredFunction:
    """Return a function that does not raise, if it is a log-density, and let the data block say what is guarded."""
    point = entered.function.entry_point
    if entered.python_form is not None:
        form = _guarded_form(entered.python_form, point.guard is not None)
        return entered if form is entered.python_form else reentered(entered, form)
    if point.guard is None:
        return entered
    block[point.guarded_slot] = entered.entry.address
    return replace(entered, entry=entered.entry._replace(address=address_of(point.guard, point.signature)))


def _guarded_form(form: PythonForm, is_density: bool) -> PythonForm:
    if isinstance(form, SinglePoint):
        function = form.function
        # one function may answer for a log-density and its gradient
        if not set(function.slots) & set(DENSITY_SLOTS):
            return form
        return SinglePoint(replace(function, evaluate=GuardedBatch(function.evaluate, function.slots)), form.slot)
    return GuardedFunction(form) if is_density else form


@dataclass(frozen=True)
class GuardedFunction:
    """A log-density of one state that returns `RAISED` instead of raising."""

    function: PythonForm

    def __call__(self, x: FloatArray) -> float:
        """Evaluate it."""
        try:
            value: float = self.function(x)
        except Exception as error:
            if not is_failure(error):
                raise
            return RAISED
        return value


@dataclass(frozen=True)
class GuardedBatch:
    """A function of many states; if it raises, each state is evaluated alone, to find those that fail."""

    function: Callable[[FloatArray, int], Sequence[Any]]
    slots: tuple[int, ...]

    def __call__(self, points: FloatArray, size: int) -> Sequence[Any]:
        """Evaluate all states."""
        try:
            return self.function(points, size)
        except Exception as error:
            if not is_failure(error):
                raise
        rows = [self._alone(point, size) for point in points]
        return [np.array([row[k] for row in rows]) for k in range(len(self.slots))]

    def _alone(self, point: FloatArray, size: int) -> list[Any]:
        """Evaluate one state: `RAISED` and gradients of NaN, at which trajectories end, if it fails."""
        try:
            return [answer[0] for answer in self.function(point[None, :], size)]
        except Exception as error:
            if not is_failure(error):
                raise
        return [RAISED if slot in DENSITY_SLOTS else np.full(len(point), np.nan) for slot in self.slots]


def is_failure(error: Exception) -> bool:
    """Return whether an exception says that a function failed at a point, and not that it or the run must end."""
    if is_of_signal(error):
        return False
    return not isinstance(error, Error) or isinstance(error, EvaluationError)
