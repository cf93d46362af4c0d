"""The modes of a run's target, for its result: where they are, how much they weigh, and how well climbs find them."""

import math
from dataclasses import replace

import numpy as np

from sterna.errors import EvaluationError
from sterna.ground.values import REAL
from sterna.result.mode_table import Mode, Modes
from sterna.run.landscape import TargetLandscape
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.search.mixture import INFLATION, Mixture, first_mixture
from sterna.search.modes import modes_of, shares_when_modes_part, unseen
from sterna.search.search import MAX_OPTIMA, Search
from sterna.target.prepared import PreparedTarget
from sterna.tuning.estimate import Estimate
from sterna.tuning.journeys import journeys_of_draws
from sterna.tuning.lineages import ancestors_of
from sterna.tuning.mean_errors import share_of
from sterna.types import BoolArray, FloatArray, IntArray

# Draws beyond this number are thinned.
MAX_DRAWS = 20_000


def find_modes(runtime: Runtime, state: RunState, found: Search, log_evidence: Estimate) -> Modes:
    """Return the modes of a target whose variables are all real; none if something about them cannot be computed."""
    program = runtime.target.program
    if not (program.value_type == REAL).all() or (program.circles[1::2] > 0).any():
        return Modes()
    try:
        with np.errstate(all="ignore"):
            return _modes(runtime, state, found, log_evidence)
    except (np.linalg.LinAlgError, EvaluationError):
        return Modes()


def _modes(runtime: Runtime, state: RunState, found: Search, log_evidence: Estimate) -> Modes:
    """Return groups of the components of the mixture at which the path began, or that optima and draws give."""
    landscape = TargetLandscape(runtime, state.tuned.n_chains)
    draws = np.stack([record.draws[:, -1] for record in state.records])
    every = -(-draws.shape[0] * draws.shape[1] // MAX_DRAWS)
    draws = draws[:, ::every]
    points = landscape.points_of(draws.reshape(-1, draws.shape[2]))
    mixture = state.mixture or first_mixture(found.optima, points, log_evidence.value)
    if mixture is None:
        return Modes()
    mode_of = modes_of(mixture)
    ancestors = ancestors_of(state.rounds, state.tuned.schedule)
    journeys = journeys_of_draws([record.positions for record in state.records], state.thin, ancestors)[:, ::every]
    labels = _labels(mixture, mode_of, points).reshape(journeys.shape)
    basins = _basins(mixture, mode_of, found)
    shares = basins / max(int(basins.sum()), 1)
    on_the_way = shares_when_modes_part(mixture, mode_of, landscape.references(mixture.centres))
    table = [
        replace(
            _mode(runtime.target, landscape, mixture, mode_of == k, labels == k, journeys, log_evidence),
            basin_share=float(shares[k]),
            share_when_parting=float(on_the_way[k]),
        )
        for k in range(len(basins))
    ]
    order = sorted(range(len(table)), key=lambda k: -table[k].weight.value)
    outside = share_of(labels < 0, journeys)
    # each optimum by itself: what looks like one mode to a wide component may be many
    single = np.array([one.basin for one in found.optima], dtype=np.int64)
    truncated = len(found.optima) >= MAX_OPTIMA
    missed = unseen(single, found.checked, found.elsewhere)
    return Modes(tuple(table[k] for k in order), missed, outside, truncated, found.planted)


def _labels(mixture: Mixture, mode_of: IntArray, points: FloatArray) -> IntArray:
    """Return the mode of each point, or -1."""
    nearest = mixture.nearest(points)
    return np.where(nearest < 0, -1, mode_of[nearest])


def _basins(mixture: Mixture, mode_of: IntArray, found: Search) -> IntArray:
    """Return how many climbs from independent draws of the reference led to each mode."""
    counts = np.zeros(mode_of.max() + 1, dtype=np.int64)
    if found.optima:
        labels = _labels(mixture, mode_of, np.array([one.point for one in found.optima]))
        known = labels >= 0
        np.add.at(counts, labels[known], np.array([one.basin for one in found.optima])[known])
    return counts


def _mode(
    target: PreparedTarget,
    landscape: TargetLandscape,
    mixture: Mixture,
    components: BoolArray,
    inside: BoolArray,
    journeys: IntArray,
    log_evidence: Estimate,
) -> Mode:
    """Return one mode: its draws, and the component of largest weight in it."""
    largest = int(np.flatnonzero(components)[mixture.weights[components].argmax()])
    factor = mixture.factors[largest]
    # components are wider than the target
    spread = (factor if factor.ndim == 1 else np.sqrt((factor**2).sum(axis=1))) / math.sqrt(INFLATION)
    centre = mixture.centres[largest]
    state, low, high = landscape.variables(np.stack([centre, centre - spread, centre + spread]))[0]
    weight, n_journeys = share_of(inside, journeys), len(np.unique(journeys[inside]))
    values = {name: value[0] for name, value in target.values(state[None]).items()}
    return Mode(values, 0.5 * np.abs(high - low), weight, n_journeys, log_evidence)
