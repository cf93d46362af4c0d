"""All checks of a target before the first round; they use random numbers of their own and change nothing of the run."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from sterna.engine.interrupts import check_interrupts
from sterna.engine.program import LOG_LIKELIHOOD
from sterna.engine.round import Copy, new_copy, refresh_some
from sterna.run.runtime import Runtime
from sterna.target.checks.changes import check_changes
from sterna.target.checks.compiled import check_compiled
from sterna.target.checks.draws import check_draws, spreads_of
from sterna.target.checks.repeated import check_repeated
from sterna.target.checks.slopes import check_gradient
from sterna.types import FloatArray

# Evaluations that are repeated: of compiled code, by workers, and of Python in this process, which may be slow.
REPEATED_COMPILED, REPEATED_ELSEWHERE, REPEATED_PYTHON = 4, 2, 1

# Draws from the reference that tell how far coordinates spread.
DRAWS = 256

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
    check_compiled(target, states, log_densities)
    check_interrupts()
    program = target.program
    if program.likelihood_change or program.reference_change or program.likelihood_gradient:
        draws = runtime.draw_reference(seed, DRAWS)
        check_changes(target, states, log_densities, draws, rng)
        check_gradient(target, states, spreads_of(draws)[1], rng)
        check_interrupts()
    check_draws(target, partial(runtime.draw_reference, seed), rng)
    check_interrupts()


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
    count = min(count, n_replicas)
    again = new_copy(count, copy.states.shape[1])
    again.states[:] = copy.states[:count]
    runtime.on_replicas(0, again, partial(refresh_some, runtime.target.block))
    columns = slice(0, LOG_LIKELIHOOD + 1)
    check_repeated(
        runtime.target, again.states, copy.log_densities[:count, columns], again.log_densities[:count, columns]
    )
