"""Targets with gradients whose annealed laws are known: exact draws, and numbers that are uniform under the law."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from kernels import apply_bound
from scipy import stats

import sterna


@dataclass(frozen=True)
class Law:
    """A target, exact draws of its annealed law, and functions of states that are then uniform on [0, 1]."""

    target: Any
    draw: Any
    """draw(beta, n, rng) -> states"""
    uniforms: Any
    """uniforms(beta, states) -> (n, k)"""
    block: Any = None
    """The coordinates to explore; the others are drawn exactly, and must stay."""


def grid_law(log_density, low, high, size=200_001):
    """Distribution function and quantiles of a one-dimensional law, by a fine grid."""
    x = np.linspace(low, high, size)
    logs = log_density(x)
    density = np.exp(logs - logs.max())
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    cumulative /= cumulative[-1]
    return (lambda at: np.interp(at, x, cumulative)), (lambda u: np.interp(u, cumulative, x))


def by_columns(laws):
    """Independent coordinates, each of a SciPy distribution that depends on beta."""
    return {
        "draw": lambda beta, n, rng: np.stack([law(beta).rvs(n, random_state=rng) for law in laws], axis=1),
        "uniforms": lambda beta, x: np.stack([law(beta).cdf(x[:, k]) for k, law in enumerate(laws)], axis=1),
    }


def squares(x):
    return -0.5 * np.sum((x - 1.0) ** 2)


def squares_gradient(x):
    return 1.0 - x


@cache
def gaussian():
    """All coordinates normal under an independent normal reference: the plain line."""
    target = sterna.Target(squares, {"x": sterna.Normal(0, 2, shape=3)}, gradient=squares_gradient)
    law = lambda b: stats.norm(b / (0.25 + b), 1 / math.sqrt(0.25 + b))  # noqa: E731
    return Law(target, **by_columns([law] * 3))


def bounded_terms(p, r, t):
    return 3.0 * math.log(p) + math.log1p(-p) + 1.5 * math.log(r) - r + 2.0 * t


def bounded_gradient(p, r, t):
    return 3.0 / p - 1.0 / (1.0 - p), 1.5 / r - 1.0, 2.0


@cache
def bounded():
    """An interval with two power laws at its ends, a half line, and an interval with a density that ends abruptly."""
    reference = {"p": sterna.Beta(0.5, 2.0), "r": sterna.Gamma(2.0, 1.0), "t": sterna.Uniform(-1.0, 2.0)}
    target = sterna.Target(bounded_terms, reference, gradient=bounded_gradient)
    laws = [
        lambda b: stats.beta(0.5 + 3 * b, 2 + b),
        lambda b: stats.gamma(2 + 1.5 * b, scale=1 / (1 + b)),
        lambda b: Exponential(2 * b, -1.0, 2.0),
    ]
    return Law(target, **by_columns(laws))


@dataclass(frozen=True)
class Exponential:
    """The law of density exp(rate t) on an interval."""

    rate: float
    low: float
    high: float

    def rvs(self, n, random_state):
        return self.low + self._inverse(random_state.random(n))

    def _inverse(self, u):
        length = self.high - self.low
        return length * u if self.rate == 0 else np.log1p(u * np.expm1(self.rate * length)) / self.rate

    def cdf(self, t):
        length = self.high - self.low
        if self.rate == 0:
            return (t - self.low) / length
        return np.expm1(self.rate * (t - self.low)) / np.expm1(self.rate * length)


def heavy_tail(x):
    return -math.log1p(x * x)


def heavy_gradient(x):
    return -2.0 * x / (1.0 + x * x)


@cache
def heavy():
    """Cauchy's law at beta = 0; at beta Student's with 1 + 2 beta degrees of freedom, but for its scale."""
    target = sterna.Target(heavy_tail, {"x": sterna.Cauchy(0, 1)}, gradient=heavy_gradient)
    return Law(target, **by_columns([lambda b: stats.t(1 + 2 * b, scale=1 / math.sqrt(1 + 2 * b))]))


def bend(x, y):
    return -2.0 * (y - x * x) ** 2


def bend_gradient(x, y):
    return 8.0 * x * (y - x * x), -4.0 * (y - x * x)


@cache
def banana():
    """Given x, y is normal; x itself by a grid."""
    target = sterna.Target(bend, {"x": sterna.Normal(0, 1), "y": sterna.Normal(0, 1)}, gradient=bend_gradient)

    def first(beta):
        return grid_law(lambda x: -0.5 * x**2 - 0.5 * (4 * beta / (1 + 4 * beta)) * x**4, -6, 6)

    def given(beta, x):
        return stats.norm(4 * beta * x**2 / (1 + 4 * beta), 1 / math.sqrt(1 + 4 * beta))

    def draw(beta, n, rng):
        x = first(beta)[1](rng.random(n))
        return np.stack([x, given(beta, x).rvs(n, random_state=rng)], axis=1)

    def uniforms(beta, states):
        x, y = states.T
        return np.stack([first(beta)[0](x), given(beta, x).cdf(y)], axis=1)

    return Law(target, draw, uniforms)


def two_widths(x):
    # two modes, one five times as wide as the other
    narrow = math.exp(-0.5 * ((x + 1.0) / 0.3) ** 2) / 0.3
    wide = math.exp(-0.5 * ((x - 2.0) / 1.5) ** 2) / 1.5
    return math.log(narrow + wide + 1e-300)


def two_widths_gradient(x):
    narrow = math.exp(-0.5 * ((x + 1.0) / 0.3) ** 2) / 0.3
    wide = math.exp(-0.5 * ((x - 2.0) / 1.5) ** 2) / 1.5
    return -(narrow * (x + 1.0) / 0.09 + wide * (x - 2.0) / 2.25) / (narrow + wide + 1e-300)


@cache
def bimodal():
    """Two modes of unequal widths on an interval."""
    target = sterna.Target(two_widths, {"x": sterna.Uniform(-6, 8)}, gradient=two_widths_gradient)
    function = np.vectorize(two_widths)

    def law(beta):
        return grid_law(lambda x: beta * function(x), -6, 8, 20_001)

    return Law(
        target,
        lambda beta, n, rng: law(beta)[1](rng.random(n))[:, None],
        lambda beta, states: law(beta)[0](states),
    )


def mixed_terms(z, x):
    return 1.5 * z * x - 0.5 * (x - 1.0) ** 2


def mixed_gradient(z, x):
    return 1.5 * z - (x - 1.0)


@cache
def mixed():
    """A real variable beside a binary one; the block is the real one, which is normal given the other."""
    reference = {"z": sterna.Bernoulli(0.3), "x": sterna.Normal(0, 2)}
    target = sterna.Target(mixed_terms, reference, gradient=mixed_gradient)

    def given(beta, z):
        return stats.norm((beta + 1.5 * beta * z) / (0.25 + beta), 1 / math.sqrt(0.25 + beta))

    def draw(beta, n, rng):
        # any law of z does, as it is left alone
        z = (rng.random(n) < 0.4).astype(float)
        return np.stack([z, given(beta, z).rvs(n, random_state=rng)], axis=1)

    return Law(target, draw, lambda beta, s: given(beta, s[:, 0]).cdf(s[:, 1])[:, None], np.array([1]))


def shares(p):
    return 2.0 * math.log(p[0]) + 0.5 * math.log(p[1]) + math.log(p[2])


def shares_gradient(p):
    return np.array([2.0, 0.5, 1.0]) / p


@cache
def simplex():
    """A Dirichlet law, whose stored fractions are independent Betas."""
    target = sterna.Target(shares, {"p": sterna.Dirichlet([1.0, 2.0, 1.5])}, gradient=shares_gradient)
    powers = lambda b: np.array([1.0, 2.0, 1.5]) + b * np.array([2.0, 0.5, 1.0])  # noqa: E731
    laws = [
        lambda b: stats.beta(powers(b)[0], powers(b)[1:].sum()),
        lambda b: stats.beta(powers(b)[1], powers(b)[2]),
    ]
    return Law(target, **by_columns(laws))


def joint_draw(rng):
    first = rng.standard_normal()
    return first, 0.8 * first + 0.6 * rng.standard_normal()


def joint_density(x, y):
    return -0.5 * x * x - 0.5 * ((y - 0.8 * x) / 0.6) ** 2 - math.log(2 * math.pi * 0.6)


def joint_gradient(x, y):
    slope = (y - 0.8 * x) / 0.36
    return -x + 0.8 * slope, -slope


def second_near_one(y):
    return -2.0 * (y - 1.0) ** 2


def second_gradient(y):
    return -4.0 * (y - 1.0)


@cache
def joint():
    """A reference of two functions, of correlation 0.8."""
    space = {"x": sterna.Real(), "y": sterna.Real()}
    reference = sterna.Reference(joint_draw, joint_density, space, gradient=joint_gradient)
    target = sterna.Target(second_near_one, reference, gradient=second_gradient)

    def law(beta):
        precision = np.linalg.inv([[1.0, 0.8], [0.8, 1.0]]) + np.diag([0.0, 4 * beta])
        covariance = np.linalg.inv(precision)
        return covariance @ [0.0, 4 * beta], covariance

    def draw(beta, n, rng):
        mean, covariance = law(beta)
        return rng.multivariate_normal(mean, covariance, n)

    def uniforms(beta, states):
        mean, covariance = law(beta)
        return stats.norm.cdf(np.linalg.solve(np.linalg.cholesky(covariance), (states - mean).T).T)

    return Law(target, draw, uniforms)


LAWS = {f.__name__: f for f in (gaussian, bounded, heavy, banana, bimodal, mixed, simplex, joint)}
DRAWS = 20_000


def p_values(law, explorer, beta, kernel=None, change=None, draws=DRAWS, seed=1):
    """From exact draws, ten times the kernel: p-values of the uniforms, and of the energies against other exact draws.

    Also checks energies against those recomputed, and that what is outside of the block stays.
    """
    rng = np.random.default_rng(seed)
    states = law.draw(beta, draws, rng)
    bound = explorer.bind(law.target, law.block)
    after, logs, _ = apply_bound(law.target, bound, states, beta, kernel=kernel, change=change, seed=seed)
    again = np.array([law.target.log_densities(state) for state in after[:200]])
    assert np.allclose(logs[:200, :2], again, rtol=1e-9, atol=1e-12)
    if law.block is not None:
        others = np.setdiff1d(np.arange(law.target.dimension), law.block)
        assert np.array_equal(after[:, others], states[:, others])
    assert not np.array_equal(after, states)
    uniforms = law.uniforms(beta, after)
    found = [stats.kstest(column, "uniform").pvalue for column in uniforms.T]
    fresh = np.array([law.target.log_densities(x)[1] for x in law.draw(beta, draws // 5, rng)])
    return [*found, stats.ks_2samp(logs[:, 1], fresh).pvalue]


def check_run(explorer):
    """Check a whole run on the joint law: log evidence and two moments are within 4 standard errors.

    Those of the moments are of 40 batches. Each of the three raises a false alarm with probability 6e-5, two-sided.
    """
    result = sterna.sample(joint().target, explorer=explorer, n_chains=4, n_rounds=9, n_scans=20_000, progress=False)
    found = result.log_evidence
    # y is N(0, 1) before and has precision 5 after; x is 0.8 y and noise
    assert abs(found.value - (-0.5 * math.log(5.0) - 0.5 * 4.0 / 5.0)) < 4 * found.error
    draws = np.asarray(result.posterior["x"]).reshape(-1)
    for values, exact in ((draws, 0.64), ((draws - 0.64) ** 2, 0.36 + 0.64 / 5.0)):
        batches = np.array([part.mean() for part in np.array_split(values, 40)])
        assert stats.ttest_1samp(batches, exact).pvalue > 6e-5
