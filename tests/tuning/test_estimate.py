"""Estimates: how they print, arithmetic, comparison, and the exponential, which is a Bayes factor."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from sterna.errors import OptionError
from sterna.tuning.estimate import Estimate, student_quantile

THREE = Estimate(3.0, 0.3, 8.0, 0.5)


def test_estimate_prints_value_and_error():
    assert str(Estimate(1.23456, 0.01)) == "1.2346 ± 0.0100"
    assert repr(Estimate(1.23456, 0.01)) == "Estimate(1.2346 ± 0.0100)"
    assert str(Estimate(1.0, 0.5, bias=-0.25)) == "1.0000 ± 0.5000 (bias about -0.2500)"
    assert float(Estimate(1.23456, 0.01)) == 1.23456


@pytest.mark.parametrize("value", [1e80, -1e80, math.inf, math.nan])
def test_estimates_of_any_size_print_shortly(value):
    assert len(str(Estimate(value, abs(value)))) < 40


def test_difference_of_independent_estimates():
    found = Estimate(3.0, 0.3, 8.0, 0.5) - Estimate(1.0, 0.4, 5.0, 0.1)
    assert (found.value, found.freedom) == (2.0, 5.0)
    assert found.error == pytest.approx(0.5)
    assert found.bias == pytest.approx(0.4)


def test_estimate_as_plain_numbers():
    """A bias widens the interval to both sides."""
    found = json.loads(json.dumps(Estimate(1.0, 0.5, bias=-0.25).to_dict()))
    half = 0.5 * stats.norm.ppf(0.975) + 0.25
    assert found.pop("interval") == [pytest.approx(1 - half), pytest.approx(1 + half)]
    assert found == {"value": 1.0, "error": 0.5, "bias": -0.25}


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_are_students(level):
    for freedom in (1.0, 7.5, 1e6):
        low, high = Estimate(2.0, 0.3, freedom).interval(level)
        half = 0.3 * stats.t.ppf(0.5 + level / 2, freedom)
        assert (low, high) == (pytest.approx(2.0 - half), pytest.approx(2.0 + half))
    assert Estimate(0.0, 1.0).interval(level)[1] == pytest.approx(stats.norm.ppf(0.5 + level / 2))


def test_student_quantiles():
    assert student_quantile(0.975, 4.0) == pytest.approx(stats.t.ppf(0.975, 4.0), rel=1e-10)
    assert student_quantile(0.975, math.inf) == pytest.approx(stats.norm.ppf(0.975), rel=1e-12)


@pytest.mark.parametrize("number", [1, 1.0, np.float64(1.0), np.float32(1.0), np.int64(1)])
def test_plain_numbers_are_exact(number):
    """Also if the number comes first, and if it is NumPy's."""
    assert THREE - number == Estimate(2.0, 0.3, 8.0, 0.5)
    assert number - THREE == Estimate(-2.0, 0.3, 8.0, -0.5)
    assert THREE + number == number + THREE == Estimate(4.0, 0.3, 8.0, 0.5)
    assert THREE * (2 * number) == (2 * number) * THREE == Estimate(6.0, 0.6, 8.0, 1.0)
    assert THREE / (-2 * number) == Estimate(-1.5, 0.15, 8.0, -0.25)
    assert type(number - THREE) is type(number * THREE) is Estimate


def test_absolute_value():
    assert abs(THREE) == abs(-THREE) == +THREE == THREE


def test_products_and_powers_of_exponentials():
    factor, other = np.exp(Estimate(1.0, 0.3, 8.0)), np.exp(Estimate(2.0, 0.4, 9.0))
    assert np.log(factor * 2) == np.log(np.float64(2) * factor) == Estimate(1 + math.log(2), 0.3, 8.0)
    assert np.log(1 / factor) == Estimate(-1.0, 0.3, 8.0)
    assert np.log(factor / math.e) == Estimate(0.0, 0.3, 8.0)
    assert np.log(factor**2) == Estimate(2.0, 0.6, 8.0)
    assert np.log(factor * other).value == 3.0
    assert np.log(other / factor) == Estimate(1.0, math.hypot(0.3, 0.4), 8.0)
    assert np.log10(np.exp(Estimate(math.log(100), 0.0))).value == pytest.approx(2.0)
    assert 2 < factor < 3
    assert factor <= factor
    assert other >= np.float64(7)


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("round(THREE, 2)", r"write f\"\{estimate:.2f\}\""), ("THREE * THREE", "use .value and .error"),
        ("THREE / THREE", "use .value"), ("1 / THREE", "use .value"), ("THREE ** 2", "use .value"),
        ("THREE.std", "the standard error is called error"), ("np.exp(THREE) + 1", "use .value for other"),
        ("np.exp(THREE) * -1", "-1 is not a positive number"), ("1 - np.exp(THREE)", "use .value"),
    ],
)  # fmt: skip
def test_what_has_no_simple_error_is_refused_with_a_reason(expression, advice):
    with pytest.raises((TypeError, AttributeError), match=advice):
        eval(expression)


def test_sum_of_independent_estimates():
    found = THREE + Estimate(1.0, 0.4, 5.0)
    assert (found.value, found.freedom, found.bias) == (4.0, 5.0, 0.5)
    assert found.error == pytest.approx(0.5)


@pytest.mark.parametrize("other", [2.0, np.float64(2.0), Estimate(2.0, 9.0)])
def test_comparison_is_of_values(other):
    three = Estimate(3.0, 0.3)
    assert three > other
    assert three >= other
    assert other < three
    assert other <= three
    assert not three < other
    assert not other >= three


def test_an_estimate_that_is_no_number_is_neither_above_nor_below():
    nothing = Estimate(math.nan, math.nan)
    assert not nothing > 0
    assert not nothing < 0


@pytest.mark.parametrize(
    "calculate", [lambda e: e * e, lambda e: e / e, lambda e: 1 / e, lambda e: e - "a", lambda e: e < "a", np.sqrt]
)
def test_what_has_no_simple_error_is_refused(calculate):
    with pytest.raises(TypeError):
        calculate(THREE)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("", "-3.2000 ± 0.1250"),
        (".2f", "-3.20 ± 0.12"),
        ("+.1e", "-3.2e+00 ± 1.2e-01"),
        ("16.1f", "      -3.2 ± 0.1"),
        ("<16.1f", "-3.2 ± 0.1      "),
        (">20", "    -3.2000 ± 0.1250"),
    ],
)
def test_formats_are_of_both_numbers(form, text):
    assert format(Estimate(-3.2, 0.125), form) == text


def test_formats_show_the_bias():
    assert f"{Estimate(1.0, 0.5, bias=-0.25):.1f}" == "1.0 ± 0.5 (bias about -0.2)"


def test_exponential_has_an_interval_and_no_symmetric_error():
    log = Estimate(3.0, 2.0, 8.0)
    found = np.exp(log)
    assert found == log.exp()
    assert found.value == float(found) == math.exp(3.0)
    assert found.interval(0.9) == tuple(np.exp(log.interval(0.9)))
    assert found.interval()[0] > 0
    assert not hasattr(found, "error")
    assert str(found) == "20.09 (95 %: 0.1995 to 2022)"
    assert f"{found:.1f}" == "20.1 (95 %: 0.2 to 2022.3)"
    assert math.exp(log) == math.exp(3.0)


@pytest.mark.parametrize("value", [-1000.0, 1000.0])
def test_exponentials_beyond_the_range_of_numbers_name_their_logarithm(value):
    found = np.exp(Estimate(value, 0.1))
    assert float(found) in (0.0, math.inf)
    assert str(found) == f"exp({value:.4f} ± 0.1000)"


def test_estimates_can_be_made_an_array_of_numbers():
    assert np.array_equal(np.asarray([THREE, THREE], dtype=np.float64), [3.0, 3.0])


@pytest.mark.parametrize("level", [95, 0, 1, -0.5, math.nan, "0.95", None, True])
def test_a_level_is_a_probability(level):
    with pytest.raises(OptionError, match=r"level=.*between 0 and 1, such as 0.95"):
        Estimate(1.0, 0.1).interval(level)


def test_a_level_may_come_from_numpy():
    assert Estimate(1.0, 0.1).interval(np.float64(0.5)) == Estimate(1.0, 0.1).interval(0.5)
