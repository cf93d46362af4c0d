"""Tail probabilities by integrals along coordinates, and the shape of the log-likelihood's tail, against exact ones."""

import math

import numpy as np
import pytest
from landscapes import FunctionLandscape
from scipy import stats

from sterna.search import outwards
from sterna.search.light_reference import upper_tail
from sterna.search.pareto import pareto_shape
from sterna.search.tails import FARTHEST, N_SIDE, NEAREST, light_tails, tail_share

DISTANCES = np.geomspace(NEAREST, FARTHEST, N_SIDE)
PLACES = np.concatenate([-DISTANCES[::-1], [0.0], DISTANCES])


@pytest.mark.parametrize("distribution", [stats.cauchy(), stats.t(3), stats.norm(), stats.norm(0.3), stats.laplace()])
def test_integrals_along_a_line(distribution):
    """A light tail may be taken for less than it is, none for more."""
    for low, high in ((-1.0, 2.0), (-3.0, 3.0), (-math.inf, 1.5)):
        truth = distribution.cdf(low) + distribution.sf(high)
        assert 0.5 * truth < tail_share(distribution.logpdf(PLACES), DISTANCES, low, high) < 1.1 * truth


@pytest.mark.parametrize("k", [1, 3])
def test_a_heavy_tail_is_a_straight_line_in_the_logarithm_of_the_distance(k):
    for end in (10.0, 50.0):
        found = tail_share(stats.t(k).logpdf(PLACES), DISTANCES, -end, end)
        assert found == pytest.approx(2 * stats.t(k).sf(end), rel=0.08)


def independent(distribution):
    return lambda x: distribution.logpdf(x).sum(axis=1)


def missed_tails(draws, reference, size=500.0):
    dimension = draws.shape[1]
    landscape = FunctionLandscape(independent(stats.cauchy()), dimension, reference=independent(reference))
    return light_tails(landscape, draws, size, np.ones((dimension, 2), dtype=bool), 20_000)[0]


@pytest.mark.parametrize("dimension", [1, 3])
def test_tails_that_draws_have_missed(dimension):
    rng = np.random.default_rng(1)
    draws = stats.cauchy.rvs(size=(20_000, dimension), random_state=rng)
    inside = draws[(np.abs(draws) < 10).all(axis=1)][:2000]
    found = missed_tails(inside, stats.norm(0, 3))
    assert {tail.coordinate for tail in found} == set(range(dimension))
    worst = found[0]
    assert worst.share == 0
    assert worst.low < -9
    assert worst.high > 9
    assert 0.05 < worst.probability < 0.07  # 0.0635 beyond 10
    assert worst.allowed == pytest.approx(1 - (0.001 / 3 / dimension) ** (1 / 500))


def test_a_budget_that_is_overdrawn_pays_for_nothing():
    landscape = FunctionLandscape(independent(stats.cauchy()), 40, reference=independent(stats.norm()))
    for budget in (-500, 0, 10):
        assert light_tails(landscape, np.zeros((10, 40)), 10.0, np.ones((40, 2), dtype=bool), budget) == ([], False)
    assert landscape.spent == 0


def test_a_narrow_mode_far_away_is_no_tail():
    """The first line goes through a draw of the smaller mode, and does not see the larger one."""
    rng = np.random.default_rng(3)
    small = rng.random(2000) < 0.12
    small[0] = True
    draws = np.where(small, -2.0, 2.0)[:, None] + 0.05 * rng.standard_normal((2000, 1))
    modes = stats.norm(-2.0, 0.05), stats.norm(2.0, 0.05)
    landscape = FunctionLandscape(
        lambda x: np.logaddexp(math.log(0.12) + modes[0].logpdf(x), math.log(0.88) + modes[1].logpdf(x)).sum(axis=1),
        1,
        reference=independent(stats.norm(0.5, 1.0)),
    )
    assert light_tails(landscape, draws, 500.0, np.ones((1, 2), dtype=bool), 20_000) == ([], False)


@pytest.mark.parametrize("first", [-6.2, -5.0, 4.0, 5.5])
def test_a_draw_in_the_tail_is_not_taken_for_the_bulk(first):
    """The first line of a single coordinate goes through the first draw."""
    draws = stats.cauchy.ppf(np.linspace(0.05, 0.95, 2000))[:, None]
    draws[0] = first
    (found,) = missed_tails(draws, stats.norm(0, 3))
    truth = stats.cauchy.cdf(found.low) + stats.cauchy.sf(found.high)
    assert found.probability == pytest.approx(truth, rel=0.1)


def test_tails_that_draws_have_found_or_that_the_reference_knows():
    """Three thresholds for each of two coordinates: a false alarm once in 1000 if the reference were lighter."""
    rng = np.random.default_rng(2)
    draws = stats.cauchy.rvs(size=(2000, 2), random_state=rng)
    assert missed_tails(draws, stats.norm(0, 3)) == []
    inside = draws[(np.abs(draws) < 10).all(axis=1)]
    assert missed_tails(inside, stats.cauchy(0, 5)) == []


def test_a_bounded_coordinate_has_no_tails():
    landscape = FunctionLandscape(independent(stats.cauchy()), 1, reference=independent(stats.norm()))
    assert light_tails(landscape, np.zeros((100, 1)), 100.0, np.zeros((1, 2), dtype=bool), 10_000) == ([], False)
    assert light_tails(landscape, np.zeros((100, 1)), 100.0, np.ones((1, 2), dtype=bool), 50) == ([], False)


@pytest.mark.parametrize("shape", [-1.0, -0.5, 0.0, 0.7, 2.0])
def test_pareto_shape(shape):
    """The standard error is (1 + shape) / sqrt(n), at most 0.05; a false alarm beyond six of them, 2e-9."""
    x = stats.genpareto(shape).rvs(size=4000, random_state=np.random.default_rng(3))
    assert pareto_shape(x) == pytest.approx(shape, abs=6 * max(0.3, 1 + shape) / math.sqrt(4000))


def test_pareto_shape_of_too_few():
    assert pareto_shape(np.zeros(100)) == -math.inf


def heavy(draws, reference, target):
    return upper_tail((target.logpdf(draws) - reference.logpdf(draws)).sum(axis=1), draws)


def test_a_reference_lighter_than_the_target():
    """Under a normal reference, Student's distribution with k degrees of freedom has the shape 2 / k."""
    rng = np.random.default_rng(4)
    for k, harmful in ((1, True), (3, False)):
        draws = stats.t(k).rvs(size=(4000, 1), random_state=rng)
        found = heavy(draws, stats.norm(), stats.t(k))
        assert found.shape == pytest.approx(2 / k, abs=0.5)
        assert found.is_heavy is harmful


@pytest.mark.parametrize("dimension", [1, 30])
def test_a_reference_that_is_heavy_enough(dimension):
    rng = np.random.default_rng(5)
    normal = rng.normal(size=(4000, dimension))
    assert heavy(normal, stats.norm(0, 5), stats.norm()).shape < 0.2
    assert heavy(normal, stats.norm(4, 1), stats.norm()).shape < 0.2
    student = stats.t(3).rvs(size=(4000, dimension), random_state=rng)
    assert not heavy(student, stats.cauchy(0, 3), stats.t(3)).is_heavy


@pytest.mark.parametrize("share", [0.01, 0.03, 0.3])
def test_a_narrow_mode_is_no_tail(share):
    """Its draws are far out and have high likelihoods, which do not grow with the distance."""
    rng = np.random.default_rng(6)
    narrow = rng.random(4000) < share
    x = np.where(narrow, 20 + 1e-8 * rng.normal(size=4000), rng.normal(size=4000))
    density = np.logaddexp(math.log(share) + stats.norm(20, 1e-8).logpdf(x), stats.norm().logpdf(x))
    assert not upper_tail(density - stats.norm(0, 30).logpdf(x), x[:, None]).is_heavy


def test_too_few_draws_tell_nothing():
    assert upper_tail(np.arange(300.0), np.zeros((300, 1))).shape == -math.inf
    assert upper_tail(np.arange(3000.0), np.zeros((3000, 0))).shape == -math.inf


def farthest_and_rows(target, draws):
    """Return how far the integrals go, and how many rows beyond the draws they evaluate."""
    seen = []

    def function(x):
        seen.append(np.abs(x).max(axis=1))
        return independent(target)(x)

    landscape = FunctionLandscape(function, 1, reference=independent(stats.norm()))
    light_tails(landscape, draws, 500.0, np.ones((1, 2), dtype=bool), 20_000)
    distances = np.concatenate(seen)
    return distances.max(), int((distances > np.abs(draws).max()).sum())


def test_a_line_ends_where_no_mass_is_left():
    """A normal density has 1e-4 of its mass beyond four standard deviations, one of Cauchy 1e-3 beyond 640."""
    p = np.linspace(0.001, 0.999, 2000)[:, None]
    assert farthest_and_rows(stats.norm(), stats.norm.ppf(p))[0] < 8
    # twice as many for the last step
    assert 100 < farthest_and_rows(stats.cauchy(), stats.cauchy.ppf(0.1 + 0.8 * p))[0] < 1300


def test_evaluations_that_are_slow_far_out_end_the_look_at_the_tails(monkeypatch):
    """Each takes two seconds beyond 50, so that one is enough; what is nearer still tells of the tail."""
    clock = [0.0]
    monkeypatch.setattr(outwards.time, "perf_counter", lambda: clock[0])

    def function(x):
        slow = np.abs(x).max(axis=1) > 50
        clock[0] += 1e-5 * len(x) + 2.0 * slow.sum()
        return independent(stats.cauchy())(x)

    landscape = FunctionLandscape(function, 3, reference=independent(stats.norm()))
    draws = stats.cauchy.ppf(np.random.default_rng(1).uniform(0.05, 0.95, (2000, 3)))
    tails, too_slow = light_tails(landscape, draws, 500.0, np.ones((3, 2), dtype=bool), 20_000)
    assert too_slow
    assert 2.0 < clock[0] < 2.1
    assert tails[0].probability > 0.05
