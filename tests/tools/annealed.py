"""Targets whose annealed laws are known at every beta: exact draws, and numbers that are uniform under the law.

A case has `target`, `draw(beta, n, rng)`, and `uniforms(beta, states)`: one column for each one-dimensional law that
can be checked, by its distribution function.
"""

import math
from functools import cache

import numpy as np
import pytest
from kernels import apply_bound, draws_of
from scipy import stats

import sterna


class Normal:
    """A correlated normal law, from a wide normal reference."""

    precision = np.array([[6.0, 4.0, 0.5], [4.0, 5.0, 0.0], [0.5, 0.0, 1.0]])
    centre = np.array([1.0, -0.5, 2.0])

    def __init__(self):
        def likelihood(x, precision, centre):
            away = x - centre
            return -0.5 * away @ (precision @ away)

        data = {"precision": self.precision, "centre": self.centre}
        self.target = sterna.Target(likelihood, {"x": sterna.Normal(0.0, 2.0, shape=3)}, data)

    def _law(self, beta):
        whole = 0.25 * np.eye(3) + beta * self.precision
        return np.linalg.solve(whole, beta * self.precision @ self.centre), whole

    def draw(self, beta, n, rng):
        mean, whole = self._law(beta)
        return rng.multivariate_normal(mean, np.linalg.inv(whole), size=n)

    def uniforms(self, beta, states):
        mean, whole = self._law(beta)
        spread = np.sqrt(np.diag(np.linalg.inv(whole)))
        square = np.einsum("ni,ij,nj->n", states - mean, whole, states - mean)
        return np.column_stack([stats.norm.cdf((states - mean) / spread), stats.chi2(3).cdf(square)])


class Bounded:
    """An interval, a half line and an interval with an infinite density at both ends, independent of each other."""

    def __init__(self):
        def likelihood(w, s, p):
            return 0.8 * w - 0.7 * s + 2.0 * np.log(p)

        reference = {"w": sterna.Uniform(-2, 3), "s": sterna.Exponential(0.5), "p": sterna.Beta(0.5, 0.5)}
        self.target = sterna.Target(likelihood, reference)

    def _laws(self, beta):
        rate = 0.8 * beta
        # of 3 - w, which is cut at 5
        slope = stats.uniform(0, 5) if beta == 0 else stats.truncexpon(5 * rate, scale=1 / rate)
        return slope, stats.expon(scale=1 / (0.5 + 0.7 * beta)), stats.beta(0.5 + 2 * beta, 0.5)

    def draw(self, beta, n, rng):
        w, s, p = (law.ppf(rng.random(n)) for law in self._laws(beta))
        bounds = self.target.program.lower, self.target.program.upper
        return np.clip(np.column_stack([3 - w, s, p]), *bounds)

    def uniforms(self, beta, states):
        w, s, p = self._laws(beta)
        return np.column_stack([w.cdf(3 - states[:, 0]), s.cdf(states[:, 1]), p.cdf(states[:, 2])])


class Simplex:
    """Counts under a Dirichlet law, which stays one."""

    alpha, counts = np.array([0.7, 1.2, 2.0, 0.4]), np.array([3.0, 0.0, 5.0, 1.0])

    def __init__(self):
        def likelihood(p, counts):
            return np.sum(counts * np.log(p))

        self.target = sterna.Target(likelihood, {"p": sterna.Dirichlet(self.alpha)}, {"counts": self.counts})

    def _laws(self, beta):
        alpha = self.alpha + beta * self.counts
        return [stats.beta(alpha[k], alpha[k + 1 :].sum()) for k in range(len(alpha) - 1)]

    def draw(self, beta, n, rng):
        sticks = np.column_stack([law.ppf(rng.random(n)) for law in self._laws(beta)])
        return np.clip(sticks, self.target.program.lower, self.target.program.upper)

    def uniforms(self, beta, states):
        return np.column_stack([law.cdf(states[:, k]) for k, law in enumerate(self._laws(beta))])


class Banana:
    """A narrow curved ridge: y given x is normal about x squared."""

    def __init__(self):
        def likelihood(x, y):
            return -2.0 * (y - x * x) ** 2

        self.target = sterna.Target(likelihood, {"x": sterna.Normal(0, 1), "y": sterna.Normal(0, 3)})

    @cache  # noqa: B019 (few betas, and cases live as long as the tests)
    def _first(self, beta):
        x = np.linspace(-7, 7, 400_001)
        noise = 9.0 + (0.25 / beta if beta > 0 else math.inf)
        return x, cumulated(x, -0.5 * x**2 - 0.5 * x**4 / noise)

    def _second(self, beta, x):
        precision = 1 / 9 + 4 * beta
        return 4 * beta * x**2 / precision, 1 / math.sqrt(precision)

    def draw(self, beta, n, rng):
        x, cumulative = self._first(beta)
        first = np.interp(rng.random(n), cumulative, x)
        mean, spread = self._second(beta, first)
        return np.column_stack([first, mean + spread * rng.standard_normal(n)])

    def uniforms(self, beta, states):
        mean, spread = self._second(beta, states[:, 0])
        first = np.interp(states[:, 0], *self._first(beta))
        return np.column_stack([first, stats.norm.cdf((states[:, 1] - mean) / spread)])


class OnGrid:
    """One dimension, by the reference's own quantiles, which are fine where the density is high."""

    def __init__(self, likelihood, reference, law):
        self.target = sterna.Target(likelihood, {"x": reference})
        u = np.linspace(1e-8, 1 - 1e-8, 400_001)
        self.u, self.x = u, law.ppf(u)
        self.logs = np.array([likelihood(value) for value in self.x])

    @cache  # noqa: B019
    def _cumulative(self, beta):
        return cumulated(self.u, beta * self.logs)

    def draw(self, beta, n, rng):
        return np.interp(rng.random(n), self._cumulative(beta), self.x)[:, None]

    def uniforms(self, beta, states):
        return np.interp(states[:, 0], self.x, self._cumulative(beta))[:, None]


def cumulated(x, logs):
    """Distribution function on a grid."""
    density = np.exp(logs - logs.max())
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(x))])
    return cumulative / cumulative[-1]


def two_widths(x):
    """Return the log-density of two modes, one ten times as wide as the other."""
    narrow = math.exp(-0.5 * ((x + 3.0) / 0.15) ** 2) / 0.15
    wide = math.exp(-0.5 * ((x - 3.0) / 1.5) ** 2) / 1.5
    return math.log(narrow + wide + 1e-300)


def far_out(x):
    """Return the log-density of a law with heavy tails, off the reference's centre."""
    return -0.7 * math.log1p((x - 2.0) ** 2)


class Mixed:
    """A binary and a real variable that depend on each other, and an integer."""

    def __init__(self):
        def likelihood(z, x, k):
            return 1.5 * z * x - 0.5 * (x - 1.0) ** 2 - 0.3 * abs(k - 7.0) + (1.0 if k % 2 == 0 else 0.0)

        reference = {"z": sterna.Bernoulli(0.3), "x": sterna.Normal(0, 2), "k": sterna.Poisson(6.0)}
        self.target = sterna.Target(likelihood, reference)

    def _laws(self, beta):
        precision = 0.25 + beta
        means = (beta + 1.5 * beta * np.array([0.0, 1.0])) / precision
        weights = np.array([0.7, 0.3]) * np.exp(0.5 * precision * means**2)
        k = np.arange(60)
        counts = stats.poisson.pmf(k, 6.0) * np.exp(beta * (-0.3 * abs(k - 7) + (k % 2 == 0)))
        return weights / weights.sum(), means, 1 / math.sqrt(precision), counts / counts.sum()

    def draw(self, beta, n, rng):
        weights, means, spread, counts = self._laws(beta)
        z = (rng.random(n) < weights[1]).astype(int)
        x = means[z] + spread * rng.standard_normal(n)
        return np.column_stack([z, x, rng.choice(60, size=n, p=counts)])

    def uniforms(self, beta, states):
        """Integers are given a uniform place in their step of the distribution function."""
        weights, means, spread, counts = self._laws(beta)
        z, k = states[:, 0].astype(int), states[:, 2].astype(int)
        place = np.random.default_rng(8).random((len(states), 2))
        first = np.where(z == 0, place[:, 0] * weights[0], weights[0] + place[:, 0] * weights[1])
        third = np.concatenate([[0.0], np.cumsum(counts)])[k] + place[:, 1] * counts[k]
        return np.column_stack([first, stats.norm.cdf((states[:, 1] - means[z]) / spread), third])


class Funnel:
    """A joint reference of the user's own: an effect whose spread is another variable."""

    def __init__(self):
        def draw(rng):
            scale = rng.exponential()
            return scale, rng.normal(0.0, scale)

        def log_density(scale, effect):
            return -scale - math.log(scale) - 0.5 * (effect / scale) ** 2 - 0.5 * math.log(2 * math.pi)

        def likelihood(scale, effect):
            return -0.7 * scale - 0.5 * (effect / scale) ** 2

        space = {"scale": sterna.Real(lower=0), "effect": sterna.Real()}
        self.target = sterna.Target(likelihood, sterna.Reference(draw, log_density, space))

    def draw(self, beta, n, rng):
        scale = rng.exponential(1 / (1 + 0.7 * beta), n)
        return np.column_stack([scale, scale * rng.standard_normal(n) / math.sqrt(1 + beta)])

    def uniforms(self, beta, states):
        scale, effect = states.T
        first = -np.expm1(-(1 + 0.7 * beta) * scale)
        return np.column_stack([first, stats.norm.cdf(effect / scale * math.sqrt(1 + beta))])


@cache
def case(name):
    """Make a case once."""
    makers = {
        "normal": Normal,
        "bounded": Bounded,
        "simplex": Simplex,
        "banana": Banana,
        "mixed": Mixed,
        "funnel": Funnel,
        "heavy tails": lambda: OnGrid(far_out, sterna.Cauchy(0.0, 1.0), stats.cauchy()),
        "two widths": lambda: OnGrid(two_widths, sterna.Uniform(-10, 10), stats.uniform(-10, 20)),
    }
    return makers[name]()


REAL_CASES = ["normal", "bounded", "simplex", "banana", "heavy tails", "two widths"]


def p_value(name, beta, before, after, energies):
    """Smallest p-value: of every known law by Kolmogorov and Smirnov, and of energies against those of other draws."""
    chosen = case(name)
    columns = chosen.uniforms(beta, after).T
    values = [stats.kstest(column, "uniform").pvalue for column in columns]
    other = chosen.draw(beta, len(before), np.random.default_rng(99))
    fresh = np.array([chosen.target.log_densities(state)[1] for state in other[:4000]])
    values.append(stats.ks_2samp(energies[:, 1], fresh, method="asymp").pvalue)
    return min(values)


def invariance(explorer, name, beta, kernel=None, parameters=None, draws=20_000):
    """Smallest p-value after ten applications of a kernel to exact draws, with parameters tuned by them.

    Also checks that nothing left the support, that the energies reported are those of the states, and that it moved.
    """
    chosen = case(name)
    target, bound = chosen.target, explorer.bind(chosen.target)
    states = chosen.draw(beta, draws, np.random.default_rng(7))
    if parameters is None:
        parameters = tuned(explorer, name, beta)
    after, logs, _ = apply_bound(target, bound, states, beta, parameters=parameters, kernel=kernel)
    assert ((after >= target.program.lower) & (after <= target.program.upper)).all()
    for k in range(100):
        assert logs[k, :2] == pytest.approx(target.log_densities(after[k]), rel=1e-9, abs=1e-9)
    assert (after != states).any(axis=1).mean() > 0.1
    return p_value(name, beta, states, after, logs)


def tuned(explorer, name, beta):
    """Return parameters as tuning makes them from other draws of the law."""
    chosen = case(name)
    bound = explorer.bind(chosen.target)
    row = bound.start(draws_of(chosen.target))
    for seed in (1, 2):
        states = chosen.draw(beta, 500, np.random.default_rng(seed))
        statistics = apply_bound(chosen.target, bound, states, beta, parameters=row, times=1, seed=seed)[2]
        row = bound.tune(np.tile(row, (2, 1)), np.stack([0 * statistics, statistics]))[1]
    return np.ascontiguousarray(row)


def check_bounded_run(explorer, names=("w", "s", "p")):
    """Evidence and means of a whole run on the bounded case, within 4 standard errors of the exact ones: 6e-5 each."""
    chosen = case("bounded")
    result = sterna.sample(chosen.target, explorer=explorer, n_chains=5, n_rounds=10, progress=False)
    exact = math.log((math.exp(2.4) - math.exp(-1.6)) / 4.0 * (0.5 / 1.2) * (3 / 8))
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error
    slope, half_line, share = chosen._laws(1.0)
    means = {"w": 3 - slope.mean(), "s": half_line.mean(), "p": share.mean()}
    for name in names:
        check_mean(result.posterior[name].values.ravel(), means[name])


def check_mean(draws, exact):
    """Compare a mean with the exact one, by 32 batches: 4.6 are as rare for them as 4 for a normal number."""
    blocks = draws[: len(draws) // 32 * 32].reshape(32, -1).mean(axis=1)
    assert abs(draws.mean() - exact) < 4.6 * blocks.std(ddof=1) / math.sqrt(32)


def check_same_bits(explorer):
    """A run has the same bits for one worker and for two."""
    runs = [
        sterna.sample(
            case("normal").target, explorer=explorer, n_chains=4, n_rounds=6, n_copies=3, workers=w, progress=False
        )
        for w in (1, 2)
    ]
    assert np.array_equal(runs[0].posterior["x"], runs[1].posterior["x"])
