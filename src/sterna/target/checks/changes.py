"""Local changes compared with the difference of two whole evaluations."""

import numpy as np

from sterna.engine.evaluation import evaluate_change
from sterna.errors import TargetError
from sterna.target.checks.agreement import attempt, differ_for
from sterna.target.checks.neighbours import neighbours
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray

# Whole evaluations of the likelihood: so many states, and coordinates of each; those of the reference are not counted.
MAX_STATES, COORDINATES, REFERENCE_COORDINATES = 2, 4, 16


def check_changes(
    target: PreparedTarget,
    states: FloatArray,
    log_densities: FloatArray,
    draws: FloatArray,
    rng: np.random.Generator,
    max_states: int = MAX_STATES,
) -> None:
    """Compare both local changes with whole evaluations, at states whose log-densities are known."""
    program = target.program
    for state, known in zip(states[:max_states], log_densities, strict=False):
        if program.likelihood_change != 0 and known[1] > -np.inf:
            for i, new in neighbours(target, state, draws, COORDINATES, rng):
                check_change(target, state, i, new, known)
        if program.reference_change != 0:
            for i, new in neighbours(target, state, draws, REFERENCE_COORDINATES, rng):
                check_reference_change(target, state, i, new, float(known[0]))


def check_change(target: PreparedTarget, state: FloatArray, i: int, new: float, known: FloatArray) -> None:
    """Compare the likelihood's local change at one coordinate; states of density zero are never asked about."""
    other = changed(state, i, new)
    if attempt(target.log_reference, other) in (None, -np.inf):
        return
    whole = attempt(target.log_densities, other)
    change = attempt(evaluate_change, target.program.likelihood_change, state.copy(), i, new, target.program.data)
    if whole is not None and change is not None:
        _compare(target, "local_change", "log_likelihood", (state, i, new), change, float(known[1]), whole[1])


def check_reference_change(target: PreparedTarget, state: FloatArray, i: int, new: float, known: float) -> None:
    """Compare the reference's local change at one coordinate."""
    whole = attempt(target.log_reference, changed(state, i, new))
    change = attempt(evaluate_change, target.program.reference_change, state.copy(), i, new, target.program.data)
    if whole is not None and change is not None:
        _compare(target, "The reference's local_change", "log_density", (state, i, new), change, known, whole)


def changed(state: FloatArray, i: int, new: float) -> FloatArray:
    """Return the state with another value of one coordinate."""
    other = state.copy()
    other[i] = new
    return other


def _compare(
    target: PreparedTarget,
    label: str,
    whole_label: str,
    move: tuple[FloatArray, int, float],
    change: float,
    here: float,
    there: float,
) -> None:
    difference = there - here
    if np.isnan(change) or change == np.inf:
        # which the run reports
        return
    size = max(abs(here), abs(there)) if np.isfinite(there) else 0.0
    if differ_for(target, change, difference, size):
        state, i, new = move
        raise TargetError(
            f"{label} returned {change!r} where coordinate {i} changes from {float(state[i])!r} to {new!r}, and "
            f"{whole_label} changes by {difference!r}, from {here!r} to {there!r}, at {target.describe_point(state)}. "
            "It must return the change of all terms that depend on this coordinate: leave it out, or add those that "
            "it forgets."
        )
