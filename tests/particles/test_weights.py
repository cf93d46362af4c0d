import math

import numpy as np
import pytest

from sterna.engine.resampling import stratified_parents
from sterna.particles.evidence import Evidence
from sterna.particles.exploration import FIRST_POPULATION, ROUND
from sterna.particles.family_growth import FamilyGrowth
from sterna.particles.next_beta import next_beta
from sterna.particles.optimised_schedule import optimised_schedule, step_lengths
from sterna.particles.weights import conditional_ess, effective_size, log_sum, normalised


def parents_of(weights, number, step=1):
    cumulative = np.cumsum(weights)
    parents = np.zeros(number, dtype=np.int64)
    stratified_parents(1, FIRST_POPULATION, ROUND, step, cumulative / cumulative[-1], parents)
    return parents


def test_sums_of_weights_do_not_overflow():
    log_weights = np.array([1000.0, 1000.0 + math.log(3.0), -math.inf])
    assert log_sum(log_weights) == pytest.approx(1000 + math.log(4))
    assert normalised(log_weights) == pytest.approx([0.25, 0.75, 0.0])
    assert log_sum(np.array([-math.inf, -math.inf])) == -math.inf


def test_effective_sizes():
    assert effective_size(np.full(8, 1 / 8)) == pytest.approx(8)
    assert effective_size(np.array([0.5, 0.5, 0, 0])) == pytest.approx(2)
    # two of four equal particles are left
    assert conditional_ess(np.log(np.full(4, 0.25)), np.array([0, 0, -800.0, -900.0])) == pytest.approx(0.5)
    assert conditional_ess(np.log([0.7, 0.1, 0.2]), np.full(3, 5.0)) == pytest.approx(1)


def test_conditional_ess_of_steps_that_leave_no_weight():
    """The particle with all weight falls below one without: to the first, nothing has changed."""
    assert conditional_ess(np.array([0.0, -1e4]), np.array([-2000.0, 0.0])) == pytest.approx(1)
    assert conditional_ess(np.array([0.0, -1500.0]), np.array([-2000.0, 0.0])) == 0.0
    # the size is exp(-100) here, as (a + b)**2 / (a**2 + b**2 exp(100)) with a = b = 1 has it
    assert conditional_ess(np.array([0.0, -100.0]), np.array([-200.0, 0.0])) == pytest.approx(math.exp(-100))
    schedule = optimised_schedule(np.linspace(0, 1, 4), np.array([0.0, 0.5, 1.0]), 8)
    assert (np.diff(schedule) > 0).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e12])
@pytest.mark.parametrize("threshold", [0.2, 0.9, 0.9999])
@pytest.mark.parametrize("guess", [1.0, 1e-9])
def test_next_beta_meets_the_threshold(scale, threshold, guess):
    rng = np.random.default_rng(3)
    weights, log_likelihood = np.log(rng.dirichlet(np.ones(200))), scale * rng.standard_normal(200)
    beta = next_beta(0.0, weights, log_likelihood, threshold, guess)
    left = conditional_ess(weights, beta * log_likelihood)
    if beta < 1:
        assert 1 - left == pytest.approx(1 - threshold, rel=0.011)
    else:
        assert left >= threshold


def test_next_beta_always_advances():
    beta = next_beta(0.5, np.log([0.5, 0.5]), np.array([0.0, -1e300]), 0.9)
    assert 0.5 < beta < 0.5000001
    assert next_beta(0.5, np.log([0.5, 0.5]), np.array([3.0, 3.0]), 0.9999) == 1.0


def test_offspring_of_stratified_resampling():
    """A particle has the whole part of its expected number of offspring, give or take one, and on average that."""
    weights = np.array([0.0, 0.05, 0.33, 0.0, 0.41, 0.21, 0.0])
    counts = np.array([np.bincount(parents_of(weights, 10, step), minlength=7) for step in range(4000)])
    assert (np.abs(counts - 10 * weights) < 2).all()
    assert (counts[:, weights == 0] == 0).all()
    # standard errors of the means are below 0.01
    assert counts.mean(axis=0) == pytest.approx(10 * weights, abs=0.04)


def test_equal_weights_stay_as_they_are():
    assert parents_of(np.full(64, 1 / 64), 64).tolist() == list(range(64))


def evidence_of(weights):
    return Evidence(0.0, FamilyGrowth.of_first_draws(len(weights)).reweighted(np.asarray(weights)))


def test_variance_without_resampling_is_that_of_a_mean():
    weights = np.random.default_rng(1).exponential(size=50)
    expected = weights.var(ddof=1) / weights.mean() ** 2 / 50
    assert evidence_of(weights / weights.sum()).estimate.error == pytest.approx(math.sqrt(expected))


def test_the_error_of_few_families_is_unknown():
    assert math.isnan(evidence_of([0.97, 0.01, 0.02] + 97 * [0.0]).estimate.error)
    assert math.isnan(evidence_of([1.0, 0.0]).estimate.error)


def test_heavy_tails_are_seen():
    u = (np.arange(2000) + 0.5) / 2000
    for shape in (0.2, 1.0):
        weights = u**-shape
        assert evidence_of(weights / weights.sum()).tail_shape == pytest.approx(shape, abs=0.15)
    assert evidence_of(np.full(100, 0.01)).tail_shape == -math.inf


def test_optimised_schedule_has_steps_of_equal_length():
    """Along a path whose local length is 1 / (beta + c), as that of a narrow posterior, the steps become geometric."""
    schedule, c = np.linspace(0, 1, 2001), 0.01
    lengths = np.diff(np.log(schedule + c))
    found = optimised_schedule(schedule, np.exp(-(lengths**2)), 10)
    assert step_lengths(np.exp(-(lengths**2))) == pytest.approx(lengths)
    assert np.diff(np.log(found + c)) == pytest.approx(np.full(10, math.log(101) / 10), rel=1e-3)
