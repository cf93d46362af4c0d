"""Why a running log-density, a sum of local changes, differs from a whole evaluation during a run."""

from typing import NoReturn

import numpy as np

from sterna.engine.round import draw_states
from sterna.errors import EvaluationError
from sterna.ground.streams import new_stream
from sterna.target.checks.agreement import attempt
from sterna.target.checks.changes import check_change, check_reference_change
from sterna.target.checks.neighbours import neighbours
from sterna.target.checks.repeated import check_repeated
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray

# How often functions are called again where a mismatch was found.
REPETITIONS, COORDINATES, DRAWS = 3, 64, 16


def raise_mismatch(target: PreparedTarget, state: FloatArray, what: str) -> NoReturn:
    """Find the cause of a mismatch at a state, and raise its error; `what` is the log-density concerned."""
    known = [attempt(target.log_densities, state) for _ in range(REPETITIONS)]
    found = np.array([values for values in known if values is not None])
    if len(found) > 0:
        check_repeated(target, np.repeat(state[None], len(found), axis=0), np.roll(found, 1, axis=0), found)
        _check_changes_at(target, state, found[0])
    function = "local_change" if what == "log-likelihood" else "local_change of the reference"
    raise EvaluationError(
        f"The {what} that explorers have kept up to date by changes differs from a whole evaluation, at "
        f"{target.describe_point(state)}: {function} forgets terms at some states, or a function does not depend on "
        "its arguments alone. Compare the change with the difference of two evaluations, or leave it out."
    )


def _check_changes_at(target: PreparedTarget, state: FloatArray, known: FloatArray) -> None:
    """Compare local changes of many coordinates with whole evaluations."""
    draws, rng = np.zeros((DRAWS, target.dimension)), np.random.default_rng(0)
    draw_states(target.block, 0, draws, np.zeros(1, dtype=np.int64), new_stream())
    for i, new in neighbours(target, state, draws, COORDINATES, rng):
        if target.program.likelihood_change != 0:
            check_change(target, state, i, new, known)
        if target.program.reference_change != 0:
            check_reference_change(target, state, i, new, float(known[0]))
