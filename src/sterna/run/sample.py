"""`sterna.sample`: rounds of tuning, then sampling with everything fixed (paper, algorithm NRPT)."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from sterna.engine.callback import LIKELIHOOD
from sterna.engine.interrupts import check_interrupts, holds_interrupts, interruptible, watch_interrupts
from sterna.engine.record import Record
from sterna.errors import OptionError
from sterna.explorers.base import Explorer
from sterna.explorers.best import Best
from sterna.explorers.default import default_explorer
from sterna.ground.keywords import explains_keywords
from sterna.ground.numbers import whole_number
from sterna.result.ending import INTERRUPT
from sterna.result.result import Result
from sterna.result.rounds import Rounds
from sterna.result.sampled_target import sampled_target
from sterna.result.settings import Settings
from sterna.result.text import count
from sterna.run.blocks import Pause, never
from sterna.run.display import Display, make_display
from sterna.run.ends import Ends, ended_early
from sterna.run.fitted_runtime import along
from sterna.run.given import as_explorer, as_target, is_pymc
from sterna.run.goals import check_names, unreached
from sterna.run.keywords import HINTS
from sterna.run.loop import run_rounds
from sterna.run.memory import check_memory
from sterna.run.modes import find_modes
from sterna.run.options import Options, check_flag, check_seconds, make_settings
from sterna.run.path_options import check_explorer, check_path
from sterna.run.path_results import evaluations_of_paths, other_path, records_of, settings_of_result
from sterna.run.runtime import Runtime
from sterna.run.search import check_at_end
from sterna.run.start import SECONDS_FOR_PYMC, SECONDS_TO_COMPILE, start_run
from sterna.run.state import RunState
from sterna.run.tune import summarise
from sterna.search.check import Check
from sterna.target.prepared import PreparedTarget
from sterna.target.target import Target
from sterna.theory.checks import check_schedule
from sterna.tuning.schedule import uniform_schedule
from sterna.types import IntArray
from sterna.workers.blas import one_blas_thread
from sterna.workers.choice import Teams

SILENT = Display()


@explains_keywords("sterna.sample", HINTS)
def sample(
    target: Any,
    reference: Any = None,
    data: Mapping[str, Any] | None = None,
    *,
    prior: Any = None,
    n_chains: Any = "auto",
    n_rounds: float | None = None,
    n_scans: float | None = None,
    n_copies: Any = 1,
    explorer: Explorer | Callable[..., Any] | Mapping[Any, Any] | str | None = None,
    explorations: Any = "auto",
    scheme: str = "deo",
    schedule: Any = None,
    path: str = "auto",
    search: float | None = None,
    start: str = "reference",
    keep: str = "target",
    thin: float = 1,
    keep_log_likelihoods: bool = False,
    until: Any = None,
    max_seconds: float | None = None,
    seed: float | None = 1,
    workers: Any = None,
    vectorized: bool | str = False,
    progress: bool | Display = True,
    keep_energies: bool | None = None,
) -> Result:
    """Sample a target by non-reversible parallel tempering.

    Parameters
    ----------
    target
        A log-likelihood function (with `reference`), a `sterna.Target`, a PyMC model, or a built-in model.
    reference, data
        As in `sterna.Target`; only with a function. The reference may also be given as `prior`.
    n_chains
        Number of annealed chains, both ends included (the paper's N + 1). By default "auto": twice the global barrier,
        which the tuning rounds measure, and more if exploration is slow. A `schedule` sets it too.
    n_rounds
        Tuning rounds, by default 10; round r has 2**r scans.
    n_scans
        Sampling scans after tuning; by default as many as tuning took. If neither `n_rounds` nor `n_scans` is given,
        sampling then goes on in blocks, with everything frozen, until every effective sample size is 200 and the
        standard error of the log evidence 0.1, up to 1e6 evaluations of the likelihood in all and 16 times the scans
        of tuning. The result says which of these ended the run.
    n_copies
        Independent copies of parallel tempering, tuned together; "auto" takes one per worker.
    explorer
        A `sterna.Slice(...)`, the name of an explorer, your own function (`sterna.Move`), a dict of explorers by
        variable or tuple of variables, or None: the target's own, or the best of those that suit it, found by tuning.
    explorations
        How often a scan applies the explorer to each chain. By default "auto": once, and more often if the tuning
        rounds show that exploration keeps most of a chain's energy.
    scheme
        "deo" (non-reversible) or "seo" (reversible).
    schedule
        Betas of the first round, increasing from 0 to 1; by default equally spaced.
    path
        Where the path to the target begins. "prior": at the reference. "fitted": at a mixture of the reference and of
        normal distributions around the modes that a search finds, while the path from the reference is followed beside
        it with a fifth of the evaluations. Modes of unequal width are lost on the way from the reference. By default
        "auto": what tuning finds to be cheaper, if all variables are real and the reference's density is normalised.
    search
        Evaluations of the search for modes at which the path may begin, relative to those that the run would take along
        the path from the reference. By default up to 0.1 (0.2 in short runs), and 0.025 if the path from the reference
        is kept or an evaluation takes more than 10 microseconds. More finds modes that are narrower than others.
    start
        Where replicas begin: at draws from the "reference", or with "smc" at the 50 particles of a coarse run of
        sequential Monte Carlo (`sterna.smc`), each near the beta of its chain. It takes about ten steps for each unit
        of the path's squared length, which can be more than a few tuning rounds take.
    keep, thin
        Which draws to keep: those of the "target" chain or of "all" chains, every `thin` scans.
    keep_log_likelihoods
        Whether to keep the log-likelihoods of all chains at all sampling scans, for `result.log_likelihoods` and
        `result.path_integral`.
    until
        Goals that sampling goes on for, in blocks, until all of them hold: a dict with some of `log_evidence` (its
        standard error), `ess` (the effective sample size of the worst scalar, or a dict of sizes by variable),
        `restarts`, and `seconds`, after which sampling ends in any case. The first block has `n_scans` scans.
    max_seconds
        End the run in good order after this time, tuning included. If no time is left to sample, the result has the
        draws of the last tuning round, and says so.
    seed
        The same seed gives the same bits, whatever the number of workers (`n_copies="auto"` depends on it). An explorer
        that sterna chooses depends on the measured cost of an evaluation: name one for the same bits on other machines.
        None draws a seed, which `result.settings.seed` and the report show.
    workers
        How many threads explore, by default one per core; no result depends on it. For a log-likelihood that runs as
        Python: how many processes evaluate it, by default only this one. Or a `concurrent.futures.Executor`, or a pool
        with a `map`, that evaluates it. Without any of these, a single thread calls it.
    vectorized
        As in `sterna.Target`; only with a function.
    progress
        Whether to show progress on standard error.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> def log_likelihood(mu, y):
    ...     return -0.5 * np.sum((y - abs(mu)) ** 2)
    >>> result = sterna.sample(
    ...     log_likelihood,
    ...     reference={"mu": sterna.Normal(0, 10)},
    ...     data={"y": np.array([4.0, 5.0, 6.0])},
    ...     n_chains=8, n_rounds=8, progress=False,
    ... )
    >>> bool(abs(result.posterior["mu"].mean()) < 2)  # both modes are visited
    True
    """
    if keep_energies is not None:
        warnings.warn(
            "keep_energies is now called keep_log_likelihoods; the old name will be removed.",
            DeprecationWarning,
            stacklevel=2,
        )
        keep_log_likelihoods = keep_energies
    options = Options(
        n_chains,
        n_rounds,
        n_scans,
        n_copies,
        explorations,
        scheme,
        schedule,
        keep,
        thin,
        keep_log_likelihoods,
        seed,
        path,
        search,
        start,
        workers,
        until,
        max_seconds,
    )
    read_target = partial(as_target, target, reference, data, vectorized, prior)
    return _sample_shown(read_target, options, explorer, progress, SECONDS_FOR_PYMC if is_pymc(target) else None)


@holds_interrupts
def _sample_shown(
    read_target: Callable[[], Target],
    options: Options,
    explorer: object,
    progress: bool | Display,
    about_seconds: float | None,
) -> Result:
    """Read the target and run it, with a display of both: compilation takes seconds, too."""
    with progress if isinstance(progress, Display) else make_display(check_flag("progress", progress)) as display:
        with display.working("compiling the model", about_seconds):
            target = interruptible(read_target)
        result = begin_run(target, options, explorer=explorer, display=display)
    assert isinstance(result, Result), "nothing asked for a pause"
    return result


@holds_interrupts
def begin_run(
    target: Target,
    options: Options,
    *,
    explorer: object = None,
    display: Display = SILENT,
    pause: Pause = never,
) -> Result | RunState:
    """Run from the beginning; return the result, or the state if the run paused before its end."""
    ends = Ends(display, check_seconds(options.max_seconds))
    with started(target, options, explorer=explorer, display=display) as (runtime, state):
        return run_to_end(runtime, state, ends, pause)


def run_to_end(runtime: Runtime, state: RunState, ends: Ends, pause: Pause = never) -> Result | RunState:
    """Run until the end, which a signal or a time may bring sooner, or until `pause` asks for the state."""

    def either(scans_done: IntArray) -> bool:
        return ends(scans_done) or pause(scans_done)

    with ends.taking_signals():
        state = run_rounds(runtime, state, either, ends.begin)
        if not state.ended_by and ends.reason:
            state = ended_early(runtime, state, ends)
    return finish(runtime, state)


@contextmanager
def started(
    target: Target, options: Options, *, explorer: object = None, display: Display = SILENT
) -> Iterator[tuple[Runtime, RunState]]:
    """Open what a run needs of this process; yields it with the state before the first scan."""
    prepared = target.prepare()
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
) -> Result | RunState:
    """Go on with a run from its state, here or in another process: the same bits as if it had never stopped.

    `target` and `explorer` must be those of the run, since functions are not part of its state. Returns the result, or
    the new state if the run paused again.
    """
    prepared = target.prepare(state.cost)
    with running(prepared, explorer, state.settings, workers, display) as (runtime, _):
        check_fits(runtime, state)
        runtime.restore_fitted(state.fitted)
        return run_to_end(runtime, state, Ends(display, max_seconds), pause)


def check_fits(runtime: Runtime, state: RunState) -> None:
    """Refuse a state of another target or explorer: compiled code would read beyond its arrays."""
    dimension = state.copies[0].states.shape[1]
    if dimension != runtime.target.dimension:
        raise OptionError(
            f"The state is of a target with {count(dimension, 'coordinate')}, and {runtime.target.name} has "
            f"{runtime.target.dimension}: give the target of the run."
        )
    bound = along(runtime, state.mixture).bound
    widths = state.tuned.parameters.shape[1], state.statistics[0].shape[1]
    if widths != (bound.n_parameters, bound.n_row):
        raise OptionError(
            f"The state is of another explorer than {runtime.explorer.name}: it has {widths[0]} parameters per chain, "
            f"and this one has {bound.n_parameters}. Give the explorer of the run."
        )


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


def finish(runtime: Runtime, state: RunState) -> Result | RunState:
    """Return the result of a run whose sampling phase is done, or the state of one that has paused."""
    if not state.ended_by:
        return state
    result = result_of(runtime, state)
    runtime.display.finish(result)
    return result


def _kept(record: Record, keep_log_likelihoods: bool) -> Record:
    """Return what a result keeps of a record: log-likelihoods of all chains only if asked for."""
    return record if keep_log_likelihoods else record._replace(energies=record.energies[:0].copy())


def result_of(runtime: Runtime, state: RunState) -> Result:
    """Return what a run has found whose sampling phase is done."""
    found = along(runtime, state.mixture)
    bound, target = found.bound, runtime.target
    evaluations, gradients = evaluations_of_paths(state)
    rounds = Rounds([*state.rounds, summarise(state)])
    began = time.perf_counter()
    if state.ended_by == INTERRUPT:
        check = Check(skipped="the run was interrupted")
    else:
        with runtime.display.working("searching for missed mass"):
            check = check_at_end(found, state, rounds[-1].log_evidence)
    return Result(
        target=sampled_target(target),
        explorer=bound.chosen(state.tuned.parameters) or found.explorer.name,
        settings=settings_of_result(state),
        ended_by=state.ended_by,
        unreached=unreached(runtime, state),
        rounds=rounds,
        records=[_kept(record, state.settings.keep_log_likelihoods) for record in records_of(runtime, state)],
        evaluations=evaluations + check.evaluations,
        gradient_evaluations=gradients + check.gradients,
        search=check,
        modes=find_modes(runtime, state, check.found, rounds[-1].log_evidence),
        why_path=state.why_path,
        other_path=other_path(runtime, state),
        diverged=bound.diverged(bound.merge([rows[:, : bound.n_statistics] for rows in state.statistics])),
        notes=[*target.notes, *bound.python, *runtime.teams.notes, *state.notes, *runtime.teams.notes_of_deaths()],
        timing=timing_of(state, time.perf_counter() - began),
    )


def timing_of(state: RunState, search: float) -> dict[str, float]:
    """Return the seconds of a run by phase."""
    seconds = state.seconds
    return {"compile": seconds.compile, "tuning": seconds.tuning, "sampling": seconds.sampling, "search": search}
