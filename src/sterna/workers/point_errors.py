"""Errors of a user's functions, raised again with the point at which they happened."""

from collections.abc import Iterator
from contextlib import contextmanager

from sterna.engine.program import ImpossibleDraw, NotANumber
from sterna.errors import Error, EvaluationError
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray, IntArray


@contextmanager
def errors_at_point(target: PreparedTarget, states: FloatArray, at_work: IntArray) -> Iterator[None]:
    """Turn an exception or NaN of a target into an error that names the point, row `at_work[0]` of `states`."""
    try:
        yield
    except Exception as error:
        where = f" at {_point(target, states[at_work[0]])}"
        if isinstance(error, ImpossibleDraw):
            raise EvaluationError(
                f"The reference drew an impossible state{where}: draws must lie inside the declared space and have a "
                "positive density. Check that draw and log_density describe the same distribution."
            ) from None
        if isinstance(error, NotANumber):
            raise EvaluationError(
                f"The {error}{where}. A log-density must be a number below +inf: "
                f"return -inf where the likelihood is zero.{target.odd_data}"
            ) from None
        if isinstance(error, Error):
            raise type(error)(f"{error} This happened{where}.") from error.__cause__
        raised_by = " or ".join(["The target", *target.moves])
        explained = target.python_error(states[at_work[0]], error)
        raise EvaluationError(
            f"{raised_by} raised {type(error).__name__}: {str(explained).strip()}{where}. "
            f"{_advice(error)}{target.odd_data}"
        ) from error


def _point(target: PreparedTarget, state: FloatArray) -> str:
    """Name a point by its variables, or by its coordinates if the variables cannot be computed."""
    try:
        return target.describe_point(state)
    except Exception:
        return f"the state {state}"


def _advice(error: Exception) -> str:
    if isinstance(error, (ArithmeticError, ValueError)):
        return "Return -inf where the likelihood is zero; at any other point, fix the function."
    return "Fix the function: it must return a number at every draw from the reference."
