"""What the result of a run has from both of its paths."""

from dataclasses import replace

from sterna.engine.record import Record
from sterna.result.failed_evaluations import FailedEvaluations
from sterna.result.other_path import OtherPath
from sterna.result.settings import Settings
from sterna.run.fitted_runtime import along
from sterna.run.landscape import TargetLandscape
from sterna.run.paths import OTHER_SEED
from sterna.run.runtime import Runtime
from sterna.run.search import n_journeys, points_of_draws
from sterna.run.state import RunState
from sterna.run.tune import summarise, total_evaluations, total_failed
from sterna.search.mixture import Mixture
from sterna.search.shares import lower_share

# Draws beyond this number are thinned before they are compared with components; bounds hold with this probability.
MAX_DRAWS, LEVEL = 20_000, 0.999


def evaluations_of_paths(state: RunState) -> tuple[int, int]:
    """Return the numbers of evaluations and of gradients so far, along both paths."""
    own = total_evaluations(state)
    if state.beside is None:
        return own
    other = total_evaluations(state.beside)
    return own[0] + other[0], own[1] + other[1]


def failed_of_paths(state: RunState) -> FailedEvaluations:
    """Return the numbers of failed evaluations so far, along both paths."""
    own = total_failed(state)
    return own if state.beside is None else own + total_failed(state.beside)


def settings_of_result(state: RunState) -> Settings:
    """Return the settings as the user knows them, with the numbers of scans and chains of the draws."""
    settings = replace(state.settings, n_chains=state.tuned.n_chains, n_scans=state.n_scans, thin=state.thin)
    if not state.is_sampling:
        settings = replace(settings, keep="target")
    return settings if state.mixture is None else replace(settings, seed=settings.seed ^ OTHER_SEED)


def records_of(runtime: Runtime, state: RunState) -> tuple[Record, ...]:
    """Return the records with the log-likelihoods of kept draws, which along the path from a mixture are others."""
    if state.mixture is None:
        return state.records
    n_chains = state.tuned.n_chains
    mixture, prior = (TargetLandscape(one, n_chains) for one in (along(runtime, state.mixture), runtime))
    changed = []
    for record in state.records:
        points = prior.points_of(record.draws.reshape(-1, runtime.target.dimension))
        more = mixture.references(points) - prior.references(points)
        changed.append(
            record._replace(log_likelihood=record.log_likelihood + more.reshape(record.log_likelihood.shape))
        )
    return tuple(changed)


def other_path(runtime: Runtime, state: RunState) -> OtherPath | None:
    """Return what the path from the prior found beside the other, for the result."""
    if state.mixture is None or state.beside is None:
        return None
    outside = [_least_outside(runtime, state.mixture, one) for one in (state, state.beside)]
    evaluations = total_evaluations(state.beside)[0]
    return OtherPath(state.mixture, outside[0], summarise(state.beside), outside[1], evaluations)


def _least_outside(runtime: Runtime, mixture: Mixture, state: RunState) -> float:
    """Return a lower bound of the share of the target that is in no component, by the draws of one path."""
    points = points_of_draws(runtime, state)
    points = points[:: -(-len(points) // MAX_DRAWS)]
    return lower_share(mixture.nearest(points) < 0, n_journeys(state), LEVEL)
