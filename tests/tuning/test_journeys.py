"""Journeys, and errors that know them, against simulated series whose truth is known."""

import math

import numpy as np
import pytest

from sterna.tuning.journeys import (
    effective_number,
    error_of_sum,
    journey_numbers,
    journeys_of_draws,
    sizes_of,
    sums_by_journey,
)
from sterna.tuning.mean_errors import mean_errors, mean_of, share_of

# Three replicas; the first visits the reference after scans 2 and 5, the second starts there.
PATHS = np.array([[1, 0, 2], [0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2, 1], [1, 2, 0]], dtype=np.int16)


def test_a_visit_to_the_reference_ends_a_journey():
    numbers = [one.tolist() for one in journey_numbers(PATHS)]
    assert numbers == [[0, 0, 1, 1, 1, 2], [3, 4, 4, 5, 6, 6], [7, 7, 7, 7, 7, 7]]


def test_draws_belong_to_the_journey_of_the_replica_at_the_target():
    assert journeys_of_draws([PATHS, PATHS]).tolist() == [[2, 2, 2, 0, 1, 1], [5, 5, 5, 3, 4, 4]]
    assert journeys_of_draws([PATHS], thin=2).tolist() == [[2, 0, 1]]


def test_sums_and_sizes():
    journeys = np.array([[2, 0, 0], [1, 2, 2]])
    values = np.arange(6.0)[None]
    assert sums_by_journey(values, journeys.ravel()).tolist() == [[3.0, 3.0, 9.0]]
    assert sizes_of(journeys).tolist() == [2, 1, 3]
    assert effective_number(np.array([5.0, 5.0])) == 2
    assert effective_number(np.array([100.0, 1e-9])) == pytest.approx(1)


def test_degrees_of_freedom_are_the_number_of_equal_parts_or_three_for_one():
    rng = np.random.default_rng(1)
    error, freedom = error_of_sum(rng.standard_normal((400, 200)))
    # means of 400: errors of 0.5 % and 2 %
    assert np.square(error).mean() == pytest.approx(200, rel=0.04)
    assert freedom.mean() == pytest.approx(200, rel=0.1)
    assert error_of_sum(np.array([1e200, 0.0, 0.0]))[1] == pytest.approx(3)
    assert error_of_sum(np.array([1e200, -1e200]))[0] == pytest.approx(2e200)


def simulate(rng, n_draws=2000, between=1.0, memory=0.5, mean_length=40):
    """AR(1) within journeys of random length whose means differ: draws, journeys, and the exact mean 0."""
    lengths = rng.geometric(1 / mean_length, size=n_draws)
    journeys = np.repeat(np.arange(n_draws), lengths)[:n_draws]
    noise = rng.standard_normal(n_draws)
    within = np.empty(n_draws)
    within[0] = noise[0]
    for k in range(1, n_draws):
        within[k] = memory * within[k - 1] + math.sqrt(1 - memory**2) * noise[k]
    return within + between * rng.standard_normal(n_draws)[journeys], journeys


def interleaved(draws, journeys, rng):
    """Let two journeys take turns, as replicas do that swap at the target: the series forgets what journeys keep."""
    half = len(draws) // 2
    order = np.arange(2 * half).reshape(2, half).T.ravel()
    return draws[order], journeys[order]


def coverage(between, mix, n=300):
    rng = np.random.default_rng([7, round(10 * between), mix])
    by_journeys, by_series = [], []
    for _ in range(n):
        draws, journeys = simulate(rng, between=between)
        if mix:
            draws, journeys = interleaved(draws, journeys, rng)
        low, high = mean_of(draws[None], journeys[None]).interval()
        by_journeys.append(low <= 0 <= high)
        series = mean_errors(draws[None, None], journeys[None]).series[0]
        by_series.append(abs(draws.mean()) <= 1.96 * series)
    return np.mean(by_journeys), np.mean(by_series)


@pytest.mark.parametrize(("between", "mix"), [(0.0, 0), (3.0, 0), (3.0, 1)])
def test_intervals_cover_means_of_clustered_series(between, mix):
    """Of 300 intervals of 95 %, fewer than 0.89 or more than 0.99 cover with a probability below 1e-4."""
    found, _ = coverage(between, mix)
    assert 0.89 < found <= 0.995


def test_easy_series_have_errors_that_are_hardly_larger():
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(100):
        draws, journeys = simulate(rng, between=0.0)
        found = mean_errors(draws[None, None], journeys[None])
        ratios.append(found.error[0] / found.series[0])
    assert 1.0 <= np.mean(ratios) < 1.1


def test_planted_fault_single_draws_as_journeys_hide_clusters():
    """If every draw were its own journey, only the series would count; here it sees a tenth of the variance."""
    rng = np.random.default_rng(5)
    draws = np.repeat(rng.standard_normal(10), 40)[rng.permutation(400)]
    true = np.unique(draws, return_inverse=True)[1].reshape(1, -1)
    honest = mean_errors(draws[None, None], true).error[0]
    hidden = mean_errors(draws[None, None], np.arange(400)[None]).error[0]
    assert hidden < 0.5 * honest


def test_what_never_varied_has_no_error():
    constant = np.full((1, 2, 50), 3.0)
    found = mean_errors(constant, np.zeros((2, 50), dtype=np.int64))
    assert math.isnan(found.error[0])
    assert mean_of(constant[0], np.zeros((2, 50), dtype=np.int64)).interval() == (-math.inf, math.inf)


def test_a_share_of_no_draw_has_an_interval_of_its_journeys():
    """0 of 50 journeys: up to about 5 %; the rule of three gives 6 %."""
    journeys = np.repeat(np.arange(50), 40)[None]
    never = share_of(np.zeros((1, 2000), dtype=bool), journeys)
    low, high = never.interval()
    assert low == never.value == 0
    assert 0.04 < high < 0.07
    assert 0.005 < never.error < 0.03
    always = share_of(np.ones((1, 2000), dtype=bool), journeys)
    assert always.interval() == pytest.approx((1 - high, 1))


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_intervals_of_shares_cover(share):
    """Whole journeys are in a mode or not; 400 intervals of 95 %: below 0.9 with a probability below 1e-4."""
    rng = np.random.default_rng(round(100 * share))
    covered = []
    for _ in range(400):
        sizes = rng.geometric(0.05, size=80)
        event = np.repeat(rng.random(80) < share, sizes)[None]
        low, high = share_of(event, np.repeat(np.arange(80), sizes)[None]).interval()
        covered.append(low <= share <= high)
    assert np.mean(covered) > 0.9


def test_alternating_draws_are_worth_more_than_independent_ones():
    """A state that changes with probability 0.75 has autocorrelations of (-0.5)**k, here within journeys of 20 draws.

    The mean of 200 stated variances has an error of about 1 %, and the larger of two estimates is a few percent too
    large. Planted fault: capped at the number of draws, they would be three times too large.
    """
    rng = np.random.default_rng(11)
    changes = rng.random((200, 100, 20)) < 0.75
    changes[:, :, 0] = rng.random((200, 100)) < 0.5
    events = (np.cumsum(changes, axis=2) % 2 == 0).reshape(200, 1, 2000)
    shares = [share_of(event, np.repeat(np.arange(100), 20)[None]) for event in events]
    lags = np.arange(1, 20)
    exact = 0.25 / 2000 * (1 + 2 * np.sum((1 - lags / 20) * (-0.5) ** lags))
    assert exact < 0.4 * 0.25 / 2000
    assert np.mean([share.error**2 for share in shares]) == pytest.approx(exact, rel=0.2)


@pytest.mark.parametrize("equal", [True, False])
def test_errors_of_few_unequal_journeys_are_not_too_small(equal):
    """Squared errors of 11 parts have the right mean: 20 000 of them have an error of about 1 %.

    Planted fault: with shares that are taken for equal, the parts of a mean that largely decide it look too small.
    """
    rng = np.random.default_rng(4)
    shares = np.full(11, 1 / 11) if equal else np.array([0.5] + [0.05] * 10)
    values = rng.standard_normal((20_000, 11))
    means = values @ shares
    parts = shares * (values - means[:, None])
    exact = np.square(shares).sum()
    assert np.square(error_of_sum(parts, shares)[0]).mean() == pytest.approx(exact, rel=0.06)
    assert (np.square(error_of_sum(parts)[0]).mean() > 0.9 * exact) == equal


def test_copies_of_one_state_are_one_journey_until_they_visit_the_reference():
    """The first and the last replica of PATHS descend from one; their later journeys are their own."""
    numbers = [one.tolist() for one in journey_numbers(PATHS, np.array([5, 9, 5]))]
    assert numbers == [[0, 0, 1, 1, 1, 2], [3, 4, 4, 5, 6, 6], [0, 0, 0, 0, 0, 0]]
    apart = zip(journey_numbers(PATHS, np.array([7, 3, 4])), journey_numbers(PATHS), strict=True)
    assert all((one == other).all() for one, other in apart)
    assert journeys_of_draws([PATHS], ancestors=[np.array([5, 9, 5])]).tolist() == [[0, 0, 0, 1, 2, 2]]
