"""The elliptic model: its posterior by the density of q under the reference, one-dimensional integrals along curves."""

import functools
import itertools

import numpy as np
import pytest
from model_checks import check_gradient, check_run, check_values
from plain import load
from scipy import stats

import sterna
from sterna.models.elliptic import elliptic


def plain(trials=100_000, successes=50_000):
    def log_densities(x, y):
        q = np.clip(y**2 - x**3 + 2 * x - 0.5, 0, 1)
        return -2 * np.log(6.0), stats.binom.logpmf(successes, trials, q)

    return log_densities


gauss = functools.cache(np.polynomial.legendre.leggauss)


def along_the_curve(q, functions, nodes=400):
    """Density of q under the reference, and integrals of functions of x along the curve of this q.

    At a given x two points +-y have this q, with y^2 = h(x) = x^3 - 2 x + 1/2 + q, and dy/dq = 1 / (2 y). The
    singularities 1 / sqrt(h) at the curve's ends vanish for x = a + (b - a) sin^2.
    """
    ends = [root.real for c in (0.5 + q, q - 8.5) for root in np.roots([1, 0, -2, c]) if abs(root.imag) < 1e-12]
    ends = np.unique([-3.0, 3.0, *[end for end in ends if -3 < end < 3]])
    points, weights = gauss(nodes)
    angle, weights = np.pi / 4 * (points + 1), np.pi / 4 * weights
    total = np.zeros(len(functions))
    for a, b in itertools.pairwise(ends):
        x = a + (b - a) * np.sin(angle) ** 2
        h = x**3 - 2 * x + 0.5 + q
        if 0 < h[nodes // 2] < 9:
            jacobian = 2 * (b - a) * np.sin(angle) * np.cos(angle)
            total += [np.sum(weights * jacobian * f(x, h) / np.sqrt(h)) / 36 for f in functions]
    return total


def exact(trials, successes, nodes=80):
    """Log evidence, and means of x, y^2 and of being on the closed part of the curve."""
    functions = [lambda x, h: 1.0, lambda x, h: x, lambda x, h: h, lambda x, h: x < 0.8]
    centre, spread = successes / trials, np.sqrt(successes * (trials - successes) / trials**3)
    points, weights = gauss(nodes)
    q = centre + 9 * spread * points
    curve = np.array([along_the_curve(value, functions) for value in q])
    sums = 9 * spread * (weights * stats.binom.pmf(successes, trials, q)) @ curve
    return np.log(sums[0]), sums[1:] / sums[0]


def test_log_densities():
    check_values(elliptic(), plain(), draws=2000)
    check_values(elliptic(9, 0), plain(9, 0))
    check_values(elliptic(9, 9), plain(9, 9))


def test_probabilities_sum_to_one():
    targets = [elliptic(12, successes) for successes in range(13)]
    for x, y in np.random.default_rng(1).uniform(-3, 3, (50, 2)):
        assert sum(np.exp(target.log_densities(x=x, y=y)[1]) for target in targets) == pytest.approx(1.0, rel=1e-12)


def test_gradient():
    inside = [(0.0, 1.0), (-0.5, 1.3), (1.2, -0.6), (2.0, -2.3)]
    check_gradient(elliptic(50, 20), np.array(inside))
    assert elliptic(50, 20).gradient(np.array([0.0, 2.5])).tolist() == [0.0, 0.0]


FAULTS = {
    "another curve": ("2.0 * x - 0.5, 0.0)", "2.0 * x - 0.4, 0.0)"),
    "no zero likelihood": ("- 0.5, 0.0), 1.0)", "- 0.5, 1e-9), 1.0 - 1e-9)"),
    "another square": ("width: float = 3.0", "width: float = 2.0"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_log_densities(fault):
    with pytest.raises(AssertionError):
        check_values(load("models/elliptic.py", [FAULTS[fault]]).elliptic(), plain(), draws=2000)


def test_the_density_of_q_is_that_of_draws():
    """A histogram of q by chi-square at 6e-5, and the share outside of (0, 1), which the paper's jump is."""
    x, y = np.random.default_rng(2).uniform(-3, 3, (2, 400_000))
    q = y**2 - x**3 + 2 * x - 0.5
    # the curve's two parts meet where q is critical, and its density has a logarithmic singularity
    edges, (points, weights) = np.sort([*np.linspace(0, 1, 11), np.sqrt(32 / 27) - 0.5]), gauss(20)
    grid = edges[:-1, None] + np.diff(edges)[:, None] * (points + 1) / 2
    density = np.array([[along_the_curve(value, [lambda x, h: 1.0])[0] for value in row] for row in grid])
    share = density @ weights * np.diff(edges) / 2
    expected = np.append(share, 1 - share.sum()) * len(q)
    counts = np.append(np.histogram(q, edges)[0], np.sum((q <= 0) | (q >= 1)))
    assert stats.chisquare(counts, expected).pvalue > 6e-5
    assert 1 - share.sum() == pytest.approx(0.8861, abs=1e-4)


def test_a_run_finds_the_integrals():
    """Evidence and four means, at 6e-5 each."""
    evidence, (x, square, closed) = exact(100_000, 50_000)
    means = {
        lambda p: p["x"]: x,
        lambda p: p["y"]: 0.0,
        lambda p: p["y"] ** 2: square,
        lambda p: p["x"] < 0.8: closed,
    }
    result = check_run(elliptic(), evidence, means, n_chains=30, n_rounds=11)
    # 4.339 by quadrature, 4.4 in the paper; 0.886 of it is the jump at 0
    assert result.global_barrier == pytest.approx(4.339, rel=0.05)


@pytest.mark.laws
def test_a_run_does_not_find_those_of_other_data():
    with pytest.raises(AssertionError):
        check_run(elliptic(), exact(100_000, 90_000)[0], {}, n_chains=12, n_rounds=12)


def test_what_is_no_model_is_refused():
    for wrong in ({"successes": -1}, {"trials": 5, "successes": 6}, {"width": 0.0}):
        with pytest.raises(sterna.OptionError, match="successes must be from 0 to trials"):
            elliptic(**wrong)
