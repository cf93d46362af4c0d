"""The product model: u = xy has the density -log u, so that evidence and means have closed forms."""

import numpy as np
import pytest
from kernels import draws_of
from model_checks import check_gradient, check_run, check_values
from plain import load
from scipy import stats
from scipy.special import betaln, digamma, gammaln

import sterna
from sterna.models.product import product


def plain(trials, successes):
    return lambda x, y: (0.0, stats.binom.logpmf(successes, trials, x * y))


def exact(trials, successes):
    """Log evidence, and the mean of x: given u it is log-uniform between u and 1."""
    a, b = successes + 1, trials - successes + 1
    evidence = -np.log(trials + 1) + np.log(digamma(trials + 2) - digamma(a))
    # the integral of (1 - u) times the binomial probability
    coefficient = gammaln(trials + 1) - gammaln(a) - gammaln(b)
    return evidence, np.exp(coefficient + betaln(a, b + 1) - evidence)


def test_log_densities():
    check_values(product(), plain(100_000, 50_000))
    check_values(product(7, 0), plain(7, 0))
    check_values(product(7, 7), plain(7, 7))


@pytest.mark.parametrize("successes", [0, 3, 7])
def test_ends_of_the_support(successes):
    for x, y in ((0.0, 0.5), (1.0, 1.0)):
        assert product(7, successes).log_densities(x=x, y=y) == plain(7, successes)(x, y)


def test_probabilities_sum_to_one():
    targets = [product(12, successes) for successes in range(13)]
    for x, y in np.random.default_rng(1).random((10, 2)):
        assert sum(np.exp(target.log_densities(x=x, y=y)[1]) for target in targets) == pytest.approx(1.0, rel=1e-12)


def test_gradient():
    target = product(50, 20)
    check_gradient(target, draws_of(target)(20))


FAULTS = {
    "no coefficient": ("log_coefficient(successes, trials)}", "0.0}"),
    "a sum": ("trials, x * y, constant", "trials, 0.5 * (x + y), constant"),
    "other successes": ("successes: int = 50_000", "successes: int = 50_001"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_log_densities(fault):
    with pytest.raises(AssertionError):
        check_values(load("models/product.py", [FAULTS[fault]]).product(), plain(100_000, 50_000))


def test_a_run_finds_the_closed_forms():
    """Evidence and two means, at 6e-5 each."""
    evidence, mean = exact(100_000, 50_000)
    means = {lambda p: p["x"]: mean, lambda p: p["y"]: mean}
    result = check_run(product(), evidence, means, n_chains=15, n_rounds=14)
    # 3.732 by quadrature, 3.7 in the paper
    assert result.global_barrier == pytest.approx(3.732, rel=0.05)


def test_a_run_does_not_find_those_of_other_data():
    with pytest.raises(AssertionError):
        check_run(product(), exact(100_000, 30_000)[0], {}, n_chains=15, n_rounds=12)


def test_what_is_no_number_of_successes_is_refused():
    for wrong in ({"successes": -1}, {"trials": 5, "successes": 6}, {"trials": 0, "successes": 0}):
        with pytest.raises(sterna.OptionError, match="successes must be from 0 to trials"):
            product(**wrong)
