"""The search for the modes of a mixture, at which the path to the target may begin: by climbs, and by screened draws.

It is made twice: with few evaluations before the path from a mixture is tried, and with more once that path is chosen,
because it saves far more than that.
"""

from dataclasses import replace

import numpy as np

from sterna.result.settings import MAX_COORDINATES, MAX_SCREENED, WHOLE_SEARCH
from sterna.run.landscape import TargetLandscape
from sterna.run.runtime import Runtime
from sterna.run.search import budget_of, kept_draws, reason_to_skip, scales_of, searched, with_costs
from sterna.run.state import RunState
from sterna.search.mixture import Mixture
from sterna.search.planted import Planted, plant
from sterna.search.screen import EXPLAINED, unexplained
from sterna.search.search import MAX_OPTIMA, Search, cost_of_climb, search
from sterna.types import FloatArray

# The share of the evaluations of a run along the path from the prior that a search may take before the path from a
# mixture is tried. That run takes several times as many as a run along the path from a mixture.
FIRST_SHARE = 0.025

# In a short run the first may be larger, up to this share for so many climbs, because fewer find no mode.
SHARE_OF_FEW_CLIMBS, FEW_CLIMBS = 0.2, 20

# Evaluations of one exploration by the explorers that suit expensive likelihoods.
FEW_EVALUATIONS = 2

# The share of the first search with which draws are screened for other modes; the rest is for climbs.
FOR_SCREEN = 0.75

# The share of a screening for evaluations at draws, of which each takes about so many.
FOR_DRAWS, EVALUATIONS_PER_DRAW = 0.85, 3.5

# In a short run the second search may be larger, up to this share for so many draws.
SHARE_OF_FEW_DRAWS, FEW_DRAWS = 0.2, 30_000

# How often draws are compared with what the climbs from others have found.
PASSES = 3

# Draws that are screened at once.
ROWS = 20_000

# Every second draw is moved towards the middle of the reference, by a factor that is uniform from this on: modes are
# seen from as far away as other modes are, and the draws of the reference are further from everything.
LEAST_FACTOR = 0.3

# Places at which modes are planted.
PLACES = 100

SEED_OF_SCREEN = 0x9E3779B97F4A7C15 >> 1


# log-densities may be huge or infinite, and what cannot be computed is not found
@np.errstate(all="ignore")
def search_for_modes(runtime: Runtime, state: RunState) -> Search:
    """Climb from all kinds of starts in an early round, and screen draws, before a path from a mixture is tried."""
    draws = kept_draws(state)
    if reason_to_skip(runtime, draws):
        return state.search
    landscape = TargetLandscape(runtime, state.tuned.n_chains)
    whole = _evaluations_of_run(runtime, state)
    least = min(SHARE_OF_FEW_CLIMBS * whole, FEW_CLIMBS * cost_of_climb(runtime.target.dimension))
    budget = int(max(FIRST_SHARE * whole, least))
    for_climbs = int(max((1.0 - FOR_SCREEN) * budget, least))
    try:
        found = searched(landscape, runtime, state, draws, for_climbs, state.search)
        return _screened(landscape, runtime, state, budget - for_climbs, found)[0]
    except Exception:
        # a run must not end because of it: without optima it keeps the path from the prior
        return with_costs(state.search, landscape)


@np.errstate(all="ignore")
def search_deeper(runtime: Runtime, state: RunState, beside: RunState, mixture: Mixture, log_evidence: float) -> Search:
    """Screen many more draws, once the path from a mixture is chosen, and measure which modes would still be missed.

    `state` is that of the path from the mixture, and `beside` that of the path from the prior, in the same round.
    """
    landscape = TargetLandscape(runtime, beside.tuned.n_chains)
    budget = _budget_of_second(runtime, state, _evaluations_of_run(runtime, beside))
    try:
        found, points, values = _screened(landscape, runtime, state, budget, state.search)
        places = landscape.points_of(runtime.draw_reference(state.settings.seed ^ ~SEED_OF_SCREEN, PLACES))
        planted = plant(points, values, mixture, log_evidence, places) if len(points) else Planted()
        return replace(found, planted=planted)
    except Exception:
        return with_costs(state.search, landscape)


def _budget_of_second(runtime: Runtime, state: RunState, whole: float) -> int:
    """Return the evaluations of the second search; by default none if they are expensive."""
    if state.settings.search is not None:
        return int(max(0.0, state.settings.search - FIRST_SHARE) * whole)
    if is_expensive(runtime):
        return 0
    least = min(SHARE_OF_FEW_DRAWS * whole, FEW_DRAWS * EVALUATIONS_PER_DRAW / FOR_DRAWS)
    return int(max((WHOLE_SEARCH - FIRST_SHARE) * whole, least))


def _evaluations_of_run(runtime: Runtime, state: RunState) -> float:
    """Return what the whole run would take along the path from the prior; its rounds double.

    If evaluations are expensive, explorers of many evaluations are on trial now, and will not be later.
    """
    settings, done = state.settings, 2 ** (state.round_number + 1) - 2
    left, spent = 2 ** (settings.n_rounds + 1) - 2 - done + settings.n_scans, budget_of(runtime, state, 1.0)
    later = left / done * spent
    if is_expensive(runtime):
        explorations = left * state.tuned.n_chains * state.tuned.explorations * settings.n_copies
        later = min(later, FEW_EVALUATIONS * explorations)
    return float(spent + later)


def is_expensive(runtime: Runtime) -> bool:
    """Whether evaluations are expensive; with an explorer that the user has named, nothing depends on costs."""
    cost = runtime.target.measured_cost
    return runtime.explorer_is_default and cost is not None and cost.expensive


def _screened(
    landscape: TargetLandscape, runtime: Runtime, state: RunState, budget: int, before: Search
) -> tuple[Search, FloatArray, FloatArray]:
    """Climb from draws that no optimum explains; also return all draws that were evaluated, and their log-densities."""
    dimension, began = runtime.target.dimension, landscape.spent
    count = min(MAX_SCREENED, MAX_COORDINATES // dimension, int(FOR_DRAWS * budget / EVALUATIONS_PER_DRAW))
    # as many optima as a search keeps are those of a ridge or a shell, and explain little
    if not 0 < len(before.optima) < MAX_OPTIMA or count < cost_of_climb(dimension):
        return before, np.empty((0, dimension)), np.empty(0)
    points, values = _evaluated(landscape, _draws_to_screen(landscape, runtime, state, count))
    until = began + FOR_DRAWS * budget
    scores = [
        unexplained(landscape, points[k : k + ROWS], values[k : k + ROWS], before.optima, until)
        for k in range(0, len(points), ROWS)
    ]
    found = _climbed(landscape, state, points, values, np.concatenate([*scores, []]), began + budget, before)
    spent = (before.evaluations + landscape.evaluations, before.gradients + landscape.gradients)
    return replace(found, evaluations=spent[0], gradients=spent[1]), points, values


def _draws_to_screen(landscape: TargetLandscape, runtime: Runtime, state: RunState, count: int) -> FloatArray:
    """Return draws of the reference on the line, every second one moved towards their middle."""
    seed = state.settings.seed ^ SEED_OF_SCREEN ^ state.round_number
    points = landscape.points_of(runtime.draw_reference(seed, count))
    middle, rng = np.median(points, axis=0), np.random.default_rng([state.settings.seed, state.round_number, 2])
    factors = np.where(np.arange(count) % 2 == 0, 1.0, rng.uniform(LEAST_FACTOR, 1.0, count))
    return np.asarray(middle + factors[:, None] * (points - middle))


def _evaluated(landscape: TargetLandscape, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the points whose density is not zero, and their log-densities."""
    values = landscape.values(points)
    positive = np.isfinite(values)
    return points[positive], values[positive]


def _climbed(
    landscape: TargetLandscape,
    state: RunState,
    points: FloatArray,
    values: FloatArray,
    scores: FloatArray,
    until: int,
    before: Search,
) -> Search:
    """Climb from the points that are explained worst; what a new optimum explains is no start any more."""
    scales, found = scales_of(landscape.points_of(kept_draws(state))), before
    for passes_left in range(PASSES, 0, -1):
        order = np.argsort(-scores, kind="stable")[: int((scores > EXPLAINED).sum())]
        budget, climbs, known = (until - landscape.spent) // passes_left, found.climbs, len(found.optima)
        if len(order) == 0 or budget <= 0:
            break
        found = search(landscape, points[order], scales, budget, found)
        # a climb that led to a known optimum has explained its start
        scores[order[: found.climbs - climbs]] = 0.0
        if len(found.optima) > known:
            left = np.flatnonzero(scores > EXPLAINED)
            scores[left] = unexplained(landscape, points[left], values[left], found.optima, until)
    return found
