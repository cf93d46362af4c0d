"""NumPyro's distributions as references: densities, shapes, and what is refused."""

import numpy as np
import pytest
from prior_checks import assert_same_density, log_density, target_of
from scipy import stats

import sterna
from sterna.reference.adapters.numpyro import FAMILIES

numpyro = pytest.importorskip("numpyro")
jax = pytest.importorskip("jax")
dist = numpyro.distributions


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


LAWS = {
    "Normal": lambda: dist.Normal(1.5, 0.7),
    "HalfNormal": lambda: dist.HalfNormal(2.0),
    "Uniform": lambda: dist.Uniform(-1.0, 3.0),
    "LogUniform": lambda: dist.LogUniform(0.1, 50.0),
    "Exponential": lambda: dist.Exponential(2.5),
    "Gamma": lambda: dist.Gamma(3.5, 2.0),
    "Chi2": lambda: dist.Chi2(5.0),
    "InverseGamma": lambda: dist.InverseGamma(3.0, 2.0),
    "Beta": lambda: dist.Beta(2.5, 1.7),
    "Cauchy": lambda: dist.Cauchy(-1.0, 2.0),
    "HalfCauchy": lambda: dist.HalfCauchy(1.5),
    "StudentT": lambda: dist.StudentT(3.5, -1.0, 2.0),
    "LogNormal": lambda: dist.LogNormal(0.3, 0.8),
    "Laplace": lambda: dist.Laplace(-1.0, 2.0),
    "Logistic": lambda: dist.Logistic(-1.0, 2.0),
    "Gumbel": lambda: dist.Gumbel(-1.0, 2.0),
    "Weibull": lambda: dist.Weibull(2.0, 1.7),
    "Pareto": lambda: dist.Pareto(2.0, 3.0),
    "LeftTruncatedDistribution": lambda: dist.TruncatedNormal(1.0, 2.0, low=0.5),
    "RightTruncatedDistribution": lambda: dist.TruncatedNormal(1.0, 2.0, high=0.5),
    "TwoSidedTruncatedDistribution": lambda: dist.TruncatedNormal(1.0, 2.0, low=-1.0, high=2.5),
    "BernoulliProbs": lambda: dist.Bernoulli(0.3),
    "BernoulliLogits": lambda: dist.Bernoulli(logits=0.3),
    "BinomialProbs": lambda: dist.Binomial(12, 0.3),
    "BinomialLogits": lambda: dist.Binomial(12, logits=0.3),
    "CategoricalProbs": lambda: dist.Categorical(np.array([0.2, 0.5, 0.3])),
    "CategoricalLogits": lambda: dist.Categorical(logits=np.array([0.2, 1.5, 0.3])),
    "DiscreteUniform": lambda: dist.DiscreteUniform(-3, 4),
    "Poisson": lambda: dist.Poisson(4.2),
    "GeometricProbs": lambda: dist.Geometric(0.2),
    "GeometricLogits": lambda: dist.Geometric(logits=-1.2),
    "GammaPoisson": lambda: dist.GammaPoisson(2.5, 0.4),
    "NegativeBinomialProbs": lambda: dist.NegativeBinomial(3, 0.6),
    "NegativeBinomialLogits": lambda: dist.NegativeBinomial(3, logits=0.6),
    "NegativeBinomial2": lambda: dist.NegativeBinomial2(4.0, 2.5),
    "Dirichlet": lambda: dist.Dirichlet(np.array([0.8, 2.0, 3.5])),
    "MultivariateNormal": lambda: dist.MultivariateNormal(
        np.array([1.0, -2.0]), covariance_matrix=np.array([[2.0, 0.5], [0.5, 1.0]])
    ),
}


def test_every_family_is_among_the_cases():
    assert set(LAWS) == set(FAMILIES)


@pytest.mark.parametrize("name", LAWS)
def test_density_is_numpyros(name):
    law = LAWS[name]()
    assert type(law).__name__ == name
    # NumPyro's logarithm of the beta function has but seven digits
    digits = 1e-6 if isinstance(law, dist.GammaPoisson) else 1e-12
    assert_same_density(law, law.log_prob, number=12, digits=digits)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: dist.Normal(np.array([0.0, 1.0]), np.array([[1.0], [2.0], [3.0]])), (3, 2)),
        (lambda: dist.Normal(0.3, 1.5).expand([3]), (3,)),
        (lambda: dist.Gamma(np.array([1.0, 2.0]), 3.0).expand([3, 2]).to_event(1), (3, 2)),
        (lambda: dist.Gamma(np.array([1.0, 2.0]), 3.0).to_event(1).expand([3]), (3, 2)),
        (lambda: dist.Exponential(np.array([[1.0, 2.0]])).to_event(2), (1, 2)),
        (lambda: dist.Poisson(2.0).expand([2, 2]).to_event(2), (2, 2)),
        (lambda: dist.TruncatedNormal(np.array([0.0, 1.0]), 1.0, low=0.5).expand([2, 2]), (2, 2)),
        (lambda: dist.Categorical(np.array([0.2, 0.8])).expand([3]), (3,)),
    ],
)
def test_shapes(make, shape):
    law = make()
    assert assert_same_density(law, law.log_prob, number=6).shape == (6, *shape)


def test_a_scale_taken_for_a_rate_is_caught():
    with pytest.raises(AssertionError, match="Not equal"):
        assert_same_density(sterna.Gamma(2.5, 1 / 3.0), dist.Gamma(2.5, 3.0).log_prob)


@pytest.mark.parametrize(
    ("make", "exact"),
    [
        (lambda: dist.GammaPoisson(2.5, 0.4), stats.nbinom(2.5, 0.4 / 1.4)),
        (lambda: dist.NegativeBinomial(3, 0.6), stats.nbinom(3, 0.4)),
        (lambda: dist.NegativeBinomial2(4.0, 2.5), stats.nbinom(2.5, 2.5 / 6.5)),
    ],
)
def test_negative_binomials_to_all_digits(make, exact):
    assert_same_density(make(), exact.logpmf)


def test_numbers_of_single_precision_are_taken_as_they_are():
    jax.config.update("jax_enable_x64", False)
    law = dist.Categorical(jax.numpy.array([0.1, 0.2, 0.7]))
    assert log_density(law, np.array([[2.0]]))[0] == pytest.approx(np.log(0.7), rel=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dist.VonMises(0.0, 1.0), "NumPyro's VonMises, which has no counterpart"),
        (lambda: dist.Delta(1.0), "NumPyro's Delta"),
        (lambda: dist.TruncatedCauchy(0.0, 1.0, low=0.0), "a Cauchy cut to bounds"),
        (lambda: dist.Categorical(np.array([[0.2, 0.8], [0.5, 0.5]])), "a batch of categorical laws"),
        (lambda: dist.Dirichlet(np.array([1.0, 2.0])).expand([3]), "a batch of vectors"),
        (lambda: dist.Dirichlet(np.ones((3, 2))), "a batch of vectors"),
        (lambda: dist.MultivariateNormal(np.zeros((3, 2)), np.eye(2)), "a batch of normal vectors"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(sterna.TargetError, match=message):
        target_of(make())
