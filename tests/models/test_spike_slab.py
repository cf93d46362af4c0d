"""Spike and slab: against a plain sum, and quadrature for two features of which one repeats the other."""

import csv
import functools

import numpy as np
import pytest
from kernels import draws_of
from model_checks import SHARED, check_run, check_simulator, check_values, use_real_data
from plain import load
from scipy import stats
from scipy.special import log_expit

import sterna
from sterna.models.spike_slab import TRUE_COEFFICIENTS, TRUE_INTERCEPT, read, simulate, spike_slab


def prior(share, scale, intercept, switch, weight):
    return (
        stats.expon.logpdf(scale)
        + stats.cauchy.logpdf(intercept, 0, scale)
        + stats.cauchy.logpdf(weight, 0, scale).sum()
        + stats.bernoulli.logpmf(switch, share).sum()
    )


def plain(labels, covariates):
    def log_densities(share, scale, intercept, switch, weight):
        predictor = intercept + covariates @ (switch * weight)
        value = np.sum(log_expit(np.where(labels == 1, predictor, -predictor)))
        return prior(share, scale, intercept, switch, weight), value

    return log_densities


def plain_naive(labels, covariates):
    def log_densities(share, scale, intercept, switch, weight):
        with np.errstate(over="ignore", divide="ignore"):
            p = 1 / (1 + np.exp(-(intercept + covariates @ (switch * weight))))
            value = np.sum(np.log(np.where(labels == 1, p, 1 - p)))
        return prior(share, scale, intercept, switch, weight), value

    return log_densities


def test_log_densities():
    data = simulate()
    # a Cauchy prior next to one scale far below its own has a large log-density, of few digits behind the point
    check_values(spike_slab(*data), plain(*data), draws=500, rel=1e-10)
    check_values(spike_slab(*data, naive=True), plain_naive(*data), draws=500, rel=1e-9)


def test_many_observations_do_not_overflow():
    """The product of the factors is taken apart before it does."""
    labels, covariates = simulate(size=3000)
    point = {"share": 0.5, "scale": 1.0, "intercept": 0.0, "switch": np.ones(8), "weight": np.full(8, 1e-4)}
    expected = plain(labels, covariates)(**point)
    assert spike_slab(labels, covariates).log_densities(**point) == pytest.approx(expected, rel=1e-12)


FAULTS = {
    "switches ignored": ("coefficient = switch * weight", "coefficient = 1.0 * weight"),
    "outcomes exchanged": ("predictor if labels[i] == 1.0", "predictor if labels[i] == 0.0"),
    "a slab too few": ("(weight.size + 1) * math.log", "weight.size * math.log"),
    "another rate": ("total = -scale", "total = -2.0 * scale"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_log_densities(fault):
    data = simulate()
    with pytest.raises(AssertionError):
        check_values(load("models/spike_slab.py", [FAULTS[fault]]).spike_slab(*data), plain(*data), rel=1e-10)


def test_the_simulator_and_the_likelihood_agree():
    """A false alarm of 6e-5 for each of seven means."""
    data = [simulate(seed=seed) for seed in range(200)]
    expected = []
    for _, covariates in data:
        predictor = TRUE_INTERCEPT + covariates @ np.array(TRUE_COEFFICIENTS)
        expected.append(-stats.bernoulli(1 / (1 + np.exp(-predictor))).entropy().sum())
    state = np.concatenate([[0.5, 1.0, TRUE_INTERCEPT], np.ones(8), TRUE_COEFFICIENTS])
    targets = [spike_slab(*one) for one in data]
    check_simulator(targets, state, expected, [2, 11, 12, 13, 15, 16])


def small(n=24):
    """Few observations of one feature, given twice."""
    rng = np.random.default_rng(3)
    feature = rng.standard_normal(n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-0.5 - 1.5 * feature))).astype(float)
    return labels, np.column_stack([feature, feature])


@functools.cache
def exact(factor=1.0):
    """Log evidence, and the means of scale, share, the number of switches and the coefficient, for a repeated feature.

    With k of the two switches on, the coefficient is 0 or Cauchy with k times the scale, the sum of two being one of
    twice the scale; every k has the probability 1/3, and given it the share is Beta(k + 1, 3 - k). With
    b = s sinh(t) a Cauchy density in b is 1 / (pi cosh t) in t, which the trapezoidal rule integrates to all digits.
    """
    labels, covariates = small()
    feature = factor * covariates[:, 0]
    sign = np.where(labels == 1, 1.0, -1.0)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    low, high = np.log(1e-4), np.log(40.0)
    log_densities = (high + low) / 2 + (high - low) / 2 * nodes
    step = 0.08
    sums = np.zeros((3, 3))
    for v, weight in zip(log_densities, weights * (high - low) / 2, strict=True):
        s = np.exp(v)
        half = np.arcsinh(60.0 / s)
        t = np.arange(-half, half, step)
        b, density = s * np.sinh(t), step / (np.pi * np.cosh(t))
        outer = weight * s * np.exp(-s)
        for k, (c, mass) in enumerate([(np.zeros(1), np.ones(1)), (b, density), (2 * b, density)]):
            total = np.zeros((len(b), len(c)))
            for x, own in zip(feature, sign, strict=True):
                total += log_expit(own * (b[:, None] + c * x))
            value = outer / 3 * density[:, None] * np.exp(total) * mass
            sums[k] += [value.sum(), s * value.sum(), (value * c).sum()]
    # scales below the first: all coefficients are 0
    sums[:, 0] += 1e-4 / 3 * 0.5 ** len(labels)
    evidence = sums[:, 0].sum()
    weight = sums[:, 0] / evidence
    share = weight @ ((np.arange(3) + 1) / 4)
    return np.log(evidence), sums[:, 1].sum() / evidence, share, weight @ np.arange(3), sums[:, 2].sum() / evidence


@pytest.mark.parametrize("naive", [False, pytest.param(True, marks=pytest.mark.laws)])
def test_a_run_finds_the_quadrature(naive):
    """Evidence and four means, at 6e-5 each."""
    evidence, scale, share, switches, coefficient = exact()
    means = {
        lambda p: p["scale"]: scale,
        lambda p: p["share"]: share,
        lambda p: p["switch"].sum("switch_dim_0"): switches,
        lambda p: (p["switch"].values * p["weight"].values).sum(axis=-1): coefficient,
    }
    check_run(spike_slab(*small(), naive=naive), evidence, means, n_chains=8, n_rounds=12)


@pytest.mark.laws
def test_a_run_does_not_find_the_evidence_of_other_data():
    with pytest.raises(AssertionError):
        check_run(spike_slab(*small()), exact(0.3)[0], {}, n_chains=8, n_rounds=11)


def test_the_papers_data(monkeypatch):
    """The covariates are those of the paper's own table, which has a line for each passenger and feature."""
    use_real_data(monkeypatch)
    labels, covariates = read(SHARED / "spike_slab_titanic" / "titanic.csv", 200)
    assert (covariates.shape, labels.sum()) == ((200, 8), 69)
    with (SHARED / "spike_slab_titanic" / "titanic-covariates.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    names = list(dict.fromkeys(row["features"] for row in rows))
    table = {name: [float(row["covariates"]) for row in rows if row["features"] == name][:200] for name in names}
    assert np.array_equal(covariates, np.column_stack([table[name] for name in names]))
    assert not spike_slab().notes


def test_zeros_of_the_naive_form(monkeypatch):
    """0.372 of 20 000 draws of the reference elsewhere; 2000 are within 5 standard errors: a false alarm of 6e-7."""
    use_real_data(monkeypatch)
    target = spike_slab(naive=True)
    zeros = [target.log_densities(state)[1] == -np.inf for state in draws_of(target)(2000)]
    assert abs(np.mean(zeros) - 0.372) < 5 * np.sqrt(0.372 * 0.628 * (1 / 2000 + 1 / 20_000))


def test_data_are_simulated_where_none_are_given(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)
    assert "simulated" in spike_slab().notes[0]


def test_what_are_no_data_is_refused():
    for wrong in (
        {"labels": [0, 1]},
        {"labels": [0, 2], "covariates": [[1.0], [2.0]]},
        {"labels": [0, 1], "covariates": [[1.0]]},
        {"labels": [0, 1], "covariates": [1.0, 2.0]},
        {"labels": [0, 1], "covariates": [[1.0], [np.nan]]},
    ):
        with pytest.raises(sterna.OptionError, match="labels"):
            spike_slab(**wrong)
