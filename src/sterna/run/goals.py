"""Whether sampling is good enough, and how much longer it takes; a run's draws decide, and no clock."""

import math
from dataclasses import dataclass, replace

import numpy as np

from sterna.engine.record import MAX_BATCHES, coarsened, extended
from sterna.errors import OptionError
from sterna.result.ending import GOAL, LIMIT, MEMORY, SCANS
from sterna.result.goal import DEFAULT_EVALUATIONS, DEFAULT_LENGTH, MAX_LENGTH, MAX_SCANS, Goal
from sterna.result.sampled_target import SampledTarget, sampled_target
from sterna.result.scalars import scalars_of
from sterna.result.summary import rows_of
from sterna.run.memory import fits_memory
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.run.tune import summarise, total_evaluations
from sterna.tuning.journeys import journeys_of_draws
from sterna.tuning.lineages import ancestors_of
from sterna.types import IntArray

# With fewer restarts of a copy, errors and sample sizes are not known well enough to end a run.
MIN_RESTARTS = 10

# Sampling goes on until it has so many times as many scans, at least and at most; estimates are that uncertain.
LEAST_GROWTH, MOST_GROWTH, RESERVE = 1.25, 2.0, 1.1

# The default looks at no more scalars than these: with more, sample sizes take longer than scans.
MAX_SCALARS = 256


@dataclass(frozen=True)
class Standing:
    """What sampling has reached."""

    error: float
    """Of the log evidence."""
    sizes: dict[str, float]
    """Effective sample size of each scalar that varies."""
    restarts: tuple[int, ...]
    """Of each copy."""


def look(runtime: Runtime, state: RunState) -> RunState:
    """Return the state at the end of its sampling scans: ended, or with more scans to run."""
    goal = state.settings.until
    if state.n_scans < state.planned_scans:
        return with_room(state, min(2 * state.n_scans, state.planned_scans))
    if goal is None:
        return replace(state, ended_by=SCANS)
    missing = shortfalls(goal, standing_of(runtime, state, goal))
    factor = MOST_GROWTH if goal.is_only_time else max(missing.values(), default=1.0)
    if factor <= 1.0:
        return replace(state, ended_by=GOAL)
    growth = min(max(RESERVE * factor, LEAST_GROWTH), MOST_GROWTH)
    n_scans = min(math.ceil(growth * state.n_scans), most_scans(state, goal))
    if n_scans <= state.n_scans:
        return replace(state, ended_by=LIMIT)
    runtime.display.go_on(n_scans, list(missing))
    return with_scans(runtime, state, n_scans)


def with_scans(runtime: Runtime, state: RunState, n_scans: int) -> RunState:
    """Return a state of the sampling phase with more scans to run, or ended if these do not fit into memory."""
    settings = replace(state.settings, n_scans=n_scans)
    if not fits_memory(settings, state.tuned.n_chains, runtime.target.dimension, runtime.bound):
        return replace(state, ended_by=MEMORY)
    return with_room(replace(state, ended_by=""), n_scans)


def with_room(state: RunState, n_scans: int) -> RunState:
    """Return a state of the sampling phase whose records have room for more scans, along both paths."""
    longer, beside = _with_room(state, n_scans), state.beside
    if beside is None:
        return longer
    return replace(longer, beside=_with_room(beside, max(beside.n_scans, int(beside.pace * n_scans))))


def _with_room(state: RunState, n_scans: int) -> RunState:
    """Return a state whose records have room for more scans, in at most twice as many batches as a round has."""
    layout, records = state.layout, state.records
    while len(layout.sizes(n_scans)) > 2 * MAX_BATCHES:
        layout = layout._replace(scans=2 * layout.scans)
        records = tuple(coarsened(record) for record in records)
    records = tuple(extended(record, n_scans, layout, state.thin) for record in records)
    return replace(state, records=records, layout=layout, n_scans=n_scans)


def most_scans(state: RunState, goal: Goal) -> int:
    """Return up to how many scans the goal is pursued."""
    tuning = max(2 ** (state.settings.n_rounds + 1) - 2, 1)
    if not goal.is_default:
        return int(max(MAX_SCANS, MAX_LENGTH * max(tuning, state.settings.n_scans)))
    before = sum(one.n_scans for one in state.rounds) + state.n_scans
    paths = [state] if state.beside is None else [state, state.beside]
    spent = sum(total_evaluations(one)[0] for one in paths)
    # scans of the future cost about as much as those so far
    affordable = state.n_scans + (DEFAULT_EVALUATIONS - spent) * before / max(spent, 1)
    return int(min(DEFAULT_LENGTH * tuning, affordable))


def standing_of(runtime: Runtime, state: RunState, goal: Goal) -> Standing:
    """Return what sampling has reached of the goals."""
    summary = summarise(state)
    found = summary.log_evidence
    wanted = goal.ess is not None or goal.ess_of
    sizes = _sizes(runtime, state, goal) if wanted else {}
    return Standing(found.error if found.valid else math.inf, sizes, summary.restarts_of_copies)


def unreached(runtime: Runtime, state: RunState) -> tuple[str, ...]:
    """Return the goals that do not hold at the end of a run, in words."""
    goal = state.settings.until
    if goal is None or not state.is_sampling or state.ended_by == GOAL:
        return ()
    return tuple(shortfalls(goal, standing_of(runtime, state, goal)))


def shortfalls(goal: Goal, standing: Standing) -> dict[str, float]:
    """Return for each goal that does not hold how many times as many scans it needs, about; infinite if unknown."""
    found: dict[str, float] = {}
    if goal.log_evidence is not None:
        error = standing.error if math.isfinite(standing.error) else math.inf
        found[f"log evidence ± {error:.2g} instead of ± {goal.log_evidence:g}"] = (error / goal.log_evidence) ** 2
    # scalars that never varied have no sample size
    if goal.ess is not None and standing.sizes:
        worst = min(standing.sizes, key=lambda name: standing.sizes[name])
        found[_of_size(worst, standing.sizes[worst], goal.ess)] = goal.ess / standing.sizes[worst]
    for name, wanted in goal.ess_of:
        some = {one: size for one, size in standing.sizes.items() if name in (one, one.partition("[")[0])}
        if some:
            worst = min(some, key=lambda one: some[one])
            found[_of_size(worst, some[worst], wanted)] = wanted / some[worst]
    if goal.restarts is not None:
        total = sum(standing.restarts)
        found[f"{total} instead of {goal.restarts} restarts"] = goal.restarts / max(total, 0.5)
    if found and not goal.is_only_time:
        fewest = min(standing.restarts)
        found[f"{fewest} instead of {MIN_RESTARTS} restarts in the worst copy"] = MIN_RESTARTS / max(fewest, 0.5)
    return {text: factor for text, factor in found.items() if not factor <= 1.0}


def _of_size(name: str, size: float, wanted: float) -> str:
    return f"effective sample size {size:.0f} instead of {wanted:g} of {name}"


def _sizes(runtime: Runtime, state: RunState, goal: Goal) -> dict[str, float]:
    """Return the effective sample sizes of all scalars, or of some if there are many and the default asks."""
    target = sampled_target(runtime.target)
    states = np.stack([record.draws[:, -1] for record in state.records])
    ancestors = ancestors_of(state.rounds, state.tuned.schedule)
    journeys = journeys_of_draws([record.positions for record in state.records], state.thin, ancestors)
    named = {name for name, _ in goal.ess_of} if goal.ess is None else None
    most = MAX_SCALARS if goal.is_default else None
    sizes: dict[str, float] = {}
    for names, draws, circles in scalars_of(_some(target.values(states), named), target):
        if most is not None and len(sizes) >= most:
            break
        rows = rows_of(draws, journeys, circles, ordered=False)
        sizes |= {name: row["ess"] for name, row in zip(names, rows, strict=True) if math.isfinite(row["ess"])}
    return sizes


def _some(values: dict[str, IntArray], named: set[str] | None) -> dict[str, IntArray]:
    """Return the variables to which a user's names belong."""
    if named is None:
        return values
    wanted = {name.partition("[")[0] for name in named}
    return {name: value for name, value in values.items() if name in wanted}


def check_names(goal: Goal | None, target: SampledTarget) -> None:
    """Refuse a goal for a variable that the target does not have."""
    names = target.space.names if target.view is None else list(target.view.shown)
    for name, _ in () if goal is None else goal.ess_of:
        if name.partition("[")[0] not in names:
            raise OptionError(
                f"until={{'ess': {{{name!r}: ...}}}}: {target.name} has no variable of this name; it has "
                f"{', '.join(names)}."
            )
