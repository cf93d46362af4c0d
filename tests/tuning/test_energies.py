"""Moments of energies from sums around a centre, against moments of the energies themselves."""

import math

import numpy as np
import pytest
from scipy import stats

from sterna.engine.record import layout_of, new_record
from sterna.tuning.batches import merge, standard_errors
from sterna.tuning.energies import energies

FALSE_ALARM = 1e-6
N_CHAINS = 4


def autoregression(memory, copies=2, scans=900):
    """Energies before and after explorations that keep a share `memory` of their fluctuation, for every chain."""
    rng = np.random.default_rng([round(100 * memory), copies, scans])
    before = rng.standard_normal((copies, scans, N_CHAINS))
    after = memory * before + math.sqrt(1 - memory**2) * rng.standard_normal(before.shape)
    return before, after


def moments_of(before, after, centre):
    """Return the moments that a round of such energies shows: (copies, scans, chains), with -inf for zeros."""
    records = []
    for then, now in zip(before, after, strict=True):
        record = new_record(len(now), layout_of(len(now)), N_CHAINS, 1, 0, 1)
        edges = np.concatenate([[0], np.cumsum(record.scans)[:-1]])
        seen = np.isfinite(now)
        now = np.where(seen, now - centre, 0.0)
        then = then - centre
        then[:, 0] = 0.0
        for place, values in enumerate((now, now**2, then, then * now)):
            record.moments[place] = np.add.reduceat(values, edges, axis=0)
        record.zeros[:] = np.add.reduceat((~seen[:, 0]).astype(np.int64), edges)
        records.append(record)
    return energies(merge(records), np.asarray(centre, dtype=np.float64))


def flat(values):
    return values.reshape(-1, N_CHAINS)


@pytest.mark.parametrize("copies", [1, 3])
def test_mean_and_variance_are_direct(copies):
    before, after = autoregression(0.3, copies)
    found = moments_of(before, after, np.array([0.1, -0.2, 1.0, 0.0]))
    assert np.allclose(found.mean, flat(after).mean(axis=0), rtol=1e-12)
    assert np.allclose(found.variance, flat(after).var(axis=0), rtol=1e-12)
    assert found.zero_share == 0.0


def test_centre_moves_nothing():
    """A centre off by 1e4 standard deviations costs the variance eight digits of sixteen, and no more."""
    before, after = autoregression(0.3)
    near = moments_of(before, after, np.zeros(N_CHAINS))
    far = moments_of(before, after, np.full(N_CHAINS, 1e4))
    assert np.allclose(far.mean, near.mean, rtol=0, atol=1e-11)
    assert np.allclose(far.variance, near.variance, rtol=1e-6)
    assert np.allclose(far.autocorrelation, near.autocorrelation, rtol=0, atol=1e-6)
    assert np.allclose(far.influence, near.influence, rtol=0, atol=1e-9)


def test_energies_far_from_zero_keep_their_variance_with_a_centre_near_them():
    before, after = autoregression(0.3)
    shift = -1e9
    found = moments_of(before + shift, after + shift, np.full(N_CHAINS, shift))
    assert np.allclose(found.variance, flat(after).var(axis=0), rtol=1e-5)
    # the planted fault: without a centre nothing is left of the variance
    lost = moments_of(before + shift, after + shift, np.zeros(N_CHAINS))
    assert not np.allclose(lost.variance, flat(after).var(axis=0), rtol=0.1)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.95])
def test_autocorrelation_is_that_of_before_and_after(memory):
    """False-alarm rate: 1e-6 for each chain. A correlation of n pairs has an error of (1 - rho^2) / sqrt(n)."""
    before, after = autoregression(memory)
    found = moments_of(before, after, np.array([0.0, 1.0, -2.0, 0.5])).autocorrelation
    assert found[0] == 0.0
    n = flat(after).shape[0]
    for chain in range(1, N_CHAINS):
        centred = [part[:, chain] - part[:, chain].mean() for part in (flat(before), flat(after))]
        direct = np.mean(centred[0] * centred[1]) / flat(after)[:, chain].var()
        assert found[chain] == pytest.approx(direct, rel=1e-10, abs=1e-12)
        allowed = stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(2) * max(1 - memory**2, 0.05) / math.sqrt(n)
        assert abs(found[chain] - memory) <= allowed


def test_zeros_of_the_reference_are_left_out_of_its_moments():
    before, after = autoregression(0.3)
    zeros = np.random.default_rng(1).random(after.shape[:2]) < 0.4
    after[zeros, 0] = -np.inf
    found = moments_of(before, after, np.full(N_CHAINS, 0.7))
    seen = after[:, :, 0][~zeros]
    assert found.mean[0] == pytest.approx(seen.mean(), rel=1e-12)
    assert found.variance[0] == pytest.approx(seen.var(), rel=1e-12)
    assert found.zero_share == pytest.approx(zeros.mean(), rel=1e-14)
    assert np.allclose(found.mean[1:], flat(after)[:, 1:].mean(axis=0), rtol=1e-12)
    # the planted fault: zeros that count as draws
    assert seen.sum() / zeros.size != pytest.approx(seen.mean(), rel=0.1)


def test_reference_of_zeros_alone_has_no_moments():
    before, after = autoregression(0.3)
    after[:, :, 0] = -np.inf
    found = moments_of(before, after, np.zeros(N_CHAINS))
    assert np.isnan(found.mean[0])
    assert np.isfinite(found.mean[1:]).all()
    assert np.isfinite(found.variance[1:]).all()
    assert found.zero_share == 1.0


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8])
def test_constant_energy(value):
    constant = np.full((2, 900, N_CHAINS), value)
    for centre in (value, value + 3.3):
        found = moments_of(constant, constant, np.full(N_CHAINS, centre))
        assert np.allclose(found.mean, value, rtol=1e-14)
        assert (found.variance >= 0).all()
        assert (found.variance <= 1e-11).all()
    exactly = moments_of(constant, constant, np.full(N_CHAINS, value))
    # nothing varies, so nothing can be said of its memory; the reference is independent by itself
    assert np.isnan(exactly.autocorrelation[1:]).all()
    assert exactly.autocorrelation[0] == 0.0


def pooled_errors(runs, of_variance):
    """Squared standard errors that independent normal energies show for their means or variances, over runs."""
    squares, values = [], []
    for run in range(runs):
        rng = np.random.default_rng([run, 99])
        after = rng.standard_normal((1, 1000, N_CHAINS))
        found = moments_of(after, after, np.full(N_CHAINS, 0.5))
        influence = found.variance_influence if of_variance else found.influence
        squares.append(standard_errors(influence) ** 2)
        values.append(found.variance if of_variance else found.mean)
    return np.ravel(squares), np.ravel(values)


@pytest.mark.parametrize(("of_variance", "exact"), [(False, 1 / 1000), (True, 2 / 1000)])
def test_errors_of_moments_are_exact_for_independent_energies(of_variance, exact):
    """False-alarm rate: 1e-6 each, beside the 5 % that estimating a memory may add. Var of a variance is 2 s^4 / n."""
    squares, values = pooled_errors(60, of_variance)
    ratio = squares / exact
    slack = stats.norm.isf(FALSE_ALARM / 2) * ratio.std(ddof=1) / math.sqrt(ratio.size)
    assert abs(ratio.mean() - 1) <= 0.05 + slack
    # and the values scatter as much; the scatter of 240 values is chi-square
    scatter = values.var(ddof=1) * (values.size - 1) / exact
    assert stats.chi2.cdf(scatter, values.size - 1) > FALSE_ALARM / 2
    assert stats.chi2.sf(scatter, values.size - 1) > FALSE_ALARM / 2


def test_check_of_errors_catches_the_influence_of_squares_around_the_centre():
    """The planted fault: deviations from the centre instead of from the mean, here half a standard deviation off."""
    squares, _ = pooled_errors(20, of_variance=True)
    rng = np.random.default_rng(4)
    wrong = np.var((rng.standard_normal(100_000) - 0.5) ** 2) / 1000
    assert abs(squares.mean() / wrong - 1) > 0.15
