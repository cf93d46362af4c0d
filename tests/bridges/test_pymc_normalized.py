"""Which PyMC priors are taken to integrate to one, and that they do: by their draws and densities (`search.integral`).

A sound prior is found to be wrong once in 1e6 checks.
"""

import numpy as np
import pymc as pm
import pytest
from pymc.distributions import transforms
from pymc_checks import prior_states
from quick import first

import sterna
from sterna.bridges import pymc_prior, pytensor_numba
from sterna.bridges.pymc_normalized import COMPOSED, NORMALIZED, reason_unnormalized
from sterna.bridges.pymc_space import name_of
from sterna.bridges.pytensor_numba import array_mode
from sterna.errors import OptionError
from sterna.ground.user_function import Bridged, CannotCompile
from sterna.search.integral import integral_of

NEIGHBOURS = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
CORRELATED = np.array([[1.3, 0.3], [0.3, 1.0]])
TWO = np.zeros(2)


@pytest.fixture(autouse=True)
def _nothing_compiled(monkeypatch):
    """Compile nothing: graphs can be evaluated without."""
    for module in (pymc_prior, pytensor_numba):
        monkeypatch.setattr(module, "machine_mode", array_mode)

    def compiled(self):
        raise CannotCompile("")

    monkeypatch.setattr(Bridged, "compiled", compiled)


def built(write):
    with pm.Model() as model:
        write()
        pm.Normal("observed", 0, 1, observed=1.0)
    return model


def integral(model, draws=2000):
    states, graphs = prior_states(model, draws)
    function = graphs.compile([graphs.log_densities()[0]], array_mode())
    with np.errstate(all="ignore"):
        values = lambda rows: np.array([float(function(row)[0]) for row in np.ascontiguousarray(rows)])  # noqa: E731
        return integral_of(states, values, np.random.default_rng(1))


def hierarchy():
    """Scales on which others depend, a restricted distribution, a simplex, and a potential, which is likelihood."""
    mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 2)
    pm.Normal("effect", mu, tau, shape=3)
    share = pm.Dirichlet("share", np.array([1.0, 2.0, 3.0]))
    pm.Truncated("part", pm.Normal.dist(mu, 2.0), lower=0.0)
    pm.Potential("potential", 3.0 - tau * share[0])


def mixed():
    """A mixture, a walk, correlated and heavy-tailed variables, bounds that depend on others, no transform."""
    upper = pm.Gamma("upper", 3, 1)
    pm.Uniform("below", -1, upper)
    pm.NormalMixture("mixture", w=[0.3, 0.7], mu=[-1, 3], sigma=[1.0, 0.3])
    pm.GaussianRandomWalk("walk", 0, 1, init_dist=pm.StudentT.dist(nu=3, mu=0, sigma=1), steps=1)
    pm.MvNormal("correlated", TWO, CORRELATED)
    pm.HalfNormal("plain", 1, default_transform=None)
    pm.ZeroSumNormal("zero_sum", sigma=2.0, shape=3)


@pytest.mark.parametrize("write", first(1, [mixed, hierarchy]))
def test_priors_that_are_accepted_integrate_to_one(write):
    model = built(write)
    assert reason_unnormalized(model) == ""
    found = integral(model)
    assert found.low < 1.0 < found.high < 2.0


def ordered():
    pm.Normal("cuts", 0, 1, shape=2, transform=transforms.ordered)


def correlations():
    pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0), compute_corr=False)


@pytest.mark.parametrize(
    ("write", "words"), [(ordered, "transform ordered of 'cuts'"), (correlations, "LKJCholeskyCov")]
)
def test_faults_are_caught_if_they_are_accepted(write, words):
    """The integral of an ordered pair is 1/2; PyMC's constant of LKJ distributions has the wrong sign."""
    model = built(write)
    assert words in reason_unnormalized(model)
    found = integral(model)
    assert not found.low <= 1.0 <= found.high


class OwnNormal(type(pm.Normal.dist().owner.op)):
    pass


OwnNormal.__name__ = "NormalRV"


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda: pm.Censored("x", pm.Normal.dist(), lower=-1, upper=1), "contains Censored"),
        (lambda: pm.Normal("x", default_transform=transforms.Interval(-1, 1)), "transform interval of 'x'"),
        (lambda: pm.Uniform("x", 0, 2, default_transform=transforms.Interval(0, 1)), "transform interval of 'x'"),
        (lambda: pm.CustomDist("x", logp=lambda v: -(v**2), random=lambda rng, size: rng.normal(size=size)), "CustomD"),
        (lambda: pm.Mixture("x", [0.5, 0.5], [pm.Normal.dist(), pm.Flat.dist()]), "contains Flat"),
        (lambda: pm.CAR("x", np.zeros(3), W=NEIGHBOURS, alpha=0.5, tau=2.0), "contains CAR"),
        (lambda: pm.LKJCorr("x", n=3, eta=2.0), "contains LKJCorr"),
    ],
)
def test_the_reason_names_variable_and_distribution(write, words):
    assert words in reason_unnormalized(built(write))


def test_an_operation_of_the_user_is_not_known_by_its_name():
    model = built(lambda: pm.Normal("x"))
    operation = OwnNormal()
    operation.__class__.__module__ = "own"
    model["x"].owner.op = operation
    assert name_of(model["x"]) == "NormalRV"
    assert "contains Normal" in reason_unnormalized(model)


def test_a_model_that_does_not_check_bounds():
    with pm.Model(check_bounds=False) as model:
        pm.HalfNormal("x", 1, default_transform=None)
    assert "does not check bounds" in reason_unnormalized(model)


def test_a_run_says_why_it_cannot_begin_at_a_mixture():
    model = built(ordered)
    with pytest.raises(OptionError, match=r"transform ordered of 'cuts' may restrict its prior.*give path=\"prior\""):
        sterna.sample(model, path="fitted", progress=False)


EVERY = {
    "AsymmetricLaplace": lambda: pm.AsymmetricLaplace("x", b=1, kappa=2, mu=0),
    "AR": lambda: pm.AR("x", [0.5, 0.2], sigma=1.0, init_dist=pm.Normal.dist(0, 1, shape=2), steps=2),
    "Beta": lambda: pm.Beta("x", 2, 3),
    "Cauchy": lambda: pm.Cauchy("x", 0, 2),
    "ChiSquared": lambda: pm.ChiSquared("x", 3),
    "Dirichlet": lambda: pm.Dirichlet("x", np.ones((2, 3))),
    "ExGaussian": lambda: pm.ExGaussian("x", mu=0, sigma=1, nu=2),
    "Exponential": lambda: pm.Exponential("x", 2),
    "Gamma": lambda: pm.Gamma("x", 2, 3),
    "Gumbel": lambda: pm.Gumbel("x", 0, 2),
    "HalfCauchy": lambda: pm.HalfCauchy("x", 2),
    "HalfNormal": lambda: pm.HalfNormal("x", 2),
    "HalfStudentT": lambda: pm.HalfStudentT("x", nu=4, sigma=2),
    "Interpolated": lambda: pm.Interpolated("x", np.linspace(0, 1, 9), np.linspace(1, 3, 9)),
    "InverseGamma": lambda: pm.InverseGamma("x", 3, 2),
    "KroneckerNormal": lambda: pm.KroneckerNormal("x", np.zeros(4), covs=[CORRELATED, np.eye(2)]),
    "Kumaraswamy": lambda: pm.Kumaraswamy("x", 2, 3),
    "Laplace": lambda: pm.Laplace("x", 0, 2),
    "LogNormal": lambda: pm.LogNormal("x", 0, 1),
    "Logistic": lambda: pm.Logistic("x", 0, 2),
    "LogitNormal": lambda: pm.LogitNormal("x", 0, 1),
    "MatrixNormal": lambda: pm.MatrixNormal("x", np.zeros((2, 2)), rowcov=CORRELATED, colcov=np.eye(2)),
    "Mixture": lambda: pm.Mixture("x", [0.3, 0.7], [pm.Gamma.dist(2, 1), pm.HalfNormal.dist(2)]),
    "Moyal": lambda: pm.Moyal("x", 0, 2),
    "MvNormal": lambda: pm.MvNormal("x", TWO, CORRELATED),
    "MvStudentT": lambda: pm.MvStudentT("x", nu=5, mu=TWO, scale=CORRELATED),
    "Normal": lambda: pm.Normal("x", 1, 2, shape=3),
    "Pareto": lambda: pm.Pareto("x", 3, 2),
    "RandomWalk": lambda: pm.RandomWalk(
        "x", innovation_dist=pm.Laplace.dist(0, 1), init_dist=pm.Gamma.dist(2, 1), steps=2
    ),
    "Rice": lambda: pm.Rice("x", 1, 2),
    "SkewNormal": lambda: pm.SkewNormal("x", mu=0, sigma=1, alpha=3),
    "SkewStudentT": lambda: pm.SkewStudentT("x", a=3, b=4, mu=0, sigma=1),
    "StickBreakingWeights": lambda: pm.StickBreakingWeights("x", 2.0, K=3),
    "StudentT": lambda: pm.StudentT("x", nu=4, mu=0, sigma=2),
    "Triangular": lambda: pm.Triangular("x", lower=0, c=0.3, upper=1),
    "Truncated": lambda: pm.Truncated("x", pm.Gamma.dist(2, 1), lower=0.5, upper=3),
    "TruncatedNormal": lambda: pm.TruncatedNormal("x", 0, 1, lower=-1),
    "Uniform": lambda: pm.Uniform("x", -2, 3),
    "VonMises": lambda: pm.VonMises("x", 0, 2),
    "Wald": lambda: pm.Wald("x", 2, 3),
    "Weibull": lambda: pm.Weibull("x", 2, 3),
    "ZeroSumNormal": lambda: pm.ZeroSumNormal("x", sigma=2.0, shape=(3, 3), n_zerosum_axes=2),
}


@pytest.mark.laws
def test_every_distribution_that_is_accepted_integrates_to_one():
    seen = set()
    for name, write in EVERY.items():
        model = built(write)
        seen.add(name_of(model["x"]))
        assert reason_unnormalized(model) == ""
        found = integral(model)
        assert found.low < 1.0 < found.high < 2.0, (name, found)
    assert seen == NORMALIZED | COMPOSED
