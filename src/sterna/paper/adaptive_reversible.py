"""ARR and MMV, the paper's rivals: a ladder by stochastic optimization, then parallel tempering with that ladder.

ARR is the scheme of Atchade, Roberts and Rosenthal (2011), MMV the update of Miasojedow, Moulines and Vihola (2013),
both as the paper compares them (appendix, stochastic optimization methods). Swaps are reversible (SEO); with
`scheme="deo"` MMV is the paper's MMV-DEO.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sterna.engine.interrupts import holds_interrupts, interruptible
from sterna.engine.program import LOG_LIKELIHOOD
from sterna.paper.ladder import MAX_STEPS, RULES, Grower, Ladder, grow_ladder
from sterna.particles.runtime import explorer_of
from sterna.result.result import Result
from sterna.run.given import as_target
from sterna.run.loop import run_rounds
from sterna.run.options import Options
from sterna.run.outcome import result_of
from sterna.run.running import started
from sterna.run.runtime import Runtime
from sterna.run.start import begin_round
from sterna.run.state import RunState, Tuned
from sterna.run.tune import next_centre, next_pivot, summarise, total_evaluations
from sterna.theory.checks import check_whole


@dataclass(frozen=True)
class LadderResult:
    """A run of parallel tempering with a ladder that was found before, and that ladder."""

    result: Result
    """Of the sampling phase, in which all was fixed; `timing["tuning"]` includes the ladder and the burn-in."""
    ladder: Ladder


def run_arr(
    target: object,
    *,
    n_scans: int = 5000,
    n_burn_in: int = 5000,
    start: str = "reference",
    scheme: str = "seo",
    explorer: object = None,
    explorations: int = 1,
    keep: str = "target",
    seed: int = 1,
    workers: object = None,
    max_steps: int = MAX_STEPS,
) -> LadderResult:
    """Sample by reversible parallel tempering whose ladder follows Atchade, Roberts and Rosenthal (2011).

    Options are those of `sterna.sample`. `n_burn_in` scans precede the sampling ones; a chain of the ladder has at most
    `max_steps` steps to reach its acceptance.
    """
    options = ladder_options(n_scans, start, scheme, explorations, keep, seed, workers)
    return _run("arr", target, options, explorer, n_burn_in, max_steps)


def run_mmv(
    target: object,
    *,
    n_scans: int = 5000,
    n_burn_in: int = 5000,
    start: str = "reference",
    scheme: str = "seo",
    explorer: object = None,
    explorations: int = 1,
    keep: str = "target",
    seed: int = 1,
    workers: object = None,
    max_steps: int = MAX_STEPS,
) -> LadderResult:
    """Sample by parallel tempering whose ladder follows Miasojedow, Moulines and Vihola (2013), chain by chain.

    Options are those of `run_arr`; `scheme="deo"` is the paper's MMV-DEO.
    """
    options = ladder_options(n_scans, start, scheme, explorations, keep, seed, workers)
    return _run("mmv", target, options, explorer, n_burn_in, max_steps)


def ladder_options(
    n_scans: int, start: str, scheme: str, explorations: int, keep: str, seed: int, workers: object
) -> Options:
    """Return the options of a run that begins with two chains and has no rounds."""
    return Options(
        n_chains=2,
        n_rounds=0,
        n_scans=n_scans,
        explorations=explorations,
        scheme=scheme,
        keep=keep,
        seed=seed,
        path="prior",
        start=start,
        workers=workers,
    )


@holds_interrupts
def _run(rule: str, target: object, options: Options, explorer: object, n_burn_in: int, max_steps: int) -> LadderResult:
    why = "these scans are run with the ladder and not kept"
    burn_in = check_whole("n_burn_in", n_burn_in, 0, why)
    steps = check_whole("max_steps", max_steps, 1, "a chain of the ladder has so many steps")
    read = interruptible(partial(as_target, target, None, None))
    with started(read, options, explorer=explorer_of(explorer, read)) as (runtime, state):
        began = time.perf_counter()
        grower = Grower(runtime, state, RULES[rule], steps)
        grower.load()
        loaded = time.perf_counter()
        ladder = grow_ladder(grower)
        state = state_on_ladder(runtime, state, ladder, grower)
        ended = time.perf_counter()
        seconds = state.seconds
        seconds = replace(seconds, compile=seconds.compile + loaded - began, tuning=seconds.tuning + ended - loaded)
        state = burnt_in(runtime, replace(state, seconds=seconds), burn_in)
        return LadderResult(result_of(runtime, run_rounds(runtime, state)), ladder)


def state_on_ladder(runtime: Runtime, state: RunState, ladder: Ladder, grower: Grower) -> RunState:
    """Return the state before the first scan of parallel tempering, with replicas where the ladder has left them."""
    before = total_evaluations(state)
    evaluations = before[0] + grower.evaluations[0], before[1] + grower.evaluations[1]
    copy, parameters = grower.copy_of_ladder()
    schedule = ladder.schedule
    energies = copy.log_densities[:, LOG_LIKELIHOOD].copy()
    # the reference's state may have likelihood zero
    energies[0] = energies[0] if np.isfinite(energies[0]) else energies[1]
    return begin_round(
        runtime,
        replace(
            state,
            settings=replace(state.settings, n_chains=ladder.n_chains),
            tuned=Tuned(
                schedule=schedule,
                parameters=parameters,
                pivot=0.5 * (energies[1:] + energies[:-1]) * np.diff(schedule),
                centre=energies,
                explorations=state.settings.explorations,
            ),
            copies=(copy,),
            evaluations=evaluations,
            notes=(*state.notes, ladder.note),
        ),
    )


def burnt_in(runtime: Runtime, state: RunState, n_scans: int) -> RunState:
    """Run scans as a round that tunes nothing but the guesses of energies; they count as tuning."""
    if n_scans == 0:
        return state
    settings = state.settings
    state = run_rounds(runtime, begin_round(runtime, replace(state, settings=replace(settings, n_scans=n_scans))))
    last, tuned, seconds = summarise(state), state.tuned, state.seconds
    pivot, centre = next_pivot(tuned, last, tuned.schedule), next_centre(tuned, last, tuned.schedule)
    return begin_round(
        runtime,
        replace(
            state,
            settings=replace(settings, n_rounds=1),
            round_number=state.round_number + 1,
            tuned=replace(tuned, pivot=pivot, centre=centre),
            rounds=(last,),
            seconds=replace(seconds, tuning=seconds.tuning + seconds.sampling, sampling=0.0),
        ),
    )
