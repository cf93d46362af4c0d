"""The beginning of a run: starting points from the reference, first guesses, and the state of the first round."""

import time
from dataclasses import replace
from functools import partial

import numpy as np

from sterna.engine.program import LOG_LIKELIHOOD
from sterna.engine.record import new_record
from sterna.engine.round import Copy, find_start, new_copy, run_scans
from sterna.errors import InitialStateError
from sterna.result.settings import Settings
from sterna.run.memory import check_memory
from sterna.run.runtime import Runtime
from sterna.run.state import RunState, Seconds, Tuned
from sterna.types import FloatArray

# How many draws from the reference a replica tries before it starts where another one does.
MAX_STARTING_DRAWS = 1000


def start_run(
    runtime: Runtime, settings: Settings, schedule: FloatArray, began: float, notes: tuple[str, ...] = ()
) -> RunState:
    """Return the state before the first scan; `began` is when the user's call began, for the time of compilation."""
    dimension = runtime.target.dimension
    copies = tuple(new_copy(settings.n_chains, dimension) for _ in range(settings.n_copies))
    find_starting_points(runtime, settings, copies)
    # an explorer may measure the cost of an evaluation here
    tuned = first_guesses(runtime, settings, schedule, copies)
    state = begin_round(
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
    load_engine(runtime, state)
    return replace(state, seconds=Seconds(compile=time.perf_counter() - began))


def find_starting_points(runtime: Runtime, settings: Settings, copies: tuple[Copy, ...]) -> None:
    """Give each replica a starting point of positive likelihood; one that finds none starts where another does."""
    target = runtime.target
    found: list[tuple[FloatArray, FloatArray]] = []
    for number, copy in enumerate(copies):
        search = partial(find_start, target.block, settings.seed, MAX_STARTING_DRAWS, number)
        runtime.on_replicas(number, copy, search)
        good = copy.log_densities[:, LOG_LIKELIHOOD] > -np.inf
        found += [(copy.states[j].copy(), copy.log_densities[j, :2].copy()) for j in np.flatnonzero(good)]
    if not found:
        tries = MAX_STARTING_DRAWS * settings.n_chains * settings.n_copies
        # NaN from a model of another library counts as a likelihood of zero
        zero = "-inf" if target.view is None else "-inf or NaN"
        raise InitialStateError(
            f"The likelihood is zero (log_likelihood = {zero}) at all of {tries} draws from the reference, so the run "
            "cannot start. Check the likelihood at a point where it must be positive, or use a narrower reference."
            f"{target.odd_data}"
        )
    for copy in copies:
        for j in np.flatnonzero(copy.log_densities[:, LOG_LIKELIHOOD] == -np.inf):
            copy.states[j], copy.log_densities[j, :2] = found[j % len(found)]


def first_guesses(runtime: Runtime, settings: Settings, schedule: FloatArray, copies: tuple[Copy, ...]) -> Tuned:
    """Guess energies from the starting points, and the explorer's parameters from draws of the reference."""
    energy = float(np.median([copy.log_densities[:, LOG_LIKELIHOOD] for copy in copies]))
    row = runtime.bound.start(partial(runtime.draw_reference, settings.seed))
    return Tuned(
        schedule=schedule,
        parameters=np.tile(row, (settings.n_chains, 1)),
        pivot=energy * np.diff(schedule),
        centre=np.full(settings.n_chains, energy),
        explorations=settings.explorations,
    )


def begin_round(runtime: Runtime, state: RunState) -> RunState:
    """Return the state with empty records and statistics for the round under way."""
    settings, n_chains = state.settings, state.tuned.n_chains
    check_memory(settings, n_chains, runtime.target.dimension, runtime.bound, runtime.explorer.name)
    if state.is_sampling:
        kept = 1 if settings.keep == "target" else n_chains
    else:
        # a fitted reference is fitted to the target chain's draws
        kept = 0 if runtime.target.fitted is None else 1
    keep_all = state.is_sampling and settings.keep_log_likelihoods
    return replace(
        state,
        statistics=tuple(np.zeros((n_chains, runtime.bound.n_row)) for _ in state.copies),
        records=tuple(
            new_record(state.n_scans, n_chains, runtime.target.dimension, kept, state.thin, keep_all)
            for _ in state.copies
        ),
        scans_done=np.zeros(settings.n_copies, dtype=np.int64),
    )


def load_engine(runtime: Runtime, state: RunState) -> None:
    """Compile or load the engine by a call of no scans, so that its time does not count as tuning."""
    record = new_record(1, state.tuned.n_chains, runtime.target.dimension, 0, 1)
    statistics = np.zeros_like(state.statistics[0])
    run_scans(runtime.plan(state), 0, state.copies[0], statistics, record, 1, 0, runtime.streams[0])
