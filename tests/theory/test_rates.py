"""Predicted round-trip rates against the exact hitting times of the index process."""

import math

import numpy as np
import pytest
from index_kernels import deo_moves
from scipy.optimize import minimize_scalar

from sterna.errors import OptionError
from sterna.theory import (
    budget_round_trip_rate,
    expected_round_trip_time,
    optimal_n_chains,
    optimal_n_copies,
    optimal_round_trip_rate,
    predicted_round_trip_rate,
    schedule_inefficiency,
)


def expected_round_trip(moves, start, top, bottom):
    """Expected scans from `start` to the set `top` and on to the set `bottom`, by linear equations."""

    def hitting_times(goal):
        size = len(moves)
        away = np.array([state not in goal for state in range(size)])
        times = np.zeros(size)
        system = np.eye(away.sum()) - moves[np.ix_(away, away)]
        times[away] = np.linalg.solve(system, np.ones(away.sum()))
        return times

    up, down = hitting_times(top), hitting_times(bottom)
    (arrival,) = top
    return up[start] + down[arrival]


def seo_chain_moves(rejection):
    """Chain alone of the index process of SEO: a coin chooses the neighbour to whom a swap is proposed."""
    last = len(rejection)
    moves = np.zeros((last + 1, last + 1))
    for pair in range(last):
        moves[pair, pair + 1] = moves[pair + 1, pair] = 0.5 * (1 - rejection[pair])
    return moves + np.diag(1 - moves.sum(axis=1))


def exact_rate(rejection, scheme):
    """Round trips per scan of all replicas together."""
    last = len(rejection)
    if scheme == "deo":
        # a trip begins on the way up at the bottom, and ends on arrival there on the way down
        moves = deo_moves(rejection)
        time = expected_round_trip(moves, 0, {2 * last}, {1}) + 1
        # arrival at the top is counted on the way up; the turn that follows is one scan, as is that at the bottom
        return (last + 1) / time
    return (last + 1) / expected_round_trip(seo_chain_moves(rejection), 0, {last}, {0})


def random_rejections():
    rng = np.random.default_rng(11)
    return [rng.uniform(0.0, 0.95, size) for size in (1, 2, 3, 8, 25)]


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_rate_is_that_of_the_index_process(scheme):
    for rejection in random_rejections():
        assert predicted_round_trip_rate(rejection, scheme) == pytest.approx(exact_rate(rejection, scheme), rel=1e-10)


def test_comparison_catches_the_rate_of_the_other_scheme():
    rejection = random_rejections()[2]
    assert predicted_round_trip_rate(rejection, "seo") != pytest.approx(exact_rate(rejection, "deo"), rel=1e-10)
    assert predicted_round_trip_rate(rejection, "deo") != pytest.approx(exact_rate(rejection, "seo"), rel=1e-10)


def test_rates_without_rejections():
    assert predicted_round_trip_rate(np.zeros(7), "deo") == 0.5
    assert predicted_round_trip_rate(np.zeros(7), "seo") == pytest.approx(1 / 14, rel=1e-15)


def test_inefficiency_by_hand():
    assert schedule_inefficiency(np.array([0.5, 0.2, 0.0])) == pytest.approx(1.25, rel=1e-15)


def test_pair_that_always_rejects_stops_all_round_trips():
    rejection = np.array([0.1, 1.0, 0.2])
    assert schedule_inefficiency(rejection) == math.inf
    for scheme in ("deo", "seo"):
        assert predicted_round_trip_rate(rejection, scheme) == 0.0


@pytest.mark.parametrize("barrier", [0.0, 0.3, 4.0, 30.0])
def test_optimal_rate_is_the_limit_of_many_chains(barrier):
    rejection = np.full(10**6, barrier / 10**6)
    limit = predicted_round_trip_rate(rejection, "deo")
    assert optimal_round_trip_rate(barrier) == pytest.approx(limit, rel=1e-4)


def test_optimal_rate_counts_zeros_as_one_step_that_cannot_be_divided():
    smooth, share = 3.0, 0.4
    rejection = np.concatenate([[share], np.full(10**6, smooth / 10**6)])
    limit = predicted_round_trip_rate(rejection, "deo")
    assert optimal_round_trip_rate(smooth + share, share) == pytest.approx(limit, rel=1e-5)
    assert optimal_round_trip_rate(smooth + share) != pytest.approx(limit, rel=1e-2)


def test_optimal_rate_of_a_reference_of_zeros_only_is_zero():
    assert optimal_round_trip_rate(1.0, 1.0) == 0.0


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_expected_time_is_that_of_one_replica(scheme):
    for rejection in random_rejections():
        exact_time = (len(rejection) + 1) / exact_rate(rejection, scheme)
        assert expected_round_trip_time(rejection, scheme) == pytest.approx(exact_time, rel=1e-10)
    assert expected_round_trip_time([0.2, 1.0], scheme) == math.inf


def test_comparison_catches_an_inefficiency_without_its_denominator():
    """The planted fault: the sum of r in place of that of r / (1 - r)."""
    rejection = random_rejections()[2]
    wrong = 2 * (len(rejection) + 1) * (1 + rejection.sum())
    assert wrong != pytest.approx((len(rejection) + 1) / exact_rate(rejection, "deo"), rel=1e-2)


@pytest.mark.parametrize("barrier", [0.6, 1.0, 4.3, 25.0])
def test_two_barriers_of_chains_are_the_best_for_a_budget(barrier):
    """The maximum of the budget's rate over real N is at 2 Lambda, where it is k / (2 + 4 Lambda)."""
    best = minimize_scalar(
        lambda chains: -budget_round_trip_rate(barrier, chains, cores=100),
        bounds=(max(2.0, barrier + 1), 10 * barrier + 4),
        method="bounded",
        options={"xatol": 1e-8},
    )
    assert best.x == pytest.approx(2 * barrier + 1, abs=1e-3)
    assert optimal_n_chains(barrier) == math.ceil(2 * barrier) + 1
    copies = 100 / (2 * barrier + 1)
    assert -best.fun == pytest.approx(copies / (2 + 4 * barrier), rel=1e-10)


def test_rate_of_a_budget_is_that_of_equal_rejections():
    for n_chains in (8, 11, 40):
        copies = 64 / n_chains
        rejection = np.full(n_chains - 1, 4.6 / (n_chains - 1))
        expected = copies * predicted_round_trip_rate(rejection, "deo")
        assert budget_round_trip_rate(4.6, n_chains, 64) == pytest.approx(expected, rel=1e-12)
    assert budget_round_trip_rate(4.6, 5, 64) == 0.0
    assert budget_round_trip_rate(0.0, 2, 64) == 16.0


def test_chains_and_copies_at_the_edges():
    assert optimal_n_chains(0.0) == 2
    assert optimal_n_chains(0.5) == 2
    assert optimal_n_chains(2.5) == 6
    assert optimal_n_copies(2.5, cores=5) == 1
    assert optimal_n_copies(2.5, cores=18) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: schedule_inefficiency([]), "shape"),
        (lambda: schedule_inefficiency([0.1, np.nan]), r"rejection\[1\]=nan"),
        (lambda: predicted_round_trip_rate([0.1, 1.2]), r"rejection\[1\]=1.2"),
        (lambda: predicted_round_trip_rate([0.1], "DEO"), "scheme='DEO'"),
        (lambda: optimal_n_chains(-1.0), "barrier=-1.0"),
        (lambda: optimal_n_copies(1.0, 0), "cores=0"),
        (lambda: optimal_n_copies(1.0, 2.5), "not an integer"),
        (lambda: budget_round_trip_rate(1.0, 1, 4), "at least 2 chains"),
    ],
)
def test_what_cannot_work_is_named(call, message):
    with pytest.raises(OptionError, match=message):
        call()
