"""Elliptical slice sampling leaves annealed laws unchanged: from exact draws, ten moves, to exact draws.

Each comparison is a Kolmogorov-Smirnov test at 1e-6, below 1e-4 for the whole file; runs are within 4 standard errors,
a false alarm of 6e-5 each.
"""

import math

import numpy as np
import pytest
from kernels import apply_bound
from plain import load
from scipy import stats

import sterna
from sterna.engine.program import EVALUATIONS
from sterna.explorers.elliptical import Elliptical

LEVEL = 1e-6
DRAWS = 20_000
BETAS = [0.0, 0.1, 0.5, 1.0]

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
SEEN = np.array([2.0, -1.0, 3.0])


def gaussian(f, y):
    return -0.5 * np.sum((y - f) ** 2) / 0.3


def two_widths(x):
    narrow = math.exp(-0.5 * ((x + 3.0) / 0.15) ** 2) / 0.15
    wide = math.exp(-0.5 * ((x - 3.0) / 1.5) ** 2) / 1.5
    return math.log(narrow + wide + 1e-300)


def heavy(x):
    return -2.0 * math.log1p((x - 6.0) ** 2 / 0.1)


def half_line(x):
    return -0.3 * x * x if x > 0.5 else -np.inf


def p_values_gaussian(beta, kernel=None):
    """The posterior of the stored standard normal coordinates z is normal, with precision 1 + beta L'L / 0.3."""
    target = sterna.Target(gaussian, {"f": sterna.MultivariateNormal(MEAN, COVARIANCE)}, {"y": SEEN})
    factor = np.linalg.cholesky(COVARIANCE)
    precision = np.eye(3) + beta * factor.T @ factor / 0.3
    centre = np.linalg.solve(precision, beta * factor.T @ (SEEN - MEAN) / 0.3)
    root = np.linalg.cholesky(precision)
    z = np.random.default_rng(1).standard_normal((DRAWS, 3))
    states = centre + np.linalg.solve(root.T, z.T).T
    after, logs, _ = apply_bound(target, Elliptical().bind(target), states, beta, kernel=kernel)
    check_logs(target, after, logs)
    white = (after - centre) @ root
    p_values = [stats.kstest(white[:, k], "norm").pvalue for k in range(3)]
    # the squared length has a law of its own if the coordinates are right but not independent
    return [*p_values, stats.kstest(np.sum(white**2, axis=1), stats.chi2(3).cdf).pvalue]


def p_values_line(function, mean, sigma, low, high, beta, kernel=None):
    """One coordinate, and its log-likelihood against that of other exact draws."""
    target = sterna.Target(function, {"x": sterna.Normal(mean, sigma)})
    grid = np.linspace(low, high, 400_001)
    logs = stats.norm(mean, sigma).logpdf(grid)
    if beta > 0:
        logs = logs + beta * np.array([function(x) for x in grid])
    density = np.exp(logs - logs.max())
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    cumulative /= cumulative[-1]
    rng = np.random.default_rng(2)
    states, others = (np.interp(rng.random(DRAWS), cumulative, grid) for _ in range(2))
    after, logs, _ = apply_bound(target, Elliptical().bind(target), states[:, None], beta, kernel=kernel)
    check_logs(target, after, logs)
    energies = np.array([function(x) for x in others])
    there = np.isfinite(energies)
    return [
        stats.kstest(after[:, 0], lambda at: np.interp(at, grid, cumulative)).pvalue,
        stats.ks_2samp(logs[np.isfinite(logs[:, 1]), 1], energies[there]).pvalue,
    ]


def check_logs(target, after, logs):
    for k in range(0, len(after), 199):
        assert logs[k, :2] == pytest.approx(target.log_densities(after[k]), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("beta", BETAS)
def test_correlated_gaussian(beta):
    assert min(p_values_gaussian(beta)) > LEVEL


LINES = {
    "two modes": (two_widths, 0.0, 3.0, -16.0, 16.0),
    "heavy tails": (heavy, -1.0, 2.0, -14.0, 12.0),
    "zero likelihood": (half_line, 0.0, 1.0, -8.0, 8.0),
}


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("line", LINES)
def test_lines(line, beta):
    assert min(p_values_line(*LINES[line], beta)) > LEVEL


def banana(x, y):
    return -0.5 * ((y - x * x) / 0.3) ** 2


@pytest.mark.parametrize("beta", BETAS)
def test_banana(beta):
    """Given x, y is normal; integrating it out leaves the law of x, known on a grid."""
    target = sterna.Target(banana, {"x": sterna.Normal(0.0, 1.0), "y": sterna.Normal(0.5, 2.0)})
    weight = beta / 0.09
    grid = np.linspace(-6.0, 6.0, 200_001)
    logs = stats.norm.logpdf(grid)
    if beta > 0:
        logs = logs + stats.norm(0.5, math.sqrt(4.0 + 1.0 / weight)).logpdf(grid**2)
    density = np.exp(logs - logs.max())
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    cumulative /= cumulative[-1]
    rng = np.random.default_rng(3)

    def given(x):
        precision = 0.25 + weight
        return (0.125 + weight * x * x) / precision, 1.0 / math.sqrt(precision)

    x = np.interp(rng.random(DRAWS), cumulative, grid)
    centre, spread = given(x)
    states = np.stack([x, centre + spread * rng.standard_normal(DRAWS)], axis=1)
    after, logs, _ = apply_bound(target, Elliptical().bind(target), states, beta)
    check_logs(target, after, logs)
    assert stats.kstest(after[:, 0], lambda at: np.interp(at, grid, cumulative)).pvalue > LEVEL
    centre, spread = given(after[:, 0])
    assert stats.kstest((after[:, 1] - centre) / spread, "norm").pvalue > LEVEL


FAULTS = {
    "not annealed": ("annealed(0.0, beta,", "annealed(0.0, 1.0,"),
    "directions of unit length": ("scratch[k] /= program.numbers[4 * i + 1]", "scratch[k] /= 1.0"),
    "ellipse around zero": ("mean = program.numbers[4 * i]", "mean = 0.0"),
    "level without the exponential": ("- exponential(stream)", "- 1.0"),
    "bracket on one side": ("low, high = angle - 2.0 * math.pi, angle", "low, high = 0.0, angle"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault):
    kernel = load("explorers/elliptical.py", [FAULTS[fault]], compiled=True).explore
    p_values = [*p_values_line(*LINES["heavy tails"], 0.5, kernel), *p_values_line(*LINES["two modes"], 0.5, kernel)]
    assert min(p_values) < LEVEL


def test_a_block_leaves_the_other_coordinates_alone():
    target = sterna.Target(lambda a, b, p: -0.5 * (a - b) ** 2 * p, BLOCKS)
    bound = Elliptical(moves=2).bind(target, np.array([2, 0]))
    rng = np.random.default_rng(4)
    states = np.stack([rng.normal(size=50), rng.uniform(size=50), rng.normal(size=50)], axis=1)
    after, logs, _ = apply_bound(target, bound, states, 0.7)
    assert np.array_equal(after[:, 1], states[:, 1])
    assert not (after[:, [0, 2]] == states[:, [0, 2]]).any()
    check_logs(target, after, logs)
    assert (logs[:, EVALUATIONS] >= 20).all()


BLOCKS = {"a": sterna.Normal(0, 1), "p": sterna.Beta(2, 2), "b": sterna.Normal(1, 2)}


def test_same_bits_on_repeat_and_no_moves_leave_states_alone():
    target = sterna.models.normal(4)
    states = np.random.default_rng(5).standard_normal((100, 4))
    first, again = (apply_bound(target, Elliptical().bind(target), states, 0.5)[0] for _ in range(2))
    assert np.array_equal(first, again)
    assert np.array_equal(apply_bound(target, Elliptical(moves=0).bind(target), states, 0.5)[0], states)


def spike(x):
    return 0.0 if x == 0.3 else -np.inf


def test_a_bracket_that_shrinks_to_nothing_stays():
    """Only the state itself has a positive likelihood, and rounding keeps the ellipse from coming back to it."""
    target = sterna.Target(spike, {"x": sterna.Normal(5.7, 1.3)})
    after, logs, _ = apply_bound(target, Elliptical().bind(target), np.full((200, 1), 0.3), 1.0)
    assert (after == 0.3).all()
    assert (logs[:, 1] == 0.0).all()


def log_evidence_gaussian():
    return float(
        stats.multivariate_normal(MEAN, COVARIANCE + 0.3 * np.eye(3)).logpdf(SEEN) + 1.5 * math.log(2 * math.pi * 0.3)
    )


@pytest.mark.parametrize("explorer", [Elliptical(moves=2), sterna.Cycle(Elliptical(), sterna.Slice())])
def test_runs_find_evidence_and_moments(explorer):
    target = sterna.Target(gaussian, {"f": sterna.MultivariateNormal(MEAN, COVARIANCE)}, {"y": SEEN})
    result = sterna.sample(target, explorer=explorer, n_rounds=11, n_copies=1, progress=False)
    estimate = result.log_evidence
    assert abs(estimate.value - log_evidence_gaussian()) < 4 * estimate.error
    gain = COVARIANCE @ np.linalg.inv(COVARIANCE + 0.3 * np.eye(3))
    mean, covariance = MEAN + gain @ (SEEN - MEAN), COVARIANCE - gain @ COVARIANCE
    draws = result.posterior["f"].values[0]
    # as many independent draws as scans, at most: a quarter of them is a safe number
    errors = np.sqrt(np.diag(covariance) / (len(draws) / 4))
    assert (np.abs(draws.mean(axis=0) - mean) < 4 * errors).all()


def test_runs_in_blocks():
    """A Beta variable beside two normal ones that do not depend on it: the evidence is a product."""

    def log_likelihood(a, b, p):
        return -0.5 * (a + b - 2.0) ** 2 + 3.0 * math.log(p)

    explorer = {("a", "b"): Elliptical(), "p": sterna.Slice()}
    estimate = sterna.sample(
        sterna.Target(log_likelihood, BLOCKS), explorer=explorer, n_rounds=11, n_copies=1, progress=False
    ).log_evidence
    normal = stats.norm(1.0, math.sqrt(6.0)).logpdf(2.0) + 0.5 * math.log(2 * math.pi)
    beta = math.lgamma(5) - math.lgamma(7) + math.lgamma(4) - math.lgamma(2)
    assert abs(estimate.value - normal - beta) < 4 * estimate.error


def test_what_is_not_normal_is_refused():
    target = sterna.Target(lambda a, b, p: a * b * p, BLOCKS)
    wanted = r'which p is not: .* such as {\("a", "b"\): Elliptical\(\), "p": sterna.Slice\(\)}'
    with pytest.raises(sterna.OptionError, match=wanted):
        Elliptical().bind(target)
    two = sterna.Target(lambda h, k: h * k, {"h": sterna.HalfNormal(1.0), "k": sterna.Poisson(3.0)})
    with pytest.raises(sterna.OptionError, match=r'which h, k are not: .* {\("h", "k"\): sterna.Slice\(\)}'):
        Elliptical().bind(two)
    joint = sterna.Reference(lambda rng: rng.standard_normal(2), lambda x: -0.5 * np.sum(x * x))
    with pytest.raises(sterna.OptionError, match="pair of functions"):
        Elliptical().bind(sterna.Target(lambda x: 0.0 * x[0], joint))
    for moves in (-1, 1.5, True):
        with pytest.raises(sterna.OptionError, match="moves"):
            Elliptical(moves=moves)
