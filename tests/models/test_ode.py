"""The differential equation: its curve by integrating the equation, its evidence by importance sampling."""

import numpy as np
import pytest
from model_checks import check_run, check_simulator, check_values
from ode_truth import ode_means, ode_truth
from plain import load
from scipy import integrate

import sterna
from sterna.models.ode import TRUE_PARAMETERS, ode, simulate

LN10 = np.log(10.0)


def log_prior(t0, km0, beta, delta, sigma):
    """Return the density of five numbers whose logarithms to base 10 are uniform."""
    widths = np.log([3.0, 10.0, 10.0, 10.0, 4.0]).sum()
    return -widths - 5 * np.log(LN10) - np.sum(np.log([t0, km0, beta, delta, sigma]))


def quotient(rates, since):
    """(exp(-a t) - exp(-b t)) / (b - a) with quadruple care: as an integral, by the mean value over the rates."""
    slow, fast = sorted(rates)
    if (fast - slow) * np.abs(since).max() > 1e-3:
        return (np.exp(-slow * since) - np.exp(-fast * since)) / (fast - slow)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    at = (slow + fast) / 2 + (fast - slow) / 2 * nodes
    return since * (np.exp(-np.outer(since, at)) @ (weights / 2))


def plain(times, observations):
    def log_densities(t0, km0, beta, delta, sigma):
        with np.errstate(over="ignore", invalid="ignore"):
            curve = km0 * quotient((beta, delta), times - t0)
            square = np.sum(((observations - curve) / sigma) ** 2)
        # infinities of both signs are a difference of two huge exponentials
        square = np.inf if np.isnan(square) else square
        value = -0.5 * square - len(times) * np.log(sigma * np.sqrt(2 * np.pi))
        return log_prior(t0, km0, beta, delta, sigma), value

    return log_densities


def plain_naive(times, observations):
    def log_densities(t0, km0, beta, delta, sigma):
        with np.errstate(all="ignore"):
            since = times - t0
            curve = km0 / (delta - beta) * (1 - np.exp(-(delta - beta) * since)) * np.exp(-beta * since)
            curve = np.where(np.isfinite(curve), curve, 10_000.0)
            square = np.sum(((observations - curve) / sigma) ** 2)
        value = -0.5 * square - len(times) * np.log(sigma * np.sqrt(2 * np.pi))
        return log_prior(t0, km0, beta, delta, sigma), value

    return log_densities


def test_log_densities():
    data = simulate()
    check_values(ode(*data), plain(*data), draws=1000, rel=1e-9)
    check_values(ode(*data, naive=True), plain_naive(*data), draws=1000, rel=1e-9)


def test_equal_rates():
    times, observations = simulate()
    for gap in (0.0, 1e-15, 1e-9, 1e-5):
        point = {"t0": 1.5, "km0": 3.0, "beta": 0.3, "delta": 0.3 + gap, "sigma": 0.4}
        expected = plain(times, observations)(**point)[1]
        assert ode(times, observations).log_densities(**point)[1] == pytest.approx(expected, rel=1e-12)


def test_the_curve_solves_the_equation():
    """mRNA decays by delta, and makes protein that decays by beta; from t0 on, with none of it there."""
    t0, km0, beta, delta, _ = TRUE_PARAMETERS
    solved = integrate.solve_ivp(
        lambda t, y: [-delta * y[0], km0 * y[0] - beta * y[1]], (t0, 9.0), [1.0, 0.0], rtol=1e-11, atol=1e-12
    )
    target = ode([9.0], [solved.y[1, -1]])
    best = target.log_densities(**dict(zip(target.space.names, TRUE_PARAMETERS, strict=True)))[1]
    assert best == pytest.approx(-np.log(0.1 * np.sqrt(2 * np.pi)), abs=1e-12)


FAULTS = {
    "rates added": ("abs(beta - delta)", "abs(beta + delta)"),
    "no constant": (" + 0.5 * math.log(2.0 * math.pi)", ""),
    "another prior": ("LogUniform(1e-2, 1e2)", "LogUniform(1e-2, 1e1)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_log_densities(fault):
    data = simulate()
    with pytest.raises(AssertionError):
        check_values(load("models/ode.py", [FAULTS[fault]]).ode(*data), plain(*data), rel=1e-9)


def test_the_simulator_and_the_likelihood_agree():
    """A false alarm of 6e-5 for each of six means."""
    targets = [ode(*simulate(seed=seed)) for seed in range(200)]
    expected = -26 * (1 + np.log(2 * np.pi * 0.01))
    check_simulator(targets, np.array(TRUE_PARAMETERS), [expected] * 200, range(5))


@pytest.mark.laws
def test_a_run_finds_what_importance_sampling_does():
    """Evidence and five means, at 6e-5 each; the errors of importance sampling are far smaller.

    Means that do not tell the two modes apart: a short run changes modes too seldom for independent batches.
    """
    evidence, error, values = ode_truth(*simulate())
    assert error < 2e-3
    check_run(ode(*simulate()), evidence, ode_means(values), n_chains=24, n_rounds=11)


def test_data_are_simulated_where_none_are_given(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)
    assert "simulated" in ode().notes[0]


def test_what_are_no_data_is_refused():
    for wrong in (
        {"times": [1.0]},
        {"times": [1.0], "observations": [1.0, 2.0]},
        {"times": [0.0], "observations": [np.nan]},
    ):
        with pytest.raises(sterna.OptionError, match="times and observations"):
            ode(**wrong)
