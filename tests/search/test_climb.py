"""Climbs end at the optimum of a quadratic, wherever they begin, with differences and with a gradient."""

import numpy as np
import pytest
from landscapes import FunctionLandscape, covariance_of, quadratic
from scipy import optimize

from sterna.search.climb import ENOUGH_NATS, climb
from sterna.search.curvature import Optimum, curvature_at, positive_factor
from sterna.search.hill import Hills, hill_of
from sterna.search.search import Search, search

D = 6
MEAN = np.linspace(-3, 3, D)


@pytest.mark.parametrize("with_gradient", [False, True])
def test_climbs_end_at_the_optimum_of_a_quadratic(with_gradient):
    covariance = covariance_of(D)
    value, gradient = quadratic(MEAN, covariance)
    landscape = FunctionLandscape(value, D, gradient if with_gradient else None)
    widths = np.sqrt(np.diagonal(covariance))
    starts = MEAN + 30 * widths * np.random.default_rng(1).normal(size=(20, D))
    ended = climb(landscape, starts, widths * np.geomspace(0.1, 10, D))
    assert not ended.stopped.any()
    # promises are estimates; a draw lies 3 nats below the optimum
    assert (value(MEAN[None])[0] - ended.values < 20 * ENOUGH_NATS).all()
    np.testing.assert_allclose(value(ended.points), ended.values, rtol=1e-12)


def test_climbs_along_a_narrow_ridge_and_from_the_edge_of_the_support():
    def banana(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log(x[:, 0] + 2) - 50 * (x[:, 1] - x[:, 0] ** 2) ** 2 - 0.5 * (1 - x[:, 0]) ** 2

    best = (np.sqrt(13) - 1) / 2  # 1 / (x + 2) = x - 1
    for start in ([-1.9, 4.0], [-1.9999, 0.0], [3.0, -3.0], [0.0, 0.0]):
        found = search(FunctionLandscape(banana, 2), np.array([start]), np.ones(2), 1000, Search())
        (optimum,) = found.optima
        assert banana(np.array([[best, best**2]]))[0] - optimum.value < 1.0  # where draws are, too


def test_integers_stay_as_they_are():
    landscape = FunctionLandscape(lambda x: -0.5 * (x[:, 1] - x[:, 0]) ** 2, 2, integers=1)
    ended = climb(landscape, np.array([[3.0, 0.0], [-2.0, 5.0]]), np.ones(2))
    np.testing.assert_allclose(ended.points, [[3, 3], [-2, -2]], atol=0.2)
    assert (ended.points[:, 0] == [3, -2]).all()


@pytest.mark.parametrize("with_gradient", [False, True])
def test_the_curvature_of_a_quadratic_is_exact(with_gradient):
    covariance = covariance_of(D)
    value, gradient = quadratic(MEAN, covariance)
    landscape = FunctionLandscape(value, D, gradient if with_gradient else None)
    factor, slopes = curvature_at(landscape, MEAN, float(value(MEAN[None])[0]), np.full(D, 0.1), 1000)
    np.testing.assert_allclose(factor @ factor.T, covariance, rtol=1e-4)
    np.testing.assert_allclose(slopes * np.sqrt(np.diagonal(covariance)), 0, atol=1e-6)
    # Laplace's mass of a normal distribution is 1
    assert abs(Optimum(MEAN, float(value(MEAN[None])[0]), factor).log_mass) < 1e-4


def test_a_flat_direction_has_a_bounded_width():
    landscape = FunctionLandscape(lambda x: -0.5 * ((x[:, 0] + x[:, 1]) / 0.1) ** 2, 2)
    factor, _ = curvature_at(landscape, np.zeros(2), 0.0, np.full(2, 0.02), 1000)
    covariance = factor @ factor.T
    across = np.ones(2) @ np.linalg.inv(covariance) @ np.ones(2) / 4
    np.testing.assert_allclose(across, 1 / 0.1**2, rtol=0.01)
    assert np.linalg.eigvalsh(covariance)[1] < 1


def test_a_hill_is_the_quadratic_of_the_variables():
    """A normal density in a box, as wide as the box: on the line its optimum and curvature are others."""
    mean, sd = np.array([1.0, -2.0]), np.array([1.5, 0.7])
    landscape = FunctionLandscape(quadratic(mean, np.diag(sd**2))[0], 2, half=3.0)

    def slope(u):
        x, logs = landscape.variables(u[None])
        return -(x[0] - mean) / sd**2 * np.exp(logs[0]) - np.tanh(0.5 * u)

    point = optimize.root(slope, np.zeros(2), tol=1e-12).x
    curvature = -(slope(point + 1e-5) - slope(point - 1e-5)) / 2e-5
    hill = hill_of(landscape, Optimum(point, float(landscape.values(point[None])[0]), np.diag(curvature**-0.5)))
    np.testing.assert_allclose(hill.slope, -(hill.state - mean) / sd**2, rtol=1e-5)
    np.testing.assert_allclose(np.diagonal(hill.curvature), sd**-2, rtol=1e-4)


def test_one_evaluation_tells_the_hill_of_a_point():
    """In a box, the density of the variables is quadratic, that on the line is not."""
    covariance = covariance_of(4, 0.5, (0.3, 0.6))
    first, second = (quadratic(np.full(4, m), covariance)[0] for m in (-3.0, 2.0))
    landscape = FunctionLandscape(lambda x: np.logaddexp(first(x), second(x)), 4, half=10.0)
    ended = climb(landscape, np.full((1, 4), -0.5), np.full(4, 0.1))
    factor, _ = curvature_at(landscape, ended.points[0], float(ended.values[0]), ended.steps[0], 1000)
    hills = Hills((hill_of(landscape, Optimum(ended.points[0], float(ended.values[0]), factor)),))
    points = np.random.default_rng(2).normal(size=(500, 4)) * 2
    values, states = landscape.values(points), landscape.variables(points)[0]
    margin = first(states) - second(states)
    assert hills.holds(landscape, points[margin > 1], values[margin > 1], far=True)[0].all()
    clear = margin < -0.1 * np.abs(first(states)) - 2
    assert clear.sum() > 100
    assert not hills.holds(landscape, points[clear], values[clear], far=True).any()
    near = hills.holds(landscape, points, values, far=False)[0]
    assert not near[margin < 0].any()


def test_a_search_finds_all_optima_within_its_budget():
    rng = np.random.default_rng(3)
    centres = rng.uniform(-8, 8, (7, 3))
    widths = np.array([0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6])

    def value(x):
        squares = ((x[:, None] - centres) ** 2).sum(axis=2)
        return np.logaddexp.reduce(-0.5 * squares / widths**2 - 3 * np.log(widths), axis=1)

    landscape = FunctionLandscape(value, 3, half=10.0)
    found = search(landscape, rng.normal(size=(5000, 3)) * 1.8, np.full(3, 0.1), 30_000, Search())
    points = landscape.variables(np.array([optimum.point for optimum in found.optima]))[0]
    distances = np.abs(points[:, None] - centres).max(axis=2)
    assert (distances.min(axis=0) < 0.5 * widths).all()
    assert len(found.optima) == 7
    assert landscape.spent < 30_000 + 200
    # the next search knows them
    spent = landscape.spent
    again = search(landscape, rng.normal(size=(100, 3)), np.full(3, 0.1), 30_000, found)
    assert len(again.optima) == 7
    assert again.climbs == found.climbs + 100
    assert landscape.spent - spent < 30_000


def test_many_optima_in_many_dimensions_do_not_exceed_the_budget():
    """The curvature of one optimum takes a third of the budget: what is not affordable is not begun."""
    rng = np.random.default_rng(4)
    centres = rng.uniform(-8, 8, (12, 80))

    def value(x):
        return np.logaddexp.reduce(-2.0 * ((x[:, None] - centres) ** 2).sum(axis=2), axis=1)

    landscape = FunctionLandscape(value, 80)
    found = search(landscape, rng.uniform(-8, 8, (10_000, 80)), np.full(80, 0.5), 20_000, Search())
    assert landscape.spent < 1.1 * 20_000
    assert 1 <= len(found.optima) <= found.climbs <= 100


def test_the_factor_of_a_curvature_of_many_orders_of_magnitude_is_finite():
    widths = np.array([1e-9, 1.0, 1e9])
    # one direction is so steep that rounding hides that the others are flat
    for seed in range(20):
        steep = np.random.default_rng(seed).normal(size=3)
        factor = positive_factor(np.eye(3) + 1e20 * np.outer(steep, steep), widths)
        assert np.isfinite(factor).all()
        assert (np.diagonal(factor) > 0).all()
