"""The search for missed mass in a run: after tuning from the reference and all chains, at the end from the draws."""

import math
from dataclasses import replace

import numpy as np

from sterna.engine.program import EVALUATIONS, GRADIENTS, LOG_LIKELIHOOD
from sterna.errors import Error
from sterna.ground.values import HUGE, REAL
from sterna.run.landscape import TargetLandscape
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.search.check import Check
from sterna.search.circles import around_mean
from sterna.search.light_reference import upper_tail
from sterna.search.mass import cost_of_mass
from sterna.search.missed_mass import Draws, discrepancies
from sterna.search.search import Search, cost_of_climb, search
from sterna.search.starts import along_the_diagonal, in_turn, with_other_integers
from sterna.search.tails import light_tails
from sterna.target.checks.normalised import DRAWS, integral_of_reference
from sterna.tuning.estimate import Estimate
from sterna.tuning.journeys import effective_number, journeys_of_draws, sizes_of
from sterna.tuning.lineages import ancestors_of
from sterna.types import BoolArray, FloatArray

# The share of a run's evaluations that the search may add.
SHARE = 0.05

# The share of the evaluations of tuning that the search after it may add.
SHARE_AFTER_TUNING = 0.03

# The least share for the search at the end.
LEAST_SHARE_AT_END = 0.04

# The same two shares for a run along the path from a mixture, which takes far fewer evaluations.
SHARE_WITH_MIXTURE = 0.1

# The share of the budget at the end for climbs, and what they and estimates of mass leave for tails; climbs have that
# too if no variable has a tail.
FOR_CLIMBS, FOR_TAILS = 0.4, 0.3

# Starts are at most so many, and have at most so many coordinates in all: to recognise on whose hill a start is takes
# longer than to evaluate a cheap likelihood there, and grows as the square of the dimension.
MAX_CLIMBS, MAX_COORDINATES = 10_000, 100_000

# Seeds of searches in different rounds differ in bits that users' seeds rarely have.
SEED_BITS = 40

# More draws than this are thinned before they are compared with ellipsoids.
MAX_DRAWS = 4000

# Said if a time limit has ended the look at the tails, which is the only thing that depends on times.
SLOW_TAILS = "the tails were not looked at to their ends, because evaluations there are much slower than at the draws"

# If no combination of the integers holds this share of the draws, fixing them leaves no mass to compare.
LEAST_SHARE = 0.02


def with_costs(before: Search, landscape: TargetLandscape) -> Search:
    """Return a search with what a later one has spent that failed."""
    return replace(
        before,
        evaluations=before.evaluations + landscape.evaluations,
        gradients=before.gradients + landscape.gradients,
    )


def points_of_draws(runtime: Runtime, state: RunState) -> FloatArray:
    """Return the target draws of the round under way as points on the line."""
    return TargetLandscape(runtime, state.tuned.n_chains).points_of(kept_draws(state))


# log-densities may be huge or infinite, and what cannot be computed is not found
@np.errstate(all="ignore")
def search_after_tuning(runtime: Runtime, state: RunState) -> Search:
    """Climb from draws of the reference and from the states of all chains, after the last tuning round."""
    runtime = runtime.prior or runtime
    draws = kept_draws(state)
    if reason_to_skip(runtime, draws):
        return state.search
    landscape = TargetLandscape(runtime, state.tuned.n_chains)
    try:
        if state.mixture is None:
            # a search for a mixture may have taken most of it
            budget = budget_of(runtime, state, SHARE_AFTER_TUNING) - landscape.cost_of(state.search)
        else:
            budget = budget_of(runtime, state, SHARE_WITH_MIXTURE)
        return searched(landscape, runtime, state, draws, budget, state.search)
    except Exception:
        # a run must not end because of it; the search at the end will meet it too, and says so
        return with_costs(state.search, landscape)


@np.errstate(all="ignore")
def check_at_end(runtime: Runtime, state: RunState, log_evidence: Estimate) -> Check:
    """Climb from the draws too, and compare masses of optima and of tails with evidence and draws."""
    runtime = runtime.prior or runtime
    draws = kept_draws(state)
    reason = reason_to_skip(runtime, draws)
    if reason:
        return Check(skipped=reason)
    landscape = TargetLandscape(runtime, state.tuned.n_chains)
    if state.mixture is None:
        # a search for a mixture may have taken all of it
        left = budget_of(runtime, state, SHARE) - landscape.cost_of(state.search)
        budget = max(left, budget_of(runtime, state, LEAST_SHARE_AT_END))
    else:
        # what was spent before the mixture was fitted does not count
        budget = budget_of(runtime, state, SHARE_WITH_MIXTURE)
    every = -(-len(draws) // MAX_DRAWS)
    evidence = as_integrated(runtime, state.settings.seed, log_evidence)
    known = Draws(landscape.points_of(draws[::every]), n_journeys(state), evidence)
    check = Check(climbs=state.search.climbs, optima=len(state.search.optima), found=state.search)
    try:
        for_one = cost_of_mass(int(landscape.free.sum()))
        # climbs are of no use if nothing is left to estimate a mass
        open_ends = _open_ends(landscape, runtime)
        for_tails = FOR_TAILS if open_ends.any() else 0.0
        for_climbs = int(min((FOR_CLIMBS + FOR_TAILS - for_tails) * budget, budget - for_one))
        found = searched(landscape, runtime, state, draws, for_climbs, state.search)
        check = replace(check, climbs=found.climbs, optima=len(found.optima), found=found)
        rng = np.random.default_rng([state.settings.seed, state.round_number, 1])
        for_mass = min(budget, max(int((1.0 - for_tails) * budget), landscape.spent + for_one)) - landscape.spent
        masses, estimated = discrepancies(landscape, found.optima, known, for_mass, rng)
        check = replace(check, discrepancies=tuple(masses), masses=estimated)
        check = _with_tails(check, landscape, open_ends, known, _log_likelihoods(state)[::every], budget)
    except Error as error:
        check = replace(check, skipped=f"an evaluation failed. {error}")
    except Exception as error:
        # a check must not cost the run that it checks
        check = replace(check, skipped=f"it failed with {type(error).__name__}: {error}")
    return replace(
        check,
        evaluations=state.search.evaluations + landscape.evaluations,
        gradients=state.search.gradients + landscape.gradients,
    )


def as_integrated(runtime: Runtime, seed: int, log_evidence: Estimate) -> Estimate:
    """Return the logarithm of the integral of reference times likelihood, with which masses are compared.

    It is the evidence, unless the density of a user's reference leaves out a constant, which cancels from the evidence
    but not from masses. If bounds of that constant exclude 1, they are taken for an interval of 4.9 standard errors,
    which a normal variable leaves as rarely.
    """
    target, program = runtime.target, runtime.target.program
    if not target.unnormalized or (program.value_type != REAL).any() or program.circles.any():
        return log_evidence
    found = integral_of_reference(target, runtime.draw_reference(seed, DRAWS), np.random.default_rng([seed, 2]))
    if found is None or not found.value > 0 or found.low <= 1.0 <= found.high:
        return log_evidence
    error = math.log(found.high / found.low) / (2 * 4.9)
    return log_evidence + Estimate(math.log(found.value), error)


def _open_ends(landscape: TargetLandscape, runtime: Runtime) -> BoolArray:
    """Return for each coordinate whether it is real and has no bound below and above: (dimension, 2)."""
    program = runtime.target.program
    ends = np.stack([program.lower <= -HUGE, program.upper >= HUGE], axis=1)
    return np.asarray(ends & (landscape.free & (landscape.periods == 0))[:, None])


def _with_tails(
    check: Check,
    landscape: TargetLandscape,
    open_ends: BoolArray,
    draws: Draws,
    log_likelihoods: FloatArray,
    budget: int,
) -> Check:
    """Look at the tails too, with what is left of the budget."""
    upper = upper_tail(log_likelihoods, draws.points[:, open_ends.any(axis=1)])
    tails, too_slow = light_tails(landscape, draws.points, draws.size, open_ends, budget - landscape.spent)
    return replace(check, tails=tuple(tails), upper_tail=upper, skipped=SLOW_TAILS if too_slow else "")


def n_journeys(state: RunState) -> float:
    """Return how many journeys of equal length brought the draws of all copies."""
    ancestors = ancestors_of(state.rounds, state.tuned.schedule)
    journeys = journeys_of_draws([record.positions for record in state.records], state.thin, ancestors)
    return min(effective_number(sizes_of(journeys)), float(MAX_DRAWS))


def searched(
    landscape: TargetLandscape, runtime: Runtime, state: RunState, draws: FloatArray, budget: int, before: Search
) -> Search:
    """Climb from all kinds of starts in turn, with a budget of evaluations."""
    if budget < cost_of_climb(runtime.target.dimension):
        return before
    count = min(MAX_CLIMBS, budget, 100 + MAX_COORDINATES // runtime.target.dimension)
    states, independent = _starts(runtime, state, draws, count)
    scales = scales_of(around_mean(landscape.periods, landscape.points_of(draws)))
    found = search(landscape, landscape.points_of(states), scales, budget, before, independent)
    return replace(
        found,
        evaluations=before.evaluations + landscape.evaluations,
        gradients=before.gradients + landscape.gradients,
    )


def _starts(runtime: Runtime, state: RunState, draws: FloatArray, count: int) -> tuple[FloatArray, BoolArray]:
    """Return starting states, and which are independent draws of the reference.

    These are half of them; the others are states of chains and draws, the best ones first.
    """
    half = count // 2 + 1
    # every search has its own draws
    reference = runtime.draw_reference(state.settings.seed ^ (state.round_number << SEED_BITS), half)
    free = runtime.target.program.value_type == REAL
    # chains between the prior and the target know places that a mixture does not
    copies = (state.beside or state).copies
    chains = np.concatenate([copy.states[copy.log_densities[:, LOG_LIKELIHOOD] > -np.inf] for copy in copies])
    some = draws[:: max(1, len(draws) // half)]
    # two groups, as what the run has missed is more likely found from there
    groups = [reference[::2], reference[1::2], along_the_diagonal(reference[: half // 2 + 1], free), chains[::-1]]
    groups += [np.concatenate([draws[[int(_log_likelihoods(state).argmax())]], some])]
    if not free.all() and runtime.target.program.log_reference == 0:
        groups.append(with_other_integers(some, reference, free))
    independent = [np.full(len(group), number < 2, dtype=np.bool_) for number, group in enumerate(groups)]
    return in_turn(groups)[:count], in_turn(independent)[:count]


def scales_of(points: FloatArray) -> FloatArray:
    """Return the width of the draws in every coordinate: half the distance of two quantiles."""
    low, high = np.quantile(points, [0.16, 0.84], axis=0)
    return np.asarray(np.maximum(0.5 * (high - low), 1e-6 * (1.0 + np.abs(points).max(axis=0))))


def _log_likelihoods(state: RunState) -> FloatArray:
    return np.concatenate([record.log_likelihood[:, -1] for record in state.records])


def kept_draws(state: RunState) -> FloatArray:
    """Return the target draws of the round under way, of all copies."""
    return np.concatenate([record.draws[:, -1] for record in state.records])


def reason_to_skip(runtime: Runtime, draws: FloatArray) -> str:
    """Say why there is nothing to search, or nothing that could be compared; empty if there is."""
    free = runtime.target.program.value_type == REAL
    if not free.any():
        return "there are no real variables"
    if len(draws) < 2:
        return "there are too few draws"
    if not free.all():
        counts = np.unique(draws[:, ~free], axis=0, return_counts=True)[1]
        if counts.max() < LEAST_SHARE * len(draws):
            return "every combination of the integer variables holds only a small share of the draws"
    return ""


def budget_of(runtime: Runtime, state: RunState, share: float) -> int:
    """Return how many evaluations a search may take, as a share of those that the run has made so far."""
    counts = np.zeros(2)
    for path in (state, state.beside):
        if path is not None:
            replicas = np.concatenate([copy.log_densities[:, [EVALUATIONS, GRADIENTS]] for copy in path.copies])
            counts += replicas.sum(axis=0) + path.evaluations
    cost, program = runtime.target.measured_cost, runtime.target.program
    spent = counts[0] + counts[1] * (2 if cost is None else cost.gradient)
    # those of a local change cost less than those of a search, which change everything
    whole = spent / program.dimension if program.likelihood_change != 0 else spent
    return int(share * whole)
