"""NumPyro's distributions as references: densities, shapes, and what is refused."""

import numpy as np
import pytest
from families import NUMPYRO
from prior_checks import assert_same_density, log_density, target_of
from scipy import stats

import sterna

numpyro = pytest.importorskip("numpyro")
jax = pytest.importorskip("jax")
dist = numpyro.distributions


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", NUMPYRO)
def test_density_is_numpyros(name):
    frozen = NUMPYRO[name](dist)
    assert type(frozen).__name__ == name
    # NumPyro's logarithm of the beta function has but seven digits
    digits = 1e-6 if isinstance(frozen, dist.GammaPoisson) else 1e-12
    assert_same_density(frozen, frozen.log_prob, number=12, digits=digits)


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
    frozen = make()
    assert assert_same_density(frozen, frozen.log_prob, number=6).shape == (6, *shape)


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
    frozen = dist.Categorical(jax.numpy.array([0.1, 0.2, 0.7]))
    assert log_density(frozen, np.array([[2.0]]))[0] == pytest.approx(np.log(0.7), rel=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dist.Kumaraswamy(2.0, 1.0), "NumPyro's Kumaraswamy, which has no counterpart"),
        (lambda: dist.Delta(1.0), "NumPyro's Delta"),
        (lambda: dist.TruncatedCauchy(0.0, 1.0, low=0.0), "no Cauchy distribution that is truncated"),
        (lambda: dist.Categorical(np.array([[0.2, 0.8], [0.5, 0.5]])), "a batch of categorical distributions"),
        (lambda: dist.Dirichlet(np.array([1.0, 2.0])).expand([3]), "a batch of vectors"),
        (lambda: dist.Dirichlet(np.ones((3, 2))), "a batch of vectors"),
        (lambda: dist.MultivariateNormal(np.zeros((3, 2)), np.eye(2)), "a batch of vectors"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(sterna.TargetError, match=message):
        target_of(make())
