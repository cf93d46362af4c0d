"""Logistic regression: against a plain sum, and two-dimensional quadrature."""

import numpy as np
import pytest
from model_checks import check_gradient, check_run, check_simulator, check_values, use_real_data
from plain import load
from quick import first
from scipy import stats
from scipy.special import log_expit, logsumexp

import sterna
from sterna.models.glm import glm, read, simulate


def prior(intercept, slope, sigma=10.0):
    return stats.norm.logpdf(intercept, 0, sigma) + stats.norm.logpdf(slope, 0, sigma)


def plain(incidents, temperatures):
    def log_densities(intercept, slope):
        predictor = intercept + slope * temperatures
        return prior(intercept, slope), np.sum(log_expit(np.where(incidents == 1, predictor, -predictor)))

    return log_densities


def plain_clipped(incidents, temperatures, clip=1e-6):
    def log_densities(intercept, slope):
        with np.errstate(over="ignore"):
            p = 1 / (1 + np.exp(-(intercept + slope * temperatures)))
        p = np.select([p == 0, p == 1], [clip, 1 - clip], p)
        return prior(intercept, slope), np.sum(np.log(np.where(incidents == 1, p, 1 - p)))

    return log_densities


def exact(incidents, temperatures, n=500):
    """Log evidence and the means of intercept and slope, by a grid over the slope and the predictor at 68 degrees.

    The integrand is smooth and vanishes towards the ends, so that the trapezoidal rule errs by less than any power.
    """
    slope, centre = np.meshgrid(np.linspace(-1.6, 1.0, n), np.linspace(-16, 14, n))
    cell = (2.6 / (n - 1)) * (30 / (n - 1))
    intercept = centre - 68 * slope
    signed = np.where(incidents == 1, 1.0, -1.0)
    log_densities = prior(intercept, slope) + np.log(cell)
    for sign, temperature in zip(signed, temperatures, strict=True):
        log_densities = log_densities + log_expit(sign * (intercept + slope * temperature))
    edge = np.concatenate([log_densities[0], log_densities[-1], log_densities[:, 0], log_densities[:, -1]])
    assert edge.max() < log_densities.max() - 20
    evidence = logsumexp(log_densities)
    weight = np.exp(log_densities - evidence)
    return evidence, np.sum(weight * intercept), np.sum(weight * slope)


def means(intercept, slope):
    return {lambda p: p["intercept"]: intercept, lambda p: p["slope"]: slope}


def test_log_densities():
    data = simulate()
    check_values(glm(*data), plain(*data))
    # 1 - p of a p next to 1 has few digits, in both
    check_values(glm(*data, clip=1e-6), plain_clipped(*data), rel=1e-9)


def test_gradient():
    data = simulate()
    for clip in (0.0, 1e-6):
        target = glm(*data, clip=clip)
        check_gradient(target, [[15.0, -0.23], [1.0, 0.02], [-3.0, 0.1], [0.2, -0.01]])
    far = np.array([0.0, 40.0])
    assert glm(*data, clip=1e-6).gradient(far) == pytest.approx([0.0, -0.4], abs=1e-12)


FAULTS = {
    "outcomes exchanged": ("if incidents[i] == 1.0 else -predictor", "if incidents[i] == 0.0 else -predictor"),
    "a variance as deviation": ("sigma: float = 10.0", "sigma: float = 100.0"),
    "no intercept": ("predictor = intercept + slope", "predictor = slope"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_log_densities(fault):
    data = simulate()
    with pytest.raises(AssertionError):
        check_values(load("models/glm.py", [FAULTS[fault]]).glm(*data), plain(*data))


def test_another_clip_is_noticed():
    data = simulate()
    with pytest.raises(AssertionError):
        check_values(glm(*data, clip=1e-5), plain_clipped(*data), rel=1e-9)


def test_the_simulator_and_the_likelihood_agree():
    """A false alarm of 6e-5 for each of three means."""
    data = [simulate(seed=seed) for seed in range(300)]
    expected = []
    for _, temperatures in data:
        p = 1 / (1 + np.exp(-(15 - 0.23 * temperatures)))
        expected.append(-stats.bernoulli(p).entropy().sum())
    check_simulator([glm(*one) for one in data], np.array([15.0, -0.23]), expected, [0, 1])


def test_the_grid_is_fine_enough():
    assert exact(*simulate(), n=350) == pytest.approx(exact(*simulate()), rel=1e-7)


@pytest.mark.parametrize("clip", first(1, [1e-6, 0.0]))
def test_a_run_finds_the_quadrature(clip):
    """Evidence and two means, at 6e-5 each; the clip moves them by less than 1e-6."""
    evidence, intercept, slope = exact(*simulate())
    check_run(glm(*simulate(), clip=clip), evidence, means(intercept, slope), n_chains=12, n_rounds=11)


@pytest.mark.laws
def test_a_run_does_not_find_the_evidence_of_another_prior():
    with pytest.raises(AssertionError):
        check_run(glm(*simulate(), sigma=30.0), exact(*simulate())[0], {}, n_chains=12, n_rounds=12)


@pytest.mark.laws
def test_the_papers_data(monkeypatch):
    """23 flights, 7 incidents; the paper's barrier of 3.3 is that of the clip, 4.35 the exact one."""
    use_real_data(monkeypatch)
    target = glm()
    incidents, temperatures = read()
    assert (len(incidents), incidents.sum(), temperatures.min(), temperatures.max()) == (23, 7, 53, 81)
    evidence, intercept, slope = exact(incidents, temperatures)
    result = check_run(target, evidence, means(intercept, slope), n_chains=15, n_rounds=11)
    assert result.global_barrier == pytest.approx(4.35, rel=0.05)
    clipped = sterna.sample(glm(clip=1e-6), n_chains=15, n_rounds=11, progress=False)
    assert clipped.rejection.sum() == pytest.approx(3.346, rel=0.05)
    assert clipped.global_barrier == pytest.approx(3.42, rel=0.05)


def test_data_are_simulated_where_none_are_given(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)
    assert "simulated" in glm().notes[0]


def test_what_are_no_data_is_refused():
    for wrong in (
        {"incidents": [0, 1]},
        {"incidents": [0, 2], "temperatures": [1.0, 2.0]},
        {"incidents": [0, 1], "temperatures": [1.0]},
        {"sigma": 0.0},
        {"clip": -1.0},
    ):
        with pytest.raises(sterna.OptionError, match="incidents"):
            glm(**wrong)
