"""A run in this process: opened, brought to its end or to a pause, written to its folder, and closed."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from sterna.engine.callback import LIKELIHOOD
from sterna.engine.interrupts import check_interrupts, holds_interrupts, interruptible, watch_interrupts
from sterna.explorers.best import Best
from sterna.explorers.default import default_explorer
from sterna.ground.numbers import whole_number
from sterna.result.result import Result
from sterna.result.sampled_target import sampled_target
from sterna.result.settings import Settings
from sterna.run.blocks import Pause, never
from sterna.run.continuation import check_fits, check_states, check_whole_state, with_room
from sterna.run.display import Display
from sterna.run.ends import Ends, ended_early
from sterna.run.folder import RunFolder
from sterna.run.given import as_explorer
from sterna.run.goals import check_names
from sterna.run.loop import run_rounds
from sterna.run.memory import check_memory
from sterna.run.options import Options, check_on_error, check_seconds, make_settings
from sterna.run.origin import check_same, notes_on_memory, notes_on_versions, origin_of
from sterna.run.outcome import finish
from sterna.run.path_options import check_explorer, check_path
from sterna.run.runtime import Runtime
from sterna.run.start import SECONDS_TO_COMPILE, load_engine, start_run
from sterna.run.state import RunState
from sterna.target.prepared import PreparedTarget
from sterna.target.target import Target
from sterna.theory.checks import check_schedule
from sterna.tuning.schedule import uniform_schedule
from sterna.types import IntArray
from sterna.workers.blas import one_blas_thread
from sterna.workers.choice import Teams

SILENT = Display()

Change: TypeAlias = Callable[[Runtime, RunState], RunState]
"""What is done with the state of a run before it goes on."""


@holds_interrupts
def begin_run(
    target: Target,
    options: Options,
    *,
    explorer: object = None,
    display: Display = SILENT,
    pause: Pause = never,
    folder: RunFolder | None = None,
    command: Mapping[str, Any] | None = None,
) -> Result | RunState:
    """Run from the beginning; return the result, or the state if the run paused before its end.

    `command` says how the command line found the target.
    """
    ends = Ends(display, check_seconds(options.max_seconds))
    if folder is not None:
        folder.origin = origin_of(target.prepare(), options, explorer, command)
    with started(target, options, explorer=explorer, display=display) as (runtime, state):
        return run_to_end(runtime, state, ends, pause, folder)


@holds_interrupts
def continue_run(
    target: Target,
    state: RunState,
    *,
    explorer: object = None,
    workers: object = None,
    display: Display = SILENT,
    pause: Pause = never,
    max_seconds: float | None = None,
    folder: RunFolder | None = None,
    options: Options | None = None,
    change: Change | None = None,
) -> Result | RunState:
    """Go on with a run from its state, here or in another process: the same bits as if it had never stopped.

    `target` and `explorer` must be those of the run, since functions are not part of its state; with a `folder`, which
    remembers what the run was begun with, others are refused, and so are other `options` if they are given. Returns the
    result, or the new state if the run paused again.
    """
    began = time.perf_counter()
    prepared = target.prepare(state.cost, rejects=state.settings.on_error == "reject")
    if folder is not None:
        now = origin_of(prepared, options or Options(), explorer, None)
        check_same(folder.root, folder.origin, now, with_options=options is not None)
        notes = notes_on_versions(folder.origin["versions"], now["versions"])
        notes += notes_on_memory(folder.origin["target"], now["target"])
        state = replace(state, notes=tuple(dict.fromkeys(state.notes + notes)))
    with running(prepared, explorer, state.settings, workers, display) as (runtime, _):
        if folder is not None:
            check_whole_state(state, folder.root)
        check_fits(runtime, state)
        with display.working("compiling the engine", SECONDS_TO_COMPILE):
            load_engine(runtime, state)
        runtime.restore_fitted(state.fitted)
        if folder is not None:
            state = with_room(state, folder.root)
            check_states(runtime, state, folder.root)
        state = state if change is None else change(runtime, state)
        state = replace(state, seconds=state.seconds.with_compilation(time.perf_counter() - began))
        return run_to_end(runtime, state, Ends(display, max_seconds), pause, folder)


def run_to_end(
    runtime: Runtime, state: RunState, ends: Ends, pause: Pause = never, folder: RunFolder | None = None
) -> Result | RunState:
    """Run until the end, which a signal or a time may bring sooner, or until `pause` asks for the state."""
    if state.ended_by:
        # a display that has seen no round shows the last one
        runtime.display.begin_round(state)
    with ends.taking_signals():
        state = _run_and_save(runtime, state, ends, pause, folder)
        unfinished = state
        if not state.ended_by and ends.reason:
            if folder is not None:
                folder.save(state)
            state = ended_early(runtime, state, ends)
    outcome = finish(runtime, state)
    if folder is None or isinstance(outcome, RunState):
        return outcome
    outcome = replace(outcome, folder=str(folder.root))
    with runtime.display.working(f"writing to {folder.root}"):
        problem = folder.finish(unfinished, outcome)
    return replace(outcome, not_saved=problem)


def _run_and_save(runtime: Runtime, state: RunState, ends: Ends, pause: Pause, folder: RunFolder | None) -> RunState:
    """Run until the end or a pause; on the way write the run after each round and, in long ones, every now and then."""
    asked = [False]

    def wait(scans_done: IntArray) -> bool:
        asked[0] = asked[0] or pause(scans_done)
        return ends(scans_done) or asked[0] or (folder is not None and folder.is_due)

    def watch(state: RunState, before: RunState | None) -> None:
        ends.begin(state, before)
        if folder is not None and folder.is_cheap:
            folder.save(state)

    while True:
        state = run_rounds(runtime, state, wait, watch)
        if state.ended_by or ends.reason or asked[0] or folder is None:
            return state
        folder.save(state)


@contextmanager
def started(
    target: Target, options: Options, *, explorer: object = None, display: Display = SILENT
) -> Iterator[tuple[Runtime, RunState]]:
    """Open what a run needs of this process; yields it with the state before the first scan."""
    prepared = target.prepare(rejects=check_on_error(options.on_error) == "reject")
    began = time.perf_counter() - prepared.build_seconds
    workers = options.workers
    if workers is None and prepared.one_thread:
        # a user's Python function is called by one thread alone, unless workers are given
        options = replace(options, workers=1)
    notes: tuple[str, ...] = ()
    if options.seed is None:
        options = replace(options, seed=secrets.randbits(32))
        notes = (f"The seed {options.seed} was drawn, because seed=None: give seed={options.seed} for the same run.",)
    settings = make_settings(options)
    check_path(prepared, settings.path, settings.n_rounds)
    check_names(settings.until, sampled_target(prepared))
    if settings.search and settings.path == "prior":
        notes += (f'search={settings.search:g} has no effect: with path="prior" no search for modes is made.',)
    if whole_number(workers) is not None:
        workers = settings.workers
    schedule = uniform_schedule(settings.n_chains)
    if options.schedule is not None:
        schedule = check_schedule(options.schedule, settings.n_chains)
    one_copy_for_python = workers is None and options.n_copies == "auto"
    with running(prepared, explorer, settings, workers, display, one_copy_for_python) as (runtime, chosen):
        check_explorer(runtime, settings.path)
        yield runtime, start_run(runtime, chosen, schedule, began, notes)


@contextmanager
def running(
    target: PreparedTarget,
    explorer: object,
    settings: Settings,
    workers: object,
    display: Display,
    one_copy_for_python: bool = False,
) -> Iterator[tuple[Runtime, Settings]]:
    """Open what a run needs of this process, and close it at the end; yields it with the settings in use."""
    watch_interrupts(target.stop, calls_python=target.handles((LIKELIHOOD,)) != (0,))
    with one_blas_thread():
        choose = partial(default_explorer, target) if explorer is None else partial(as_explorer, explorer, target)
        with display.working("compiling functions that the explorer needs"):
            recipe = interruptible(choose)
            bound = interruptible(recipe.bind, target)
        check_interrupts()
        check_memory(settings, settings.n_chains, target.dimension, bound, recipe.name)
        if one_copy_for_python and bound.python:
            # a user's Python move is called by one thread alone, so that more copies would be no faster
            settings = replace(settings, n_copies=1)
        calls_python = not target.compiled or bool(bound.python)
        one_thread = workers is None and (target.one_thread or bool(bound.python))
        teams = Teams(target, not calls_python, workers, settings.workers, settings.n_copies)
        try:
            display.start(target, recipe, settings)
            check_interrupts()
            what = "explorers" if isinstance(recipe, Best) else "the explorer"
            with display.working(f"compiling {what}", SECONDS_TO_COMPILE):
                runtime = Runtime(target, recipe, bound, teams, display, one_thread, explorer is None)
            yield runtime, settings
        finally:
            teams.close()
