"""Targets of a log-likelihood and a log-prior."""

import math

import numpy as np
import pytest
from runs import check_mean
from scipy import integrate

import sterna

Y = np.array([1.0, 2.5])


def log_prior(theta):
    return -0.5 * theta[0] ** 2 / 9.0 if theta[1] > 0 else -math.inf


def log_likelihood(p, y):
    # the logarithm of a negative number would be an error
    return -0.5 * np.sum((y - p[0]) ** 2) / p[1] - y.size * math.log(p[1]) - p[1]


def by_name(mu, s):
    return -0.5 * mu**2 / 9.0 if s > 0 else -math.inf


def likelihood_by_name(y, s, mu):
    return -0.5 * np.sum((y - mu) ** 2) / s - y.size * math.log(s) - s


def density(s, mu):
    return math.exp(log_prior([mu, s]) + log_likelihood([mu, s], Y))


EXACT = integrate.dblquad(density, -25, 25, 0, 40)[0]
MEAN = integrate.dblquad(lambda s, mu: mu * density(s, mu), -25, 25, 0, 40)[0] / EXACT


def test_evidence_and_mean_of_a_run():
    """Within 4 standard errors of quadrature: 6e-5 each. The prior's hard edge cuts the vector's first law."""
    walkers = np.random.default_rng(1).normal([0.0, 2.0], 1.0, (40, 2))
    target = sterna.from_log_prior(log_likelihood, log_prior, 2, {"y": Y}, start=walkers)
    assert target.compiled
    result = sterna.sample(target, explorer="slice", n_rounds=11, progress=False)
    assert abs(result.log_evidence.value - math.log(EXACT)) < 4 * result.log_evidence.error
    check_mean(result.posterior["x"][..., 0].values.ravel(), MEAN)


def test_functions_by_name():
    space = {"mu": sterna.Real(), "s": sterna.Real(lower=0)}
    named = sterna.from_log_prior(likelihood_by_name, by_name, space, {"y": Y})
    state = np.array([0.3, 0.2])
    assert named.compiled
    values = named.space.values(state)
    exact = by_name(**values) + likelihood_by_name(Y, **values)
    # u is ten times as wide as mu, and s is exp of twice its u
    slope = math.log(10.0) + math.log(2.0) + 0.4
    assert sum(named.log_densities(state)) == pytest.approx(exact + slope, rel=1e-12)


@pytest.mark.parametrize("names", [("mu", "s"), ("x", "s")])
def test_functions_of_a_vector_of_named_variables(names):
    space = {names[0]: sterna.Real(), names[1]: sterna.Real(lower=0)}
    target = sterna.from_log_prior(log_likelihood, log_prior, space, {"y": Y})
    same = sterna.from_log_prior(
        likelihood_by_name, by_name, {"mu": sterna.Real(), "s": sterna.Real(lower=0)}, {"y": Y}
    )
    state = np.array([0.3, 0.2])
    assert target.log_densities(state) == pytest.approx(same.log_densities(state), rel=1e-13)


def test_one_function_by_name_and_one_by_vector_are_refused():
    with pytest.raises(sterna.TargetError, match="both as functions"):
        sterna.from_log_prior(log_likelihood, by_name, {"mu": sterna.Real(), "s": sterna.Real(lower=0)}, {"y": Y})


def test_what_is_no_function_is_named():
    with pytest.raises(sterna.TargetError, match="log_prior=3"):
        sterna.from_log_prior(log_likelihood, 3, 2)


def test_variables_may_have_any_name():
    """A variable called as the generated function's own names might be."""

    def log_prior(value, infinity):
        return -0.5 * value**2 - 0.5 * infinity**2

    def log_likelihood(value, infinity):
        return -2.0 * (value - 3.0) ** 2 + infinity

    target = sterna.from_log_prior(log_likelihood, log_prior, {"value": sterna.Real(), "infinity": sterna.Real()})
    state = np.array([0.2, 0.1])
    x = target.space.values(state)
    whole = sum(target.log_densities(state))
    direct = log_prior(x["value"], x["infinity"]) + log_likelihood(x["value"], x["infinity"])
    # the first law is normal with deviation 10 in both, which its coordinates count as 1
    assert whole == pytest.approx(direct + 2 * np.log(10.0), rel=1e-12)
    assert sterna.from_log_prior(lambda x: -x @ x, lambda x: -x @ x, np.int64(2)).dimension == 2


def test_parameters_that_keep_their_default_shift_no_others():
    def power_in_between(x, power=2.0, y=0.0):
        return -(abs(y - x[0]) ** power)

    def by_keyword(x, *, y, power=2.0):
        return -(abs(y - x[0]) ** power)

    def plain(x, y):
        return -(abs(y - x[0]) ** 2.0)

    densities = [
        sterna.from_log_prior(one, lambda x: -0.5 * x[0] ** 2, 1, {"y": 5.0}).log_densities(np.full(1, 0.3))
        for one in (plain, power_in_between, by_keyword)
    ]
    assert densities[0] == densities[1] == densities[2]


def test_arguments_without_names_are_refused():
    with pytest.raises(sterna.TargetError, match=r"log_prior takes \*rest; .* by name"):
        sterna.from_log_prior(log_likelihood, lambda *rest: 0.0, 2, {"y": Y}, start=np.ones(2))
