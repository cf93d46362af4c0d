"""Sampling goes on until goals hold, with everything frozen; no bit depends on blocks, and more scans only follow."""

import math

import numpy as np
import pytest
from interruptions import load, pause_after, save
from targets import conjugate

import sterna
from sterna.engine.record import MAX_BATCHES
from sterna.result.goal import DEFAULT_GOAL, Goal, goal_of
from sterna.result.result import Result
from sterna.run import blocks, start
from sterna.run.goals import Standing, shortfalls
from sterna.run.options import Options
from sterna.run.running import begin_run, continue_run

SHORT = {"n_chains": 5, "n_rounds": 5, "explorer": "slice", "progress": False}


def run(**options):
    return sterna.sample(conjugate(), **SHORT | options)


def bits(result):
    """Return all that sampling measured."""
    estimates = [number for one in result.evidence.values() for number in (one.value, one.error)]
    parts = [result.states, result.index_process, result.rejection, result.log_likelihood, np.array(estimates)]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def test_each_goal_is_reached():
    result = run(until={"log_evidence": 0.02, "ess": 600, "restarts": 300})
    assert result.ended_by == "goal"
    assert result.unreached == ()
    assert result.log_evidence.error <= 0.02
    assert min(row["ess"] for row in result.summary.values()) >= 600
    assert result.restarts >= 300
    # and not much later: estimates of what is left are uncertain
    assert run(n_scans=result.settings.n_scans // 4).log_evidence.error > 0.02


def test_named_variables_count_alone():
    few = run(until={"ess": {"mu": 150}})
    assert few.ended_by == "goal"
    assert few.summary["mu"]["ess"] >= 150
    assert run(until={"ess": {"mu": 1500}}).summary["mu"]["ess"] >= 1500


def test_without_goals_sampling_goes_on_until_errors_are_small(monkeypatch):
    monkeypatch.setattr("sterna.run.options.DEFAULT_ROUNDS", 5)
    result = run(n_rounds=None)
    assert result.settings.until == DEFAULT_GOAL
    assert result.ended_by == "goal"
    assert result.settings.n_scans > 62
    assert result.log_evidence.error <= 0.1
    assert "ended           by its goal" in str(result)


@pytest.mark.parametrize("options", [{"n_scans": 62}, {"n_rounds": 5}, {"n_rounds": None, "n_scans": 62}])
def test_a_length_that_was_given_is_kept(options):
    result = run(**options)
    assert (result.ended_by, result.settings.n_scans, result.settings.until) == ("scans", 62, None)


def test_the_first_scans_are_those_of_a_shorter_run():
    """Nothing is tuned while sampling, so a longer run begins with a shorter one, however it was extended."""
    long, short = run(until={"restarts": 400}), run(n_scans=62)
    assert long.settings.n_scans > 62
    assert np.array_equal(long.states[:, :62], short.states)
    assert np.array_equal(long.index_process[:, :62], short.index_process)


@pytest.mark.parametrize("n_scans", [100, 3001])
def test_room_for_more_scans_changes_no_draw(n_scans, monkeypatch):
    """Records that grow are those of a run whose length was known, but for the borders of batches."""
    whole = run(n_scans=n_scans)
    monkeypatch.setattr(start, "FIRST_SCANS", 40)
    grown = run(n_scans=n_scans)
    assert np.array_equal(whole.states, grown.states)
    assert np.array_equal(whole.index_process, grown.index_process)
    assert grown.restarts == whole.restarts
    assert grown.rejection == pytest.approx(whole.rejection, rel=1e-12)
    for name, estimate in whole.evidence.items():
        # batches of forward stones are weighed by their errors
        assert grown.evidence[name].value == pytest.approx(estimate.value, abs=1e-9), name
    # other batches, and so another estimate of the same error
    assert grown.log_evidence.error == pytest.approx(whole.log_evidence.error, rel=0.35)
    assert MAX_BATCHES / 2 <= len(grown.records[0].scans) <= 2 * MAX_BATCHES or n_scans < MAX_BATCHES


@pytest.mark.parametrize("n_copies", [1, 2])
def test_a_pause_changes_no_bit(n_copies, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_SECONDS", 1e-12)
    options = {name: value for name, value in SHORT.items() if name not in ("explorer", "progress")}
    options |= {"until": {"restarts": 60 * n_copies}, "n_copies": n_copies}
    whole = begin_run(conjugate(), Options(**options), explorer="slice")
    state = begin_run(conjugate(), Options(**options), explorer="slice", pause=pause_after(100))
    for _ in range(30):
        if isinstance(state, Result):
            break
        save(state, tmp_path)
        state = continue_run(conjugate(), load(tmp_path), explorer="slice", pause=pause_after(97))
    assert bits(state) == bits(whole)


def test_sampling_by_the_clock():
    result = run(until={"seconds": 0.2})
    assert result.ended_by == "seconds"
    short = run(n_scans=62)
    n = min(62, result.settings.n_scans)
    assert np.array_equal(result.states[:, :n], short.states[:, :n])


def test_a_goal_out_of_reach_ends_at_a_limit(monkeypatch):
    monkeypatch.setattr("sterna.run.goals.MAX_SCANS", 500)
    monkeypatch.setattr("sterna.run.goals.MAX_LENGTH", 8)
    result = run(until={"log_evidence": 1e-6})
    assert (result.ended_by, result.settings.n_scans) == ("limit", 500)
    (warning,) = [text for text in result.warnings if "goal" in text]
    assert "instead of ± 1e-06" in warning


def test_few_restarts_fulfil_no_goal():
    """Errors of a copy without restarts are not known, however small they are stated."""
    goal = Goal(log_evidence=0.1, ess=200.0)
    good = Standing(0.01, {"mu": 1000.0}, (40, 40))
    assert shortfalls(goal, good) == {}
    assert shortfalls(goal, Standing(0.01, {"mu": 1000.0}, (80, 2)))
    # four times as many scans halve an error
    (factor,) = shortfalls(goal, Standing(0.2, {"mu": 1000.0}, (40, 40))).values()
    assert factor == pytest.approx(4.0)
    assert max(shortfalls(goal, Standing(math.inf, {}, (40, 40))).values()) == math.inf


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "give a dict of goals"),
        ({}, "give a dict of goals"),
        ({"error": 0.1}, "is not known"),
        ({"log_evidence": 0}, "above 0"),
        ({"ess": "many"}, "above 0"),
        ({"ess": {"mu": -1}}, "above 0"),
        ({"seconds": math.inf}, "above 0"),
        ({"ess": {"nu": 100}}, "no variable of this name; it has mu"),
    ],
)
def test_what_is_no_goal_is_named(given, message):
    with pytest.raises(sterna.OptionError, match=message):
        run(until=given)


def test_goals_read_as_they_were_given():
    goal = goal_of({"log_evidence": 0.05, "ess": {"mu": 400}, "restarts": 20.0, "seconds": 60})
    assert goal.to_dict() == {"log_evidence": 0.05, "ess": {"mu": 400.0}, "restarts": 20, "seconds": 60.0}
    assert str(goal) == "log evidence to ± 0.05, effective sample size 400 of mu, 20 restarts, 60 seconds"
