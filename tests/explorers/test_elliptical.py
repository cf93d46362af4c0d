"""What is special to elliptical slice sampling: blocks, edges, and whole runs.

Runs are within 4 standard errors, a false alarm of 6e-5 each.
"""

import math

import numpy as np
import pytest
from annealed import COVARIANCE, MEAN, SEEN, law
from kernels import apply_bound
from scipy import stats

import sterna
from sterna.explorers.elliptical import Elliptical

BLOCKS = {"a": sterna.Normal(0, 1), "p": sterna.Beta(2, 2), "b": sterna.Normal(1, 2)}


def test_no_moves_leave_states_alone():
    target = sterna.models.normal(4)
    states = np.random.default_rng(5).standard_normal((100, 4))
    assert np.array_equal(apply_bound(target, Elliptical(moves=0).bind(target), states, 0.5)[0], states)


def spike(x):
    return 0.0 if x == 0.3 else -np.inf


def test_a_bracket_that_shrinks_to_nothing_stays():
    """Only the state itself has a positive likelihood, and rounding keeps the ellipse from coming back to it."""
    target = sterna.Target(spike, {"x": sterna.Normal(5.7, 1.3)})
    after, log_densities, _ = apply_bound(target, Elliptical().bind(target), np.full((200, 1), 0.3), 1.0)
    assert (after == 0.3).all()
    assert (log_densities[:, 1] == 0.0).all()


def log_evidence_gaussian():
    return float(
        stats.multivariate_normal(MEAN, COVARIANCE + 0.3 * np.eye(3)).logpdf(SEEN) + 1.5 * math.log(2 * math.pi * 0.3)
    )


@pytest.mark.parametrize("explorer", [Elliptical(moves=2), sterna.Cycle(Elliptical(), sterna.Slice())])
def test_runs_find_evidence_and_moments(explorer):
    result = sterna.sample(law("latent").target, explorer=explorer, n_rounds=11, n_copies=1, progress=False)
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
