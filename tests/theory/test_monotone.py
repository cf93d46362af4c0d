"""Monotone cubic interpolation against SciPy's Hermite spline, and the conditions of Fritsch and Carlson."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from sterna.theory.monotone import MonotoneCubic, monotone_cubic


def random_points(rng):
    """Increasing x and non-decreasing y with steps of very different sizes, some of them zero."""
    size = rng.integers(2, 30)
    x = np.cumsum(10.0 ** rng.uniform(-6, 0, size))
    steps = 10.0 ** rng.uniform(-8, 2, size - 1) * (rng.random(size - 1) > 0.2)
    return x, np.concatenate([[0.0], np.cumsum(steps)])


def cases(number=300):
    rng = np.random.default_rng(7)
    return [random_points(rng) for _ in range(number)]


def places(x, each=25):
    """Points all over the intervals, ends included."""
    within = np.linspace(0.0, 1.0, each)
    return np.unique(np.clip((x[:-1, None] + np.diff(x)[:, None] * within).ravel(), x[0], x[-1]))


def falls(curve):
    """How far the curve falls anywhere, beyond what rounding explains."""
    values = curve(places(curve.x))
    return np.diff(values).min() < -1e-12 * curve.y[-1]


def scale_of(curve):
    return max(curve.y[-1], 1e-300)


def test_values_are_those_of_the_hermite_spline_of_the_same_slopes():
    for x, y in cases():
        curve = monotone_cubic(x, y)
        exact = CubicHermiteSpline(x, y, curve.slopes)
        assert np.allclose(curve(places(x)), exact(places(x)), rtol=0, atol=1e-11 * scale_of(curve))


def test_comparison_catches_slopes_one_percent_off():
    x, y = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 2.0])
    curve = monotone_cubic(x, y)
    wrong = CubicHermiteSpline(x, y, 1.01 * curve.slopes)
    assert not np.allclose(curve(places(x)), wrong(places(x)), rtol=0, atol=1e-11 * scale_of(curve))


def test_derivative_is_that_of_the_hermite_spline():
    for x, y in cases():
        curve = monotone_cubic(x, y)
        exact = CubicHermiteSpline(x, y, curve.slopes).derivative()
        steepest = np.max(np.diff(y) / np.diff(x)) + 1e-300
        # at a point between two intervals both sides agree, as slopes are shared
        assert np.allclose(curve.derivative(places(x)), exact(places(x)), rtol=0, atol=1e-9 * steepest)


def test_curve_passes_through_its_points_and_has_its_slopes_there():
    for x, y in cases():
        curve = monotone_cubic(x, y)
        assert np.array_equal(curve(x), y)
        assert np.allclose(curve.derivative(x), curve.slopes, rtol=1e-12)


def test_curve_never_falls():
    for x, y in cases():
        curve = monotone_cubic(x, y)
        assert not falls(curve)
        # the conditions that guarantee it, not only the points looked at
        secants = np.diff(y) / np.diff(x)
        assert (curve.slopes >= 0).all()
        assert (np.hypot(curve.slopes[:-1], curve.slopes[1:]) <= 3 * secants * (1 + 1e-12)).all()


def test_check_catches_slopes_that_were_not_limited():
    x, y = np.arange(5.0), np.array([0.0, 0.0, 0.01, 5.0, 5.0])
    secants = np.diff(y)
    unlimited = np.concatenate([[secants[0]], 0.5 * (secants[:-1] + secants[1:]), [secants[-1]]])
    assert falls(MonotoneCubic(x, y, unlimited))


def test_slopes_are_mean_secants_where_that_is_monotone():
    x = np.array([0.0, 1.0, 2.0, 4.0])
    y = np.array([0.0, 1.0, 2.5, 4.5])
    assert np.allclose(monotone_cubic(x, y).slopes, [1.0, 1.25, 1.25, 1.0], rtol=1e-15)


def test_straight_line_stays_straight():
    x = np.array([0.0, 0.1, 0.7, 1.0])
    curve = monotone_cubic(x, 3.0 * x)
    assert np.allclose(curve(places(x)), 3.0 * places(x), rtol=1e-14)
    assert np.allclose(curve.derivative(places(x)), 3.0, rtol=1e-13)
    assert np.allclose(curve.inverse(3.0 * places(x)), places(x), rtol=0, atol=1e-15)


def test_flat_pieces_are_flat():
    x, y = np.arange(6.0), np.array([0.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    curve = monotone_cubic(x, y)
    assert (curve(np.linspace(1.0, 3.0, 50)) == 1.0).all()
    assert (curve(np.linspace(4.0, 5.0, 50)) == 2.0).all()
    assert (curve.derivative(np.linspace(1.0, 3.0, 50)) == 0.0).all()


def test_error_for_a_smooth_function_is_within_its_bound():
    """The bound for log(1 + 9 x): errors of the end's slope, of the inner slopes, and of the Hermite cubic itself."""
    second, third, fourth = 81.0, 2 * 729.0, 6 * 6561.0
    for size in (21, 41, 81, 161):
        x = np.linspace(0.0, 1.0, size)
        step = x[1]
        curve = monotone_cubic(x, np.log1p(9.0 * x))
        error = np.abs(curve(places(x)) - np.log1p(9.0 * places(x))).max()
        slopes = step * second / 2 + step**2 * third / 6
        assert error <= 4 / 27 * step * slopes + step**4 * fourth / 384


def test_inverse_returns_to_the_value():
    for x, y in cases():
        curve = monotone_cubic(x, y)
        wanted = np.linspace(0.0, y[-1], 200)
        found = curve.inverse(wanted)
        # a rounding of x moves the value by the slope there, which is at most three secants
        steepest = np.max(np.diff(y) / np.diff(x))
        allowed = 3 * steepest * 4e-16 * x[-1] + 1e-14 * scale_of(curve)
        assert np.abs(curve(found) - wanted).max() <= allowed
        assert (np.diff(found) >= 0).all()


def test_inverse_finds_the_place_of_an_increasing_curve():
    x = np.array([0.0, 1e-12, 1e-6, 0.3, 1.0])
    curve = monotone_cubic(x, np.array([0.0, 1.0, 2.0, 2.5, 4.0]))
    at = np.concatenate([1e-12 * np.linspace(0.0, 1.0, 20), np.linspace(0.01, 1.0, 20)])
    # slopes never vanish here, so places are as exact as values are
    assert (curve.slopes > 0).all()
    assert np.allclose(curve.inverse(curve(at)), at, rtol=1e-12, atol=1e-26)


def test_check_of_the_inverse_catches_linear_interpolation():
    x, y = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.2, 1.0])
    curve = monotone_cubic(x, y)
    wanted = np.linspace(0.0, 1.0, 50)
    assert np.abs(curve(np.interp(wanted, y, x)) - wanted).max() > 1e-3


def test_outside_the_points_the_nearest_counts():
    curve = monotone_cubic(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 3.0]))
    assert np.array_equal(curve([-1.0, 2.0]), [0.0, 3.0])
    assert np.allclose(curve.inverse([-1.0, 4.0]), [0.0, 1.0], atol=1e-15)


@pytest.mark.parametrize("at", [0.25, [0.25], [[0.25, 0.75]]])
def test_results_have_the_shape_of_what_was_asked(at):
    curve = monotone_cubic(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 3.0]))
    for answer in (curve(at), curve.derivative(at), curve.inverse(at)):
        assert answer.shape == np.shape(at)


def test_two_points_are_enough():
    curve = monotone_cubic(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    assert np.allclose(curve([0.0, 0.25, 1.0]), [0.0, 0.5, 2.0], rtol=1e-15)
