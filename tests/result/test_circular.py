"""Summaries of angles: exact moments, the same after any turn, errors as they are, copies that disagree, modes."""

import math

import numpy as np
import pytest
from scipy import stats

from sterna.result.circular import circular_row, cut_open, without_circles
from sterna.result.diagnostics import summaries_of
from sterna.result.summary import rows_of

ANGLE = np.array([[-math.pi, 2 * math.pi]])


def wrap(angles):
    return (angles + math.pi) % (2 * math.pi) - math.pi


def normal_draws(mean, sd, seed=1, shape=(2, 1000)):
    return wrap(mean + sd * np.random.default_rng(seed).standard_normal(shape))


def journeys_of(draws):
    return np.arange(draws.size).reshape(draws.shape)


def row_of(draws):
    return rows_of(draws[None], journeys_of(draws), ANGLE)[0]


def apart(first, second):
    return abs(wrap(first - second))


@pytest.mark.parametrize("mean", [0.0, math.pi, -3.0])
@pytest.mark.parametrize("sd", [1e-6, 0.3, 1.0])
def test_a_wrapped_normal_distribution_is_summarised_as_such(mean, sd):
    """Each number has a normal error of at most 2 sd / sqrt(n) (quantiles); five of these fail once in 1e6."""
    draws = normal_draws(mean, sd)
    row = row_of(draws)
    error = 2 * sd / math.sqrt(draws.size) * 5
    assert -math.pi <= row["mean"] < math.pi
    assert apart(row["mean"], mean) < error
    assert row["sd"] == pytest.approx(sd, abs=error)
    assert row["mcse"] == pytest.approx(
        sd * math.sqrt(math.exp(sd * sd) * 0.5 * (1 - math.exp(-2 * sd * sd))) / sd / math.sqrt(draws.size), rel=0.3
    )
    assert row["r_hat"] < 1.05
    if sd < 1.0:
        exact = stats.norm.ppf([0.05, 0.5, 0.95], row["mean"], sd)
        assert [row["q5"], row["median"], row["q95"]] == pytest.approx(exact, abs=2 * error)
        assert "modes" not in row


def test_a_turn_of_all_draws_turns_the_summary():
    draws = normal_draws(0.0, 0.5)
    here, there = row_of(draws), row_of(wrap(draws + 3.0))
    assert apart(there["mean"], here["mean"] + 3.0) < 1e-12
    for name in ("q5", "median", "q95"):
        assert there[name] - there["mean"] == pytest.approx(here[name] - here["mean"], abs=1e-12)
    for name in ("sd", "mcse", "ess", "ess_series"):
        assert there[name] == pytest.approx(here[name], rel=1e-9)


def test_the_linear_summary_would_be_wrong():
    draws = normal_draws(math.pi, 0.3)
    linear = summaries_of(draws[None], journeys_of(draws))[0]
    assert apart(linear["mean"], math.pi) > 1
    assert linear["sd"] > 2


def test_the_unit_and_the_interval_are_those_given():
    hours = normal_draws(3.0, 0.3) * 24 / (2 * math.pi) % 24
    row = circular_row(hours, journeys_of(hours), 0.0, 24.0)
    same = circular_row(hours - 24 * (hours > 12), journeys_of(hours), -12.0, 24.0)
    assert row["mean"] == pytest.approx(3.0 * 24 / (2 * math.pi), abs=0.2)
    assert row["sd"] == pytest.approx(0.3 * 24 / (2 * math.pi), rel=0.1)
    assert row["mean"] == pytest.approx(same["mean"], abs=1e-12)
    assert all(type(value) is float for value in row.values())
    assert row["mcse"] == pytest.approx(same["mcse"], rel=1e-12)


@pytest.mark.laws
def test_errors_are_the_scatter_of_means():
    """Autocorrelated draws at the cut: the mean of 400 errors is within a sixth of the scatter, which has 1/28."""
    means, errors = [], []
    for seed in range(400):
        noise = np.random.default_rng(seed).standard_normal((2, 500)) * 0.8
        angles = np.zeros((2, 500))
        for k in range(500):
            angles[:, k] = 0.6 * angles[:, k - 1] + noise[:, k] if k else noise[:, k] / 0.8
        row = circular_row(wrap(math.pi + 0.7 * angles), journeys_of(angles), -math.pi, 2 * math.pi)
        means.append(wrap(row["mean"] - math.pi))
        errors.append(row["mcse"])
    assert np.mean(errors) == pytest.approx(np.std(means), rel=1 / 6)


def test_the_mean_of_angles_all_around_is_unknown():
    draws = np.random.default_rng(3).uniform(-math.pi, math.pi, (2, 1000))
    row = row_of(draws)
    assert math.isnan(row["mcse"]) or row["mcse"] > 0.2
    assert row["ess"] > 1000
    assert row["r_hat"] < 1.05
    evenly = np.linspace(-math.pi, math.pi, 1000, endpoint=False).reshape(2, 500)
    assert math.isnan(row_of(evenly)["mcse"])


def test_copies_at_opposite_places_disagree():
    draws = np.stack([normal_draws(math.pi / 2, 0.2, 1, 1000), normal_draws(-math.pi / 2, 0.2, 2, 1000)])
    assert row_of(draws)["r_hat"] > 1.5


def test_modes_on_both_sides_of_the_cut_are_one():
    """A third of the draws in the second mode, of 2000: a standard error of 0.01."""
    second = np.random.default_rng(5).random((2, 1000)) < 1 / 3
    draws = np.where(second, normal_draws(0.5, 0.2, 2), normal_draws(math.pi, 0.2, 3))
    modes = sorted(row_of(draws)["modes"], key=lambda mode: -mode["share"])
    assert [mode["share"] for mode in modes] == pytest.approx([2 / 3, 1 / 3], abs=0.06)
    assert apart(modes[0]["mean"], math.pi) < 0.03
    assert modes[1]["mean"] == pytest.approx(0.5, abs=0.05)
    for mode in modes:
        assert -math.pi <= mode["mean"] < math.pi
        assert mode["sd"] == pytest.approx(0.2, rel=0.15)
        assert mode["q5"] < mode["mean"] < mode["q95"] < mode["q5"] + 1


def test_draws_are_cut_open_where_there_are_none():
    lifted = cut_open(normal_draws(math.pi, 0.3), 2 * math.pi)
    assert np.ptp(lifted) < 3
    assert np.std(lifted) == pytest.approx(0.3, rel=0.1)


def test_diagnostics_see_cosine_and_sine():
    draws = np.stack([normal_draws(1.0, 0.3), normal_draws(0.0, 2.0)])
    names, found = without_circles(["a", "b"], draws, np.array([[-math.pi, 2 * math.pi], [0.0, 0.0]]))
    assert names == ["cos(a)", "sin(a)", "b"]
    np.testing.assert_allclose(np.hypot(found[0], found[1]), 1.0)
    assert (found[2] == draws[1]).all()
