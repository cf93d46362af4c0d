"""Tuning between rounds: exploration, number of chains, schedule, explorer, guesses, fitted reference."""

from dataclasses import replace
from functools import partial

import numpy as np

from sterna.engine.program import EVALUATIONS, GRADIENTS, LOG_LIKELIHOOD
from sterna.engine.round import Copy, nearest_chains, refresh_some, resized
from sterna.errors import EvaluationError
from sterna.result.failed_evaluations import FailedEvaluations, failed_in
from sterna.result.text import count
from sterna.run.runtime import Runtime
from sterna.run.search import search_after_tuning
from sterna.run.start import begin_round
from sterna.run.state import RunState, Tuned
from sterna.tuning.chains import MAX_CHAIN_BOOST, explores_slowly, next_n_chains
from sterna.tuning.exploration import next_explorations
from sterna.tuning.lineages import ancestors_of
from sterna.tuning.rounds import Round, summarise_round
from sterna.tuning.schedule import update_schedule
from sterna.types import FloatArray
from sterna.workers.point_errors import Place

# Trials of explorers end when so many tuning rounds are left.
ROUNDS_AFTER_TRIALS = 2


def summarise(state: RunState) -> Round:
    """Summarise the round under way, which is done."""
    tuned = state.tuned
    found = summarise_round(
        state.round_number,
        tuned.schedule,
        tuned.pivot,
        tuned.centre,
        state.records,
        state.settings.scheme,
        tuned.explorations,
        ancestors_of(state.rounds, tuned.schedule),
    )
    return replace(found, seconds=state.seconds.this_round)


def tune(runtime: Runtime, state: RunState, is_main: bool = True) -> RunState:
    """Return the state at the beginning of the next round, tuned by all rounds so far (paper, algorithm NRPT).

    Only the main one of two paths searches for missed mass.
    """
    last = summarise(state)
    rounds = (*state.rounds, last)
    explorations = _next_explorations(state, rounds)
    n_chains, boost, notes = _next_n_chains(state, last, explorations)
    schedule = update_schedule(last.placement_barrier, n_chains)
    parameters, first_round_of_explorer = _next_parameters(runtime, state, rounds, schedule)
    copies, evaluations = _next_copies(state, last, schedule)
    runtime.display.end_round(last)
    tuned = Tuned(
        schedule=schedule,
        parameters=parameters,
        pivot=next_pivot(state.tuned, last, schedule),
        centre=next_centre(state.tuned, last, schedule),
        explorations=explorations,
        chain_boost=boost,
        first_round_of_explorer=first_round_of_explorer,
    )
    # the last tuning round has the reference of the sampling phase, so that everything is tuned to it
    if runtime.target.fitted is not None and state.round_number < state.settings.n_rounds:
        _refit(runtime, state, copies)
    searches = is_main and last.number == state.settings.n_rounds
    search = search_after_tuning(runtime, state) if searches else state.search
    return begin_round(
        runtime,
        replace(
            state,
            search=search,
            round_number=state.round_number + 1,
            tuned=tuned,
            fitted=runtime.fitted_distribution(),
            copies=copies,
            rounds=rounds,
            evaluations=evaluations,
            failed=state.failed if copies is state.copies else total_failed(state),
            notes=state.notes + notes,
        ),
    )


def _next_explorations(state: RunState, rounds: tuple[Round, ...]) -> int:
    """Return how often a scan of the next round explores each chain."""
    # rounds of another explorer do not tell how much energy this one keeps
    relevant = rounds[state.tuned.first_round_of_explorer :]
    if not state.settings.auto_explorations or not relevant:
        return state.tuned.explorations
    return next_explorations(relevant)


def _next_n_chains(state: RunState, last: Round, explorations: int) -> tuple[int, int, tuple[str, ...]]:
    """Return the next round's number of chains, the boost for slow exploration, and a note if it was raised."""
    boost = state.tuned.chain_boost
    if not state.settings.auto_chains:
        return state.tuned.n_chains, boost, ()
    smooth = max(barrier.total - barrier.jump for barrier in (last.barrier, last.placement_barrier))
    # more exploration comes first: it helps more if it helps at all
    slow = explores_slowly(last) and boost < MAX_CHAIN_BOOST and explorations <= last.explorations
    boost *= 2 if slow else 1
    n_chains = next_n_chains(last, smooth, boost, final=last.number == state.settings.n_rounds)
    if not slow:
        return n_chains, boost, ()
    note = (
        f"Exploration is slow: round {last.number} had {count(last.restarts, 'restart')}, and its rejections allow "
        f"{last.predicted_restarts:.0f}. The next round therefore had {n_chains} chains, more than the "
        "barrier requires."
    )
    return n_chains, boost, (note,)


def _next_parameters(
    runtime: Runtime, state: RunState, rounds: tuple[Round, ...], schedule: FloatArray
) -> tuple[FloatArray, int]:
    """Return the explorer's parameters at the new betas, and the first round of its present choice."""
    bound, tuned = runtime.bound, state.tuned
    statistics = bound.merge([rows[:, : bound.n_statistics] for rows in state.statistics])
    parameters = bound.tune(tuned.parameters, statistics)
    # the explorer chosen needs rounds of its own to be tuned, and trials at most an eighth of all scans
    if state.round_number >= state.settings.n_rounds - ROUNDS_AFTER_TRIALS:
        parameters = bound.settle(parameters, statistics)
    chosen, first_round = bound.chosen(parameters), tuned.first_round_of_explorer
    before = bound.chosen(tuned.parameters)
    if chosen is not None and chosen != before:
        runtime.display.choose(chosen, before)
        first_round = len(rounds)
    return bound.carry(parameters, tuned.schedule, schedule), first_round


def next_pivot(tuned: Tuned, last: Round, schedule: FloatArray) -> FloatArray:
    """Read the log evidence at the new betas."""
    curve = np.concatenate([[0.0], np.cumsum(last.evidence.best_steps)])
    return np.diff(np.interp(schedule, tuned.schedule, curve))


def next_centre(tuned: Tuned, last: Round, schedule: FloatArray) -> FloatArray:
    """Read the mean energies at the new betas."""
    # a short round may have seen no reference draw of positive likelihood
    means = np.where(np.isfinite(last.log_likelihoods.mean), last.log_likelihoods.mean, tuned.centre)
    # the reference's mean may be larger by any factor, and would cost the digits of the others' moments
    others = np.interp(schedule[1:], tuned.schedule[1:], means[1:])
    return np.concatenate([means[:1], others])


def _next_copies(state: RunState, last: Round, schedule: FloatArray) -> tuple[tuple[Copy, ...], tuple[int, int]]:
    """Return copies of the new number of chains, and the evaluations of the replicas that are replaced."""
    if len(schedule) == state.tuned.n_chains:
        return state.copies, state.evaluations
    barrier = last.placement_barrier.smooth
    nearest = nearest_chains(barrier(state.tuned.schedule), barrier(schedule))
    return tuple(resized(copy, nearest) for copy in state.copies), total_evaluations(state)


def total_evaluations(state: RunState) -> tuple[int, int]:
    """Return the numbers of evaluations and of gradients so far."""
    counts = np.sum([copy.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0) for copy in state.copies], axis=0)
    return state.evaluations[0] + int(counts[0]), state.evaluations[1] + int(counts[1])


def total_failed(state: RunState) -> FailedEvaluations:
    """Return the numbers of failed evaluations so far, which count as densities of zero."""
    return sum((failed_in(copy.log_densities) for copy in state.copies), state.failed)


def _refit(runtime: Runtime, state: RunState, copies: tuple[Copy, ...]) -> None:
    """Fit the reference to the target chain's draws of all copies, and evaluate all replicas again."""
    fitted = runtime.target.fitted
    draws = np.stack([record.draws[:, -1] for record in state.records])
    if fitted is None or draws.size == 0:
        return
    carry = fitted.refit(draws)
    runtime.teams.send_functions_again()
    place = Place(f"when the reference was fitted after round {state.round_number} of tuning")
    for number, copy in enumerate(copies):
        copy.states[:] = carry(copy.states)
        good = copy.log_densities[:, LOG_LIKELIHOOD] > -np.inf
        runtime.on_replicas(number, copy, partial(refresh_some, runtime.target.block), place)
        # rounding may put a state beyond an edge of the support, where only the reference chain may be
        lost = good & (copy.log_densities[:, LOG_LIKELIHOOD] == -np.inf)
        kept = np.flatnonzero(good & ~lost)
        if lost.any() and len(kept) == 0:
            raise EvaluationError(
                "The likelihood is zero at the states of all chains of a copy, where it was positive before the "
                "reference was fitted again: log_likelihood must be a function of its arguments alone."
            )
        for j in np.flatnonzero(lost):
            copy.states[j], copy.log_densities[j, :2] = copy.states[kept[0]], copy.log_densities[kept[0], :2]
