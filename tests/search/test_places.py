"""Places where the target was looked at: where the next replicas begin, and what the mixture gets."""

import math

import numpy as np
import pytest
from scipy import stats

from sterna.search import places
from sterna.search.mixture import Mixture
from sterna.search.places import Places

# A mixture of one standard normal component, beside a prior that is uniform on [-20, 20].
MIXTURE = Mixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)), 0.1)
LOG_PRIOR = -math.log(40.0)


def at(points, log_targets):
    points = np.asarray(points, dtype=np.float64)[:, None]
    return Places(points, points, np.asarray(log_targets, dtype=np.float64), np.full(len(points), LOG_PRIOR))


def log_mixture(points):
    return np.log(0.9 * stats.norm.pdf(points) + 0.1 * math.exp(LOG_PRIOR))


def test_starts_are_drawn_by_the_squared_target_over_the_mixture():
    """Draws of the target N(1, 1) stand for it. False alarms: 1e-6 (five standard errors); the planted fault does not
    weight them."""
    draws = np.random.default_rng(1).normal(1.0, 1.0, 4000)
    grid = np.linspace(-5, 7, 20_001)
    weights = np.exp(2.0 * stats.norm.logpdf(grid, 1.0) - log_mixture(grid))
    mean = np.average(grid, weights=weights)
    sd = math.sqrt(np.average((grid - mean) ** 2, weights=weights))
    # resampling adds the noise of the 4000 draws, which stand for fewer after weighting
    squares = np.exp(stats.norm.logpdf(draws, 1.0) - log_mixture(draws))
    error = sd / math.sqrt(squares.sum() ** 2 / (squares**2).sum())
    found = at(draws, stats.norm.logpdf(draws, 1.0)).starts(MIXTURE, 2000, np.random.default_rng(2))
    assert abs(found.mean() - mean) < 5.0 * error
    unweighted = at(draws, log_mixture(draws)).starts(MIXTURE, 2000, np.random.default_rng(2))
    assert abs(unweighted.mean() - mean) > 10.0 * error


def test_the_worst_place_is_not_the_only_start():
    points = [0.0, 5.0, 10.0]
    known = at(points, log_mixture(np.array(points)) + np.array([0.0, 15.0, 400.0]))
    found = known.starts(MIXTURE, 10, np.random.default_rng(1))[:, 0]
    assert sorted(set(found)) == [5.0, 10.0]
    assert (found == 5.0).sum() == pytest.approx(5, abs=1)


def test_places_of_no_density_are_no_starts_unless_there_are_no_others():
    for bad in (-math.inf, math.nan):
        found = at([1.0, 2.0, 3.0], [bad, -1.0, bad]).starts(MIXTURE, 5, np.random.default_rng(1))
        assert (found == 2.0).all()
        found = at([1.0, 2.0], [bad, bad]).starts(MIXTURE, 4, np.random.default_rng(1))
        assert set(found[:, 0]) == {1.0, 2.0}


def test_what_the_mixture_lacks_gets_a_component():
    """A cloud where the target is e^10 times denser than the mixture; where they agree nothing is added."""
    cloud = np.linspace(9.5, 10.5, 40)
    same = np.linspace(-2, 2, 40)
    found = at(cloud, log_mixture(cloud) + 10.0).and_others(at(same, log_mixture(same))).covered(MIXTURE)
    assert len(found.weights) > 1
    assert (np.abs(found.centres[1:, 0] - 10.0) < 1.0).all()
    assert at(same, log_mixture(same)).covered(MIXTURE) is MIXTURE


def test_many_places_are_thinned(monkeypatch):
    monkeypatch.setattr(places, "MAX_PLACES", 50)
    points = np.arange(90.0)
    together = at(points[:60], points[:60]).and_others(at(points[60:], points[60:]))
    assert len(together.states) == 45
    np.testing.assert_array_equal(together.log_targets, together.states[:, 0])
    np.testing.assert_array_equal(together.states[:, 0], points[::2])


def test_only_replicas_that_stay_where_the_mixture_lacks_something_count():
    """One of three stays, one goes back, and one is there for moments before the last places."""
    scans = places.LAST + 4
    walks = np.zeros((scans, 3))
    walks[:, 0] = walks[:4, 1] = walks[:2, 2] = 10.0
    points = walks.ravel()
    found = at(points, log_mixture(points) + np.where(points > 5.0, 10.0, 0.0)).of_those_that_stay(MIXTURE, 3)
    np.testing.assert_array_equal(found.states, np.full((scans, 1), 10.0))
    np.testing.assert_array_equal(found.log_priors, np.full(scans, LOG_PRIOR))


def test_places_beyond_all_draws_are_left_out():
    rng = np.random.default_rng(7)
    references, draws = rng.uniform(-20, 20, (500, 1)), rng.normal(300.0, 1.0, (500, 1))
    box = places.box_of(references, draws)
    # the span of the reference once more, and the target although it is outside of that
    kept = at([-1e87, -70.0, -50.0, 0.0, 300.0, 304.0, 320.0, math.nan, math.inf], np.zeros(9)).inside(box)
    assert kept.points[:, 0].tolist() == [-50.0, 0.0, 300.0, 304.0]
    # a few draws that have run away do not widen it
    draws[:50] = 1e87
    assert places.box_of(references, draws)[1, 0] < 400.0


def test_without_places_the_mixture_stays():
    none = at([1e87], [0.0]).inside(np.array([[-1.0], [1.0]]))
    assert none.covered(MIXTURE) is MIXTURE
