"""Masses of ellipsoids against exact ones, and discrepancies of draws and evidence that were planted."""

import math

import numpy as np
import pytest
from landscapes import FunctionLandscape, covariance_of, quadratic
from scipy import stats
from scipy.special import i0e

from sterna.search import mass
from sterna.search.curvature import Optimum
from sterna.search.ellipsoid import INSIDE, Ellipsoid
from sterna.search.mass import bounds, mass_around, weighted_draws
from sterna.search.missed_mass import Draws, discrepancies
from sterna.search.shares import lower_share, upper_mass, upper_share
from sterna.search.starts import along_the_diagonal, in_turn, with_other_integers
from sterna.tuning.estimate import Estimate

LEVEL = 1 - 1e-6


@pytest.mark.parametrize("dimension", [1, 5, 20])
def test_the_mass_of_a_normal_distribution_in_its_ellipsoid(dimension):
    """The ellipsoid holds the share INSIDE, by definition. Each of the bounds fails once in 1e6."""
    covariance, mean = covariance_of(dimension), np.zeros(dimension)
    landscape = FunctionLandscape(quadratic(mean, covariance)[0], dimension)
    region = Ellipsoid(mean, np.linalg.cholesky(covariance))
    ((points, log_weights),) = weighted_draws(landscape, region, 4000, np.random.default_rng(1))
    assert region.holds(points, landscape).all()
    log_mean, log_lower, log_upper = bounds(log_weights, LEVEL)
    assert log_lower < math.log(INSIDE) < log_upper
    assert log_upper - log_lower < 0.5
    assert log_lower < log_mean < log_upper


def test_the_mass_of_a_uniform_density_is_its_volume():
    landscape = FunctionLandscape(lambda x: np.zeros(len(x)), 3)
    region = Ellipsoid(np.ones(3), np.diag([0.1, 1.0, 10.0]))
    ((_, log_weights),) = weighted_draws(landscape, region, 4000, np.random.default_rng(2))
    log_volume = math.log(4 / 3 * math.pi) + 1.5 * math.log(region.radius)
    log_mean, log_lower, log_upper = bounds(log_weights, LEVEL)
    assert log_lower < log_volume < log_upper
    assert abs(log_mean - log_volume) < 0.2


def test_the_ellipsoid_is_fitted_to_a_skewed_density():
    """Of a Gamma variable's logarithm with shape 1: the mass is below 1, and most of it is inside."""
    landscape = FunctionLandscape(lambda u: (u - np.exp(u)).sum(axis=1), 2)
    found = mass_around(landscape, Optimum(np.zeros(2), -2.0, np.eye(2)), LEVEL, np.random.default_rng(3), 8000)
    assert found.region.centre[0] < -0.2  # the mean is -0.577, and inside the first ellipsoid -0.3
    assert math.log(0.8) < found.log_mean < found.log_upper
    assert found.log_lower < 0


def test_heavy_weights_can_only_lower_the_lower_bound():
    """Pareto weights of index 1.1, whose mean is 11: their mean is rarely near, and the bound must hold for all."""
    rng = np.random.default_rng(4)
    lower = [bounds(np.log(rng.pareto(1.1, 500) + 1), 0.999)[1] for _ in range(300)]
    assert max(lower) < math.log(11)
    uppers = [bounds(np.log(rng.pareto(0.5, 500) + 1), 0.999)[2] for _ in range(100)]
    assert np.isinf(uppers).mean() > 0.9


def test_one_huge_weight_does_not_hide_the_others():
    weights = np.ones(1000)
    weights[-1] = 1e9
    assert bounds(np.log(weights), LEVEL)[1] == pytest.approx(0, abs=0.1)


def test_proposals_in_parts_are_those_of_one_part(monkeypatch):
    landscape = FunctionLandscape(lambda x: -0.5 * (x**2).sum(axis=1), 3)
    region = Ellipsoid(np.zeros(3), np.eye(3))
    (whole,) = weighted_draws(landscape, region, 100, np.random.default_rng(2))
    monkeypatch.setattr(mass, "MAX_COORDINATES", 50)
    parts = list(weighted_draws(landscape, region, 100, np.random.default_rng(2)))
    assert len(parts) == 7
    np.testing.assert_array_equal(np.concatenate([points for points, _ in parts]), whole[0])
    np.testing.assert_array_equal(np.concatenate([weights for _, weights in parts]), whole[1])


def test_an_ellipsoid_holds_points_with_its_integers():
    region = Ellipsoid(np.array([2.0, 0.0, 0.0]), np.array([[1.0, 0.0], [2.0, 1.0]]))
    landscape = FunctionLandscape(None, 3, integers=1)
    points = np.array([[2.0, 1.0, 2.0], [2.0, 1.0, -2.0], [3.0, 1.0, 2.0]])
    np.testing.assert_allclose(region.distances(points, landscape), [1, 17, np.inf])
    assert region.holds(points, landscape).tolist() == [True, False, False]


def test_an_ellipsoid_on_a_circle_holds_points_any_number_of_turns_away():
    landscape = FunctionLandscape(None, 2, periods=np.array([24.0, 0.0]))
    region = Ellipsoid(np.array([23.0, 0.0]), np.eye(2))
    points = np.array([[0.0, 0.0], [1.5, 0.0], [-25.0, 0.0], [23.0, 24.0]])
    np.testing.assert_allclose(region.distances(points, landscape), [1, 6.25, 0, 576])


@pytest.mark.parametrize("kappa", [0.3, 1.0, 30.0])
def test_an_ellipsoid_longer_than_the_circle_counts_it_once(kappa):
    """The mass of a density on the circle is 1, also if it is nearly flat. Each bound fails once in 1e6."""
    landscape = FunctionLandscape(
        lambda x: kappa * (np.cos(x[:, 0] - 2.0) - 1) - math.log(2 * math.pi * i0e(kappa)), 1, periods=2 * math.pi
    )
    region = Ellipsoid(np.array([2.0 + 6 * math.pi]), np.array([[max(2.0, 2 / math.sqrt(kappa))]]))
    ((_, log_weights),) = weighted_draws(landscape, region, 4000, np.random.default_rng(1))
    _, log_lower, log_upper = bounds(log_weights, LEVEL)
    assert log_lower < 0 < log_upper


def test_bounds_of_weights_that_are_all_zero():
    assert bounds(np.full(100, -np.inf), LEVEL) == (-math.inf, -math.inf, math.inf)


def test_bounds_of_shares():
    none, some = np.zeros(1000), np.arange(1000) < 200
    assert upper_share(none, 50, 0.999) == pytest.approx(1 - 0.001 ** (1 / 50))
    assert upper_share(some, 50, 0.99) == pytest.approx(stats.binomtest(10, 50).proportion_ci(0.98).high)
    assert lower_share(some, 50, 0.99) == pytest.approx(stats.binomtest(10, 50).proportion_ci(0.98).low)
    assert upper_share(np.ones(10), 5, 0.99) == 1
    assert lower_share(none, 5, 0.99) == 0


# ------------------------------------------------------------------------------------------------ discrepancies

CENTRES, WIDTHS, WEIGHTS = np.array([[-4.0] * 3, [4.0] * 3]), np.array([1.0, 0.2]), np.array([0.7, 0.3])


def two_modes(x):
    squares = ((x[:, None] - CENTRES) ** 2).sum(axis=2)
    parts = np.log(WEIGHTS) - 0.5 * squares / WIDTHS**2 - 3 * np.log(WIDTHS) - 1.5 * math.log(2 * math.pi)
    return np.logaddexp.reduce(parts, axis=1)


OPTIMA = [
    Optimum(centre, float(two_modes(centre[None])[0]), width * np.eye(3))
    for centre, width in zip(CENTRES, WIDTHS, strict=True)
]


def compared(shares, log_evidence, size=400.0, seed=1):
    """Compare exact draws from the modes with these shares, and an estimate of log Z = 0, with both masses."""
    rng = np.random.default_rng(seed)
    modes = rng.choice(2, 1000, p=shares)
    draws = Draws(
        CENTRES[modes] + WIDTHS[modes, None] * rng.normal(size=(1000, 3)), size, Estimate(log_evidence, 0.05, 100.0)
    )
    return discrepancies(FunctionLandscape(two_modes, 3), OPTIMA, draws, 10_000, rng)


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_run_without_fault_has_no_discrepancy(seed):
    """A false alarm in less than 1e-3 of runs, by the bounds of three independent numbers at once, at most 1e-5."""
    found, estimated = compared(WEIGHTS, 0.03, seed=seed)
    assert found == []
    assert estimated >= 1


def test_mass_that_no_draw_has_found_is_missed():
    (found,), _ = compared([1.0, 0.0], math.log(0.7))
    assert found.missed
    np.testing.assert_allclose(found.centre, CENTRES[1], atol=0.1)
    assert math.log(0.2) < found.log_mass < math.log(0.3)
    # evidence plus five errors, and none of 400
    assert found.log_allowed == pytest.approx(math.log(0.7 * 0.02), abs=0.3)
    assert found.share == 0


def test_few_journeys_tell_little():
    """With three journeys, a mode of weight 0.3 may be absent by chance."""
    assert compared([1.0, 0.0], math.log(0.7), size=3.0)[0] == []


def test_an_evidence_that_is_too_large_is_found():
    (found, *_), _ = compared(WEIGHTS, 1.5)
    assert not found.missed
    assert found.log_mass < found.log_allowed


def test_a_budget_for_nothing_estimates_nothing():
    draws = Draws(np.zeros((10, 3)), 10.0, Estimate(0.0, 0.1))
    assert discrepancies(FunctionLandscape(two_modes, 3), OPTIMA, draws, 100, np.random.default_rng(1)) == ([], 0)
    unknown = Draws(np.zeros((10, 3)), 10.0, Estimate(math.nan, math.nan))
    assert discrepancies(FunctionLandscape(two_modes, 3), OPTIMA, unknown, 10_000, np.random.default_rng(1)) == ([], 0)


# ------------------------------------------------------------------------------------------------ starts


def test_starts_take_turns_and_all_ranks_come_early():
    groups = [np.zeros((3, 1)), np.ones((1, 1)), np.full((2, 1), 2.0)]
    assert in_turn(groups).ravel().tolist() == [0, 1, 2, 0, 2, 0]
    draws = np.random.default_rng(1).normal(size=(64, 5))
    points = along_the_diagonal(draws, np.ones(5, dtype=bool))
    ranks = (points[:, None] > draws).sum(axis=1)
    assert (ranks == ranks[:, :1]).all()
    # the median, then both quartiles
    assert ranks[:3, 0].tolist() == [32, 16, 48]
    assert sorted(ranks[:, 0]) == list(range(64))


def test_one_integer_comes_from_the_reference():
    free = np.array([True, False, False])
    points = with_other_integers(np.zeros((4, 3)), np.full((2, 3), 7.0), free)
    assert points.tolist() == [[0, 7, 0], [0, 0, 7], [0, 7, 0], [0, 0, 7]]


def test_the_largest_mass_that_no_draw_has_met():
    """With an exact evidence r of the rest, n draws miss the mass m with probability (r / (m + r))**n."""
    for n, level in ((20, 0.99), (74, 0.9997)):
        found = upper_mass(np.zeros(200), n, Estimate(-3.0, 1e-9), level)
        assert found == pytest.approx(-3.0 + math.log((1 - level) ** (-1 / n) - 1), abs=1e-6)
        # errors of the evidence raise it
        raised = [upper_mass(np.zeros(200), n, Estimate(-3.0, 0.1, freedom), level) for freedom in (math.inf, 5.0)]
        assert found < raised[0] < raised[1]
    # by less than the worst of evidence and share together
    worst = Estimate(-3.0, 0.1).interval(2 * level - 1)[1] + math.log(upper_share(np.zeros(200), n, level))
    assert raised[0] < worst - 0.1
    assert upper_mass(np.ones(200), 20.0, Estimate(-3.0, 0.1), 0.99) == math.inf


def test_bounds_of_huge_numbers_end():
    """Neighbouring numbers of 1e12 are 1e-4 apart, so that no bound is found to 1e-7 nats."""
    expected = 1e12 + math.log(0.01 ** (-1 / 20) - 1)
    assert upper_mass(np.zeros(200), 20, Estimate(1e12, 1e-9), 0.99) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("share", [0.03, 0.3])
@pytest.mark.parametrize("found_by_draws", [True, False])
def test_the_largest_mass_holds_as_often_as_it_says(share, found_by_draws):
    """The evidence has its own errors, or contains what the draws have found; 400 runs at 5 %, a false alarm in 1e4."""
    rng, n, wrong = np.random.default_rng(7), 50, 0
    for hits in rng.binomial(n, share, 400):
        missing = math.log1p(hits / n - share) if found_by_draws else 0.1 * rng.standard_normal()
        error = math.sqrt(share * (1 - share) / n) if found_by_draws else 0.1
        wrong += upper_mass(np.arange(n) < hits, n, Estimate(missing, error), 0.95) < math.log(share)
    assert wrong <= stats.binom.ppf(1 - 1e-4, 400, 0.05)
