"""Points near an unknown narrow mode are not explained by the known optimum, whatever the shape of its hill."""

import numpy as np
import pytest
from landscapes import FunctionLandscape

import sterna.search.screen as screen
from sterna.search.curvature import Optimum

D, NARROW, CENTRE = 5, 0.4, np.array([5.0, -4.0, 3.0, -5.0, 4.0])


def normal(x):
    return -0.5 * (x**2).sum(axis=1)


def skewed(x):
    """A hill whose widths differ in opposite directions by a factor of 3."""
    return -0.5 * (np.where(x > 0, 0.1, 1.0) * x**2).sum(axis=1)


def bent(x):
    return -0.5 * (x[:, 0] ** 2 + (x[:, 1] - 0.5 * x[:, 0] ** 2) ** 2 + (x[:, 2:] ** 2).sum(axis=1))


def heavy(x):
    """Tails like those of Student's t distribution."""
    return -3.0 * np.log1p((x**2).sum(axis=1))


def pointed(x):
    return -2.0 * np.abs(x).sum(axis=1)


# Depths are powers of the distance from the optimum, on every ray.
POWERS = [normal, skewed, pointed]


def narrow(x):
    return D * np.log(1 / NARROW) - 0.5 * (((x - CENTRE) / NARROW) ** 2).sum(axis=1)


def scores_of(function, points):
    known = Optimum(np.zeros(D), 0.0, np.eye(D))
    landscape = FunctionLandscape(function, D)
    found = screen.unexplained(landscape, points, function(points), [known])
    # two evaluations at each point
    assert landscape.spent == 2 * len(points)
    return found


@pytest.mark.parametrize("hill", POWERS)
def test_powers_explain_all_their_draws(hill):
    points = np.random.default_rng(1).uniform(-10, 10, size=(20_000, D))
    assert scores_of(hill, points).max() < 1e-6


@pytest.mark.parametrize("hill", [bent, heavy])
def test_other_hills_explain_nearly_all(hill):
    points = np.random.default_rng(1).uniform(-10, 10, size=(20_000, D))
    assert (scores_of(hill, points) <= screen.EXPLAINED).mean() > 0.95


def test_a_hill_is_not_explained_if_its_degree_is_taken_for_two(monkeypatch: pytest.MonkeyPatch):
    """A planted fault."""

    def normal_only(start, first, second, height, predicted):
        curvature = (2.0 * first - start - second) / screen.STEP**2
        return np.abs(curvature / (height - first) - 2.0) / 4.0

    monkeypatch.setattr(screen, "mismatch", normal_only)
    points = np.random.default_rng(1).uniform(-10, 10, size=(20_000, D))
    assert (scores_of(pointed, points) <= screen.EXPLAINED).mean() < 0.01


@pytest.mark.parametrize("hill", POWERS)
def test_draws_near_an_unknown_mode_are_unexplained(hill):
    """At the border of the basins a ray may leave the mode at once, and there the curvature says nothing."""
    points = np.random.default_rng(2).uniform(-10, 10, size=(100_000, D))
    near = narrow(points) > hill(points) + 1.0
    found = scores_of(lambda x: np.logaddexp(hill(x), narrow(x)), points) > screen.EXPLAINED
    assert near.sum() < 400
    assert found[near].mean() > 0.5
    # further draws are at the border, where the other hill is higher
    assert found[narrow(points) < hill(points) - 40.0].mean() < 1e-3


def test_the_mismatch_of_a_power_is_zero_and_of_another_normal_mode_known():
    """A depth t**p has no mismatch; that of a normal mode at c is (x**2 / (x - c)**2 - 1) / 2 if the degree is 2.

    On the ray from x to 0 the slope is (x - c) x / width**2 and the curvature x**2 / width**2: here c is orthogonal to
    x - c, so that the degree is 2 and the ratio of the curvatures is x**2 / (x - c)**2.
    """
    at = 1.0 - np.array([0.0, screen.STEP, 2 * screen.STEP])
    for power in (1.0, 1.5, 2.0, 4.0):
        values = [np.array([-100.0 * t**power]) for t in at / at[1]]
        assert screen.mismatch(*values, np.zeros(1), -values[1])[0] == pytest.approx(0.0, abs=2e-3)
    x, c, width = np.array([3.0, 4.0]), np.array([3.0, 0.0]), 0.1
    values = [np.array([-0.5 * (((t * x - c) / width) ** 2).sum()]) for t in at / at[1]]
    # x - c = (0, 4), and (x - c) x = 16 = (x - c)**2
    expected = (2.0 * 25.0 / 16.0 - 2.0) / 4.0
    assert screen.mismatch(*values, np.zeros(1), -values[1])[0] == pytest.approx(expected, rel=1e-3)


def test_points_above_the_optimum_are_unexplained_and_points_at_it_are_not():
    higher, equal = np.full(3, 5.0), np.full(3, 0.3)
    assert np.isinf(screen.mismatch(higher, higher, higher, np.zeros(3), equal)).all()
    assert (screen.mismatch(equal, equal, equal, np.zeros(3), equal) == 0.0).all()


def test_a_budget_ends_the_rays():
    points = np.random.default_rng(1).uniform(-10, 10, size=(100, D))
    landscape = FunctionLandscape(normal, D)
    known = Optimum(np.zeros(D), 0.0, np.eye(D))
    assert (screen.unexplained(landscape, points, normal(points), [known], until=10) == 0.0).all()
    assert landscape.spent == 0


def test_an_unknown_mode_on_the_way_is_no_larger_power():
    """A mode of width 0.1 at 3, seen from 5 on the way to a wider one at 0: the degree is 2 * 5 / 2 = 5."""
    x, at = 5.0, 1.0 - np.array([0.0, screen.STEP, 2 * screen.STEP])
    values = [np.array([-0.5 * ((t * x - 3.0) / 0.1) ** 2]) for t in at / at[1]]
    depth = -values[1]
    # a hill of the degree 5 would be deeper than its curvature predicts, and this one is less deep
    assert screen.mismatch(*values, np.zeros(1), 0.5 * depth)[0] == pytest.approx((1 - 2 / 5) / 2, rel=0.02)
    assert screen.mismatch(*values, np.zeros(1), 3.0 * depth)[0] == pytest.approx((5 - 2) / 2, rel=0.02)
    assert screen.mismatch(*values, np.zeros(1), 1.7 * depth)[0] == pytest.approx(0.7, rel=0.02)
