"""A walk over all families: densities, slopes, both kinds of draws, and which of them other libraries have."""

import copy
import math
import pickle

import numpy as np
import pytest
from distribution_checks import (
    FALSE_ALARM,
    draw,
    draw_for_kernels,
    log_density,
    p_of_distribution,
    slope,
    support_of,
    target_of,
)
from families import ALL, CONTINUOUS, DISCRETE, NUMPYRO, PYMC, SCIPY_CONTINUOUS, SCIPY_DISCRETE
from scipy import integrate, stats

import sterna
from sterna.distributions import DISTRIBUTIONS, FAMILIES, Family
from sterna.distributions.real_line import normal_log_density
from sterna.engine.densities import NORMAL, family_address, family_functions

VECTORS = {"Dirichlet", "MultivariateNormal"}


def test_every_public_distribution_is_in_the_table():
    public = {name for name in sterna.__all__ if getattr(sterna, name) in DISTRIBUTIONS}
    assert public == {distribution.__name__ for distribution in DISTRIBUTIONS}
    assert public == {type(distribution).__name__ for distribution, _ in ALL.values()} | VECTORS
    assert len(public) >= 29


def test_every_adapter_is_in_the_table():
    for library, table in (
        ("scipy", {**SCIPY_CONTINUOUS, **SCIPY_DISCRETE, "dirichlet": None, "multivariate_normal": None}),
        ("numpyro", NUMPYRO),
        ("pymc", PYMC),
    ):
        names = [name for distribution in DISTRIBUTIONS for name in getattr(distribution.adapters, library)]
        assert len(names) == len(set(names)), "two families have the same counterpart"
        assert set(names) == {name.split()[0] for name in table}


def test_only_the_normal_family_has_no_address():
    assert family_address(sterna.Normal.family) == NORMAL
    others = [family_address(family) for family in FAMILIES if family is not sterna.Normal.family]
    assert NORMAL not in others
    assert len(others) == len(set(others)) == len(FAMILIES) - 1
    assert [family_address(family) for family in FAMILIES if family is not sterna.Normal.family] == others


@pytest.mark.parametrize("name", ALL)
def test_copies_are_of_the_same_family(name):
    distribution, _ = ALL[name]
    for copied in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
        assert copied.coordinates.family is distribution.coordinates.family
        assert repr(copied) == repr(distribution)


def test_a_function_of_unknown_arguments_is_refused():
    family = Family(("mean",), normal_log_density, draw=lambda: 0.0)
    with pytest.raises(TypeError, match="takes constant, inverse_scale, loc; a family's function may take"):
        family_functions(family)


def test_a_constant_that_the_family_has_not_is_refused():
    class Wrong(sterna.Normal):
        def __init__(self):
            self.shape = ()
            self._store(0.0, 1.0, mean=0.0)

    with pytest.raises(TypeError, match=r"Wrong stores \('mean',\); its family has \('loc', 'inverse_scale'"):
        Wrong()


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_is_scipys(name):
    distribution, frozen = CONTINUOUS[name]
    points = frozen.ppf(np.concatenate([[1e-9, 1e-4], np.linspace(0.01, 0.99, 50), [1 - 1e-4, 1 - 1e-9]]))
    assert np.allclose(log_density(distribution, points), frozen.logpdf(points), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", DISCRETE)
def test_probability_is_scipys(name):
    distribution, frozen = DISCRETE[name]
    support = support_of(frozen)
    if name == "Spin":
        support = np.array([-1, 1])
    with np.errstate(divide="ignore"):
        exact = np.log(frozen.pmf(support))
    assert np.allclose(log_density(distribution, support), exact, rtol=1e-11, atol=1e-11)


def test_comparison_catches_a_variance_in_place_of_a_deviation():
    points = np.linspace(-2.0, 4.0, 20)
    wrong = stats.norm(1.5, math.sqrt(0.7)).logpdf(points)
    assert not np.allclose(log_density(sterna.Normal(1.5, 0.7), points), wrong, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_integrates_to_one(name):
    distribution, frozen = CONTINUOUS[name]
    target = target_of(distribution)

    def density(x):
        return math.exp(target.log_densities(np.array([x]))[0])

    low, high = frozen.support()
    middle = frozen.median()
    total = integrate.quad(density, low, middle, limit=200)[0] + integrate.quad(density, middle, high, limit=200)[0]
    assert total == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_sum_to_one(name):
    distribution, frozen = DISCRETE[name]
    support = np.array([-1, 1]) if name == "Spin" else support_of(frozen)
    assert np.exp(log_density(distribution, support)).sum() == pytest.approx(1.0, abs=1e-10)


def differences(distribution, points, step):
    return (log_density(distribution, points + step) - log_density(distribution, points - step)) / (2 * step)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_slope_is_that_of_the_density(name):
    distribution, frozen = CONTINUOUS[name]
    points = frozen.ppf(np.linspace(0.031, 0.969, 30))
    scale = frozen.ppf(0.75) - frozen.ppf(0.25)
    found = slope(distribution, points)
    exact = differences(distribution, points, 1e-5 * np.minimum(scale, np.abs(points)))
    tolerance = 1e-6 * (np.abs(exact) + 1 / scale)
    assert (np.abs(found - exact) < tolerance).all()
    # a slope one percent off is a fault that the test must see
    assert (np.abs(1.01 * found - exact) > tolerance).any() or not found.any()


@pytest.mark.parametrize("name", DISCRETE)
def test_integers_have_no_slope(name):
    assert (slope(DISCRETE[name][0], [1.0, 2.0]) == 0).all()


@pytest.mark.parametrize("name", ALL)
def test_draws_have_the_exact_distribution(name):
    """False-alarm rate: 1e-6 for each distribution."""
    distribution, frozen = ALL[name]
    assert p_of_distribution(draw(distribution), frozen) > FALSE_ALARM


@pytest.mark.parametrize("name", CONTINUOUS)
def test_check_catches_a_scale_ten_percent_off(name):
    distribution, frozen = CONTINUOUS[name]
    assert p_of_distribution(1.1 * draw(distribution), frozen) < FALSE_ALARM


@pytest.mark.parametrize("name", DISCRETE)
def test_check_catches_draws_of_which_one_in_twenty_is_the_median(name):
    distribution, frozen = DISCRETE[name]
    draws = draw(distribution)
    draws[::20] = int(frozen.median())
    assert p_of_distribution(draws, frozen) < FALSE_ALARM


@pytest.mark.parametrize("name", ALL)
def test_draws_lie_where_their_density_is_positive(name):
    distribution, _ = ALL[name]
    draws = draw(distribution, 500)
    assert np.isfinite(log_density(distribution, draws)).all()


@pytest.mark.parametrize("name", ALL)
def test_draws_from_a_stream_have_the_exact_distribution(name):
    """False-alarm rate: 1e-6 for each distribution."""
    distribution, frozen = ALL[name]
    draws = draw_for_kernels(distribution, 40_000)
    assert p_of_distribution(draws, frozen) > FALSE_ALARM
    # a tenth of the draws at one place is a fault that the test must see
    draws[::10] = np.quantile(draws, 0.02, method="lower")
    assert p_of_distribution(draws, frozen) < FALSE_ALARM
