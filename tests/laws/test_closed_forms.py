"""Rejections, schedule and evidence of models with closed forms.

Each comparison allows 4 standard errors by 25 batches: a false alarm of 5e-4 each, below 0.02 for the whole file.
"""

import functools

import exact
import numpy as np
import pytest
from quick import first

import sterna

N_SCANS = 2**14


@functools.cache
def ising_levels():
    return exact.ising_levels(5)


@functools.cache
def run(name, **parameters):
    model = getattr(sterna.models, name)(**parameters)
    explorer = model.explorer or sterna.Slice()
    return sterna.sample(model, explorer=explorer, n_chains=12, n_rounds=13, n_scans=N_SCANS, progress=False)


def check(result, rejections, cumulative, evidence):
    """Compare the sum of rejections, the schedule and the evidence with exact values."""
    last = result.last
    assert last.total_rejection_error <= 0.01
    assert abs(last.rejection.sum() - rejections.sum()) <= 4 * last.total_rejection_error
    places = np.arange(len(result.schedule)) / (len(result.schedule) - 1)
    assert np.abs(cumulative / cumulative[-1] - places).max() <= 0.02
    assert abs(result.log_evidence.value - evidence) <= 4 * result.log_evidence.error


@pytest.mark.parametrize(
    ("dim", "precision"),
    first(3, [(2, 100.0), (5, 2.0), (20, 10.0), (2, 2.0), (2, 10.0), (5, 10.0), (5, 100.0), (20, 2.0), (20, 100.0)]),
)
def test_normal(dim, precision):
    result = run("normal", dim=dim, precision=precision)
    rejections = exact.normal_rejections(result.schedule, dim, precision)
    cumulative = exact.normal_barrier(result.schedule, dim, precision)
    check(result, rejections, cumulative, -0.5 * dim * np.log(precision))


def test_discrete():
    result = run("discrete")
    levels = exact.discrete_levels(2, 100.0)
    rejections = exact.level_rejections(result.schedule, *levels)
    check(result, rejections, exact.level_barrier(result.schedule, *levels), exact.log_evidence(*levels))


def test_ising():
    result = run("ising")
    levels = ising_levels()
    rejections = exact.level_rejections(result.schedule, *levels)
    check(result, rejections, exact.level_barrier(result.schedule, *levels), exact.log_evidence(*levels))


def test_the_exact_answers_themselves():
    """Log Z of the Ising and discrete models, and the barriers, compared with the paper."""
    assert exact.log_evidence(*ising_levels()) == pytest.approx(33.373175, abs=1e-6)
    assert exact.log_evidence(*exact.discrete_levels(2, 100.0)) == pytest.approx(np.log(302 / 5))
    assert exact.level_barrier(np.array([1.0]), *ising_levels())[0] == pytest.approx(3.0414, abs=1e-4)
    assert exact.level_barrier(np.array([1.0]), *exact.discrete_levels(2, 100.0))[0] == pytest.approx(0.3934, abs=1e-4)
    assert exact.normal_barrier(1.0, 5, 5.0) == pytest.approx(1.3661, abs=1e-4)


def test_faults_are_caught():
    """A rejection 2 % off, a schedule one step off, an evidence with a wrong constant: each must fail."""
    result = run("normal", dim=20, precision=100.0)
    rejections = exact.normal_rejections(result.schedule, 20, 100.0)
    cumulative = exact.normal_barrier(result.schedule, 20, 100.0)
    evidence = -10.0 * np.log(100.0)
    wrong = [
        (1.02 * rejections, cumulative, evidence),
        (rejections, cumulative**1.1, evidence),
        (rejections, cumulative, evidence + 0.3),
    ]
    for case in wrong:
        with pytest.raises(AssertionError):
            check(result, *case)


@pytest.mark.laws
def test_magnetic_and_rotor():
    """Evidence of the magnetic model by transfer matrix; barrier of the rotor, 3.30 by direct simulation."""
    result = run("magnetic")
    levels = exact.ising_levels(5, coupling=0.5 * np.log(1 + np.sqrt(2)), field=0.1)
    assert abs(result.log_evidence.value - exact.log_evidence(*levels)) <= 4 * result.log_evidence.error
    assert exact.log_evidence(*levels) == pytest.approx(7.92453, abs=1e-5)
    assert result.global_barrier == pytest.approx(exact.level_barrier(np.array([1.0]), *levels)[0], rel=0.02)
    rotor = run("rotor")
    assert rotor.global_barrier == pytest.approx(3.30, rel=0.03)
