"""Replicas that stay at the target: they follow its distribution, and show the mixture what it lacks."""

import math

import numpy as np
import pytest
from scipy import stats

import sterna
from sterna.run import wander
from sterna.run.options import Options
from sterna.run.running import started
from sterna.run.wander import wandered

SD = 0.3


def log_normal(x):
    return -0.5 * (x - 1.0) ** 2 / 0.09


def visited(budget, workers=1):
    """Return all states that replicas visit from the prior of a normal target, and the evaluations."""
    target = sterna.Target(log_normal, {"x": sterna.Uniform(-5, 5)})
    options = Options(n_rounds=3, n_chains=6, explorations=3, seed=2, workers=workers, path="prior")
    with started(target, options, explorer=sterna.Slice()) as (runtime, state):
        return wandered(runtime, state, budget)


def p_value(states):
    """Of Kolmogorov and Smirnov's test: after three sweeps in one dimension draws are nearly independent."""
    return stats.kstest(states[30:, 0], stats.norm(1.0, SD).cdf).pvalue


def test_they_follow_the_target(monkeypatch: pytest.MonkeyPatch):
    """False alarms: 1e-4. The planted fault explores half way between the prior and the target."""
    states, evaluations, gradients = visited(60_000)
    assert 60_000 <= evaluations < 61_000
    assert gradients == 0
    assert p_value(states) > 1e-4
    plan = wander._plan
    monkeypatch.setattr(wander, "_plan", lambda *given: plan(*given)._replace(schedule=np.append(0.0, np.full(6, 0.5))))
    assert p_value(visited(60_000)[0]) < 1e-10


def test_few_states_are_kept_of_a_long_way(monkeypatch: pytest.MonkeyPatch):
    """They come from all of the way alike; the planted fault halves earlier ones again and again."""
    whole = visited(60_000)[0][:, 0]
    monkeypatch.setattr(wander, "MAX_STATES", 300)
    states = visited(60_000)[0][:, 0]
    assert 100 < len(states) <= 300 + 6 * wander.KEPT
    places = np.flatnonzero(np.isin(whole, states)) / len(whole)
    assert len(places) == len(states)
    assert (places < 0.5).mean() == pytest.approx(0.5, abs=0.15)


def test_threads_change_nothing():
    one, two = visited(3000), visited(3000, workers=2)
    np.testing.assert_array_equal(one[0], two[0])
    assert one[1:] == two[1:]


def log_ridge(x):
    """A bent ridge, ten times longer than wide."""
    return -0.5 * (x[0] / 2.0) ** 2 - 0.5 * ((x[1] - x[0] * x[0]) / 0.2) ** 2


LOG_EVIDENCE = math.log(2.0 * math.pi * 2.0 * 0.2) - math.log(24.0 * 110.0)


def test_the_evidence_of_a_bent_ridge():
    """The interval fails once in 1e5 runs."""
    box = {"x": sterna.Uniform([-12, -10], [12, 100], shape=2)}
    result = sterna.sample(log_ridge, box, n_rounds=9, path="fitted", progress=False)
    low, high = result.log_evidence.interval(1 - 1e-5)
    assert low < LOG_EVIDENCE < high
    assert len(result.other_path.mixture.weights) > 3
