"""The simulated index process: its exact transition matrix, read off the source, and its round trips."""

import numpy as np
import pytest
from index_kernels import MOVES
from plain import Forks, Symbol, load
from scipy import stats

from sterna import theory
from sterna.engine.schemes import SCHEMES
from sterna.errors import OptionError

REJECTION = np.array([0.1, 0.6, 0.35, 0.0])
FALSE_ALARM = 1e-5

PROCESS, SCHEME_RULES = "theory/index_process.py", "engine/schemes.py"
FAULTS = {
    "no turn after a rejection": {SCHEME_RULES: [("up if accepted else 1 - up", "up")]},
    "turn after a swap": {SCHEME_RULES: [("up if accepted else 1 - up", "1 - up")]},
    "the other pair's rejection": {PROCESS: [("acceptance[chain + up]", "acceptance[chain + 1 - up]")]},
    "a rejection where there is a swap": {PROCESS: [("accepted = 1 if", "accepted = 0 if")]},
    "a biased coin": {SCHEME_RULES: [("1 if uniform(words) < 0.5 else 0", "1 if uniform(words) < 0.4 else 0")]},
}


def simulated_moves(rejection, scheme, faults=None):
    """Transition matrix of `step` as it stands in the source, following all of its forks."""
    forks = Forks()
    faults = faults or {}
    rules = load(SCHEME_RULES, faults.get(SCHEME_RULES, ()), uniform=lambda words: Symbol(forks))
    module = load(
        PROCESS, faults.get(PROCESS, ()), uniform=lambda words: Symbol(forks), next_direction=rules.next_direction
    )
    acceptance = module.padded_acceptance(rejection)
    size = 2 * len(rejection) + 2
    moves = np.zeros((size, size))
    for state in range(size):
        chain, down = divmod(state, 2)
        for probability, (after, up) in forks.outcomes(
            lambda chain=chain, down=down: module.step(SCHEMES[scheme].code, chain, 1 - down, acceptance, None)
        ):
            # a step beyond the ends, which only a fault makes, is kept visible as a leak
            if 0 <= after <= len(rejection):
                moves[state, 2 * after + 1 - up] += probability
    return moves


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_transition_matrix_is_that_of_the_appendix(scheme):
    assert simulated_moves(REJECTION, scheme) == pytest.approx(MOVES[scheme](REJECTION), abs=1e-15)


@pytest.mark.parametrize("fault", FAULTS)
def test_comparison_catches(fault):
    gaps = [np.abs(simulated_moves(REJECTION, scheme, FAULTS[fault]) - MOVES[scheme](REJECTION)) for scheme in MOVES]
    assert max(gap.max() for gap in gaps) > 0.05


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_compiled_path_makes_the_same_moves(scheme):
    """Counts of all transitions in 400 000 steps against the matrix: chi-square in each row, 10 rows at 1e-5 each."""
    path = theory.simulate_index_process(REJECTION, 400_000, scheme)
    states = 2 * path.chain + (path.direction < 0)
    moves = MOVES[scheme](REJECTION)
    counts = np.zeros_like(moves)
    np.add.at(counts, (states[:-1], states[1:]), 1)
    assert (counts[moves == 0] == 0).all()
    for seen, expected in zip(counts, moves, strict=True):
        possible = expected > 0
        if possible.sum() > 1:
            assert stats.chisquare(seen[possible], expected[possible] * seen.sum()).pvalue > FALSE_ALARM
    # the planted fault: the moves of slightly other rejections
    off = MOVES[scheme](np.array([0.1, 0.55, 0.35, 0.0]))
    pvalues = [
        stats.chisquare(seen[row > 0], row[row > 0] * seen.sum()).pvalue
        for seen, row in zip(counts, off, strict=True)
        if (row > 0).sum() > 1
    ]
    assert min(pvalues) < FALSE_ALARM


@pytest.mark.parametrize("scheme", ["deo", "seo"])
@pytest.mark.parametrize("last", [1, 5, 30])
def test_round_trips_take_the_time_of_the_theorem(last, scheme):
    """Within 4 standard errors of 40 000 independent trips: a false alarm of 6e-5 each, 4e-4 for all six."""
    rejection = np.linspace(0.1, 0.7, last)
    trips = theory.simulate_round_trips(rejection, 40_000, scheme)
    expected = theory.expected_round_trip_time(rejection, scheme)
    assert trips.round_trips == 40_000
    assert trips.error < 0.02 * expected
    assert abs(trips.mean - expected) <= 4 * trips.error
    assert trips.rate == pytest.approx((last + 1) / trips.mean)
    # the planted fault: an inefficiency without the denominator
    wrong = 2 * (last + 1) * ((1 if scheme == "deo" else last) + rejection.sum())
    if last > 1:
        assert abs(trips.mean - wrong) > 4 * trips.error


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_legs_have_the_hitting_times_of_the_chain(scheme):
    """Mean of the first leg against a linear system, within 4 standard errors (6e-5 each)."""
    rejection = np.array([0.5, 0.1, 0.3])
    trips = theory.simulate_round_trips(rejection, 40_000, scheme, seed=2)
    moves = MOVES[scheme](rejection)
    away = [state for state in range(8) if state // 2 < 3]
    times = np.linalg.solve(np.eye(6) - moves[np.ix_(away, away)], np.ones(6))
    start = times[1] if scheme == "deo" else times[:2].mean()
    error = trips.restart_times.std() / np.sqrt(trips.round_trips)
    assert abs(trips.restart_times.mean() - start) <= 4 * error
    assert (trips.restart_times < trips.times).all()


def test_without_rejections_deo_goes_straight():
    trips = theory.simulate_round_trips(np.zeros(9), 5)
    assert (trips.times == 20).all()
    assert (trips.restart_times == 10).all()
    assert trips.scans == 100


def test_same_seed_same_path_and_another_seed_another():
    first, again, other = (theory.simulate_index_process(REJECTION, 100, seed=seed).chain for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.simulate_round_trips([0.1, 1.0], 10), r"rejection\[1\] is 1"),
        (lambda: theory.simulate_round_trips([0.1], 0), "n_trips=0"),
        (lambda: theory.simulate_index_process([0.1], -1), "n_scans=-1"),
        (lambda: theory.simulate_index_process([0.1], 5, start=2), "there are 2 chains"),
        (lambda: theory.simulate_index_process([0.1], 5, direction=0), "direction=0"),
        (lambda: theory.simulate_index_process([0.1], 5, "xeo"), "scheme='xeo'"),
    ],
)
def test_what_cannot_work_is_named(call, message):
    with pytest.raises(OptionError, match=message):
        call()
