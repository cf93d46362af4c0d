"""Gradients: of every distribution, through simplices and normal vectors, compiled and as Python, and on the line."""

import math

import numpy as np
import pytest
from ways import WAYS

import sterna
from sterna.engine.unconstrained import from_line, line_slope, log_jacobian, to_line
from sterna.ground.values import HUGE

Y = np.array([0.3, -1.2, 2.0])
COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])

DISTRIBUTIONS = {
    "Normal": sterna.Normal(1.0, 2.0),
    "HalfNormal": sterna.HalfNormal(2.0),
    "Uniform": sterna.Uniform(-1.0, 3.0),
    "LogUniform": sterna.LogUniform(0.1, 10.0),
    "Exponential": sterna.Exponential(2.0),
    "Gamma": sterna.Gamma(2.5, 1.5),
    "InverseGamma": sterna.InverseGamma(3.0, 2.0),
    "Beta": sterna.Beta(2.0, 3.5),
    "Cauchy": sterna.Cauchy(1.0, 2.0),
    "HalfCauchy": sterna.HalfCauchy(2.0),
    "StudentT": sterna.StudentT(3.0, 1.0, 2.0),
    "HalfStudentT": sterna.HalfStudentT(2.5, 2.0),
    "Laplace": sterna.Laplace(1.0, 2.0),
    "Logistic": sterna.Logistic(1.0, 2.0),
    "Gumbel": sterna.Gumbel(1.0, 2.0),
    "Weibull": sterna.Weibull(1.7, 2.0),
    "Pareto": sterna.Pareto(1.7, 0.2),
    "TruncatedNormal": sterna.TruncatedNormal(1.0, 2.0, -1.0, 4.0),
    "LogNormal": sterna.LogNormal(0.2, 0.7),
}


def differences(function, x, step=1e-6):
    """Central differences of a function of a vector."""
    found = []
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i], down[i] = x[i] + step, x[i] - step
        found.append((function(up) - function(down)) / (2 * step))
    return np.array(found)


def annealed(target, beta):
    def value(x):
        reference, likelihood = target.log_densities(x)
        return reference + beta * likelihood

    return value


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("beta", [0.0, 0.7])
def test_slope_of_every_distribution(name, beta):
    target = sterna.Target(lambda v: -0.3 * v * v, {"v": DISTRIBUTIONS[name]}, gradient=lambda v: -0.6 * v)
    for value in (0.31, 0.77):
        x = np.array([value])
        assert target.gradient(x, beta) == pytest.approx(differences(annealed(target, beta), x), rel=1e-6, abs=1e-7)


def log_likelihood(mu, s, w, v, k, y):
    spread = np.sum((y - mu) ** 2)
    return -0.5 * spread / s - y.size * np.log(s) + 2 * np.log(w[0]) + w[1] ** 2 - 0.5 * np.sum(v**4) + 0.1 * k


def gradient(mu, s, w, v, k, y):
    of_w = np.zeros(3)
    of_w[0], of_w[1] = 2 / w[0], 2 * w[1]
    return np.sum(y - mu) / s, 0.5 * np.sum((y - mu) ** 2) / s**2 - y.size / s, of_w, -2 * v**3


REFERENCE = {
    "mu": sterna.StudentT(3, 0, 2),
    "s": sterna.InverseGamma(2, 3),
    "w": sterna.Dirichlet([1.0, 2.0, 3.0]),
    "v": sterna.MultivariateNormal(np.array([1.0, 0.0]), COVARIANCE),
    "k": sterna.Poisson(3),
}


def points(n=5):
    rng = np.random.default_rng(0)
    return [np.array([rng.normal(), rng.gamma(2), *rng.beta(2, 2, 2), *rng.normal(size=2), 3.0]) for _ in range(n)]


@WAYS
def test_gradient_through_stored_coordinates(way):
    target = sterna.Target(log_likelihood, REFERENCE, {"y": Y}, gradient=way(gradient))
    for x in points():
        found = target.gradient(x, 0.7)
        assert found[:6] == pytest.approx(differences(annealed(target, 0.7), x)[:6], rel=1e-6, abs=1e-6)
        # integers have no slope
        assert found[6] == 0


def test_comparison_catches_a_gradient_that_forgets_the_stick():
    target = sterna.Target(log_likelihood, REFERENCE, {"y": Y}, gradient=gradient)
    x = points(1)[0]
    natural = np.array([2 / target.space.values(x)["w"][0], 2 * target.space.values(x)["w"][1]])
    likelihood = differences(lambda at: target.log_densities(at)[1], x)
    assert likelihood[2:4] != pytest.approx(natural, rel=0.05)


@WAYS
def test_gradient_of_a_flat_vector(way):
    def value(x, y):
        return -0.5 * np.sum((x - y) ** 2)

    def slope(x, y):
        return y - x

    target = sterna.Target(value, {"a": sterna.Normal(), "b": sterna.Normal(shape=2)}, {"y": Y}, gradient=way(slope))
    x = np.array([0.1, 0.2, 0.3])
    assert target.gradient(x, 0.5) == pytest.approx(-x + 0.5 * (Y - x))


@WAYS
def test_gradient_of_a_joint_reference(way):
    def draw(rng):
        scale = rng.exponential()
        parts = rng.dirichlet(np.ones(3))
        return scale, rng.normal(0.0, scale), parts

    def log_density(scale, effect, parts):
        inside = -scale - math.log(scale) - 0.5 * (effect / scale) ** 2 - 0.5 * math.log(2 * math.pi)
        return inside + math.log(2.0)

    def slope(scale, effect, parts):
        return -1 - 1 / scale + effect**2 / scale**3, -effect / scale**2, np.zeros(3)

    space = {"scale": sterna.Real(lower=0), "effect": sterna.Real(), "parts": sterna.Simplex(3)}
    reference = sterna.Reference(way(draw), way(log_density), space, gradient=way(slope))
    target = sterna.Target(
        lambda effect, parts: -0.5 * (effect - 1.0) ** 2 + parts[1],
        reference,
        gradient=lambda effect, parts: (1.0 - effect, np.array([0.0, 1.0, 0.0])),
    )
    x = np.array([0.8, -0.3, 0.4, 0.3])
    assert target.gradient(x, 0.6) == pytest.approx(differences(annealed(target, 0.6), x), rel=1e-6, abs=1e-7)


def test_without_a_gradient_there_is_none():
    target = sterna.models.discrete()
    assert not target.has_gradient
    with pytest.raises(sterna.TargetError, match="give gradient="):
        target.gradient(np.zeros(target.dimension))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3.0, "is not a function"),
        (lambda y: y, "no real variable"),
    ],
)
def test_bad_gradients_are_named(function, message):
    with pytest.raises(sterna.TargetError, match=message):
        sterna.Target(lambda v, y: v * y, {"v": sterna.Normal()}, {"y": 1.0}, gradient=function)


BOUNDS = [(-HUGE, HUGE), (0.0, HUGE), (-HUGE, 2.0), (-1.0, 3.0), (2.3e-308, 1.0)]


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
@pytest.mark.parametrize("u", [-8.0, -1.0, 0.0, 0.7, 5.0])
def test_line_and_back(lower, upper, u):
    x = from_line(u, lower, upper)
    assert lower <= x <= upper
    assert to_line(x, lower, upper) == pytest.approx(u, abs=1e-9)
    (slope,) = differences(lambda at: from_line(at[0], lower, upper), np.array([u]))
    assert log_jacobian(u, lower, upper) == pytest.approx(math.log(abs(slope)), abs=1e-6)

    def density(at):
        place = from_line(at[0], lower, upper)
        return math.sin(place) + log_jacobian(at[0], lower, upper)

    (expected,) = differences(density, np.array([u]))
    assert line_slope(math.cos(x), u, lower, upper) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_ends_of_the_line_stay_inside(lower, upper):
    for u in (-1e4, 1e4):
        assert lower <= from_line(u, lower, upper) <= upper
    for x in (max(lower, -1e300), min(upper, 1e300)):
        assert math.isfinite(to_line(x, lower, upper))
