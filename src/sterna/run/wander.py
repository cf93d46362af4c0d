"""Exploration of the target alone, without swaps, from the states of all chains between the prior and the target.

Along the path from a mixture a replica stays at the target for a few scans. What the mixture hardly covers and
explorers reach slowly, such as the far end of a ridge, is then visited rarely and for long: most runs have too few
draws there, and their errors do not show it. The states of the other path are spread more widely than the target. Where
they come to when they explore the target is compared with the mixture, which gets components for what it lacks.
"""

from functools import partial

import numpy as np

from sterna.engine.interrupts import check_interrupts
from sterna.engine.program import EVALUATIONS, GRADIENTS
from sterna.engine.round import Copy, Plan, explore_some, new_copy, refresh_some
from sterna.ground.compilation import compile_for
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.types import FloatArray

# The copy number of these replicas; nothing else has it.
WANDERERS = 1 << 44

# States that are kept at most.
MAX_STATES = 10_000


# Chains nearer to the prior are no starts: their states may have densities of next to nothing.
LEAST_BETA = 0.1


def wandered(runtime: Runtime, state: RunState, budget: int) -> tuple[FloatArray, int, int]:
    """Return states that were visited, and the evaluations and gradients spent, about `budget`.

    `state` is that of the path from the prior, whose explorer is used. There are as many replicas as it has chains,
    each at its own chain at beta = 1: functions of many points are compiled for that number, and threads must not share
    a row of statistics.
    """
    copy, plan = _replicas(_starts(state)), _plan(runtime, state)
    statistics = np.zeros((len(plan.schedule), runtime.bound.n_row))
    compile_for(explore_some, plan, statistics, 1, WANDERERS, copy, 0, 1, runtime.streams[0])
    runtime.on_replicas(0, copy, partial(refresh_some, plan.block))
    visited, scan = [copy.states.copy()], 0
    while _spent(runtime, copy) < budget:
        scan += 1
        runtime.on_replicas(0, copy, partial(explore_some, plan, statistics, scan, WANDERERS))
        visited.append(copy.states.copy())
        check_interrupts()
    states = np.concatenate(visited)
    counts = copy.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0)
    return states[:: -(-len(states) // MAX_STATES)], int(counts[0]), int(counts[1])


def _starts(state: RunState) -> FloatArray:
    """Return states of chains away from the prior, as many as there are chains."""
    schedule, count = state.tuned.schedule, state.tuned.n_chains
    states = np.concatenate([copy.states[schedule[copy.chain_of] > LEAST_BETA] for copy in state.copies])
    return np.asarray(states[np.linspace(0, len(states) - 1, count).astype(np.int64)])


def _replicas(states: FloatArray) -> Copy:
    """Return replicas at chains 1, 2, ...; chain 0 would draw from the reference."""
    count = len(states)
    copy = new_copy(count, states.shape[1])
    copy.states[:] = states
    return copy._replace(chain_of=np.arange(1, count + 1, dtype=np.int64), before=np.zeros(count + 1))


def _plan(runtime: Runtime, state: RunState) -> Plan:
    """Return the plan of a round in which all chains but the first are at the target."""
    plan, count = runtime.plan(state), state.tuned.n_chains
    parameters = np.ascontiguousarray(plan.parameters[[0] + [-1] * count])
    return plan._replace(schedule=np.append(0.0, np.ones(count)), parameters=parameters)


def _spent(runtime: Runtime, copy: Copy) -> float:
    counts = copy.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0)
    cost = runtime.target.measured_cost
    return float(counts[0] + counts[1] * (2 if cost is None else cost.gradient))
