"""All checks of a target before the first round; they use random numbers of their own and change nothing of the run."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from sterna.engine.interrupts import check_interrupts
from sterna.engine.program import LOG_LIKELIHOOD
from sterna.engine.round import Copy, new_copy, refresh_some
from sterna.run.runtime import Runtime
from sterna.target.checks.agreement import attempt
from sterna.target.checks.changes import check_changes
from sterna.target.checks.compiled import check_compiled, comparable_functions
from sterna.target.checks.draws import check_draws, spreads_of
from sterna.target.checks.normalised import check_normalised
from sterna.target.checks.repeated import check_repeated
from sterna.target.checks.slopes import check_gradient
from sterna.types import FloatArray
from sterna.workers.point_errors import Place, errors_at_point

CHECKING = Place("in the checks before the first round")

# Evaluations that are repeated: of compiled code, by workers at the same time, and of Python in this process.
REPEATED_COMPILED, REPEATED_ELSEWHERE, REPEATED_PYTHON = 4, 8, 1

# Points at which compiled functions are compared with Python: starting points, which are known, and further draws.
COMPARED_STARTS, COMPARED_DRAWS = 6, 4

# Draws from the reference that tell how far coordinates spread.
DRAWS = 64

# Distinguishes the random numbers of checks from those of the run.
STREAM = 0x5EED


def check_target(runtime: Runtime, seed: int, copies: Sequence[Copy]) -> None:
    """Compare the target's functions with each other at starting points, which are draws from the reference.

    They cost at most 50 evaluations of the likelihood, without those of a function that is found to be wrong.
    """
    target, rng = runtime.target, np.random.default_rng([STREAM, seed])
    states, log_densities = _distinct_starts(copies)
    _repeat(runtime, copies[0])
    check_interrupts()
    _check_compiled(runtime, seed, states, log_densities)
    check_interrupts()
    program = target.program
    if program.likelihood_change or program.reference_change or program.likelihood_gradient:
        draws = runtime.draw_reference(seed, DRAWS)
        check_changes(target, states, log_densities, draws, rng)
        check_gradient(target, states, spreads_of(draws)[1], rng)
        check_interrupts()
    check_draws(target, partial(runtime.draw_reference, seed), rng)
    check_interrupts()
    check_normalised(target, partial(runtime.draw_reference, seed), rng)
    check_interrupts()


def _check_compiled(runtime: Runtime, seed: int, states: FloatArray, log_densities: FloatArray) -> None:
    """Compare compiled functions with Python at starting points and, because branches differ, at more draws."""
    target = runtime.target
    functions = comparable_functions(target)
    if not functions:
        return
    check_compiled(target, functions, states[:COMPARED_STARTS], log_densities[:COMPARED_STARTS])
    draws = runtime.draw_reference(seed, COMPARED_DRAWS)
    found = [attempt(target.log_densities, draw) for draw in draws]
    known = [k for k, values in enumerate(found) if values is not None]
    check_compiled(target, functions, draws[known], np.array([found[k] for k in known]).reshape(-1, 2))


def _distinct_starts(copies: Sequence[Copy]) -> tuple[FloatArray, FloatArray]:
    """Return different starting points of positive likelihood with their log-densities; some replicas share one."""
    states = np.concatenate([copy.states for copy in copies])
    log_densities = np.concatenate([copy.log_densities[:, : LOG_LIKELIHOOD + 1] for copy in copies])
    _, first = np.unique(states, axis=0, return_index=True)
    first.sort()
    return states[first].copy(), log_densities[first].copy()


def _repeat(runtime: Runtime, copy: Copy) -> None:
    """Evaluate starting points again, by those who have evaluated them, and compare."""
    n_replicas = len(copy.states)
    if not runtime.evaluates_elsewhere:
        count = REPEATED_COMPILED if runtime.target.compiled else REPEATED_PYTHON
    elif runtime.target.batch_functions:
        # one call; a function may be compiled for this number of points
        count = n_replicas
    else:
        count = REPEATED_ELSEWHERE
    # in reverse, so that workers that take turns do not get the same points again
    replicas = np.arange(min(count, n_replicas))[::-1]
    again = new_copy(len(replicas), copy.states.shape[1])
    again.states[:] = copy.states[replicas]
    refresh = partial(refresh_some, runtime.target.block)
    if runtime.evaluates_elsewhere:
        runtime.on_replicas(0, again, refresh, CHECKING)
    else:
        # not by a team of threads: they run the same code, and waking them takes longer
        with errors_at_point(runtime.target, again, CHECKING):
            refresh(again, 0, len(replicas), runtime.streams[0])
    first = copy.log_densities[replicas, : LOG_LIKELIHOOD + 1]
    check_repeated(runtime.target, again.states, first, again.log_densities[:, : LOG_LIKELIHOOD + 1])
