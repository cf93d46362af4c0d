"""Prior transforms: the parameters that likelihood and result see, evidence against quadrature, and what is refused."""

import math

import numpy as np
import pytest
from runs import check_mean
from scipy import integrate, stats

import sterna


def transform(u):
    return np.array([20.0 * u[0] - 10.0, -np.log(1.0 - u[1])])


NAMED = sterna.PriorTransform(transform, ["a", "b"])


def log_likelihood(a, b):
    return -0.5 * (a - b) ** 2 / 0.25 - 0.1 * a


def python_transform(u):
    x = u.copy()
    x[0] = stats.uniform.ppf(u[0], -10, 20)
    x[1] = stats.expon.ppf(u[1])
    return x


def same_bits(u):
    return [20.0 * u[0] - 10.0, 3.0 * u[1]]


EXACT = integrate.dblquad(lambda a, b: math.exp(log_likelihood(a, b) - b) / 20, 0, 9.5, -10, 10)[0]
MEAN = integrate.dblquad(lambda a, b: a * math.exp(log_likelihood(a, b) - b) / 20, 0, 9.5, -10, 10)[0] / EXACT


def check(result):
    """Evidence and a mean within 4 standard errors of quadrature: 6e-5 each."""
    assert abs(result.log_evidence.value - math.log(EXACT)) < 4 * result.log_evidence.error
    check_mean(result.posterior["a"].values.ravel(), MEAN)


def run(function, n_rounds):
    reference = sterna.PriorTransform(function, ["a", "b"])
    return sterna.sample(log_likelihood, reference, explorer="slice", n_chains=6, n_rounds=n_rounds, progress=False)


def test_run_as_machine_code():
    result = run(transform, 11)
    assert result.target.compiled
    check(result)


def test_run_as_python():
    result = run(python_transform, 7)
    assert not result.target.compiled
    assert "log_likelihood runs as Python, not compiled: so does the prior transform" in result.notes[0]
    check(result)


def test_a_transform_that_is_off_by_a_factor_is_caught():
    with pytest.raises(AssertionError):
        check(run(lambda u: transform(u) * np.array([0.8, 1.0]), 11))


@pytest.mark.parametrize("function", [transform, same_bits, lambda u: (u[0], 2.0 * u[1])])
def test_likelihood_and_posterior_see_the_parameters(function):
    target = sterna.Target(lambda x: x[0] + 100.0 * x[1], sterna.PriorTransform(function, 2))
    assert target.compiled
    u = np.array([0.3, 0.6])
    reference, likelihood = target.log_densities(u)
    exact = np.asarray(function(u))
    assert reference == 0.0
    assert likelihood == pytest.approx(exact[0] + 100 * exact[1], rel=1e-15)
    assert target.space.values(u)["x"] == pytest.approx(exact, rel=1e-15)


def test_compiled_and_plain_give_the_same_bits():
    def plain(x):
        return float(np.asarray(x.tolist()).sum())

    def compiled(x):
        return x[0] + x[1]

    found = [
        sterna.sample(f, sterna.PriorTransform(same_bits, 2), explorer="slice", n_chains=3, n_rounds=5, progress=False)
        for f in (plain, compiled)
    ]
    assert [result.target.compiled for result in found] == [False, True]
    assert np.array_equal(found[0].posterior["x"], found[1].posterior["x"])


def test_the_ends_of_the_cube_are_outside():
    target = sterna.Target(lambda x: 0.0 * x[0], sterna.PriorTransform(lambda u: u * 1.0, 1))
    assert target.log_densities(np.array([0.0])) == (-math.inf, -math.inf)
    assert target.log_densities(np.array([1.0])) == (-math.inf, -math.inf)


def test_a_transform_that_writes_into_its_argument_runs_on_a_copy():
    def writes(u):
        u[0] = 2.0 * u[0]
        return u

    target = sterna.Target(lambda x: x[0] + x[1], sterna.PriorTransform(writes, 2))
    u = np.array([0.25, 0.5])
    assert target.log_densities(u)[1] == 1.0
    assert u[0] == 0.25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sterna.PriorTransform(3.0, 2), "give a function"),
        (lambda: sterna.PriorTransform(transform, "a"), "names of the parameters, or their number"),
        (lambda: sterna.PriorTransform(transform, 0), "names of the parameters, or their number"),
        (lambda: sterna.Target(log_likelihood, sterna.PriorTransform(transform, ["a", "a"])), "its own name"),
        (lambda: sterna.Target(log_likelihood, sterna.PriorTransform(transform, 3)), r"shape \(2,\) for 3"),
        (
            lambda: sterna.Target(log_likelihood, NAMED, gradient=log_likelihood),
            "gradient= cannot be used",
        ),
        (
            lambda: sterna.Target(log_likelihood, NAMED).log_densities(a=1, b=1),
            "other coordinates",
        ),
        (
            lambda: sterna.sample(
                log_likelihood,
                NAMED,
                explorer={"a": sterna.Slice(), "b": sterna.Slice()},
                progress=False,
            ),
            "give one explorer for all",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(sterna.Error, match=message):
        make()


def test_names_must_differ_and_a_transform_that_raises_is_reported():
    with pytest.raises(sterna.TargetError, match="each parameter needs its own name"):
        sterna.Target(lambda x: -x, sterna.PriorTransform(lambda u: u, ["x", "x"]))

    def breaks(u):
        if u[0] > 0.9:
            raise ValueError("boom")
        return u

    with pytest.raises(sterna.EvaluationError, match=r"raised ValueError: boom at the state \[0\.9"):
        sterna.sample(lambda x: -x[0], sterna.PriorTransform(breaks, 1), n_rounds=6, n_chains=4, progress=False)


@pytest.mark.parametrize(
    ("function", "parameters", "words"),
    [
        (lambda u: u[5], 2, "The prior transform raised IndexError"),
        (lambda u: None, 2, "The prior transform returned None"),
        (lambda u: ["a", "b"], 2, r"The prior transform returned \['a', 'b'\]"),
        (transform, [1, 2], "1 cannot name a variable"),
        (transform, [["a"], "b"], r"\['a'\] cannot name a variable"),
        (transform, 2.5, "give the names of the parameters, or their number"),
    ],
)
def test_transforms_that_fail_are_named(function, parameters, words):
    with pytest.raises(sterna.TargetError, match=words):
        sterna.Target(lambda x: 0.0, sterna.PriorTransform(function, parameters))


def test_a_whole_float_is_a_number_of_parameters():
    assert sterna.PriorTransform(transform, 2.0) == sterna.PriorTransform(transform, 2)
    assert sterna.Target(lambda x: 0.0, sterna.FittedReference(2.0)).dimension == 2
