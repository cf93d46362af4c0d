"""Slice sampling leaves annealed laws unchanged: from exact draws, ten updates, to exact draws.

Each comparison is a Kolmogorov-Smirnov or chi-square test at 1e-6, below 1e-4 for the whole file.
"""

import math

import numpy as np
import pytest
from kernels import apply, apply_bound
from plain import load
from scipy import stats

import sterna
from sterna.explorers.slice import Slice, explore

DRAWS = 60_000
LEVEL = 1e-6
BETAS = [0.0, 0.1, 0.5, 1.0]


def two_widths(x):
    # two modes, one ten times as wide as the other: a missing doubling test shows here
    narrow = math.exp(-0.5 * ((x + 3.0) / 0.15) ** 2) / 0.15
    wide = math.exp(-0.5 * ((x - 3.0) / 1.5) ** 2) / 1.5
    return math.log(narrow + wide + 1e-300)


def hill(k):
    return -0.3 * abs(k - 7.0) + (2.0 if k % 2 == 0 else 0.0)


def pull(p):
    return 3.0 * p - 2.0 * p * p


def grid_law(log_density, low, high, size=400_001):
    """Distribution function and exact draws of a one-dimensional law, by a fine grid."""
    x = np.linspace(low, high, size)
    logs = np.array([log_density(value) for value in x])
    density = np.exp(logs - logs.max())
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    cumulative /= cumulative[-1]
    return (lambda at: np.interp(at, x, cumulative)), (lambda u: np.interp(u, cumulative, x))


def p_value_two_widths(beta, kernel):
    target = sterna.Target(two_widths, {"x": sterna.Uniform(-10, 10)})
    cdf, quantile = grid_law(lambda x: beta * two_widths(x), -10, 10)
    states = quantile(np.random.default_rng(7).random(DRAWS))[:, None]
    after, logs = apply(target, kernel, states, beta, np.array([1.0, 1.0, 0.5]))
    assert np.allclose(logs[:100, 1], [two_widths(x) for x in after[:100, 0]], rtol=1e-9)
    return stats.kstest(after[:, 0], cdf).pvalue


@pytest.mark.parametrize("beta", BETAS)
def test_two_modes_of_unequal_widths(beta):
    assert p_value_two_widths(beta, explore) > LEVEL


FAULTS = {
    "no doubling test": ("            or reachable(", "            or True or reachable("),
    "level without the exponential": ("- exponential(stream)", "- 1.0"),
    "likelihood not annealed": ("    here = x[i]\n", "    here, beta = x[i], 1.0\n"),
    "interval doubled to one side only": ("if uniform(stream) < 0.5:", "if uniform(stream) < 2.0:"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    kernel = load("explorers/slice.py", [FAULTS[fault]], compiled=True).explore
    assert min(p_value_two_widths(beta, kernel) for beta in (0.1, 0.5)) < LEVEL


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("width", [1.0, 3.0, math.inf])
def test_integers(beta, width):
    target = sterna.Target(hill, {"k": sterna.DiscreteUniform(0, 20)})
    weights = np.exp(beta * np.array([hill(k) for k in range(21)]))
    weights /= weights.sum()
    states = np.random.default_rng(3).choice(21, size=DRAWS, p=weights)[:, None]
    after, _ = apply(target, explore, states, beta, np.array([1.0, 1.0, width]))
    assert stats.chisquare(np.bincount(after[:, 0].astype(int), minlength=21), weights * DRAWS).pvalue > LEVEL


def test_unbounded_integers():
    target = sterna.Target(hill, {"k": sterna.Poisson(6.0)})
    support = np.arange(60)
    weights = stats.poisson.pmf(support, 6.0) * np.exp(0.5 * np.array([hill(k) for k in support]))
    weights /= weights.sum()
    states = np.random.default_rng(3).choice(60, size=DRAWS, p=weights)[:, None]
    after, _ = apply(target, explore, states, 0.5, np.array([1.0, 1.0, 2.0]))
    counts = np.bincount(after[:, 0].astype(int), minlength=60)
    likely = weights * DRAWS > 10
    table = np.append(counts[likely], counts[~likely].sum()), np.append(weights[likely], weights[~likely].sum())
    assert stats.chisquare(table[0], table[1] * DRAWS).pvalue > LEVEL


@pytest.mark.parametrize("beta", BETAS)
def test_bounded_reals_with_their_density_at_the_edge(beta):
    target = sterna.Target(pull, {"p": sterna.Beta(0.5, 0.5)})
    edge = 1e-7
    # the arcsine law's own quantile makes the grid fine where the density is infinite
    u = np.linspace(edge, 1 - edge, 200_001)
    p = stats.beta(0.5, 0.5).ppf(u)
    weight = np.exp(beta * pull(p))
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (weight[1:] + weight[:-1]))])
    cumulative /= cumulative[-1]
    states = np.interp(np.random.default_rng(5).random(DRAWS), cumulative, p)[:, None]
    after, _ = apply(target, explore, states, beta, np.array([1.0, 1.0, 0.3]))
    assert ((after > 0) & (after < 1)).all()
    assert stats.kstest(after[:, 0], lambda at: np.interp(at, p, cumulative)).pvalue > LEVEL


def mixed(z, x):
    return 1.5 * z * x - 0.5 * (x - 1.0) ** 2


@pytest.mark.parametrize("passes", [1.0, 0.5])
def test_mixed_binary_and_real(passes):
    """Exact: the real variable given the binary one is normal, and the binary one's weight a ratio of integrals."""
    beta = 0.7
    target = sterna.Target(mixed, {"z": sterna.Bernoulli(0.3), "x": sterna.Normal(0, 2)})
    precision = 0.25 + beta
    means = (beta + 1.5 * beta * np.array([0.0, 1.0])) / precision
    weights = np.array([0.7, 0.3]) * np.exp(0.5 * precision * means**2)
    weights /= weights.sum()
    rng = np.random.default_rng(11)
    z = (rng.random(DRAWS) < weights[1]).astype(int)
    x = means[z] + rng.standard_normal(DRAWS) / math.sqrt(precision)
    updates = float(math.floor(2 * passes))
    after, _ = apply(target, explore, np.stack([z, x], axis=1), beta, np.array([updates, 2.0, 1.0, 2.0]))
    assert stats.binomtest(int(after[:, 0].sum()), DRAWS, weights[1]).pvalue > LEVEL
    for value in (0, 1):
        part = after[after[:, 0] == value, 1]
        assert stats.kstest(part, stats.norm(means[value], 1 / math.sqrt(precision)).cdf).pvalue > LEVEL
    assert not np.array_equal(after[:, 1], x)


def test_no_passes_leave_states_alone():
    target = sterna.Target(mixed, {"z": sterna.Bernoulli(0.3), "x": sterna.Normal(0, 2)})
    states = np.array([[0.0, 1.5], [1.0, -0.5]])
    after, _ = apply(target, explore, states, 1.0, np.array([0.0, 2.0, 1.0, 2.0]))
    assert np.array_equal(after, states)


def test_tuned_widths_follow_the_slices():
    """For a standard normal the mean slice is 2 E sqrt(x^2 + 2 Exp) = 2 E sqrt(chi-square with 3) long."""
    result = sterna.sample(sterna.models.normal(dim=1, precision=1.0), n_chains=3, n_rounds=10, progress=False)
    assert result.rejection.max() == 0
    exact = 2 * stats.chi(3).mean()
    widths = widths_after_tuning(sterna.models.normal(dim=1, precision=1.0))
    assert widths == pytest.approx(exact, rel=0.1)


def widths_after_tuning(target):
    states, bound = np.random.default_rng(1).standard_normal((20_000, 1)), Slice().bind(target)
    statistics, row = np.zeros(2), np.array([1.0, 1.0, 1.0, 1.0])
    apply_bound(target, bound, states, 1.0, times=1, parameters=row, statistics=statistics)
    return bound.tune(row[None], statistics[None])[0, 2]
