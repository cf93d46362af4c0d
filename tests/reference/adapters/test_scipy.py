"""SciPy's frozen distributions as references: densities, draws, bounds, evidence.

Each frozen is checked at 1e-7, below 1e-5 for the whole file.
"""

import math

import numpy as np
import pytest
from families import SCIPY_CONTINUOUS as CONTINUOUS
from families import SCIPY_DISCRETE as DISCRETE
from prior_checks import assert_same_density, draw, log_density, target_of
from scipy import integrate, stats

import sterna
from sterna.reference.quantile import Quantile

LEVEL = 1e-7

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


def p_value_of(draws, frozen):
    """Compare by Kolmogorov and Smirnov; an integer is given a uniform place in its step."""
    if not hasattr(frozen, "pmf"):
        return stats.kstest(draws, frozen.cdf).pvalue
    place = np.random.default_rng(3).random(len(draws))
    return stats.kstest(frozen.cdf(draws - 1) + place * frozen.pmf(draws), "uniform").pvalue


@pytest.mark.parametrize("name", {**CONTINUOUS, **DISCRETE})
def test_density_is_scipys(name):
    frozen = ALL[name]
    assert_same_density(frozen, frozen.logpdf if name in CONTINUOUS else frozen.logpmf)
    assert target_of(frozen).space.map is None


@pytest.mark.parametrize("name", ALL)
def test_draws_have_the_distribution_and_lie_within_its_bounds(name):
    frozen = ALL[name]
    number = 2000 if name in BY_QUANTILES else 20_000
    _, values = draw(frozen, number)
    assert p_value_of(values, frozen) > LEVEL
    # the support of SciPy's von Mises distribution is the whole line
    low, high = (-math.pi, math.pi) if name == "vonmises" else frozen.support()
    (variable,) = target_of(frozen).space.variables
    assert (np.ravel(variable.lower), np.ravel(variable.upper)) == (pytest.approx(low), pytest.approx(high))
    assert values.dtype == (np.int64 if hasattr(frozen, "pmf") else np.float64)


@pytest.mark.parametrize("name", ["genextreme", "poisson moved"])
def test_check_of_draws_catches_other_distributions(name):
    _, values = draw(BY_QUANTILES[name], 2000)
    wrong = {"genextreme": stats.genextreme(0.2, 1.0, 3.0), "poisson moved": stats.poisson(5.0, loc=3)}
    assert p_value_of(values, wrong[name]) < LEVEL


def test_a_scale_taken_for_a_rate_is_caught():
    with pytest.raises(AssertionError, match="Not equal"):
        assert_same_density(sterna.Gamma(2.5, 3.0), stats.gamma(2.5, scale=3.0).logpdf)
    assert p_value_of(draw(sterna.Gamma(2.5, 3.0), 2000)[1], stats.gamma(2.5, scale=3.0)) < LEVEL


@pytest.mark.parametrize(
    ("frozen", "shape"),
    [
        (stats.norm([0.0, 1.0, 2.0], [[1.0], [2.0]]), (2, 3)),
        (stats.gamma([0.5, 3.0], scale=[1.0, 4.0]), (2,)),
        (stats.beta([[2.0], [3.0]], 2.0, [-1.0, 1.0], 2.0), (2, 2)),
        (stats.gumbel_l([[0.0, 1.0]], 2.0), (1, 2)),
        (stats.truncnorm([-1.0, 0.5], np.inf), (2,)),
        (stats.expon(np.zeros(3), 2.0), (3,)),
    ],
)
def test_array_parameters_give_a_shape(frozen, shape):
    values = assert_same_density(frozen, frozen.logpdf)
    assert values.shape == (40, *shape)


def test_array_parameters_of_quantiles():
    frozen = stats.genextreme(np.array([0.1, 0.2]), 1.0, np.array([[2.0], [3.0]]))
    _, values = draw(frozen, 2000)
    assert values.shape == (2000, 2, 2)
    for i, j in np.ndindex(2, 2):
        assert p_value_of(values[:, i, j], stats.genextreme([0.1, 0.2][j], 1.0, [2.0, 3.0][i])) > LEVEL


def test_quantiles_keep_their_digits_in_both_tails():
    frozen = Quantile(stats.gumbel_r(), "gumbel_r", (), False, "")
    for z in (-5.0, 30.0):
        assert stats.gumbel_r.logcdf(frozen.values(np.array([z])))[0] == pytest.approx(stats.norm.logcdf(z), rel=1e-9)
        assert stats.gumbel_r.logsf(frozen.values(np.array([z])))[0] == pytest.approx(stats.norm.logsf(z), rel=1e-9)


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
    frozen = target_of(ENDLESS[name]).space.map.parts[0][1]
    values = np.array([frozen.values(np.full(len(frozen.lower), z)) for z in np.arange(-40.0, 40.5, 0.5)])
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) >= 0).all()


def test_a_slice_far_out_meets_no_infinity():
    """Within 4 standard errors of the closed form: 6e-5."""
    reference = {"k": stats.poisson([3.0, 3.0], loc=2), "x": stats.dlaplace(0.5)}
    result = sterna.sample(lambda k, x: -0.3 * (k[0] + k[1]), reference, explorer="slice", n_rounds=6, progress=False)
    exact = 2 * (3.0 * (math.exp(-0.3) - 1.0) - 0.6)
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error
    assert 2 <= result.posterior["k"].min() <= result.posterior["k"].max() < 30


def test_a_tail_that_cannot_be_summed_is_refused():
    with pytest.raises(sterna.TargetError, match=r"quantiles of scipy.stats.zipf for the highest 0.0.* of draws: give"):
        target_of(stats.zipf(1.3))


@pytest.mark.parametrize(
    ("frozen", "expected"),
    [
        (stats.rv_discrete(values=([0.25, 0.5, 2.5], [0.3, 0.3, 0.4])), {0.25, 0.5, 2.5}),
        (stats.randint(1, 4, 0.5), {1.5, 2.5, 3.5}),
    ],
)
def test_values_that_are_not_whole_stay_as_they_are(frozen, expected):
    _, values = draw(frozen, 500)
    assert set(np.unique(values)) == expected


def test_vectors():
    normal = stats.multivariate_normal([1.0, -2.0], [[2.0, 0.5], [0.5, 1.0]])
    assert_same_density(normal, normal.logpdf)
    dirichlet = stats.dirichlet([0.8, 2.0, 3.5])
    assert_same_density(dirichlet, dirichlet.logpdf)


def test_parameters_by_name_and_families_without_any():
    for frozen in (stats.gamma(a=2.0, scale=3.0), stats.gamma(2.0, 0.0, 3.0)):
        assert log_density(frozen, np.ones((1, 1)))[0] == pytest.approx(stats.gamma.logpdf(1.0, 2.0, scale=3.0))
    assert log_density(stats.norm, np.ones((1, 1)))[0] == pytest.approx(stats.norm.logpdf(1.0))


def test_a_distribution_that_the_user_derived_is_known_by_its_quantiles_whatever_its_name():
    class Half(stats.rv_continuous):
        def _cdf(self, x):
            return 2 * x * x

    (found,) = [Half(a=0.0, b=math.sqrt(0.5), name="norm")]
    _, values = draw(found, 500)
    assert values.min() >= 0
    assert values.max() <= math.sqrt(0.5)
    assert p_value_of(values, found) > LEVEL
    _, values = draw(stats.rv_discrete(name="poisson", values=([1, 4], [0.3, 0.7])), 100)
    assert set(np.unique(values)) == {1, 4}


@pytest.mark.parametrize("frozen", [stats.norm(0, -1), stats.genextreme(0.2, scale=-1.0)])
def test_impossible_parameters(frozen):
    with pytest.raises(sterna.TargetError, match=r"positive|not allowed"):
        target_of(frozen)


def log_likelihood(x, k):
    return -0.5 * (x - 0.4 * k) ** 2 / 0.3**2


@pytest.mark.parametrize("way", ["own", "quantiles"])
def test_evidence_and_mean_of_a_run(way):
    """Both within 4 standard errors of quadrature: 6e-5 each."""
    frozen = stats.beta(2.0, 3.0, -1.0, 4.0) if way == "own" else stats.skewnorm(3.0)
    count = stats.poisson(2.5) if way == "own" else stats.zipfian(1.2, 8)
    target = sterna.Target(log_likelihood, {"x": frozen, "k": count})
    assert target.compiled == (way == "own")
    if way == "quantiles":
        assert "quantiles of scipy.stats.skewnorm are Python" in target.notes[0]
    scale = 1 if way == "own" else 2
    result = sterna.sample(target, explorer="slice", n_chains=6, n_rounds=12 - 3 * scale, progress=False)
    low, high = frozen.support()
    integrals = np.zeros(2)
    for k in range(int(count.ppf(1e-14)), int(count.ppf(1 - 1e-14)) + 1):
        for power in range(2):

            def density(x, k=k, power=power):
                return x**power * frozen.pdf(x) * count.pmf(k) * math.exp(log_likelihood(x, k))

            integrals[power] += integrate.quad(density, max(low, -5), min(high, 9))[0]
    exact, mean = integrals
    assert abs(result.log_evidence.value - math.log(exact)) < 4 * result.log_evidence.error
    draws = result.posterior["x"].values.ravel()
    batches = np.array([part.mean() for part in np.array_split(draws, 30)])
    assert stats.ttest_1samp(batches, mean / exact).pvalue > 6e-5
    assert result.posterior["k"].dtype == np.int64


def test_one_frozen_distribution_is_the_variable_x():
    result = sterna.sample(lambda x: -x, reference=stats.expon(), n_chains=3, n_rounds=4, progress=False)
    assert list(result.posterior) == ["x"]


def test_a_gradient_goes_through_a_moved_distribution():
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
