"""Exploration of what the mixture lacks: replicas at beta = 2 of its path, which leads beyond the target.

Along the path from a mixture q a replica stays at the target for a few scans. What q hardly covers and explorers reach
slowly, such as the far end of a ridge, is then visited rarely and for long: most runs have too few draws there, and
their errors do not show it. At beta = 2 the density of the path is target^2 / q, that of the squared weights by which
draws of q stand for the target. Where q describes the target that is the target again; at the edge of q it rises by
tens of nats, so that replicas go on along the ridge instead of back and forth. Where they have been the mixture gets
components, and the next replicas begin at what it still lacks.
"""

from contextlib import suppress
from functools import partial

import numpy as np

from sterna.engine.interrupts import check_interrupts
from sterna.engine.program import EVALUATIONS, GRADIENTS
from sterna.engine.round import Copy, Plan, explore_some, new_copy, refresh_some
from sterna.ground.compilation import compile_for
from sterna.run.fitted_runtime import along
from sterna.run.landscape import TargetLandscape
from sterna.run.path_choice import evaluations_per_exploration, load_of
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.search.mixture import Mixture
from sterna.search.places import MAX_PLACES, Places, box_of
from sterna.types import FloatArray, IntArray
from sterna.workers.point_errors import Place

WALKING = Place("while replicas explored beyond the mixture, to widen it")

# The copy number of these replicas; nothing else has it.
WANDERING = 1 << 44

# The beta beyond the target.
BEYOND = 2.0

# Scans beyond the target, and then at the target, which is wider; every so many of them states are kept.
SCANS_BEYOND, SCANS_AT_TARGET, EVERY = 80, 16, 2

# So many walks in a row that add no component end it: fewer if no walk has added any, as usual.
PATIENCE, FIRST_PATIENCE = 24, 8

# Draws of the reference that show how far it reaches.
REFERENCES = 1000

# No walk may have the random numbers of another.
SCANS_APART = 1 << 10


# log-densities may be huge or infinite
@np.errstate(all="ignore")
def widened(
    runtime: Runtime, state: RunState, mixture: Mixture, draws: FloatArray, budget: int
) -> tuple[Mixture, int, int]:
    """Return the mixture with components for what it lacks, and the evaluations and gradients spent, about `budget`.

    If it does not pay for a walk, as when evaluations are expensive, only the draws show what is lacking.

    `runtime` is that of the path from the prior; `state` is that of the path from the mixture, whose explorer is used.
    There are as many replicas as that has chains, because functions of many points are compiled for that number.
    """
    landscape = TargetLandscape(runtime, (state.beside or state).tuned.n_chains)
    cost = (SCANS_BEYOND + SCANS_AT_TARGET) * load_of(state) * evaluations_per_exploration(state)
    spent, walks, in_vain, patience = np.zeros(2, dtype=np.int64), 0, 0, FIRST_PATIENCE
    # a run must not end because of what it looks for
    with suppress(Exception):
        # half of the places are for those that walks find
        known = _places(landscape, state, draws[:: -(-2 * len(draws) // MAX_PLACES)])
        references = landscape.points_of(runtime.draw_reference(state.settings.seed, REFERENCES))
        box = box_of(references, known.points)
        known = known.inside(box)
        mixture = known.covered(mixture)
        while in_vain < patience and budget - landscape.spent - _cost(runtime, spent) > 0.5 * cost:
            rng = np.random.default_rng([state.settings.seed, state.round_number, 3, walks])
            starts = known.starts(mixture, state.tuned.n_chains, rng)
            visited, counts = walked(along(runtime, mixture), state, starts, walks)
            spent, walks = spent + counts, walks + 1
            found = _places(landscape, state, visited).of_those_that_stay(mixture, len(starts)).inside(box)
            wider = found.covered(mixture)
            in_vain, patience = (in_vain + 1, patience) if wider is mixture else (0, PATIENCE)
            mixture, known = wider, known.and_others(found)
    return mixture, int(spent[0]) + landscape.evaluations, int(spent[1]) + landscape.gradients


def _places(landscape: TargetLandscape, state: RunState, states: FloatArray) -> Places:
    """Evaluate states; the evidence by which the target is normalised is that of the last round."""
    points, log_evidence = landscape.points_of(states), state.rounds[-1].log_evidence.value
    return Places(states, points, landscape.values(points) - log_evidence, landscape.references(points))


def walked(fitted: Runtime, state: RunState, starts: FloatArray, walk: int) -> tuple[FloatArray, IntArray]:
    """Return states that were visited beyond the target and then at it, and the evaluations and gradients spent."""
    beyond, at_target = (_plan(fitted, state, len(starts), beta) for beta in (BEYOND, 1.0))
    copy, statistics = _replicas(starts), np.zeros((len(starts) + 1, fitted.bound.n_row))
    compile_for(explore_some, beyond, statistics, 1, WANDERING, copy, 0, 1, fitted.streams[0])
    fitted.on_replicas(0, copy, partial(refresh_some, beyond.block), WALKING)
    visited = [copy.states.copy()]
    for scan in range(1, SCANS_BEYOND + SCANS_AT_TARGET + 1):
        plan, number = beyond if scan <= SCANS_BEYOND else at_target, walk * SCANS_APART + scan
        fitted.on_replicas(0, copy, partial(explore_some, plan, statistics, number, WANDERING), WALKING)
        if scan % EVERY == 0:
            visited.append(copy.states.copy())
        check_interrupts()
    counts = copy.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0)
    return np.concatenate(visited), np.asarray(counts, dtype=np.int64)


def _replicas(states: FloatArray) -> Copy:
    """Return replicas at chains 1, 2, ...; chain 0 would draw from the reference."""
    count = len(states)
    copy = new_copy(count, states.shape[1])
    copy.states[:] = states
    return copy._replace(chain_of=np.arange(1, count + 1, dtype=np.int64), before=np.zeros(count + 1))


def _plan(fitted: Runtime, state: RunState, count: int, beta: float) -> Plan:
    """Return the plan of a round with a chain at beta for each replica: threads must not share rows of statistics."""
    plan = fitted.plan(state)
    parameters = np.repeat(plan.parameters[-1:], count + 1, axis=0)
    return plan._replace(schedule=np.append(0.0, np.full(count, beta)), parameters=parameters)


def _cost(runtime: Runtime, counts: IntArray) -> float:
    """Return evaluations and gradients in evaluations."""
    cost = runtime.target.measured_cost
    return float(counts[0] + counts[1] * (2 if cost is None else cost.gradient))
