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
from sterna.types import FloatArray, IntArray
from sterna.workers.point_errors import Place

WANDERING = Place("while replicas wandered over the target, to widen the mixture")

# The copy numbers of replicas at their own chains and at the target; nothing else has them.
SPREADING, STAYING = 1 << 44, (1 << 44) + 1

# Scans at their own chains, after which replicas are elsewhere, and scans at the target, of which the last are kept.
SPREAD, STAY, KEPT = 4, 16, 8

# With more states than this only every second one is kept.
MAX_STATES = 10_000

# Chains nearer to the prior are no starts: their states may have densities of next to nothing.
LEAST_BETA = 0.1


def wandered(runtime: Runtime, state: RunState, budget: int) -> tuple[FloatArray, int, int]:
    """Return states that were visited, and the evaluations and gradients spent, about `budget`.

    `state` is that of the path from the prior, whose explorer is used. There are as many replicas as it has chains,
    because functions of many points are compiled for that number. Each has its own chain, because threads must not
    share a row of statistics.
    """
    schedule, count = state.tuned.schedule, state.tuned.n_chains
    chains = np.flatnonzero(schedule > LEAST_BETA)
    chains = chains[np.linspace(0, len(chains) - 1, count).astype(np.int64)]
    spreading, staying = (_plan(runtime, state, some) for some in (chains, np.full(count, count - 1)))
    first = state.copies[0]
    copy = _replicas(first.states[first.replica_of[chains]])
    at_target = _replicas(copy.states)
    statistics = np.zeros((count + 1, runtime.bound.n_row))
    compile_for(explore_some, staying, statistics, 1, STAYING, copy, 0, 1, runtime.streams[0])
    runtime.on_replicas(0, copy, partial(refresh_some, staying.block), WANDERING)
    visited, scan, every = [copy.states[:0]], 0, SPREAD
    while sum(_spent(runtime, one) for one in (copy, at_target)) < budget:
        for _ in range(SPREAD):
            scan += 1
            runtime.on_replicas(0, copy, partial(explore_some, spreading, statistics, scan, SPREADING), WANDERING)
        at_target.states[:] = copy.states
        runtime.on_replicas(0, at_target, partial(refresh_some, staying.block), WANDERING)
        for stayed in range(1, STAY + 1):
            explore = partial(explore_some, staying, statistics, scan * STAY + stayed, STAYING)
            runtime.on_replicas(0, at_target, explore, WANDERING)
            if stayed > STAY - KEPT and scan % every == 0:
                visited.append(at_target.states.copy())
        if len(visited) * count > MAX_STATES:
            visited, every = visited[::2], 2 * every
        check_interrupts()
    counts = sum(one.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0) for one in (copy, at_target))
    return np.concatenate(visited), int(counts[0]), int(counts[1])


def _replicas(states: FloatArray) -> Copy:
    """Return replicas at chains 1, 2, ...; chain 0 would draw from the reference."""
    count = len(states)
    copy = new_copy(count, states.shape[1])
    copy.states[:] = states
    return copy._replace(chain_of=np.arange(1, count + 1, dtype=np.int64), before=np.zeros(count + 1))


def _plan(runtime: Runtime, state: RunState, chains: IntArray) -> Plan:
    """Return the plan of a round in which chain k + 1 is like chain `chains[k]` of the run."""
    plan, rows = runtime.plan(state), np.append(0, chains)
    return plan._replace(schedule=plan.schedule[rows], parameters=np.ascontiguousarray(plan.parameters[rows]))


def _spent(runtime: Runtime, copy: Copy) -> float:
    counts = copy.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0)
    cost = runtime.target.measured_cost
    return float(counts[0] + counts[1] * (2 if cost is None else cost.gradient))
