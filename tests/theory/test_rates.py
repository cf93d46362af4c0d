"""Predicted round-trip rates against the exact hitting times of the index process."""

import math

import numpy as np
import pytest

from sterna.theory.rates import optimal_round_trip_rate, predicted_round_trip_rate, schedule_inefficiency


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


def deo_moves(rejection):
    """Index process of DEO under perfect exploration: go on in one direction, turn where a swap is rejected.

    State 2 i is chain i on its way up, 2 i + 1 on its way down.
    """
    last = len(rejection)
    moves = np.zeros((2 * last + 2, 2 * last + 2))
    for chain in range(last + 1):
        up, down = 2 * chain, 2 * chain + 1
        if chain < last:
            moves[up, up + 2] = 1 - rejection[chain]
            moves[up, down] = rejection[chain]
        else:
            moves[up, down] = 1.0
        if chain > 0:
            moves[down, down - 2] = 1 - rejection[chain - 1]
            moves[down, up] = rejection[chain - 1]
        else:
            moves[down, up] = 1.0
    return moves


def seo_moves(rejection):
    """Index process of SEO: a coin chooses the neighbour to whom a swap is proposed."""
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
    return (last + 1) / expected_round_trip(seo_moves(rejection), 0, {last}, {0})


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
