"""The beginning of a run: starting points from the reference, first guesses, and the state of the first round."""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from sterna.engine.line_evaluation import evaluate_points, evaluate_references, evaluate_stencils
from sterna.engine.program import LOG_LIKELIHOOD
from sterna.engine.record import layout_of, new_record
from sterna.engine.round import Copy, draw_states, end_scan, explore_some, find_start, new_copy, run_scans
from sterna.errors import InitialStateError
from sterna.ground.compilation import compile_for
from sterna.particles.start import start_by_particles
from sterna.result.failed_evaluations import FailedEvaluations, described, failed_in
from sterna.result.settings import Settings
from sterna.run.checks import check_target
from sterna.run.memory import check_memory, fits_memory
from sterna.run.runtime import Runtime
from sterna.run.state import RunState, Seconds, Tuned
from sterna.target.checks.data_names import check_data_names
from sterna.types import FloatArray
from sterna.workers.point_errors import Place

# How many draws from the reference a replica tries before it starts where another one does.
MAX_STARTING_DRAWS = 1000

# For how many scans the records of sampling have room at first. A run that ends early has batches of a 200th of that.
FIRST_SCANS = 4096

# What compilation takes on a machine that has never run sterna: the engine, and an explorer; a small PyMC model.
SECONDS_TO_COMPILE, SECONDS_FOR_PYMC = 5.0, 10.0


def start_run(
    runtime: Runtime, settings: Settings, schedule: FloatArray, began: float, notes: tuple[str, ...] = ()
) -> RunState:
    """Return the state before the first scan; `began` is when the user's call began, for the time of compilation."""
    dimension, n_chains = runtime.target.dimension, settings.n_chains
    notes += check_data_names(runtime.target)
    copies = tuple(new_copy(n_chains, dimension) for _ in range(settings.n_copies))

    def state_with(tuned: Tuned) -> RunState:
        return begin_round(
            runtime,
            RunState(
                settings=settings,
                cost=runtime.target.measured_cost,
                round_number=1,
                tuned=tuned,
                fitted=runtime.fitted_distribution(),
                copies=copies,
                statistics=(),
                records=(),
                scans_done=np.zeros(settings.n_copies, dtype=np.int64),
                rounds=(),
                evaluations=(0, 0),
                notes=notes,
                seconds=Seconds(compile=0.0),
            ),
        )

    with runtime.display.working("compiling the engine", SECONDS_TO_COMPILE):
        nothing = np.zeros((n_chains, runtime.bound.n_parameters))
        load_engine(runtime, state_with(Tuned(schedule, nothing, schedule[1:], schedule, settings.explorations)))
    find_starting_points(runtime, settings, schedule, copies)
    # an explorer may measure the cost of an evaluation here
    state = state_with(first_guesses(runtime, settings, schedule, copies))
    check_target(runtime, settings.seed, copies)
    particles = 0.0
    if settings.start == "smc":
        with runtime.display.working("running particles for the start"):
            evaluations, failed, more, particles = start_by_particles(runtime, settings.seed, schedule, copies)
        state = replace(state, evaluations=evaluations, failed=failed, notes=state.notes + more)
    return replace(state, seconds=Seconds(compile=time.perf_counter() - began - particles, tuning=particles))


def find_starting_points(runtime: Runtime, settings: Settings, schedule: FloatArray, copies: tuple[Copy, ...]) -> None:
    """Give each replica a starting point of positive likelihood; one that finds none starts where another does."""
    target = runtime.target
    found: list[tuple[FloatArray, FloatArray]] = []
    for number, copy in enumerate(copies):
        search = partial(find_start, target.block, settings.seed, MAX_STARTING_DRAWS, number)
        runtime.on_replicas(number, copy, search, Place("while looking for starting points", number, schedule))
        good = copy.log_densities[:, LOG_LIKELIHOOD] > -np.inf
        found += [(copy.states[j].copy(), copy.log_densities[j, :2].copy()) for j in np.flatnonzero(good)]
    if not found:
        tries = MAX_STARTING_DRAWS * settings.n_chains * settings.n_copies
        # NaN from a model of another library counts as a likelihood of zero
        zero = "-inf" if target.view is None else "-inf or NaN"
        raise InitialStateError(
            f"The likelihood is zero (log_likelihood = {zero}) at all of {tries} draws from the reference, so the run "
            "cannot start. Check the likelihood at a point where it must be positive, or use a narrower reference."
            f"{target.odd_data}{_failures_at_start(runtime, copies)}"
        )
    for copy in copies:
        for j in np.flatnonzero(copy.log_densities[:, LOG_LIKELIHOOD] == -np.inf):
            copy.states[j], copy.log_densities[j, :2] = found[j % len(found)]


def _failures_at_start(runtime: Runtime, copies: tuple[Copy, ...]) -> str:
    """Say how often a likelihood failed that counts as zero there, and how to see why."""
    failed = sum((failed_in(copy.log_densities) for copy in copies), FailedEvaluations())
    if not runtime.target.rejects or failed.of_likelihood == 0:
        return ""
    return (
        f" {failed.of_likelihood} of these evaluations failed ({described('likelihood', failed)}) and counted as "
        'zero, because of on_error="reject": on_error="raise" shows the first failure.'
    )


def first_guesses(runtime: Runtime, settings: Settings, schedule: FloatArray, copies: tuple[Copy, ...]) -> Tuned:
    """Guess energies from the starting points, and the explorer's parameters from draws of the reference."""
    energy = float(np.median([copy.log_densities[:, LOG_LIKELIHOOD] for copy in copies]))
    row = runtime.bound.start(partial(runtime.draw_reference, settings.seed))
    parameters = np.tile(row, (settings.n_chains, 1))
    if settings.n_rounds == 0:
        parameters = runtime.bound.settle(parameters, np.zeros((settings.n_chains, runtime.bound.n_statistics)))
    return Tuned(
        schedule=schedule,
        parameters=parameters,
        pivot=energy * np.diff(schedule),
        centre=np.full(settings.n_chains, energy),
        explorations=settings.explorations,
    )


def begin_round(runtime: Runtime, state: RunState) -> RunState:
    """Return the state with empty records and statistics for the round under way."""
    settings, n_chains = state.settings, state.tuned.n_chains
    check_memory(settings, n_chains, runtime.target.dimension, runtime.bound, runtime.explorer.name)
    # tuning keeps the target chain's draws: references are fitted to them, searches begin at them, and they are the
    # result of a run that ends early
    kept = n_chains if state.is_sampling and settings.keep == "all" else 1
    scans = _first_scans(runtime, state) if state.is_sampling else 2**state.round_number
    n_scans = scans if state.pace == 1.0 else max(1, int(state.pace * scans))
    layout, thin, dimension = layout_of(n_scans), state.thin, runtime.target.dimension
    return replace(
        state,
        n_scans=n_scans,
        layout=layout,
        before_sampling=tuple(map(copy_of, state.copies)) if state.is_sampling else (),
        statistics=tuple(np.zeros((n_chains, runtime.bound.n_row)) for _ in state.copies),
        records=tuple(new_record(n_scans, layout, n_chains, dimension, kept, thin) for _ in state.copies),
        scans_done=np.zeros(settings.n_copies, dtype=np.int64),
        seconds=replace(state.seconds, this_round=0.0),
        # the scans before may have ended, such as a burn-in
        ended_by="",
    )


def copy_of(copy: Copy) -> Copy:
    """Return a copy of a copy's arrays, in which compiled code then does not write."""
    return Copy._make(np.array(part) for part in copy)


def _first_scans(runtime: Runtime, state: RunState) -> int:
    """Return for how many scans the records of sampling have room at first: its batches are short in case it ends."""
    settings = state.settings
    if not fits_memory(settings, state.tuned.n_chains, runtime.target.dimension, runtime.bound):
        return settings.n_scans
    return min(settings.n_scans, max(FIRST_SCANS, settings.thin))


def load_engine(runtime: Runtime, state: RunState) -> None:
    """Compile the functions that every run calls, or load them from disk, so that this does not count as tuning."""
    plan, copy, stream, block = runtime.plan(state), state.copies[0], runtime.streams[0], runtime.target.block
    seed, statistics, record = state.settings.seed, state.statistics[0], state.records[0]
    compile_for(find_start, block, seed, MAX_STARTING_DRAWS, 0, copy, 0, 1, stream)
    compile_for(draw_states, block, seed, copy.states, copy.at_work, stream)
    points = np.zeros((1, runtime.target.dimension))
    compile_for(evaluate_points, block, points, points, copy, 0, 1, stream)
    compile_for(evaluate_stencils, block, points, points, points, copy, 0, 1, stream)
    compile_for(evaluate_references, block, points, points, copy, 0, 1, stream)
    if runtime.evaluates_elsewhere:
        compile_for(explore_some, plan, statistics, 1, 0, copy, 0, 1, stream)
        compile_for(end_scan, plan, 0, copy, record, 1)
    else:
        compile_for(run_scans, plan, 0, copy, statistics, record, 1, 1, stream)
