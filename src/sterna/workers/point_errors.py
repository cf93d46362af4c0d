"""Errors of a user's functions, raised again with the point at which they happened."""

from dataclasses import dataclass
from types import TracebackType
from typing import NoReturn

from sterna.engine.program import ImpossibleDraw, NotANumber
from sterna.engine.running_energies import Mismatch
from sterna.errors import Error, EvaluationError, describe
from sterna.target.checks.running import raise_mismatch
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray, IntArray


@dataclass(frozen=True)
class errors_at_point:  # noqa: N801 (used like a function)
    """Turn an exception or NaN of a target into an error that names the point, row `at_work[0]` of `states`.

    A class, because a `contextlib.contextmanager` would raise a StopIteration of the user's function as it is.
    """

    target: PreparedTarget
    states: FloatArray
    at_work: IntArray

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if isinstance(error, Exception):
            raise_at_point(self.target, self.states[self.at_work[0]], error)


def raise_at_point(target: PreparedTarget, state: FloatArray, error: Exception) -> NoReturn:
    """Raise an error again, with the point and with the name of the user's function that failed."""
    where = f" at {_point(target, state)}"
    if isinstance(error, ImpossibleDraw):
        raise EvaluationError(
            f"The reference drew an impossible state{where}: draws must lie inside the declared space and have a "
            "positive density. Check that draw and log_density describe the same distribution."
        ) from None
    if isinstance(error, NotANumber):
        zero = "density" if "reference" in str(error) else "likelihood"
        sign = f" Check its sign: it is the logarithm of the {zero}, not minus that." if "+inf" in str(error) else ""
        raise EvaluationError(
            f"The {error}{where}. A log-density must be a number below +inf: return -inf where the {zero} is zero."
            f"{sign}{target.odd_data}"
        ) from None
    if isinstance(error, Mismatch):
        raise_mismatch(target, state, str(error))
    label, explained = target.failure(state, error)
    if label == "the reference's draw":
        # the state is that of before the draw
        where = ""
    if isinstance(error, Error):
        happened = f" This happened{where}." if where else ""
        raise type(error)(f"{explained}{happened}{target.remark(label)}") from error.__cause__
    raise EvaluationError(
        f"{label[0].upper() if label.startswith('the ') else label[0]}{label[1:]} raised {describe(explained)}{where}. "
        f"{_advice(error, label)}{target.remark(label)}{target.odd_data}"
    ) from error


def _point(target: PreparedTarget, state: FloatArray) -> str:
    """Name a point by its variables, or by its coordinates if the variables cannot be computed."""
    try:
        return target.describe_point(state)
    except Exception:
        return f"the state {state}"


def _advice(error: Exception, label: str) -> str:
    if label == "the reference's draw":
        return "Fix the function: it must return a draw whenever it is called."
    if label not in ("log_likelihood", "the reference's log_density"):
        return "Fix the function: it must not fail at any state that a chain can reach."
    if isinstance(error, ValueError) and "read-only" in str(error):
        return "Data and variables cannot be changed, because every chain uses them: change a copy, such as y.copy()."
    if isinstance(error, (ArithmeticError, ValueError)):
        zero = "likelihood" if label == "log_likelihood" else "density"
        return f"Return -inf where the {zero} is zero; at any other point, fix the function."
    return "Fix the function: it must return a number at every draw from the reference."
