"""SciPy's frozen distributions as references: densities, draws, bounds, evidence.

Each law is checked at 1e-7, below 1e-5 for the whole file.
"""

import math

import numpy as np
import pytest
from prior_checks import assert_same_density, draw, log_density, target_of
from scipy import integrate, stats

import sterna
from sterna.reference.adapters.scipy import FAMILIES
from sterna.reference.quantile import Quantile

LEVEL = 1e-7

CONTINUOUS = {
    "norm": stats.norm(1.5, 0.7),
    "halfnorm": stats.halfnorm(scale=2.0),
    "halfnorm moved": stats.halfnorm(-1.0, 2.0),
    "uniform": stats.uniform(-1.0, 4.0),
    "loguniform": stats.loguniform(0.1, 50.0),
    "reciprocal": stats.reciprocal(0.1, 50.0, scale=2.0),
    "expon": stats.expon(scale=3.0),
    "expon moved": stats.expon(2.0, 3.0),
    "gamma": stats.gamma(2.5, scale=3.0),
    "gamma moved": stats.gamma(2.5, 1.0, 3.0),
    "erlang": stats.erlang(3, scale=0.5),
    "chi2": stats.chi2(5, scale=2.0),
    "invgamma": stats.invgamma(3.0, scale=2.0),
    "beta": stats.beta(2.5, 1.7),
    "beta moved": stats.beta(2.5, 1.7, -1.0, 2.0),
    "arcsine": stats.arcsine(1.0, 2.0),
    "powerlaw": stats.powerlaw(1.6),
    "cauchy": stats.cauchy(-1.0, 2.0),
    "halfcauchy": stats.halfcauchy(scale=1.5),
    "t": stats.t(3.5, -1.0, 2.0),
    "lognorm": stats.lognorm(0.8, scale=2.0),
    "lognorm moved": stats.lognorm(0.8, loc=1.0, scale=2.0),
    "laplace": stats.laplace(-1.0, 2.0),
    "logistic": stats.logistic(-1.0, 2.0),
    "gumbel_r": stats.gumbel_r(-1.0, 2.0),
    "gumbel_l": stats.gumbel_l(-1.0, 2.0),
    "weibull_min": stats.weibull_min(1.7, scale=2.0),
    "rayleigh": stats.rayleigh(scale=2.0),
    "pareto": stats.pareto(3.0, scale=2.0),
    "truncnorm": stats.truncnorm(-1.0, 2.5, 0.5, 2.0),
    "truncnorm above": stats.truncnorm(0.3, np.inf),
}

DISCRETE = {
    "bernoulli": stats.bernoulli(0.3),
    "binom": stats.binom(12, 0.3),
    "poisson": stats.poisson(4.2),
    "geom": stats.geom(0.2),
    "geom from 0": stats.geom(0.2, loc=-1),
    "nbinom": stats.nbinom(3.5, 0.3),
    "randint": stats.randint(-3, 5),
}

# Laws that sterna does not have itself.
BY_QUANTILES = {
    "genextreme": stats.genextreme(0.2, 1.0, 2.0),
    "skewnorm": stats.skewnorm(3.0),
    "triang": stats.triang(0.3, -1.0, 2.0),
    "exponweib": stats.exponweib(2.0, 1.5),
    "poisson moved": stats.poisson(4.2, loc=3),
    "zipfian": stats.zipfian(1.2, 30),
    "dlaplace": stats.dlaplace(0.5),
    "values": stats.rv_discrete(values=([1, 4, 9], [0.2, 0.5, 0.3])),
    "histogram": stats.rv_histogram(np.histogram([1.0, 2.0, 2.2, 5.0], bins=4)),
}

ALL = {**CONTINUOUS, **DISCRETE, **BY_QUANTILES}


def law_p_value(draws, law):
    """Compare by Kolmogorov and Smirnov; an integer is given a uniform place in its step."""
    if not hasattr(law, "pmf"):
        return stats.kstest(draws, law.cdf).pvalue
    place = np.random.default_rng(3).random(len(draws))
    return stats.kstest(law.cdf(draws - 1) + place * law.pmf(draws), "uniform").pvalue


def test_every_family_is_among_the_cases():
    assert set(FAMILIES) == {name.split()[0] for name in {**CONTINUOUS, **DISCRETE}}


@pytest.mark.parametrize("name", {**CONTINUOUS, **DISCRETE})
def test_density_is_scipys(name):
    law = ALL[name]
    assert_same_density(law, law.logpdf if name in CONTINUOUS else law.logpmf)
    assert target_of(law).space.map is None


@pytest.mark.parametrize("name", ALL)
def test_draws_have_the_law_and_lie_within_its_bounds(name):
    law = ALL[name]
    number = 2000 if name in BY_QUANTILES else 20_000
    _, values = draw(law, number)
    assert law_p_value(values, law) > LEVEL
    low, high = law.support()
    (variable,) = target_of(law).space.variables
    assert (np.ravel(variable.lower), np.ravel(variable.upper)) == (pytest.approx(low), pytest.approx(high))
    assert values.dtype == (np.int64 if hasattr(law, "pmf") else np.float64)


@pytest.mark.parametrize("name", ["genextreme", "poisson moved"])
def test_check_of_draws_catches_other_laws(name):
    _, values = draw(BY_QUANTILES[name], 2000)
    wrong = {"genextreme": stats.genextreme(0.2, 1.0, 3.0), "poisson moved": stats.poisson(5.0, loc=3)}
    assert law_p_value(values, wrong[name]) < LEVEL


def test_a_scale_taken_for_a_rate_is_caught():
    with pytest.raises(AssertionError, match="Not equal"):
        assert_same_density(sterna.Gamma(2.5, 3.0), stats.gamma(2.5, scale=3.0).logpdf)
    assert law_p_value(draw(sterna.Gamma(2.5, 3.0), 2000)[1], stats.gamma(2.5, scale=3.0)) < LEVEL


@pytest.mark.parametrize(
    ("law", "shape"),
    [
        (stats.norm([0.0, 1.0, 2.0], [[1.0], [2.0]]), (2, 3)),
        (stats.gamma([0.5, 3.0], scale=[1.0, 4.0]), (2,)),
        (stats.beta([[2.0], [3.0]], 2.0, [-1.0, 1.0], 2.0), (2, 2)),
        (stats.gumbel_l([[0.0, 1.0]], 2.0), (1, 2)),
        (stats.truncnorm([-1.0, 0.5], np.inf), (2,)),
        (stats.expon(np.zeros(3), 2.0), (3,)),
    ],
)
def test_array_parameters_give_a_shape(law, shape):
    values = assert_same_density(law, law.logpdf)
    assert values.shape == (40, *shape)


def test_array_parameters_of_quantiles():
    law = stats.genextreme(np.array([0.1, 0.2]), 1.0, np.array([[2.0], [3.0]]))
    _, values = draw(law, 2000)
    assert values.shape == (2000, 2, 2)
    for i, j in np.ndindex(2, 2):
        assert law_p_value(values[:, i, j], stats.genextreme([0.1, 0.2][j], 1.0, [2.0, 3.0][i])) > LEVEL


def test_quantiles_keep_their_digits_in_both_tails():
    law = Quantile(stats.gumbel_r(), "gumbel_r", (), False, "")
    for z in (-5.0, 30.0):
        assert stats.gumbel_r.logcdf(law.values(np.array([z])))[0] == pytest.approx(stats.norm.logcdf(z), rel=1e-9)
        assert stats.gumbel_r.logsf(law.values(np.array([z])))[0] == pytest.approx(stats.norm.logsf(z), rel=1e-9)


# SciPy's own quantiles of these are infinite, or take all memory, where a slice steps out to.
ENDLESS = {
    "poisson moved": stats.poisson(3.0, loc=2),
    "two": stats.poisson([3.0, 4.0], loc=2),
    "dlaplace": stats.dlaplace(0.5),
    "planck": stats.planck(0.3),
    "logser": stats.logser(0.6),
    "far zipf": stats.zipf(4.0, loc=200_000),
    "ncf": stats.ncf(27, 27, 0.416),
    "zipf": stats.zipf(2.5),
    "f": stats.f(3, 7),
    "rice": stats.rice(0.7),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_quantiles_far_out_are_finite_and_in_order(name):
    law = target_of(ENDLESS[name]).space.map.parts[0][1]
    values = np.array([law.values(np.full(len(law.lower), z)) for z in np.arange(-40.0, 40.5, 0.5)])
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) >= 0).all()


def test_a_slice_far_out_meets_no_infinity():
    """Within 4 standard errors of the closed form: 6e-5."""
    reference = {"k": stats.poisson([3.0, 3.0], loc=2), "x": stats.dlaplace(0.5)}
    result = sterna.sample(lambda k, x: -0.3 * (k[0] + k[1]), reference, explorer="slice", n_rounds=8, progress=False)
    exact = 2 * (3.0 * (math.exp(-0.3) - 1.0) - 0.6)
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error
    assert 2 <= result.posterior["k"].min() <= result.posterior["k"].max() < 30


def test_a_tail_that_cannot_be_summed_is_refused():
    with pytest.raises(sterna.TargetError, match=r"quantiles of scipy.stats.zipf for the highest 0.0.* of draws: give"):
        target_of(stats.zipf(1.3))


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (stats.rv_discrete(values=([0.25, 0.5, 2.5], [0.3, 0.3, 0.4])), {0.25, 0.5, 2.5}),
        (stats.randint(1, 4, 0.5), {1.5, 2.5, 3.5}),
    ],
)
def test_values_that_are_not_whole_stay_as_they_are(law, expected):
    _, values = draw(law, 500)
    assert set(np.unique(values)) == expected


def test_vectors():
    normal = stats.multivariate_normal([1.0, -2.0], [[2.0, 0.5], [0.5, 1.0]])
    assert_same_density(normal, normal.logpdf)
    dirichlet = stats.dirichlet([0.8, 2.0, 3.5])
    assert_same_density(dirichlet, dirichlet.logpdf)


def test_parameters_by_name_and_families_without_any():
    for law in (stats.gamma(a=2.0, scale=3.0), stats.gamma(2.0, 0.0, 3.0)):
        assert log_density(law, np.ones((1, 1)))[0] == pytest.approx(stats.gamma.logpdf(1.0, 2.0, scale=3.0))
    assert log_density(stats.norm, np.ones((1, 1)))[0] == pytest.approx(stats.norm.logpdf(1.0))


def test_a_law_of_the_users_own_is_known_by_its_quantiles_whatever_its_name():
    class Half(stats.rv_continuous):
        def _cdf(self, x):
            return 2 * x * x

    (found,) = [Half(a=0.0, b=math.sqrt(0.5), name="norm")]
    _, values = draw(found, 500)
    assert values.min() >= 0
    assert values.max() <= math.sqrt(0.5)
    assert law_p_value(values, found) > LEVEL
    _, values = draw(stats.rv_discrete(name="poisson", values=([1, 4], [0.3, 0.7])), 100)
    assert set(np.unique(values)) == {1, 4}


@pytest.mark.parametrize("law", [stats.norm(0, -1), stats.genextreme(0.2, scale=-1.0)])
def test_impossible_parameters(law):
    with pytest.raises(sterna.TargetError, match=r"positive|not allowed"):
        target_of(law)


def log_likelihood(x, k):
    return -0.5 * (x - 0.4 * k) ** 2 / 0.3**2


@pytest.mark.parametrize("way", ["own", "quantiles"])
def test_evidence_and_mean_of_a_run(way):
    """Both within 4 standard errors of quadrature: 6e-5 each."""
    law = stats.beta(2.0, 3.0, -1.0, 4.0) if way == "own" else stats.skewnorm(3.0)
    count = stats.poisson(2.5) if way == "own" else stats.zipfian(1.2, 8)
    target = sterna.Target(log_likelihood, {"x": law, "k": count})
    assert target.compiled == (way == "own")
    if way == "quantiles":
        assert "quantiles of scipy.stats.skewnorm are Python" in target.notes[0]
    scale = 1 if way == "own" else 2
    result = sterna.sample(target, explorer="slice", n_chains=6, n_rounds=12 - 3 * scale, progress=False)
    low, high = law.support()
    integrals = np.zeros(2)
    for k in range(int(count.ppf(1e-14)), int(count.ppf(1 - 1e-14)) + 1):
        for power in range(2):

            def density(x, k=k, power=power):
                return x**power * law.pdf(x) * count.pmf(k) * math.exp(log_likelihood(x, k))

            integrals[power] += integrate.quad(density, max(low, -5), min(high, 9))[0]
    exact, mean = integrals
    assert abs(result.log_evidence.value - math.log(exact)) < 4 * result.log_evidence.error
    draws = result.posterior["x"].values.ravel()
    batches = np.array([part.mean() for part in np.array_split(draws, 30)])
    assert stats.ttest_1samp(batches, mean / exact).pvalue > 6e-5
    assert result.posterior["k"].dtype == np.int64


def test_one_frozen_law_is_the_variable_x():
    result = sterna.sample(lambda x: -x, reference=stats.expon(), n_chains=3, n_rounds=4, progress=False)
    assert list(result.posterior) == ["x"]


def test_a_gradient_goes_through_a_moved_law():
    target = sterna.Target(
        lambda x, y: -(x**2) - np.sum(y**4),
        {"x": stats.expon(1.0, 2.0), "y": stats.gumbel_l([[0.0, 1.0]], 2.0)},
        gradient=lambda x, y: (-2 * x, -4 * y**3),
    )
    state = np.array([0.7, 0.2, 0.3])
    for i in range(3):
        up, down = state.copy(), state.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        slope = (sum(target.log_densities(up)) - sum(target.log_densities(down))) / 2e-6
        assert target.gradient(state)[i] == pytest.approx(slope, rel=1e-6)


def test_a_gradient_with_quantiles_is_refused():
    with pytest.raises(sterna.TargetError, match="gradient= cannot be used"):
        sterna.Target(lambda x: -x, {"x": stats.skewnorm(3.0)}, gradient=lambda x: -1.0)


def test_a_flat_vector_holds_the_values():
    target = sterna.Target(
        lambda p: p[0] + 10 * p[1] + 100 * p[2], {"a": stats.expon(1.0), "b": stats.beta([2.0, 2.0], 1.0, 3.0)}
    )
    assert target.compiled
    assert target.log_densities(np.array([0.5, 0.25, 0.75]))[1] == pytest.approx(1.5 + 32.5 + 375.0)
