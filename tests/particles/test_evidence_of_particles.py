"""Evidence of particles with everything frozen: unbiased, with calibrated errors, on models with exact answers."""

import math

import exact
import numpy as np
import pytest
from populations import run_many
from targets import CONJUGATE_LOG_EVIDENCE, conjugate

import sterna
from sterna.particles import anneal as annealing
from sterna.particles.exploration import Particles
from sterna.particles.family_growth import FamilyGrowth
from sterna.particles.population import Population

RUNS = 1000
NORMAL = sterna.models.normal(5), np.linspace(0, 1, 9) ** 2, -2.5 * math.log(5)
CONJUGATE = conjugate(), np.linspace(0, 1, 9) ** 3, CONJUGATE_LOG_EVIDENCE
ISING = sterna.models.ising(size=3), np.linspace(0, 1, 13), exact.log_evidence(*exact.ising_levels(3))
CASES = {"normal": NORMAL, "conjugate": CONJUGATE, "ising": ISING}


def run_case(case, resample_below, runs):
    """Return many runs of a case, after the comparisons that any number of them allows."""
    target, schedule, log_evidence = CASES[case]
    many = run_many(target, schedule, runs, "slice" if case == "conjugate" else None, resample_below=resample_below,
                    n_particles=200)  # fmt: skip
    assert many.values.std() <= 0.5
    assert abs(many.distance(log_evidence)) <= 4
    assert np.isfinite(many.errors).mean() > 0.98
    return many


@pytest.mark.parametrize("resample_below", [0.0, 0.5], ids=["ais", "smc"])
@pytest.mark.parametrize("case", CASES)
def test_mean_of_evidence_is_exact(case, resample_below):
    """The mean of Z is within 4 standard errors from 200 runs: a false-alarm rate of 9e-5 for each of six comparisons.

    The long form below compares more of them, and their errors.
    """
    run_case(case, resample_below, 200)


@pytest.mark.laws
@pytest.mark.parametrize("resample_below", [0.0, 0.5], ids=["ais", "smc"])
@pytest.mark.parametrize("case", CASES)
def test_stated_errors_are_the_scatter(case, resample_below):
    """The mean of Z of 1000 runs is within 4 standard errors: a false-alarm rate of 6e-5 for each of six comparisons.

    The root mean square of the stated errors is compared with the scatter of 1000 runs, of which the relative standard
    error is at most 5 % (that of a normal sample is 2.2 %), and errors are first-order in 1/N: within 20 %.
    """
    many = run_case(case, resample_below, RUNS)
    assert math.sqrt(np.nanmean(many.errors**2)) == pytest.approx(many.values.std(), rel=0.2)


def test_half_the_draws_have_likelihood_zero():
    """Those particles have weight zero from the first step on; false-alarm rate 6e-5."""

    def log_likelihood(x):
        return -3.0 * x if x < 0.5 else -math.inf

    target = sterna.Target(log_likelihood, {"x": sterna.Uniform(0, 1)})
    many = run_many(target, [0, 0.5, 1], RUNS, n_particles=100)
    assert abs(many.distance(math.log((1 - math.exp(-1.5)) / 3))) <= 4
    assert math.sqrt(np.mean(many.errors**2)) == pytest.approx(many.values.std(), rel=0.15)


def weigh_after_the_move(monkeypatch):
    """Plant: explore at the new beta first, and weight the states that this leads to."""
    original = annealing.take_step

    def step(population, guide, number, beta, new, row):
        population.particles.explore(new, row, 10**6 + number)
        return original(population, guide, number, beta, new, row)

    monkeypatch.setattr(annealing, "take_step", step)


def weigh_by_the_wrong_beta(monkeypatch):
    """Plant: explore at the beta before the step."""
    original = annealing.take_step

    def step(population, guide, number, beta, new, row):
        explore = population.particles.explore
        monkeypatch.setattr(
            population.particles, "explore", lambda _, row, number: explore(max(beta, 1e-9), row, number)
        )
        try:
            return original(population, guide, number, beta, new, row)
        finally:
            monkeypatch.setattr(population.particles, "explore", explore)

    monkeypatch.setattr(annealing, "take_step", step)


def keep_weights_when_resampling(monkeypatch):
    """Plant: the offspring keep the weights of their parents."""

    def resample(population, number):
        parents = population.particles.resample(population.weights, number)
        population.families = population.families[parents]
        kept = population.log_weights[parents]
        population.log_weights = kept - np.log(np.exp(kept).sum())

    monkeypatch.setattr(Population, "resample", resample)


def resample_the_heaviest(monkeypatch):
    """Plant: offspring of neighbours instead of those drawn by weight."""
    monkeypatch.setattr(
        Particles, "choose", lambda particles, weights, step, number: np.arange(number) % max(number // 2, 1)
    )


@pytest.mark.parametrize(
    "plant", [weigh_after_the_move, weigh_by_the_wrong_beta, keep_weights_when_resampling, resample_the_heaviest]
)
def test_planted_faults_are_caught(monkeypatch, plant):
    """The comparison that right runs pass at 4 standard errors fails."""
    plant(monkeypatch)
    target, schedule, log_evidence = NORMAL
    many = run_many(target, schedule, 200, n_particles=200, resample_below=0.9)
    assert abs(many.distance(log_evidence)) > 4


def stated_and_scatter():
    """Return the stated error and the scatter of populations that resample in every step."""
    target, schedule, _ = NORMAL
    many = run_many(target, schedule, 400, n_particles=200, resample_below=1.0)
    return math.sqrt(np.mean(many.errors**2)), many.values.std()


@pytest.mark.laws
def test_errors_account_for_stratified_resampling(monkeypatch):
    """The scatter of 400 runs has a relative standard error of 3.5 %, and errors are about 4 % too small here.

    20 % are then more than 4 standard errors, a false-alarm rate of 6e-5.

    Planted fault: the scatter of offspring counts as an error.
    """
    stated, scatter = stated_and_scatter()
    assert stated == pytest.approx(scatter, rel=0.2)
    monkeypatch.setattr(FamilyGrowth, "resampled", FamilyGrowth.reweighted)
    stated, scatter = stated_and_scatter()
    assert stated != pytest.approx(scatter, rel=0.3)
