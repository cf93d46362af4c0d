"""The same point evaluated twice: a log-density must be a function of its arguments alone."""

from typing import NoReturn

from sterna.errors import EvaluationError
from sterna.target.checks.agreement import differ
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray

# Noise of a log-density below this changes no result; solvers that start where they ended last time have some.
HARMLESS_NOISE = 1e-3


def check_repeated(target: PreparedTarget, states: FloatArray, first: FloatArray, again: FloatArray) -> None:
    """Compare two evaluations (log-reference, log-likelihood) of each state, and name the function that is noisy."""
    for state, one, other in zip(states, first, again, strict=True):
        for label, before, after in zip(("reference's log_density", "log_likelihood"), one, other, strict=True):
            if differ(float(before), float(after), negligible=HARMLESS_NOISE):
                raise_noisy(target, label, state, float(before), float(after))


def raise_noisy(target: PreparedTarget, label: str, state: FloatArray, before: float, after: float) -> NoReturn:
    """Raise the error of a function that returned two values at one point."""
    name = label if label == "log_likelihood" else f"The {label}"
    raise EvaluationError(
        f"{name} returned {before!r} and then {after!r} at the same point, {target.describe_point(state)}. It must be "
        "a function of its arguments alone, in every thread and process that calls it: without random numbers (draw "
        "them once and pass them as data, or seed a generator inside the function), and without values that it "
        "changes itself."
    )
