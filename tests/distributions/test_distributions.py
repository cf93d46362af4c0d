"""Distributions at the edges of their support, as vectors and arrays, and with bad arguments."""

import itertools
import math

import numpy as np
import pytest
from distribution_checks import DRAWS, FALSE_ALARM, draw, log_density, p_of_distribution, p_of_mean, target_of, zero
from families import DISCRETE
from scipy import stats

import sterna
from sterna.engine.round import draw_states
from sterna.ground.streams import new_stream


def p_of_moments(draws, mean, covariance):
    """Smallest p of all means and covariances, corrected for their number."""
    centred = draws - mean
    size = len(mean)
    values = [p_of_mean(draws[:, i], mean[i]) for i in range(size)]
    for i, j in itertools.combinations_with_replacement(range(size), 2):
        values.append(p_of_mean(centred[:, i] * centred[:, j], covariance[i, j]))
    return min(values) * len(values)


@pytest.mark.parametrize(
    ("distribution", "outside"),
    [
        (sterna.HalfNormal(1.0), [-0.5]),
        (sterna.Uniform(0.0, 1.0), [-0.5, 2.0]),
        (sterna.LogUniform(1.0, 2.0), [-1.0, 0.5, 3.0]),
        (sterna.Exponential(1.0), [-1.0]),
        (sterna.Gamma(2.0), [-1.0, 0.0]),
        (sterna.InverseGamma(2.0), [-1.0, 0.0]),
        (sterna.Beta(2.0, 2.0), [-0.5, 0.0, 1.0, 1.5]),
        (sterna.HalfCauchy(1.0), [-1.0]),
        (sterna.LogNormal(), [-1.0, 0.0]),
        (sterna.HalfStudentT(3.0), [-1.0]),
        (sterna.Weibull(2.0), [-1.0, 0.0]),
        (sterna.Pareto(2.0, 3.0), [-1.0, 2.9]),
        (sterna.TruncatedNormal(0.0, 1.0, -1.0, 2.0), [-1.1, 2.1]),
        (sterna.NegativeBinomial(n=2.0, p=0.5), [-1, 0.5]),
        (sterna.Bernoulli(0.3), [-1, 0.5, 2]),
        (sterna.Spin(0.3), [0, 2]),
        (sterna.Categorical([0.5, 0.5]), [-1, 0.5, 2, 70]),
        (sterna.DiscreteUniform(2, 5), [1, 2.5, 6]),
        (sterna.Poisson(3.0), [-1, 1.5]),
        (sterna.Geometric(0.5), [0, 1.5]),
        (sterna.Binomial(5, 0.5), [-1, 1.5, 6]),
    ],
    ids=repr,
)
def test_density_is_zero_outside_the_support(distribution, outside):
    assert (log_density(distribution, outside) == -np.inf).all()


def test_category_without_probability_is_never_drawn():
    for weights in ([0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]):
        assert 0.0 not in np.array(weights)[draw(sterna.Categorical(weights), 2000)]


def test_draws_depend_on_the_seed_and_on_nothing_else():
    first, second = draw(sterna.Gamma(2.0), 100, seed=1), draw(sterna.Gamma(2.0), 100, seed=1)
    assert np.array_equal(first, second)
    assert not np.isin(draw(sterna.Gamma(2.0), 100, seed=2), first).any()


def test_single_integer_is_certain():
    distribution = sterna.DiscreteUniform(4, 4)
    assert (draw(distribution, 100) == 4).all()
    assert log_density(distribution, [4])[0] == 0.0
    assert (draw(sterna.Binomial(0, 0.3), 100) == 0).all()


# ------------------------------------------------------------------------------------------ edges of supports


@pytest.mark.parametrize(
    "distribution",
    [
        sterna.Beta(1e-3, 1e-3),
        sterna.Beta(1e-3, 5.0),
        sterna.Beta(5.0, 1e-3),
        sterna.Gamma(1e-3),
        sterna.Gamma(1e-3, 1e6),
        sterna.InverseGamma(1e-3),
        sterna.InverseGamma(1e-3, 1e-6),
        sterna.LogNormal(0.0, 500.0),
        sterna.HalfCauchy(1e300),
        sterna.Cauchy(0.0, 1e300),
        sterna.StudentT(1e-2),
        sterna.LogUniform(1e-300, 1e300),
        sterna.Exponential(1e-300),
        sterna.Spin(500.0),
        sterna.Bernoulli(1e-12),
    ],
    ids=repr,
)
def test_extreme_draws_stay_strictly_inside_the_support(distribution):
    draws = draw(distribution, 5000).astype(float)
    assert np.isfinite(draws).all()
    if type(distribution).__name__ in ("Beta", "Gamma", "InverseGamma", "LogNormal"):
        assert (draws > 0).all()
    if type(distribution).__name__ == "Beta":
        assert (draws < 1).all()
    assert np.isfinite(log_density(distribution, draws[:1000])).all()


def test_extreme_simplex_stays_on_the_simplex():
    draws = draw(sterna.Dirichlet([1e-3, 1e-3, 1e-3]), 5000)
    assert (draws >= 0).all()
    assert np.abs(draws.sum(axis=-1) - 1).max() < 1e-12


# ------------------------------------------------------------------------------------------------- vectors

CONCENTRATIONS = np.array([0.8, 2.0, 3.5, 1.2])


def dirichlet_moments(a):
    mean = a / a.sum()
    return mean, (np.diag(mean) - np.outer(mean, mean)) / (a.sum() + 1)


def p_of_dirichlet(draws, a):
    """Smallest p of all moments, of all marginals and of sums of neighbours, corrected for their number."""
    values = [p_of_moments(draws[:, :-1], dirichlet_moments(a)[0][:-1], dirichlet_moments(a)[1])]
    for size in (1, 2, 3):
        for start in range(len(a) - size + 1):
            part = slice(start, start + size)
            # parts of a Dirichlet vector add up to a Beta variable
            frozen = stats.beta(a[part].sum(), a.sum() - a[part].sum())
            values.append(p_of_distribution(draws[:, part].sum(axis=1), frozen))
    return min(values) * len(values)


def test_dirichlet_draws_have_their_distribution():
    """False-alarm rate: 1e-6."""
    draws = draw(sterna.Dirichlet(CONCENTRATIONS))
    assert (draws > 0).all()
    assert np.abs(draws.sum(axis=1) - 1).max() < 1e-12
    assert p_of_dirichlet(draws, CONCENTRATIONS) > FALSE_ALARM


@pytest.mark.parametrize("fault", ["two parts exchanged", "a concentration ten percent off"])
def test_check_catches_other_dirichlet_distributions(fault):
    other = CONCENTRATIONS[[1, 0, 2, 3]] if fault == "two parts exchanged" else CONCENTRATIONS * [1.1, 1, 1, 1]
    assert p_of_dirichlet(draw(sterna.Dirichlet(other)), CONCENTRATIONS) < FALSE_ALARM


def test_dirichlet_density_is_scipys_times_the_jacobian_of_the_stick():
    """The map from fractions to all parts but the last is triangular; its diagonal is what is left of the stick."""
    target = target_of(sterna.Dirichlet(CONCENTRATIONS))
    for fractions in np.random.default_rng(8).uniform(0.05, 0.95, (20, 3)):
        parts = target.space.values(fractions)["v"]
        left = np.concatenate([[1.0], np.cumprod(1 - fractions)[:-1]])
        exact = stats.dirichlet(CONCENTRATIONS).logpdf(parts) + np.log(left).sum()
        assert target.log_densities(fractions)[0] == pytest.approx(exact, rel=1e-12)


def test_dirichlet_density_integrates_to_one():
    target = target_of(sterna.Dirichlet([2, 3, 4]))
    # the density is a polynomial in the fractions, for which this rule is exact
    nodes, weights = np.polynomial.legendre.leggauss(12)
    nodes, weights = 0.5 * (nodes + 1), 0.5 * weights
    total = sum(
        v * w * math.exp(target.log_densities(np.array([x, y]))[0])
        for (x, v), (y, w) in itertools.product(zip(nodes, weights, strict=True), repeat=2)
    )
    assert total == pytest.approx(1.0, rel=1e-12)


MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[2.0, 0.6, -0.5], [0.6, 1.0, 0.2], [-0.5, 0.2, 0.8]])


def p_of_multivariate_normal(draws):
    """Smallest p of the moments, of the marginals and of some projections, corrected for their number."""
    directions = np.concatenate([np.eye(3), np.random.default_rng(6).standard_normal((5, 3))])
    values = [p_of_moments(draws, MEAN, COVARIANCE)]
    for direction in directions:
        frozen = stats.norm(MEAN @ direction, math.sqrt(direction @ COVARIANCE @ direction))
        values.append(p_of_distribution(draws @ direction, frozen))
    return min(values) * len(values)


def test_multivariate_normal_draws_have_their_distribution():
    """False-alarm rate: 1e-6."""
    assert p_of_multivariate_normal(draw(sterna.MultivariateNormal(MEAN, COVARIANCE))) > FALSE_ALARM


def test_check_catches_the_wrong_side_of_the_factor():
    standard = np.random.default_rng(9).standard_normal((DRAWS, 3))
    wrong = MEAN + standard @ np.linalg.cholesky(COVARIANCE)
    assert p_of_multivariate_normal(wrong) < FALSE_ALARM


def test_multivariate_normal_density_is_scipys_times_the_determinant_of_the_factor():
    target = target_of(sterna.MultivariateNormal(MEAN, COVARIANCE))
    exact = stats.multivariate_normal(MEAN, COVARIANCE)
    for z in np.random.default_rng(8).standard_normal((20, 3)):
        x = target.space.values(z)["v"]
        jacobian = 0.5 * np.linalg.slogdet(COVARIANCE)[1]
        assert target.log_densities(z)[0] == pytest.approx(exact.logpdf(x) + jacobian, rel=1e-12)


# ---------------------------------------------------------------------------------------------------- shapes


def test_arguments_broadcast():
    distribution = sterna.Normal([0.0, 1.0, 2.0], [[1.0], [2.0]])
    assert distribution.shape == (2, 3)
    state = np.linspace(-1, 2, 6)
    exact = stats.norm([0.0, 1.0, 2.0], [[1.0], [2.0]]).logpdf(state.reshape(2, 3)).sum()
    assert target_of(distribution).log_densities(state)[0] == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [(None, ()), ((), ()), (3, (3,)), (np.int64(3), (3,)), ((2, 3), (2, 3)), ([2, 3], (2, 3))],
)
def test_shapes(shape, expected):
    assert sterna.Normal(0.0, 1.0, shape=shape).shape == expected
    assert draw(sterna.Poisson(3.0, shape=shape), 7).shape == (7, *expected)


def test_arguments_and_shape_broadcast_together():
    """False-alarm rate: below 1e-40, as means of 3000 draws vary by 0.02."""
    distribution = sterna.Normal([0.0, 10.0], 1.0, shape=(3, 2))
    draws = draw(distribution, 1000)
    assert draws.shape == (1000, 3, 2)
    assert (np.abs(draws.mean(axis=(0, 1)) - [0, 10]) < 1).all()


def test_categorical_takes_a_shape():
    assert draw(sterna.Categorical([0.2, 0.8], shape=(2, 2)), 5).shape == (5, 2, 2)
    assert draw(sterna.Categorical([0.2, 0.8], shape=None), 5).shape == (5,)


def test_coordinates_with_different_arguments_have_different_distributions():
    """False-alarm rate: 3e-6."""
    alphas, rates = np.array([0.5, 3.0]), np.array([1.0, 4.0])
    draws = draw(sterna.Gamma(alphas, rates))
    for k in range(2):
        assert p_of_distribution(draws[:, k], stats.gamma(alphas[k], scale=1 / rates[k])) > FALSE_ALARM
    assert stats.pearsonr(stats.rankdata(draws[:, 0]), draws[:, 1]).pvalue > FALSE_ALARM


def test_tables_of_several_categorical_variables_do_not_mix():
    """False-alarm rate: 3e-6."""
    weights = {"a": [0.2, 0.8], "b": [0.5, 0.1, 0.4], "c": [0.25, 0.25, 0.25, 0.25]}
    parts = {"n": sterna.Normal(), **{name: sterna.Categorical(p) for name, p in weights.items()}}
    target = sterna.Target(zero, parts)
    states = np.zeros((DRAWS, 4))
    draw_states(target.block, 1, states, np.zeros(1, dtype=np.int64), new_stream())
    values = target.space.values(states)
    for name, p in weights.items():
        assert p_of_distribution(values[name], stats.rv_discrete(values=(range(len(p)), p))) > FALSE_ALARM
    exact = stats.norm.logpdf(0.3) + math.log(0.8) + math.log(0.4) + math.log(0.25)
    assert target.log_densities(n=0.3, a=1, b=2, c=3)[0] == pytest.approx(exact, rel=1e-13)


def test_a_negative_binomial_of_large_alpha_is_nearly_poisson():
    """Its logarithms of gamma functions cancel all but eight digits, its mean none."""
    support = np.arange(60)
    probability = np.exp(log_density(sterna.NegativeBinomial(5.0, 1e8), support))
    assert probability.sum() == pytest.approx(1.0, abs=3e-6)
    assert probability == pytest.approx(stats.poisson(5.0).pmf(support), abs=3e-6)


def test_integers_are_whole_numbers():
    for distribution, _ in DISCRETE.values():
        assert draw(distribution, 10).dtype == np.int64


def test_distribution_shows_what_was_given():
    assert repr(sterna.Normal(0, 1)) == "Normal(mu=0, sigma=1)"
    assert repr(sterna.Gamma(2.0, shape=3)) == "Gamma(alpha=2.0, beta=1.0, shape=3)"


# ---------------------------------------------------------------------------------------------- bad arguments

GOOD = {
    sterna.Normal: {"mu": 0.0, "sigma": 1.0},
    sterna.HalfNormal: {"sigma": 1.0},
    sterna.Uniform: {"lower": 0.0, "upper": 1.0},
    sterna.LogUniform: {"lower": 1.0, "upper": 2.0},
    sterna.Exponential: {"lam": 1.0},
    sterna.Gamma: {"alpha": 1.0, "beta": 1.0},
    sterna.InverseGamma: {"alpha": 1.0, "beta": 1.0},
    sterna.Beta: {"alpha": 1.0, "beta": 1.0},
    sterna.Cauchy: {"alpha": 0.0, "beta": 1.0},
    sterna.HalfCauchy: {"beta": 1.0},
    sterna.StudentT: {"nu": 3.0, "mu": 0.0, "sigma": 1.0},
    sterna.LogNormal: {"mu": 0.0, "sigma": 1.0},
    sterna.CircularUniform: {"lower": 0.0, "upper": 1.0},
    sterna.VonMises: {"mu": 0.0, "kappa": 1.0},
    sterna.Bernoulli: {"p": 0.5},
    sterna.Spin: {"field": 0.0},
    sterna.Categorical: {"p": [0.5, 0.5]},
    sterna.DiscreteUniform: {"lower": 0, "upper": 1},
    sterna.Poisson: {"mu": 1.0},
    sterna.Geometric: {"p": 0.5},
    sterna.Binomial: {"n": 3, "p": 0.5},
    sterna.Dirichlet: {"a": [1.0, 2.0]},
    sterna.MultivariateNormal: {"mu": [0.0, 0.0], "cov": [[1.0, 0.0], [0.0, 1.0]]},
}
POSITIVE = {"sigma", "lam", "nu", "beta", "alpha", "a", "kappa"}
ARGUMENTS = [(kind, name) for kind, arguments in GOOD.items() for name in arguments]


def spoilt(good, bad):
    """The argument with its first number replaced."""
    if isinstance(good, list):
        return [spoilt(good[0], bad), *good[1:]]
    return bad


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, "abc", "0.5", None, {}, "all text"], ids=repr)
@pytest.mark.parametrize(("kind", "name"), ARGUMENTS, ids=lambda part: getattr(part, "__name__", part))
def test_argument_that_is_no_finite_number_is_named(kind, name, bad):
    given = "text" if bad == "all text" else spoilt(GOOD[kind][name], bad)
    with pytest.raises(sterna.TargetError, match=rf"^{kind.__name__}\([\s\S]*\): {name}\b"):
        kind(**{**GOOD[kind], name: given})


@pytest.mark.parametrize("bad", [0.0, -1.0, [1.0, -1.0]], ids=repr)
@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, name in ARGUMENTS if name in POSITIVE and (kind, name) != (sterna.Cauchy, "alpha")],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_argument_that_must_be_positive_is_named(kind, name, bad):
    given = spoilt(GOOD[kind][name], bad) if not isinstance(bad, list) else bad
    with pytest.raises(sterna.TargetError, match=rf"\b{name}\b.*must be positive"):
        kind(**{**GOOD[kind], name: given})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sterna.Uniform(1.0, 1.0), r"Uniform\(lower=1.0, upper=1.0\): lower must be below upper"),
        (lambda: sterna.Uniform([0.0, 2.0], 1.0), "lower must be below upper"),
        (lambda: sterna.LogUniform(0.0, 1.0), "lower must be positive and below upper"),
        (lambda: sterna.LogUniform(2.0, 1.0), "lower must be positive and below upper"),
        (lambda: sterna.CircularUniform(3.0, 1.0), "lower must be below upper"),
        (lambda: sterna.CircularUniform(-1.7e308, 1.7e308), "upper - lower must be finite"),
        (lambda: sterna.VonMises(0.0, 0.0), r"kappa must be positive; of all angles alike, sterna.CircularUniform\(\)"),
        (lambda: sterna.Angle(1.0, 1.0), r"Angle\(lower=1.0, upper=1.0\): lower must be below upper"),
        (lambda: sterna.Angle(0.0, np.inf), "both finite"),
        (lambda: sterna.Bernoulli(0.0), "p must lie strictly between 0 and 1"),
        (lambda: sterna.Bernoulli(1.0), "p must lie strictly between 0 and 1"),
        (lambda: sterna.Geometric(1.5), "p must lie between 1e-14 and 1"),
        (lambda: sterna.Binomial(3, -0.5), "p must lie strictly between 0 and 1"),
        (lambda: sterna.Binomial(2.5, 0.5), "n must be a non-negative integer"),
        (lambda: sterna.Binomial(-1, 0.5), "n must be a non-negative integer"),
        (lambda: sterna.Poisson(0.0), "mu must be positive"),
        (lambda: sterna.NegativeBinomial(3.0, p=0.5), "give mu and alpha, or n and p"),
        (lambda: sterna.NegativeBinomial(3.0, 0.0), "mu and alpha must be positive"),
        (lambda: sterna.NegativeBinomial(3.0, 1e9), "alpha must be at most 1e8; for a larger one use sterna.Poisson"),
        (lambda: sterna.DiscreteUniform(0.5, 3), "lower and upper must be integers"),
        (lambda: sterna.DiscreteUniform(4, 3), "lower must not exceed upper"),
        (lambda: sterna.Categorical([0.5, 0.6]), r"p must sum to 1 \(it sums to 1.1\)"),
        (lambda: sterna.Categorical([1.0]), "p must be a list of at least two numbers"),
        (lambda: sterna.Categorical([[0.5, 0.5]]), "p must be a list of at least two numbers"),
        (lambda: sterna.Categorical([1.5, -0.5]), "p must hold probabilities"),
        (lambda: sterna.Dirichlet([1.0]), "a must be a list of at least two numbers"),
        (lambda: sterna.Dirichlet(1.0), "a must be a list of at least two numbers"),
        (lambda: sterna.Dirichlet([[1.0, 2.0]]), "a must be a list of at least two numbers"),
        (lambda: sterna.MultivariateNormal(0.0, [[1.0]]), "mu must be a vector"),
        (lambda: sterna.MultivariateNormal([], np.zeros((0, 0))), r"\): mu must"),
        (lambda: sterna.MultivariateNormal([0, 0], [[1.0]]), "cov must be a 2 x 2 matrix"),
        (lambda: sterna.MultivariateNormal([0, 0], [[1, 0.5], [0, 1]]), "cov must be symmetric"),
        (lambda: sterna.MultivariateNormal([0, 0], [[1, 2], [2, 1]]), "cov must be positive definite"),
        (lambda: sterna.Normal([0, 1, 2], [1, 2]), r"shapes \[\(3,\), \(2,\)\] do not broadcast"),
        (lambda: sterna.Normal([0, 1, 2], 1, shape=2), r"shapes \[\(3,\), \(\)\] do not broadcast to shape 2"),
    ],
)
def test_arguments_that_do_not_fit_together_are_named(make, message):
    with pytest.raises(sterna.TargetError, match=message):
        make()


@pytest.mark.parametrize("shape", [0, -1, 1.5, "a", (2, 0), (2, 1.5), (2, None)], ids=repr)
@pytest.mark.parametrize("kind", [sterna.Normal, sterna.Categorical])
def test_bad_shape_is_named(kind, shape):
    with pytest.raises(sterna.TargetError, match=r"shape.*give a positive integer"):
        kind(**GOOD[kind], shape=shape)


def test_empty_argument_is_refused():
    """A variable without coordinates has nothing to sample."""
    with pytest.raises(sterna.TargetError, match="mu"):
        sterna.Normal([], 1.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: sterna.DiscreteUniform(0, 2**60),
            "upper must lie between -2..53 and 2..53, because integers",
        ),
        (lambda: sterna.DiscreteUniform(0, 2**53 + 1), "upper must lie between"),
        (lambda: sterna.DiscreteUniform(-(2**60), 0), "lower must lie between"),
        (lambda: sterna.DiscreteUniform(0, [3, 2**60]), "upper must lie between"),
        (lambda: sterna.DiscreteUniform(-(2**53), 2**53), "at most 2..53 integers"),
        (lambda: sterna.Binomial(2**60, 0.5), "n must lie between"),
        (lambda: sterna.Normal(0, 10**400), "sigma must be finite"),
        (lambda: sterna.Normal(None, 1), "mu must be a number or an array of numbers"),
        (lambda: sterna.Normal([0, None], 1), "mu must be a number or an array of numbers"),
        (lambda: sterna.Uniform(-1e308, 1e308), "upper - lower must be finite"),
        (
            lambda: sterna.TruncatedNormal(0, 1, "a"),
            "TruncatedNormal.mu=0, sigma=1, lower='a', .*lower must be",
        ),
        (lambda: sterna.Normal(shape=2.5), "shape=2.5: give a positive integer"),
        (lambda: sterna.Normal(shape="ab"), "shape='ab': give a positive integer"),
        (lambda: sterna.Normal(shape=[None]), "give a positive integer"),
    ],
)
def test_numbers_that_would_be_changed_silently_are_refused(make, words):
    with pytest.raises(sterna.TargetError, match=words):
        make()


def test_the_largest_integers_are_exact():
    largest = sterna.DiscreteUniform(0, 2**53 - 1)
    assert largest.coordinates.upper[0] == 2**53 - 1
    assert sterna.Normal(shape=3.0).shape == (3,)
    assert repr(sterna.TruncatedNormal(0, 1, 0)) == "TruncatedNormal(mu=0, sigma=1, lower=0, upper=inf)"
