"""How often a scan explores: by rounds that are made up, and in runs."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import sterna
from sterna.tuning.exploration import KEPT_ENERGY_GOAL, MAX_EXPLORATIONS, MAX_GROWTH, MIN_SCANS, next_explorations


def round_of(explorations, kept, n_scans=MIN_SCANS):
    """A round whose explorations kept so much of the energy, in the mean over three chains."""
    memory = np.array([0.0, kept - 0.01, kept, kept + 0.01])
    energies = SimpleNamespace(autocorrelation=memory)
    return SimpleNamespace(n_scans=n_scans, n_copies=1, explorations=explorations, log_likelihoods=energies)


def test_enough_explorations_to_keep_what_is_wanted():
    assert next_explorations([round_of(1, 0.9)]) == math.ceil(math.log(KEPT_ENERGY_GOAL) / math.log(0.9))
    assert next_explorations([round_of(1, KEPT_ENERGY_GOAL - 0.02)]) == 1
    assert next_explorations([round_of(1, 0.02)]) == 1
    assert next_explorations([round_of(6, KEPT_ENERGY_GOAL)]) == 6


def test_no_round_takes_many_times_more():
    assert next_explorations([round_of(1, 0.98)]) == MAX_GROWTH == 4
    assert next_explorations([round_of(MAX_EXPLORATIONS, 0.98)]) == MAX_EXPLORATIONS


def test_short_rounds_change_nothing():
    assert next_explorations([round_of(3, 0.98, 63)]) == 3
    assert next_explorations([round_of(3, 0.98, 64)]) == 12


def test_what_keeps_paying_goes_on():
    rounds = [round_of(1, 0.97), round_of(4, 0.97**4)]
    assert next_explorations(rounds) == math.ceil(math.log(KEPT_ENERGY_GOAL) / math.log(0.97))


def test_what_pays_is_a_quarter_of_what_independent_explorations_would_give():
    """Twice as many would double the logarithm of 0.9, -0.105; with a quarter of that gain it is -0.132 (0.877)."""
    assert next_explorations([round_of(1, 0.9), round_of(2, 0.87)]) > 1
    assert next_explorations([round_of(1, 0.9), round_of(2, 0.884)]) == 1


def test_what_does_not_pay_goes_back_and_stays():
    """Modes of unequal height keep the energy whatever the explorations."""
    rounds = [round_of(1, 0.97), round_of(4, 0.965)]
    assert next_explorations(rounds) == 1
    rounds.append(round_of(1, 0.97))
    assert next_explorations(rounds) == 1


def test_too_much_is_not_the_same_as_what_did_not_pay():
    rounds = [round_of(1, 0.95), round_of(4, 0.55), round_of(2, 0.95**2)]
    assert next_explorations(rounds) == math.ceil(math.log(KEPT_ENERGY_GOAL) / math.log(0.95))


def test_fewer_are_taken_where_fewer_do():
    assert next_explorations([round_of(8, 0.3)]) == 2


def test_unknown_memory_is_no_reason_for_more():
    one = round_of(1, 0.5)
    one.log_likelihoods.autocorrelation = np.full(4, np.nan)
    assert next_explorations([one]) == 1


def small_steps(**options):
    """A normal distribution explored one coordinate of twenty at a time."""
    explorer = sterna.Slice(passes=0.05)
    model = sterna.models.normal(20, 20.0)
    return sterna.sample(model, explorer=explorer, n_chains=8, n_rounds=10, progress=False, **options)


def test_slow_exploration_is_repeated():
    """One update keeps about 0.95 of the energy, and four and a half of them 0.8."""
    result = small_steps()
    assert 3 <= result.explorations <= 8
    assert result.to_dict()["explorations"] == result.explorations
    assert result.rounds.rows()[0]["explorations"] == 1
    assert abs(result.energy_autocorrelation[1:].mean() - KEPT_ENERGY_GOAL) < 0.1
    exact = -10 * math.log(20.0)
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error


def test_a_number_that_is_given_stays():
    result = small_steps(explorations=2)
    assert {one.explorations for one in result.rounds} == {2}


def test_two_explorations_are_a_cycle_of_two():
    """The same bits, as the stream goes on."""
    model = sterna.models.normal(3)
    twice = sterna.sample(
        model, explorer=sterna.Cycle(sterna.Slice(), sterna.Slice()), explorations=1, n_chains=4, n_rounds=1,
        n_scans=20, progress=False,
    )  # fmt: skip
    repeated = sterna.sample(
        model, explorer="slice", explorations=2, n_chains=4, n_rounds=1, n_scans=20, progress=False
    )
    # before the first tuning, which sees other sums
    assert np.array_equal(twice.rounds[0].rejection, repeated.rounds[0].rejection)
    assert twice.rounds[0].rejection.max() > 0


@pytest.mark.parametrize("given", [0, 1.5, "many", True])
def test_wrong_numbers_are_refused(given):
    with pytest.raises(sterna.OptionError, match="explorations"):
        sterna.sample(sterna.models.normal(2), explorations=given, progress=False)
