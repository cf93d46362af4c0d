"""Which NumPyro sites are taken to have densities that integrate to one, and that they do.

By draws and densities (`search.integral`); a sound site is found to be wrong once in 1e6 checks.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.distributions import constraints, transforms

import sterna
from sterna.bridges.jax_batches import in_64_bits
from sterna.bridges.numpyro_normalized import AROUND_ANOTHER, NORMALIZED, reason_unnormalized
from sterna.search.integral import integral_of


def integral(target, draws=4096):
    model = target.view.model
    density = in_64_bits(jax.jit(jax.vmap(lambda x: model.log_densities(x, model.arrays)[0])))
    draw = in_64_bits(jax.jit(jax.vmap(lambda key: model.draw(key, model.arrays))))
    states = np.asarray(draw(np.random.default_rng(0).integers(0, 1 << 32, (draws, 2), np.uint32)))
    with np.errstate(all="ignore"):
        return integral_of(states, lambda rows: np.asarray(density(rows)), np.random.default_rng(1))


def with_site(given):
    def model():
        numpyro.sample("x", given)
        numpyro.sample("y", dist.Normal(0.0, 1.0), obs=1.0)

    return model


def hierarchy():
    """Dependent scales and bounds, a simplex, correlations, an ordered vector, a power, a factor."""
    mu, tau = numpyro.sample("mu", dist.Normal(0.0, 5.0)), numpyro.sample("tau", dist.HalfCauchy(2.0))
    with numpyro.plate("group", 2):
        numpyro.sample("effect", dist.Normal(mu, tau))
    with handlers.scale(scale=0.5):
        share = numpyro.sample("share", dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])))
    numpyro.sample("correlation", dist.LKJCholesky(2, 2.0))
    numpyro.sample("part", dist.TruncatedNormal(mu, 2.0, low=0.0))
    three = dist.Normal(0.0, 1.0).expand([3]).to_event(1)
    numpyro.sample("ordered", dist.TransformedDistribution(three, transforms.OrderedTransform()))
    numpyro.factor("factor", 3.0 - tau * share[0])


def test_a_hierarchy_integrates_to_one():
    target = sterna.from_numpyro(hierarchy)
    assert target.prepare().unnormalized == ""
    found = integral(target)
    assert found.low < 1.0 < found.high < 2.0


class OwnNormal(dist.Normal):
    """Its density lacks a factor."""

    def log_prob(self, value, intermediates=None):
        return super().log_prob(value) + jnp.log(2.0)


def test_a_fault_is_caught_if_it_is_accepted():
    target = sterna.from_numpyro(with_site(OwnNormal(0.0, 1.0)))
    assert "contains OwnNormal" in target.prepare().unnormalized
    found = integral(target)
    assert not found.low <= 1.0 <= found.high


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda: OwnNormal(0.0, 1.0).expand([2]).to_event(1), "OwnNormal"),
        (lambda: dist.FoldedDistribution(dist.Normal(1.0, 1.0)), "FoldedDistribution"),
        (lambda: transformed(dist.Exponential(1.0), transforms.AffineTransform(1.0, 2.0)), "part of the line"),
        (lambda: transformed(dist.Normal(0.0, 1.0), transforms.PowerTransform(3.0)), "PowerTransform"),
        (lambda: mixture(OwnNormal(0.0, 1.0), dist.Normal(0.0, 1.0)), "OwnNormal"),
        (lambda: mixture(dist.Normal(0.0, 1.0), dist.Exponential(1.0)), "other supports"),
    ],
)
def test_the_reason_names_site_and_distribution(write, words):
    reason = reason_unnormalized("x", write())
    assert words in reason
    assert "'x'" in reason


def transformed(given, by):
    return dist.TransformedDistribution(given, by)


def mixture(*components):
    half = dist.Categorical(jnp.array([0.3, 0.7]))
    return dist.MixtureGeneral(half, list(components), support=constraints.real)


def test_a_site_whose_value_is_given_is_refused():
    """Its draws would all be that value, whatever its density."""
    substituted = handlers.substitute(with_site(dist.Normal(0.0, 1.0)), data={"x": 0.5})
    with pytest.raises(sterna.TargetError, match=r"'x' of the NumPyro model.* has a given value"):
        sterna.from_numpyro(substituted)


def line(loc, scale):
    return dist.TransformedDistribution(dist.Normal(0.0, 1.0), [transforms.AffineTransform(loc, scale)])


def every():
    """Each class in the lists, and each bijection."""
    three = dist.Normal(0.0, 1.0).expand([3]).to_event(1)
    half = dist.Categorical(jnp.array([0.3, 0.7]))
    correlated = jnp.array([[1.3, 0.3], [0.3, 1.0]])
    neighbours = jnp.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    return [
        dist.AsymmetricLaplace(0.0, 1.0, 2.0),
        dist.AsymmetricLaplaceQuantile(0.0, 1.0, 0.3),
        dist.Beta(2.0, 3.0),
        dist.BetaProportion(0.3, 4.0),
        dist.CAR(0.0, 0.5, 2.0, neighbours),
        dist.Cauchy(0.0, 2.0),
        dist.Chi2(3.0),
        dist.Dirichlet(jnp.array([1.0, 2.0, 3.0])),
        dist.Exponential(2.0),
        dist.Gamma(2.0, 3.0),
        dist.GaussianRandomWalk(1.0, 3),
        dist.GaussianStateSpace(3, 0.5 * jnp.eye(1), scale_tril=jnp.eye(1)),
        dist.Gompertz(1.0, 2.0),
        dist.Gumbel(0.0, 2.0),
        dist.HalfCauchy(2.0),
        dist.HalfNormal(2.0),
        dist.InverseGamma(3.0, 2.0),
        dist.InverseWishart(5.0, scale_matrix=correlated),
        dist.Kumaraswamy(2.0, 3.0),
        dist.LKJ(3, 2.0),
        dist.LKJCholesky(3, 0.7),
        dist.Laplace(0.0, 2.0),
        dist.Levy(0.0, 1.0),
        dist.LogNormal(0.0, 1.0),
        dist.LogUniform(0.1, 3.0),
        dist.Logistic(0.0, 2.0),
        dist.LowRankMultivariateNormal(jnp.zeros(3), jnp.ones((3, 1)), jnp.ones(3)),
        dist.MatrixNormal(jnp.zeros((2, 2)), jnp.linalg.cholesky(correlated), jnp.eye(2)),
        dist.MultivariateNormal(jnp.zeros(2), correlated),
        dist.MultivariateStudentT(5.0, jnp.zeros(2), jnp.linalg.cholesky(correlated)),
        dist.Normal(1.0, 2.0),
        dist.Pareto(2.0, 3.0),
        dist.RelaxedBernoulliLogits(0.5, logits=-1.0),
        dist.SoftLaplace(0.0, 2.0),
        dist.StudentT(4.0, 0.0, 2.0),
        dist.Uniform(-2.0, 3.0),
        dist.VonMises(0.0, 2.0),
        dist.Weibull(2.0, 3.0),
        dist.Wishart(5.0, correlated),
        dist.WishartCholesky(5.0, correlated),
        dist.ZeroSumNormal(2.0, (4,)),
        three,
        dist.TruncatedCauchy(0.0, 1.0, low=-1.0),
        dist.TruncatedNormal(0.0, 1.0, high=0.5),
        dist.TruncatedNormal(0.0, 1.0, low=-1.0, high=0.5),
        dist.MixtureSameFamily(half, dist.Normal(jnp.array([-1.0, 2.0]), 1.0)),
        dist.MixtureGeneral(half, [dist.HalfNormal(1.0), dist.Gamma(2.0, 1.0)]),
        line(1.0, 2.0),
        dist.TransformedDistribution(line(0.0, 2.0), transforms.ExpTransform()),
        dist.TransformedDistribution(line(0.0, 2.0), transforms.SoftplusTransform()),
        dist.TransformedDistribution(
            line(0.0, 2.0), [transforms.SigmoidTransform(), transforms.AffineTransform(1.0, 2.0)]
        ),
        dist.TransformedDistribution(three, transforms.OrderedTransform()),
        dist.TransformedDistribution(three, transforms.StickBreakingTransform()),
        dist.TransformedDistribution(three, transforms.LowerCholeskyAffine(jnp.zeros(3), jnp.eye(3) + jnp.tri(3))),
    ]


@pytest.mark.laws
def test_every_distribution_that_is_accepted_integrates_to_one():
    seen = set()
    for given in every():
        target = sterna.from_numpyro(with_site(given))
        seen.add(type(given).__name__)
        assert target.prepare().unnormalized == "", given
        found = integral(target)
        assert found.low < 1.0 < found.high < 2.0, (given, found)
    assert seen >= set(NORMALIZED)
    # an expanded distribution is inside of one of independent entries, and a mask that is True is left out by NumPyro
    assert seen >= set(AROUND_ANOTHER) - {"ExpandedDistribution", "MaskedDistribution"}
