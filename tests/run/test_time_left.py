"""How long a run is said to take: a range while tuning may change what a scan costs, one time afterwards."""

from types import SimpleNamespace

import numpy as np
import pytest

import sterna
from sterna.explorers.best import Head, PartRecord, Trial
from sterna.ground.rows import columns
from sterna.result.settings import Settings
from sterna.run.time_left import GROWTH, TimeLeft, clock, cost_range


def settings(auto=True):
    return Settings(8, 10, 2046, 2, "deo", "target", 1, 1, 2, auto_chains=auto, auto_explorations=auto)


def state(number, chains, explorations=1, done=0):
    """A state of a run of ten tuning rounds and two copies, as far as time depends on it."""
    tuned = SimpleNamespace(n_chains=chains, explorations=explorations, first_round_of_explorer=0)
    sampling = number > 10
    return SimpleNamespace(
        mixture=None,
        tuned=tuned,
        is_sampling=sampling,
        n_scans=2046 if sampling else 2**number,
        planned_scans=2046 if sampling else 2**number,
        round_number=number,
        scans_done=np.array([done, done]),
    )


def after(rounds, auto=True, on_trial=False, per_unit=1e-3):
    """The time left after half of the last of these rounds, whose scans take `per_unit` seconds for each chain."""
    left, now = TimeLeft(settings(auto), on_trial), 0.0
    for k, one in enumerate(rounds):
        left.begin_round(one, now)
        scans = one.n_scans if k == len(rounds) - 1 else 2 * one.n_scans
        left.advance(scans)
        now += scans * one.tuned.n_chains * one.tuned.explorations * per_unit
        if k < len(rounds) - 1:
            left.end_round(now)
    return left, now


def test_scans_that_are_left_cost_what_they_cost_so_far():
    left, now = after([state(8, 10), state(9, 10)])
    # half of round 9, round 10 and sampling, of two copies of ten chains
    expected = (512 + 2 * (1024 + 2046)) * 10 * 1e-3
    assert left.seconds(now) == (pytest.approx(expected), pytest.approx(expected))
    assert left.text(now) == "1:07 left"


def test_time_is_proportional_to_chains_and_explorations():
    left, now = after([state(8, 10), state(9, 10, 1)])
    begun = state(10, 20, 2)
    left.end_round(now)
    left.begin_round(begun, now)
    assert left.seconds(now)[1] == pytest.approx(GROWTH * 2 * (1024 + 2046) * 40 * 1e-3)


def test_a_range_while_the_number_of_chains_is_not_settled():
    left, now = after([state(5, 8), state(6, 16)])
    low, high = left.seconds(now)
    # four times more and half as many
    assert high == pytest.approx(8 * low)
    assert " to " in left.text(now)
    # nothing changes in a run whose numbers are given
    left, now = after([state(5, 8), state(6, 16)], auto=False)
    assert left.seconds(now)[0] == left.seconds(now)[1]


def test_a_range_while_explorers_are_on_trial():
    left, now = after([state(8, 10), state(9, 10)], on_trial=True)
    left.cost_range = 0.25, 3.0
    low, high = left.seconds(now)
    assert high == pytest.approx(12 * low)
    assert left.text(now) == "time left unknown"
    left.cost_range = 0.4, 3.0
    assert left.text(now) == "0:27 to 3:20 left"
    left.choose()
    assert left.seconds(now)[0] == left.seconds(now)[1]
    # what all of them cost together says little about the one that was chosen
    left.end_round(now)
    left.begin_round(state(10, 10), now)
    left.advance(100)
    assert left.seconds(now + 2.0)[1] == pytest.approx(2.0 * (2 * (1024 + 2046) - 100) / 100)


def test_one_time_in_the_sampling_phase():
    """Nothing changes any more, also if there are more chains than before and no explorer was chosen."""
    left, now = after([state(10, 10), state(11, 40)], on_trial=True)
    left.cost_range = 0.1, 2.0
    assert left.seconds(now)[0] == left.seconds(now)[1]
    left.scans_left = 0
    assert left.text(now) == "0:00 left"


def test_a_range_that_ends_soon_is_shown_by_its_end():
    left, now = after([state(8, 10), state(9, 10)], on_trial=True, per_unit=5e-5)
    left.cost_range = 0.1, 2.0
    assert left.text(now) == "less than 0:07 left"


def test_a_run_that_is_continued_after_the_choice_is_not_on_trial():
    left = TimeLeft(settings(), True)
    begun = state(9, 10, done=100)
    begun.tuned.first_round_of_explorer = 7
    left.begin_round(begun, 0.0)
    assert not left.on_trial
    assert left.scans_left == 2 * (512 - 100 + 1024 + 2046)


def test_short_rounds_tell_nothing():
    left, now = after([state(1, 8), state(2, 8)], per_unit=1e-6)
    assert left.text(now) == ""


def test_costs_of_explorers_on_trial():
    trial = Trial(("slice", "hmc"), 3)
    bound = sterna.Best(sterna.Slice(), sterna.Metropolis()).bind(sterna.models.normal(2).prepare())
    parameters = bound.start(lambda n: np.zeros((n, 2)))
    parameters[[Head.evaluation_cost, Head.gradient_cost]] = 1.0, 4.0
    watched = int(parameters[Head.watched])
    assert watched == trial.watched
    statistics = np.zeros((5, bound.n_row))
    records, _ = trial.split(statistics)
    records[:, 0, PartRecord.calls] = 10
    records[:, 0, PartRecord.evaluations] = 10
    run = SimpleNamespace(tuned=SimpleNamespace(parameters=parameters[None]), statistics=(statistics, statistics))
    # the second explorer was not called yet
    assert cost_range(run) is None
    records[:, 1, PartRecord.calls] = 20
    records[:, 1, PartRecord.evaluations] = 20
    records[:, 1, PartRecord.gradients] = 10
    # 1 and 3 evaluations per call, of which the dearer one was called twice as often
    assert cost_range(run) == (pytest.approx(3 / 7), pytest.approx(9 / 7))
    # an explorer that was given up is not called
    columns(parameters, Head.weights, *trial.sizes)[:] = 1.0, 0.0
    records[:, 1] = 0.0
    assert cost_range(run) == (1.0, 1.0)


def test_clock():
    assert [clock(s) for s in (0, 5.4, 754, 3723)] == ["0:00", "0:05", "12:34", "1:02:03"]
