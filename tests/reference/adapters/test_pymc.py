"""PyMC's unnamed distributions as references: densities, shapes, and what is refused."""

import numpy as np
import pytest
from prior_checks import assert_same_density, target_of

import sterna
from sterna.reference.adapters.pymc import FAMILIES

pm = pytest.importorskip("pymc")
pytensor = pytest.importorskip("pytensor")

COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.fixture(autouse=True)
def double_precision():
    """Else PyTensor takes Python's numbers, even its own log(2), to be of single precision."""
    with pytensor.config.change_flags(cast_policy="numpy+floatX"):
        yield


LAWS = {
    "NormalRV": lambda: pm.Normal.dist(1.5, 0.7),
    "HalfNormalRV": lambda: pm.HalfNormal.dist(2.0),
    "UniformRV": lambda: pm.Uniform.dist(-1.0, 3.0),
    "ExponentialRV": lambda: pm.Exponential.dist(2.7),
    "GammaRV": lambda: pm.Gamma.dist(3.5, 2.7),
    "InvGammaRV": lambda: pm.InverseGamma.dist(3.0, 2.0),
    "BetaRV": lambda: pm.Beta.dist(2.5, 1.5),
    "CauchyRV": lambda: pm.Cauchy.dist(-1.0, 2.0),
    "HalfCauchyRV": lambda: pm.HalfCauchy.dist(1.5),
    "StudentTRV": lambda: pm.StudentT.dist(3.5, mu=-1.0, sigma=2.0),
    "HalfStudentTRV": lambda: pm.HalfStudentT.dist(3.5, 2.0),
    "LogNormalRV": lambda: pm.LogNormal.dist(0.3, 0.8),
    "LaplaceRV": lambda: pm.Laplace.dist(-1.0, 2.0),
    "LogisticRV": lambda: pm.Logistic.dist(-1.0, 2.0),
    "GumbelRV": lambda: pm.Gumbel.dist(-1.0, 2.0),
    "WeibullBetaRV": lambda: pm.Weibull.dist(1.7, 2.0),
    "ParetoRV": lambda: pm.Pareto.dist(3.0, 2.0),
    "TruncatedNormalRV": lambda: pm.TruncatedNormal.dist(1.0, 2.0, lower=0.5),
    "TruncatedNormalRV by Truncated": lambda: pm.Truncated.dist(pm.Normal.dist(1.0, 2.0), lower=-0.5, upper=3.0),
    "BernoulliRV": lambda: pm.Bernoulli.dist(0.3),
    "BinomialRV": lambda: pm.Binomial.dist(12, 0.3),
    "PoissonRV": lambda: pm.Poisson.dist(4.2),
    "GeometricRV": lambda: pm.Geometric.dist(0.2),
    "DiscreteUniformRV": lambda: pm.DiscreteUniform.dist(-3, 4),
    "NegBinomialRV": lambda: pm.NegativeBinomial.dist(n=3.5, p=0.3),
    "NegBinomialRV by mean": lambda: pm.NegativeBinomial.dist(mu=3.5, alpha=2.0),
    "CategoricalRV": lambda: pm.Categorical.dist(np.array([0.2, 0.5, 0.3])),
    "DirichletRV": lambda: pm.Dirichlet.dist(np.array([0.8, 2.0, 3.5])),
    "MvNormalRV": lambda: pm.MvNormal.dist(np.array([1.0, -2.0]), cov=COVARIANCE),
    "MvNormalRV by factor": lambda: pm.MvNormal.dist(np.array([1.0, -2.0]), chol=np.linalg.cholesky(COVARIANCE)),
}


def log_prob(law):
    """PyMC's own log-density as a function of the value."""
    point = law.type()
    function = pm.compile([point], pm.logp(law, point), mode="FAST_COMPILE")
    return lambda value: function(np.asarray(value, dtype=point.type.dtype))


def test_every_family_is_among_the_cases():
    assert {name.split()[0] for name in LAWS} == set(FAMILIES)


@pytest.mark.parametrize("name", LAWS)
def test_density_is_pymcs(name):
    law = LAWS[name]()
    assert type(law.owner.op).__name__ == name.split()[0]
    assert_same_density(law, log_prob(law), number=8)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: pm.Normal.dist(np.array([1.0, 2.0]), 3.0), (2,)),
        (lambda: pm.Gamma.dist(np.array([1.0, 2.0]), 3.0, shape=(3, 2)), (3, 2)),
        (lambda: pm.HalfNormal.dist(2.0, shape=3), (3,)),
        (lambda: pm.HalfNormal.dist(2.0, shape=pytensor.shared(3)), (3,)),
        (lambda: pm.Poisson.dist(2.0, size=(2, 2)), (2, 2)),
        (lambda: pm.Categorical.dist(np.array([0.2, 0.8]), shape=3), (3,)),
        (lambda: pm.TruncatedNormal.dist(np.array([1.0, 2.0]), 2.0, lower=0.5, shape=(2, 2)), (2, 2)),
    ],
)
def test_shapes(make, shape):
    law = make()
    assert assert_same_density(law, log_prob(law), number=6).shape == (6, *shape)


def test_a_scale_taken_for_a_rate_is_caught():
    with pytest.raises(AssertionError, match="Not equal"):
        assert_same_density(sterna.Exponential(0.5), log_prob(pm.Exponential.dist(2.0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pm.VonMises.dist(0.0, 1.0), "PyMC's VonMisesRV, which has no counterpart"),
        (lambda: pm.Flat.dist(), "flat law"),
        (lambda: pm.Normal.dist(pm.Normal.dist(), 1.0), "depends on another random variable"),
        (lambda: pm.Dirichlet.dist(np.ones(2), shape=(3, 2)), "a batch of vectors"),
        (lambda: pm.math.exp(pm.Normal.dist()), "no counterpart"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(sterna.TargetError, match=message):
        target_of(make())
