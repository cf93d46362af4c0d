"""Mixtures of normal distributions on the line, and paths that begin at one: densities, draws, gradients.

Draws are compared at 1e-5 per test of a column, so that all of them together raise a false alarm with probability at
most 1e-4.
"""

import math
from functools import cache

import numpy as np
import pytest
from annealed import law
from kernels import apply_bound, draws_of
from scipy import integrate, stats
from scipy.special import expit, logsumexp

import sterna
from sterna.engine.mixture_path import log_reference_of_path
from sterna.engine.program import LOG_REFERENCE_AND_PRIOR
from sterna.ground.compilation import address_of, as_address, compiled, floats_on_stack
from sterna.search.mixture import Mixture
from sterna.target.mixture_target import MixtureTarget

WEIGHTS = np.array([0.5, 0.3, 0.2])
CENTRES = np.array([[-1.0, 0.5, 0.3, -0.4], [1.0, -0.5, -0.8, 0.6], [0.2, 0.1, 1.5, -1.0]])
BELOW = np.tril(np.array([[0.0] * 4, [0.3, 0, 0, 0], [-0.2, 0.4, 0, 0], [0.1, -0.3, 0.2, 0]]))
FACTORS = np.array([np.diag([0.5, 0.8, 0.6, 0.4]) + BELOW, np.diag([1.0, 0.3, 0.5, 0.9]) - BELOW, np.eye(4)])
SPREADS = np.array([[0.5, 0.8, 0.6, 0.4], [1.0, 0.3, 0.5, 0.9], [1.0, 1.0, 1.0, 1.0]])


def log_likelihood(a, b, c, d):
    return -0.5 * (a - b) ** 2 + math.sin(c) * d


def gradient(a, b, c, d):
    return b - a, a - b, math.cos(c) * d, math.sin(c)


PRIOR = {
    "a": sterna.Normal(0.0, 2.0),
    "b": sterna.Exponential(0.5),
    "c": sterna.Uniform(-2.0, 3.0),
    "d": sterna.TruncatedNormal(0.0, 2.0, upper=1.5),
}


@cache
def target():
    """A variable without bounds, one with a lower bound, one with both, one with an upper bound."""
    return MixtureTarget(sterna.Target(log_likelihood, PRIOR, gradient=gradient).prepare())


def set_mixture(prior_share, full=True):
    target().set_mixture(Mixture(WEIGHTS, CENTRES, FACTORS if full else SPREADS, prior_share))
    return target()


def covariances(full):
    return [factor @ factor.T for factor in FACTORS] if full else [np.diag(spread**2) for spread in SPREADS]


def line_of(states):
    """Positions on the line, and the logarithm of their derivatives, in closed form."""
    a, b, c, d = np.transpose(states)
    line = np.column_stack([a, np.log(b), np.log((c + 2) / (3 - c)), np.log(1.5 - d)])
    return line, -np.log(b) + np.log(5 / ((c + 2) * (3 - c))) - np.log(1.5 - d)


def exact_log_q(states, prior_share, full):
    line, log_derivative = line_of(states)
    parts = [
        math.log(weight) + stats.multivariate_normal(centre, covariance).logpdf(line)
        for weight, centre, covariance in zip(WEIGHTS, CENTRES, covariances(full), strict=True)
    ]
    log_prior = [target().prior.log_reference(state) for state in states]
    with np.errstate(divide="ignore"):
        shares = np.log([1 - prior_share, prior_share])
    return np.logaddexp(shares[0] + logsumexp(parts, axis=0) + log_derivative, shares[1] + log_prior)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("prior_share", [0.0, 0.1])
def test_density_is_that_of_the_mixture_and_the_product_is_the_priors(full, prior_share):
    set_mixture(prior_share, full)
    states = draws_of(target().prior)(50)
    pairs = np.array([target().log_densities(state) for state in states])
    assert pairs[:, 0] == pytest.approx(exact_log_q(states, prior_share, full), rel=1e-12)
    of_prior = [sum(target().prior.log_densities(state)) for state in states]
    assert pairs.sum(axis=1) == pytest.approx(of_prior, rel=1e-12, abs=1e-12)


def walk(x, log_density, rng):
    proposal = x + 0.3 * rng.standard_normal(x.size)
    if np.log(rng.random()) < log_density(proposal) - log_density(x):
        x[:] = proposal


EXPLORERS = [
    sterna.Slice(),
    sterna.Metropolis(),
    sterna.Evolution(),
    sterna.Fitted(),
    sterna.HMC(),
    sterna.MALA(),
    sterna.AutoMALA(),
    sterna.Move(walk),
    sterna.Leaps(),
]


@compiled
def without_prior(x, log_prior, data):
    """Return the log-density of q, and keep that of the prior."""
    return log_reference_of_path(x, as_address(floats_on_stack(1)), data)


@pytest.mark.parametrize("explorer", EXPLORERS, ids=lambda explorer: explorer.name)
@pytest.mark.parametrize("is_right", [True, False])
def test_every_explorer_divides_by_the_density_of_q_where_it_has_moved(explorer, is_right):
    """That density and the prior's are evaluated once; planted fault: the prior's is that of another state."""
    set_mixture(0.1)
    bound = explorer.bind(target())
    states = draws_of(target())(20)
    if not is_right:
        address = address_of(without_prior, LOG_REFERENCE_AND_PRIOR)
        target().block[:] = target().program._replace(log_reference=address).block()
    try:
        after, log_densities, _ = apply_bound(target(), bound, states, 0.4)
    finally:
        target().block[:] = target().program.block()
    moved = (after != states).any(axis=1)
    assert moved.sum() > 5
    if is_right:
        assert log_densities[moved, 0] == pytest.approx(exact_log_q(after[moved], 0.1, True), rel=1e-10)
    of_prior = [sum(target().prior.log_densities(state)) for state in after[moved]]
    right = np.isclose(log_densities[moved, :2].sum(axis=1), of_prior, rtol=1e-10, atol=1e-10)
    assert right.all() if is_right else not right.any()


@pytest.mark.parametrize("full", [True, False])
def test_draws_are_those_of_the_mixture(full):
    """Every column, and a sum with unequal signs, which is wrong if the columns' dependence is."""
    set_mixture(0.0, full)
    line = line_of(draws_of(target())(20_000))[0]
    for direction in (*np.eye(4), np.array([1.0, -1.0, 0.5, 2.0])):
        means = CENTRES @ direction
        spreads = np.sqrt([direction @ covariance @ direction for covariance in covariances(full)])
        places = stats.norm.cdf((line @ direction)[:, None], means, spreads) @ WEIGHTS
        assert stats.kstest(places, "uniform", method="asymp").pvalue > 1e-5


def test_q_integrates_to_one_and_its_draws_have_its_density():
    """In one dimension, on an interval, with a quarter of the prior."""
    chosen = MixtureTarget(law("bimodal").target.prepare())
    chosen.set_mixture(Mixture(np.array([0.6, 0.4]), np.array([[-0.5], [1.5]]), np.array([[[0.1]], [[0.7]]]), 0.25))
    points = np.linspace(-10, 10, 20_001)
    density = np.exp([chosen.log_reference(np.array([point])) for point in points])
    cumulative = integrate.cumulative_simpson(density, x=points, initial=0)
    assert cumulative[-1] == pytest.approx(1.0, abs=1e-8)
    draws = draws_of(chosen)(20_000)[:, 0]
    assert stats.kstest(np.interp(draws, points, cumulative), "uniform", method="asymp").pvalue > 1e-5


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0, 2.0])
@pytest.mark.parametrize("prior_share", [0.0, 0.3])
def test_gradient_is_that_of_the_path(beta, prior_share):
    """Along the line, where steps of the same size suit all coordinates."""
    set_mixture(prior_share)
    line = CENTRES.repeat(4, axis=0) + 0.7 * np.random.default_rng(2).standard_normal((12, 4))
    for point in line:
        a, b, c, d = point
        state = np.array([a, math.exp(b), 5 * expit(c) - 2, 1.5 - math.exp(d)])
        slopes = np.array([1.0, math.exp(b), 5 * expit(c) * expit(-c), math.exp(d)])

        def value(x):
            reference, likelihood = target().log_densities(x)
            return reference + beta * likelihood

        steps = 1e-5 * np.diag(slopes)
        differences = [(value(state + step) - value(state - step)) / (2e-5) for step in steps]
        assert target().gradient(state, beta) * slopes == pytest.approx(differences, rel=1e-6, abs=1e-6)
