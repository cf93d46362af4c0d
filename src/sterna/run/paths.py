"""The two paths of a run: from the prior to the target, and from a mixture that tuning fits to it.

The first rounds run along the path from the prior. Then a search finds modes, a mixture is fitted to them, and from
there on the path from the mixture gives the result. The path from the prior goes on beside it with a fifth of the
evaluations, because what it finds does not depend on the search.
"""

import time
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from sterna.engine.round import new_copy, refresh_some
from sterna.result.failed_evaluations import FailedEvaluations
from sterna.result.text import count
from sterna.run.blocks import Pause, never, run_blocks
from sterna.run.fitted_runtime import along, price_of
from sterna.run.landscape import TargetLandscape
from sterna.run.path_choice import evaluations_per_exploration, finds_more, is_better, load_of, reason_of
from sterna.run.path_options import FIRST_ROUND, reason_against_trial
from sterna.run.runtime import Runtime
from sterna.run.search import kept_draws, points_of_draws
from sterna.run.search_for_modes import is_expensive, search_deeper, search_for_modes
from sterna.run.start import begin_round, find_starting_points, first_guesses
from sterna.run.state import RunState
from sterna.run.tune import total_evaluations, total_failed, tune
from sterna.run.wander import wandered
from sterna.search.mixture import Mixture, first_mixture, refitted, with_clouds, with_optima, with_places
from sterna.search.search import Search
from sterna.tuning.schedule import uniform_schedule
from sterna.types import FloatArray, IntArray
from sterna.workers.point_errors import Place

# The path from the mixture begins when so many tuning rounds are left, and is on trial for so many.
ROUNDS_OF_MIXTURE, TRIAL_ROUNDS = 5, 2

# A trial takes at most this share of the time of the run, and is of no use with fewer scans.
SHARE_OF_TRIAL, LEAST_SCANS = 0.1, 16

# By default it needs so many climbs: with fewer, even a mode as wide as the others may not have been found.
LEAST_CLIMBS = 10

# Chains of its first round, if their number is found by tuning.
FIRST_N_CHAINS = 6

# Evaluations of the path from the prior, relative to those of the other.
BESIDE = 0.25

# The share of those of a whole run along the path from the prior with which replicas wander over the target, after each
# round that fits the mixture again.
WANDERING, WANDERING_IF_EXPENSIVE = 0.02, 0.003

# Places that are compared with the mixture at most.
MAX_PLACES = 5000

FITTING = Place("while the mixture was fitted again")

# How long the path from the mixture runs before the other one has its turn.
SECONDS_OF_TURN = 5.0

# Both paths must draw different random numbers.
OTHER_SEED = 0x2545F4914F6CDD1D


def run_both_paths(runtime: Runtime, state: RunState, pause: Pause) -> bool:
    """Run the scans that are left of the round, along both paths; return whether a pause was asked for.

    In a long round the paths take turns, so that neither is far behind when a run is ended early.
    """
    beside, main = state.beside, along(runtime, state.mixture)
    if beside is None:
        return run_blocks(main, state, pause)
    while not state.round_is_done:
        turn = Turn(pause)
        run_blocks(main, state, turn)
        if turn.paused or run_beside(runtime, state, beside, pause):
            return True
    return False


class Turn:
    """A pause that also ends the turn of one path."""

    def __init__(self, pause: Pause) -> None:
        self.pause, self.paused, self.end = pause, False, time.perf_counter() + SECONDS_OF_TURN

    def __call__(self, scans_done: IntArray) -> bool:
        """Return whether the scans shall stop."""
        self.paused = self.paused or self.pause(scans_done)
        return self.paused or time.perf_counter() > self.end


def run_beside(runtime: Runtime, state: RunState, beside: RunState, pause: Pause = never) -> bool:
    """Run the path from the prior until the same share of its scans is done; return whether a pause was asked for."""
    last = -(-beside.n_scans * int(state.scans_done.min()) // state.n_scans)
    if (beside.scans_done >= last).all():
        return False
    with runtime.display.working("running along the path from the prior as well"):
        return run_blocks(runtime.quiet(), beside, pause, last)


def next_round(runtime: Runtime, state: RunState) -> RunState:
    """Tune along every path, and begin the path from a mixture when it is time."""
    if state.mixture is not None:
        return _tune_both(runtime, state)
    if state.settings.path == "prior" or state.why_path:
        return tune(runtime, state)
    if state.settings.path == "auto":
        reason = reason_against_trial(runtime, state.settings)
        if reason:
            return tune(runtime, replace(state, why_path=f"from the reference, because {reason}"))
    if state.round_number < _first_round(state):
        return tune(runtime, state)
    return _begin_both(runtime, state)


def _begin_both(runtime: Runtime, state: RunState) -> RunState:
    """Search for modes, and begin the path from a mixture of them, beside the path from the prior."""
    found = search_for_modes(runtime, state)
    after = tune(runtime, replace(state, search=found))
    try:
        mixture = first_mixture(found.optima, points_of_draws(runtime, state), after.rounds[-1].log_evidence.value)
    except np.linalg.LinAlgError:
        mixture = None
    if mixture is None:
        return replace(after, why_path="from the reference, because no mode was found")
    if found.climbs < LEAST_CLIMBS and state.settings.path == "auto":
        why = f"from the reference, because a run so short pays for {count(found.climbs, 'climb')} only"
        return replace(after, why_path=why)
    fitted = _begin_fitted(runtime, after, mixture, finds_more(found.optima, after))
    if fitted.pace < 1.0 and fitted.n_scans < LEAST_SCANS:
        why = f"from the reference, because an evaluation of a mixture takes {fitted.price:.0f} times as long"
        return replace(after, why_path=why)
    beside = replace(after, settings=replace(after.settings, keep="target", thin=1, keep_log_likelihoods=False))
    return replace(fitted, beside=_with_pace(runtime, beside, fitted))


def _first_round(state: RunState) -> int:
    """Return the last round of the path from the prior alone."""
    return max(FIRST_ROUND, state.settings.n_rounds - ROUNDS_OF_MIXTURE)


def _begin_fitted(runtime: Runtime, after: RunState, mixture: Mixture, has_more: bool) -> RunState:
    """Return the state at the beginning of the path from a mixture, whose replicas begin at its draws.

    A trial takes a small share of the time, unless the mixture has mass that the other path has not found.
    """
    found = along(runtime, mixture)
    n_chains = FIRST_N_CHAINS if after.settings.auto_chains else after.settings.n_chains
    settings = replace(after.settings, n_chains=n_chains, seed=after.settings.seed ^ OTHER_SEED)
    schedule, price = uniform_schedule(n_chains), price_of(found, runtime)
    copies = tuple(new_copy(n_chains, runtime.target.dimension) for _ in range(settings.n_copies))
    find_starting_points(found, settings, schedule, copies)
    return begin_round(
        found,
        replace(
            after,
            settings=settings,
            tuned=first_guesses(found, settings, schedule, copies),
            fitted=None,
            copies=copies,
            rounds=(),
            evaluations=(0, 0),
            failed=FailedEvaluations(),
            mixture=mixture,
            price=price,
            pace=_pace_of_trial(after, price, n_chains) if _is_trial(after) and not has_more else 1.0,
        ),
    )


def _tune_both(runtime: Runtime, state: RunState) -> RunState:
    """Tune along both paths; fit the mixture again, but not before the sampling phase: the schedule is tuned to it."""
    mixture, beside = state.mixture, state.beside
    assert mixture is not None
    assert beside is not None
    after = tune(along(runtime, mixture), state)
    after_beside = tune(runtime.quiet(), beside, is_main=False)
    if state.settings.path == "auto" and state.round_number == _first_round(state) + TRIAL_ROUNDS:
        after = replace(after, why_path=reason_of(after, after_beside), pace=1.0)
        if not is_better(after, after_beside):
            return _prior_alone(runtime, state, after, after_beside)
        after = begin_round(along(runtime, mixture), after)
    if state.round_number < state.settings.n_rounds:
        mixture = _fitted_again(mixture, points_of_draws(runtime, state), points_of_draws(runtime, beside))
        if state.round_number == _first_round(state) + TRIAL_ROUNDS:
            mixture, found = _searched_deeper(runtime, state, mixture, after.rounds[-1].log_evidence.value)
            after = replace(after, search=found)
        if not _is_trial(after):
            mixture, found = _with_places(runtime, state, mixture, after)
            after = replace(after, search=found)
        after = replace(after, mixture=mixture)
        fitted = along(runtime, mixture)
        for number, copy in enumerate(after.copies):
            fitted.on_replicas(number, copy, partial(refresh_some, fitted.target.block), FITTING)
    return replace(after, beside=_with_pace(runtime, after_beside, after))


def _searched_deeper(
    runtime: Runtime, state: RunState, mixture: Mixture, log_evidence: float
) -> tuple[Mixture, Search]:
    """Search for modes that the mixture lacks, and return it with a component for each of them."""
    assert state.beside is not None
    with runtime.display.working("searching for modes"):
        found = search_deeper(runtime, state, state.beside, mixture, log_evidence)
    return with_optima(mixture, found.optima, log_evidence), found


# log-densities may be huge or infinite
@np.errstate(all="ignore")
def _with_places(runtime: Runtime, state: RunState, mixture: Mixture, after: RunState) -> tuple[Mixture, Search]:
    """Let replicas wander over the target, and return the mixture with components for places that it lacks.

    `state` is that before tuning, which has the draws, and `after` that after it, which has the evidence.
    """
    assert state.beside is not None
    found = after.search
    landscape = TargetLandscape(runtime, state.beside.tuned.n_chains)
    states, evaluations, gradients = wandered(runtime, state.beside, _budget_of_wandering(runtime, state.beside))
    points = landscape.points_of(np.concatenate([states, kept_draws(state), kept_draws(state.beside)]))
    points = points[:: -(-len(points) // MAX_PLACES)]
    densities = landscape.values(points) - after.rounds[-1].log_evidence.value
    with suppress(np.linalg.LinAlgError):
        mixture = with_places(mixture, points, densities, landscape.references(points))
    spent = (found.evaluations + evaluations + landscape.evaluations, found.gradients + gradients)
    return mixture, replace(found, evaluations=spent[0], gradients=spent[1])


def _budget_of_wandering(runtime: Runtime, beside: RunState) -> int:
    """Return a share of the evaluations that a whole run would take along the path from the prior."""
    scans = 2 ** (beside.settings.n_rounds + 1) + beside.settings.n_scans
    share = WANDERING_IF_EXPENSIVE if is_expensive(runtime) else WANDERING
    return int(share * evaluations_per_exploration(beside) * load_of(beside) * scans)


def _fitted_again(mixture: Mixture, draws: FloatArray, draws_beside: FloatArray) -> Mixture:
    """Return the mixture fitted to the draws of both paths, or the same if they do not determine one."""
    try:
        return with_clouds(refitted(mixture, draws), draws_beside)
    except np.linalg.LinAlgError:
        return mixture


def _is_trial(fitted: RunState) -> bool:
    """Whether the path from the mixture is on trial: it is not chosen by the user, and not by the run yet."""
    return fitted.settings.path == "auto" and not fitted.why_path


def _pace_of_trial(after: RunState, price: float, n_chains: int) -> float:
    """Return the share of scans with which a trial takes a share of the time of the whole run."""
    settings, first = after.settings, after.round_number
    whole = (2 ** (settings.n_rounds + 1) + settings.n_scans) * load_of(after)
    trial = sum(2**r for r in range(first, first + TRIAL_ROUNDS)) * n_chains
    return float(min(1.0, SHARE_OF_TRIAL * whole / (price * trial)))


def _prior_alone(runtime: Runtime, state: RunState, fitted: RunState, beside: RunState) -> RunState:
    """Go on along the path from the prior only; what the other has cost still counts."""
    spent, own = total_evaluations(state), beside.evaluations
    settings = replace(fitted.settings, n_chains=beside.settings.n_chains, seed=beside.settings.seed)
    return begin_round(
        runtime,
        replace(
            beside,
            settings=settings,
            evaluations=(own[0] + spent[0], own[1] + spent[1]),
            failed=beside.failed + total_failed(state),
            why_path=f"from the reference; a fitted mixture was given up, {fitted.why_path}",
            pace=1.0,
            search=fitted.search,
            seconds=fitted.seconds,
        ),
    )


def _with_pace(runtime: Runtime, beside: RunState, fitted: RunState) -> RunState:
    """Return the path from the prior with so many scans that it takes a share of the other's evaluations.

    While the other is on trial, both have all scans.
    """
    if _is_trial(fitted):
        return beside
    own = evaluations_per_exploration(beside) or 1.0
    of_fitted = evaluations_per_exploration(fitted) or own
    pace = BESIDE * of_fitted * load_of(fitted) / (own * load_of(beside))
    return begin_round(runtime, replace(beside, pace=min(1.0, pace)))
