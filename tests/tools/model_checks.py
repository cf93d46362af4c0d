"""Checks for all models of data: against a plain likelihood, their simulators, and exact posteriors."""

from pathlib import Path

import numpy as np
import pytest
from kernels import draws_of
from runs import check_mean
from scipy import stats

import sterna

# Two-sided, like 4 standard errors of a normal variable.
LEVEL = 6e-5

# The paper's data, if they lie next to the project.
SHARED = Path(__file__).parents[3] / "shared" / "data"


def use_real_data(monkeypatch):
    """Let models read the paper's data, or skip the test."""
    if not SHARED.is_dir():
        pytest.skip("the paper's data are not next to the project")
    monkeypatch.setenv("STERNA_DATA", str(SHARED))


def check_values(target, plain, draws=300, rel=1e-11, seed=1):
    """Check both log-densities at draws from the reference against `plain(**variables)`, written without sterna."""
    finite = 0
    for state in draws_of(target, seed)(draws):
        expected = plain(**target.space.values(state))
        assert target.log_densities(state) == pytest.approx(expected, rel=rel, abs=1e-9)
        finite += np.isfinite(expected[1])
    assert finite > draws / 20


def check_gradient(target, states, rel=1e-5):
    """Check the gradient against central differences."""
    for state in states:
        for i in range(target.dimension):
            step = 1e-5 * max(abs(state[i]), 1e-3)
            ends = [sum(target.log_densities(state + sign * step * np.eye(len(state))[i])) for sign in (1, -1)]
            assert target.gradient(state)[i] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=rel, abs=1e-3)


def check_simulator(targets, state, expected, moved):
    """Check that data simulated at a state have the expected mean log-likelihood there, and scores with mean zero.

    `targets` are of independent data, `expected` the mean log-likelihood for each. Scores are central differences by
    the coordinates `moved`. Every mean is compared by Student's test at 6e-5.
    """
    surplus, scores = [], []
    for target, mean in zip(targets, expected, strict=True):
        surplus.append(target.log_densities(state)[1] - mean)
        row = []
        for i in moved:
            step = 1e-5 * max(abs(state[i]), 1e-2) * np.eye(len(state))[i]
            row.append((target.log_densities(state + step)[1] - target.log_densities(state - step)[1]) / step[i])
        scores.append(row)
    for column in np.column_stack([surplus, scores]).T:
        assert stats.ttest_1samp(column, 0.0).pvalue > LEVEL


def check_run(target, evidence, means, **options):
    """Check the log evidence and posterior means of a run, {function: exact mean}, at 6e-5 each."""
    result = sterna.sample(target, progress=False, **options)
    low, high = result.log_evidence.interval(1 - LEVEL)
    assert low < evidence < high
    for function, exact in means.items():
        check_mean(np.asarray(function(result.posterior), dtype=float).ravel(), exact)
    return result
