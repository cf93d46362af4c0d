"""Replicas beyond the target: they follow target^2 / q, and lead the mixture along a ridge."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import sterna
from sterna.run import paths, wander
from sterna.run.fitted_runtime import along
from sterna.run.options import Options
from sterna.run.running import started
from sterna.run.wander import walked, widened
from sterna.search.mixture import Mixture
from sterna.search.places import Places

SD = 0.3


def log_normal(x):
    return -0.5 * (x - 1.0) ** 2 / 0.09


# On the line of x in (-5, 5), where 0.4 is the logit of x = 1: the component covers half of the target.
HALF = Mixture(np.ones(1), np.full((1, 1), 0.3), np.full((1, 1, 1), 0.08), 0.1)


def begun(target, mixture, workers=1, n_rounds=6):
    """Open a run, and return its runtime and the state at the beginning of the path from a mixture."""
    options = Options(n_rounds=n_rounds, n_chains=6, explorations=3, seed=2, workers=workers, path="fitted")
    context = started(target, options, explorer=sterna.Slice())
    runtime, state = context.__enter__()
    return context, runtime, paths._begin_fitted(runtime, state, mixture, True)


def p_value(monkeypatch, beta):
    """Of Kolmogorov and Smirnov's test; after 30 sweeps in one dimension draws are independent."""
    for name, value in (("BEYOND", beta), ("SCANS_BEYOND", 4000), ("SCANS_AT_TARGET", 0), ("EVERY", 10)):
        monkeypatch.setattr(wander, name, value)
    target = sterna.Target(log_normal, {"x": sterna.Uniform(-5, 5)})
    context, runtime, state = begun(target, HALF)
    try:
        states, counts = walked(along(runtime, HALF), state, np.ones((6, 1)), 0)
    finally:
        context.__exit__(None, None, None)
    assert counts[0] > 4000 * 6
    assert counts[1] == 0
    grid = np.linspace(-2, 4, 60_001)
    line, slope = np.log((grid + 5) / (5 - grid)), 10.0 / ((5 + grid) * (5 - grid))
    log_q = np.log(0.1 * 0.1 + 0.9 * stats.norm.pdf(line, 0.3, 0.08) * slope)
    logs = 2.0 * log_normal(grid) - log_q
    sums = np.cumsum(np.exp(logs - logs.max()))
    return stats.kstest(np.interp(states[30:, 0], grid, sums / sums[-1]), "uniform").pvalue


def test_they_follow_the_squared_target_over_the_mixture(monkeypatch: pytest.MonkeyPatch):
    """False alarms: 1e-4. The planted fault explores the target alone."""
    assert p_value(monkeypatch, wander.BEYOND) > 1e-4
    assert p_value(monkeypatch, 1.0) < 1e-10


def log_ridge(x):
    """A bent ridge, 13 times longer than wide, along which explorers that update one coordinate take small steps."""
    return -0.5 * (x[0] / 2.0) ** 2 - 0.5 * ((x[1] - x[0] * x[0]) / 0.15) ** 2


BOX = {"x": sterna.Uniform([-12, -10], [12, 100], shape=2)}
RIDGE = sterna.Target(log_ridge, BOX)
LOG_RIDGE_EVIDENCE = math.log(2.0 * math.pi * 2.0 * 0.15) - math.log(24.0 * 110.0)


def on_line(draws):
    share = (draws - [-12, -10]) / [24.0, 110.0]
    return np.log(share / (1.0 - share)), np.log(share * (1.0 - share)).sum(axis=1)


def ridge_draws(count):
    rng = np.random.default_rng(1)
    first = 2.0 * rng.standard_normal(count)
    return np.column_stack([first, first**2 + 0.15 * rng.standard_normal(count)])


def log_weights(mixture, draws):
    """By how many nats the target is denser than a mixture on the line."""
    line, log_jacobians = on_line(draws)
    log_targets = np.array([log_ridge(x) for x in draws]) + math.log(24.0 * 110.0) + log_jacobians
    return log_targets - math.log(2.0 * math.pi * 2.0 * 0.15) - mixture.log_density(line, log_jacobians)


def knowing(state, log_evidence, evaluations):
    """Return the state as if a round had found the evidence, with so many evaluations per exploration."""
    found = SimpleNamespace(log_evidence=SimpleNamespace(value=log_evidence), n_scans=1000, n_chains=1, explorations=1)
    return dataclasses.replace(state, rounds=(found,), evaluations=(1000 * evaluations, 0))


def bent(budget, workers=1):
    """Return a mixture of the middle of the ridge, and what becomes of it with a budget."""
    draws = ridge_draws(4000)
    draws = draws[np.abs(draws[:, 0]) < 1.0][:400]
    line = on_line(draws)[0]
    factor = np.linalg.cholesky(1.5 * np.cov(line.T))
    before = Mixture(np.ones(1), line.mean(axis=0)[None], factor[None], 0.1)
    context, runtime, state = begun(RIDGE, before, workers)
    try:
        return before, *widened(runtime, knowing(state, LOG_RIDGE_EVIDENCE, 14), before, draws, budget)
    finally:
        context.__exit__(None, None, None)


def test_the_mixture_follows_the_ridge():
    """From half of the target to nearly all: with eight other seeds, 7 to 16 % are left. The planted fault does not
    let replicas walk."""
    before, after, evaluations, _ = bent(60_000)
    exact = ridge_draws(4000)
    assert 45_000 < evaluations < 75_000
    assert (log_weights(before, exact) > 5.0).mean() > 0.5
    assert (log_weights(after, exact) > 5.0).mean() < 0.2
    assert (log_weights(bent(5000)[1], exact) > 5.0).mean() > 0.5


def test_a_failure_costs_no_run(monkeypatch: pytest.MonkeyPatch):
    """What has been found until then is kept, and so is the count."""

    def failing(*given):
        if given[3] == 2:
            raise ZeroDivisionError
        return walked(*given)

    monkeypatch.setattr(wander, "walked", failing)
    before, after, evaluations, _ = bent(60_000)
    assert 30_000 < evaluations < 55_000
    assert len(after.weights) > len(before.weights)


def test_threads_change_nothing():
    one, two = (bent(20_000, workers)[1:] for workers in (1, 2))
    np.testing.assert_array_equal(one[0].centres, two[0].centres)
    np.testing.assert_array_equal(one[0].factors, two[0].factors)
    assert one[1:] == two[1:]


def test_the_evidence_of_a_bent_ridge():
    """The interval fails once in 1e5 runs."""
    result = sterna.sample(log_ridge, BOX, n_rounds=9, path="fitted", progress=False)
    low, high = result.log_evidence.interval(1 - 1e-5)
    assert low < LOG_RIDGE_EVIDENCE < high
    assert len(result.other_path.mixture.weights) > 3


DIMENSION = 40


def log_many(x):
    total = 0.0
    for i in range(x.size):
        total -= 0.5 * x[i] * x[i]
    return total


def components_of_a_normal_target():
    """Return how many it gets beside one that is too narrow in 3 of 40 directions."""
    target = sterna.Target(log_many, {"x": sterna.Normal(0, 3, shape=DIMENSION)})
    sds = np.where(np.arange(DIMENSION) < 3, 0.62, math.sqrt(1.5))
    mixture = Mixture(np.ones(1), np.zeros((1, DIMENSION)), np.diag(sds)[None], 0.1)
    context, runtime, state = begun(target, mixture)
    try:
        state = knowing(state, -DIMENSION * math.log(3.0), 5 * DIMENSION)
        draws = np.random.default_rng(3).standard_normal((400, DIMENSION))
        return len(widened(runtime, state, mixture, draws, 3_000_000)[0].weights) - 1
    finally:
        context.__exit__(None, None, None)


def test_the_tails_of_a_normal_target_get_no_components(monkeypatch: pytest.MonkeyPatch):
    """At beta = 2 replicas run away in these directions. The planted fault believes all places that were visited."""
    assert components_of_a_normal_target() == 0
    monkeypatch.setattr(Places, "of_those_that_stay", lambda self, mixture, count: self)
    assert components_of_a_normal_target() > 0
