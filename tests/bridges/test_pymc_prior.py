"""Compiled draws from a PyMC model's prior against NumPy's."""

import numba
import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import stats

from sterna.bridges import pymc_prior
from sterna.bridges.pymc_prior import CHECKED_DISTRIBUTIONS, PriorDraw, random_operations
from sterna.ground.user_function import Bridged, CannotCompile

N = 4000


def every_distribution():
    with pm.Model() as model:
        pm.Bernoulli("bernoulli", 0.3)
        pm.Beta("beta", 2, 3)
        pm.Binomial("binomial", 7, 0.3)
        pm.Categorical("categorical", p=[0.2, 0.5, 0.3])
        pm.Cauchy("cauchy", 1, 3)
        pm.Dirichlet("dirichlet", [1.0, 2.0, 3.0])
        pm.DiscreteUniform("integers", -2, 4)
        pm.Exponential("exponential", 2.0)
        pm.Gamma("gamma", 2, 3)
        pm.Geometric("geometric", 0.3)
        pm.Gumbel("gumbel", 1, 2)
        pm.HalfCauchy("half_cauchy", 3)
        pm.HalfNormal("half_normal", 2)
        pm.InverseGamma("inverse_gamma", 3, 2)
        pm.Laplace("laplace", 1, 2)
        pm.LogNormal("log_normal", 1, 2)
        pm.Logistic("logistic", 1, 2)
        pm.MvNormal("mv_normal", [1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]])
        pm.NegativeBinomial("negative_binomial", mu=3, alpha=2)
        pm.Normal("normal", 1, 2)
        pm.Poisson("poisson", 3)
        pm.StudentT("student_t", 3, mu=1, sigma=2)
        pm.Uniform("uniform", 1, 3)
        pm.Weibull("weibull", 2, 3)
    return model


def compiled_form(draw):
    """The compiled draw as a function that Python can call."""
    bridged = Bridged(draw, draw.compiled)
    function = bridged.compiled()

    @numba.njit
    def call(words, rng):
        return function(words, rng)

    return lambda rng: call(bridged.words, rng)


def draws(model):
    """Compiled draws and NumPy's, by coordinate."""
    draw = PriorDraw(model)
    compiled, rng = compiled_form(draw), np.random.Generator(np.random.SFC64(1))
    return np.array([compiled(rng) for _ in range(N)]), np.array([draw(rng) for _ in range(N)])


def p_values(ours, numpys):
    return np.array([stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(ours.T, numpys.T, strict=True)])


# distribution functions of some unconstrained values
EXACT = {
    "cauchy": stats.cauchy(1, 3).cdf,
    "exponential": lambda value: stats.expon(scale=0.5).cdf(np.exp(value)),
    "half_cauchy": lambda value: stats.halfcauchy(scale=3).cdf(np.exp(value)),
    "normal": stats.norm(1, 2).cdf,
    "uniform": stats.logistic.cdf,
}


@pytest.mark.laws
def test_every_checked_distribution():
    """Compiled draws against NumPy's, and some against exact distributions: 6e-5 each, 2e-3 in all."""
    model = every_distribution()
    ours, numpys = draws(model)
    assert (p_values(ours, numpys) > 6e-5).all()
    names = [rv.name for rv in model.free_RVs for _ in range(2 if rv.name in ("dirichlet", "mv_normal") else 1)]
    for name, cdf in EXACT.items():
        for found in (ours, numpys):
            assert stats.kstest(found[:, names.index(name)], cdf).pvalue > 6e-5
    # and the sum of two coordinates that depend on each other
    place = names.index("mv_normal")
    sums = [one[:, place] + one[:, place + 1] for one in (ours, numpys)]
    assert stats.ks_2samp(*sums, method="asymp").pvalue > 6e-5


def test_every_checked_distribution_is_in_the_model():
    draw = PriorDraw(every_distribution())
    outputs = pymc_prior.with_checked_distributions(draw.outputs)
    made = draw._function(outputs, "NUMBA")
    assert random_operations(made.maker.fgraph) == CHECKED_DISTRIBUTIONS


def test_a_wrong_distribution_is_seen(monkeypatch):
    """PyTensor's own compiled Cauchy draws divide by the scale."""
    with pm.Model() as model:
        pm.Cauchy("cauchy", 1, 3)
    monkeypatch.setattr(pymc_prior, "REWRITTEN", {})
    with pytest.raises(CannotCompile):
        PriorDraw(model).compiled()
    monkeypatch.setattr(pymc_prior, "CHECKED_DISTRIBUTIONS", {"CauchyRV"})
    if pytensor.__version__.startswith("2.38"):
        assert (p_values(*draws(model)) < 6e-5).all()


def test_same_values_as_python():
    with pm.Model() as model:
        pm.Normal("a", shape=2)
        pm.Uniform("b")
    draw = PriorDraw(model)
    one, other = (np.random.Generator(np.random.SFC64(4)) for _ in range(2))
    compiled = compiled_form(draw)
    for _ in range(3):
        np.testing.assert_allclose(compiled(one), draw(other), rtol=1e-12)


def test_draws_in_a_loop_are_not_compiled():
    """Compiled, they would fail at the first draw: PyTensor copies the generator of an inner graph."""
    with pm.Model() as model:
        pm.AR("x", [0.5], sigma=1.0, init_dist=pm.Normal.dist(0, 1), steps=3)
    draw = PriorDraw(model)
    with pytest.raises(CannotCompile):
        draw.compiled()
    assert draw(np.random.default_rng(1)).shape == (4,)
