"""The Wright-Fisher bridge: its points form a Markov chain, so that quadrature carries densities from step to step."""

import functools

import numpy as np
import pytest
from kernels import draws_of
from model_checks import check_run, check_values
from plain import load
from scipy import stats
from scipy.integrate import quad

import sterna
from sterna.models.wright_fisher import path_of, wright_fisher


def spread(x):
    """Return the standard deviation of the step from x."""
    return np.sqrt(0.01 * np.sqrt(x * (1 - x))) if 0 < x < 1 else np.sqrt(1e-5)


def plain(noise, end=0.9):
    x = 0.1
    for z in noise:
        x = x + spread(x) * z
    return stats.norm.logpdf(noise).sum(), stats.norm.logpdf(end, x, spread(x))


@functools.cache
def grid():
    """Points and weights of quadrature: finer towards 0 and 1, where steps are short, and a little beyond.

    A path that is 0.08 outside of (0, 1) is 25 short steps away from it, and does not come back.
    """
    points, weights = np.polynomial.legendre.leggauss(10)
    near = np.concatenate(
        [[0.0], np.geomspace(1e-10, 0.003, 18), np.arange(0.006, 0.05, 0.003), np.arange(0.05, 0.5, 0.01)]
    )
    inside = np.unique(np.round(np.concatenate([near, [0.5], 1 - near]), 14))
    edges = np.unique(np.concatenate([np.linspace(-0.08, 0, 33), inside, np.linspace(1, 1.08, 33)]))
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    return (middle[:, None] + half[:, None] * points).ravel(), (half[:, None] * weights).ravel()


@functools.cache
def exact(end=0.9, points=9):
    """Log evidence, and the posterior means of the points of the path."""
    x, weights = grid()
    deviation = np.array([spread(value) for value in x])
    step = np.exp(-0.5 * ((x[None, :] - x[:, None]) / deviation[:, None]) ** 2)
    step /= deviation[:, None] * np.sqrt(2 * np.pi)
    forward = [stats.norm.pdf(x, 0.1, spread(0.1))]
    for _ in range(points - 1):
        forward.append((weights * forward[-1]) @ step)
    backward = [stats.norm.pdf(end, x, deviation)]
    for _ in range(points - 1):
        backward.insert(0, step @ (weights * backward[0]))
    evidence = np.sum(weights * forward[-1] * backward[-1])
    products = [weights * f * b for f, b in zip(forward, backward, strict=True)]
    # the same at every step, if the grid is fine enough
    assert [product.sum() for product in products] == pytest.approx([evidence] * points, rel=1e-9)
    return np.log(evidence), [np.sum(product * x) / evidence for product in products]


def test_log_densities():
    check_values(wright_fisher(), plain, draws=1000)


def test_paths():
    noise = draws_of(wright_fisher())(200)
    for z, path in zip(noise, path_of(noise), strict=True):
        x = 0.1
        for own, value in zip(z, path, strict=True):
            x = x + spread(x) * own
            assert value == pytest.approx(x, rel=1e-12)


def test_the_last_step_has_a_density():
    """Its integral over the end is 1."""
    for noise in draws_of(wright_fisher(steps=4))(5):
        x = path_of(noise)[-1]

        def density(end, noise=noise):
            return np.exp(wright_fisher(end=end, steps=4).log_densities(noise)[1])

        assert quad(density, x - 9 * spread(x), x + 9 * spread(x), points=[x])[0] == pytest.approx(1.0, rel=1e-8)


FAULTS = {
    "the root not in the variance": ("variance * math.sqrt(x * (1.0 - x))", "variance * x * (1.0 - x)"),
    "another variance outside": ("ABSORBED_VARIANCE = 0.01, 1e-5", "ABSORBED_VARIANCE = 0.01, 2e-5"),
    "a step too few": ("range(noise.size)", "range(noise.size - 1)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_log_densities(fault):
    with pytest.raises(AssertionError):
        check_values(load("models/wright_fisher.py", [FAULTS[fault]]).wright_fisher(), plain, draws=1000)


def test_a_run_finds_the_quadrature():
    """Evidence and nine means, at 6e-5 each."""
    evidence, points = exact()
    means = {lambda p, k=k: path_of(p["noise"])[..., k]: mean for k, mean in enumerate(points)}
    result = check_run(wright_fisher(), evidence, means, n_chains=15, n_rounds=14)
    # by quadrature; 3.42 and 3.47 in the paper
    assert result.rejection.sum() == pytest.approx(3.455, rel=0.05)


def test_a_run_does_not_find_the_evidence_of_another_end():
    with pytest.raises(AssertionError):
        check_run(wright_fisher(), exact(end=0.8)[0], {}, n_chains=10, n_rounds=12)


def test_what_is_no_bridge_is_refused():
    for wrong in ({"steps": 1}, {"variance": 0.0}, {"absorbed_variance": -1.0}, {"start": np.nan}, {"end": np.inf}):
        with pytest.raises(sterna.OptionError, match="finite ends, at least 2 steps"):
            wright_fisher(**wrong)
