"""Stepping stones and batch means: against direct sums, and against exact errors of independent input."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from sterna.engine.record import new_record
from sterna.tuning.evidence import Estimate, batch_means, stepping_stone

FALSE_ALARM = 1e-6


def record_of(stones):
    """The record of a round whose exponents (beta' - beta) * log_likelihood are `stones`: (scans, pairs)."""
    n_scans, n_pairs = stones.shape
    record = new_record(n_scans, n_pairs + 1, 1, 0, 1)
    edges = np.concatenate([[0], np.cumsum(record.scans)])
    for batch in range(len(record.scans)):
        part = stones[edges[batch] : edges[batch + 1]]
        record.stone_scale[batch] = part.max(axis=0)
        seen = np.isfinite(part.max(axis=0))
        record.stone_sum[batch, seen] = np.exp(part[:, seen] - part.max(axis=0)[seen]).sum(axis=0)
    return record


def direct(stones):
    """The sum over pairs of the log of the mean exponential."""
    return float(np.sum(logsumexp(stones, axis=0) - math.log(len(stones))))


def random_stones(scale, scans=173, pairs=6):
    return scale * np.random.default_rng(2).standard_normal((scans, pairs))


# ------------------------------------------------------------------------------------------ stepping stones


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e5])
@pytest.mark.parametrize("scans", [1, 7, 50, 173])
def test_value_is_the_direct_sum(scale, scans):
    stones = random_stones(scale, scans)
    assert stepping_stone([record_of(stones)]).value == pytest.approx(direct(stones), rel=1e-12, abs=1e-14)


def test_value_of_several_copies_is_the_direct_sum_over_all():
    parts = [random_stones(3.0), random_stones(2.0) - 5.0, random_stones(1.0, scans=40)]
    estimate = stepping_stone([record_of(part) for part in parts])
    assert estimate.value == pytest.approx(direct(np.concatenate(parts)), rel=1e-13)


def test_comparison_catches_a_mean_over_batches_of_unequal_length():
    stones = random_stones(3.0)
    record = record_of(stones)
    weights = record.stone_sum * np.exp(record.stone_scale) / record.scans[:, None]
    wrong = np.log(weights.mean(axis=0)).sum()
    assert wrong != pytest.approx(direct(stones), rel=1e-6)


def test_shift_of_the_log_likelihood_moves_the_value_alone():
    stones = random_stones(1.0)
    plain, moved = stepping_stone([record_of(stones)]), stepping_stone([record_of(stones + 1e4)])
    assert moved.value == pytest.approx(plain.value + 6e4, rel=1e-14)
    assert moved.error == pytest.approx(plain.error, rel=1e-9)


def test_zeros_of_the_reference_count_as_zero():
    stones = random_stones(1.0)
    stones[::3, 0] = -np.inf
    # a whole batch of zeros has neither a scale nor a sum
    stones[:20, 0] = -np.inf
    estimate = stepping_stone([record_of(stones)])
    assert estimate.value == pytest.approx(direct(stones), rel=1e-13)
    assert math.isfinite(estimate.error)


def test_pair_without_any_likelihood_has_no_evidence():
    stones = random_stones(1.0)
    stones[:, 0] = -np.inf
    estimate = stepping_stone([record_of(stones)])
    assert estimate.value == -math.inf
    assert math.isnan(estimate.error)


def test_constant_likelihood_is_exact():
    estimate = stepping_stone([record_of(np.full((100, 4), 0.25))])
    assert estimate.value == pytest.approx(1.0, rel=1e-15)
    assert estimate.error == pytest.approx(0.0, abs=1e-15)


def test_single_batch_has_no_error():
    assert math.isnan(stepping_stone([record_of(random_stones(1.0, scans=1))]).error)


def test_estimate_prints_value_and_error():
    assert str(Estimate(1.23456, 0.01)) == "1.2346 ± 0.0100"


def log_normal_runs(runs, same_for_all_pairs, spread=0.3, scans=1000, pairs=4):
    """Estimates from independent normal exponents, with the exact value and the exact standard error.

    E exp(s g) = exp(s^2 / 2), and exp(s g) has the squared coefficient of variation exp(s^2) - 1.
    """
    rng = np.random.default_rng(31)
    estimates = []
    for _ in range(runs):
        draws = rng.standard_normal((scans, 1 if same_for_all_pairs else pairs))
        estimates.append(stepping_stone([record_of(spread * np.broadcast_to(draws, (scans, pairs)))]))
    variation = math.expm1(spread**2) / scans
    exact_variance = variation * (pairs**2 if same_for_all_pairs else pairs)
    return estimates, pairs * spread**2 / 2, exact_variance


def p_of_variances(estimates, exact_variance):
    """t-test that squared errors have the exact variance for their mean."""
    return stats.ttest_1samp([estimate.error**2 for estimate in estimates], exact_variance).pvalue


@pytest.mark.parametrize("same_for_all_pairs", [False, True])
def test_error_is_the_exact_standard_error_of_independent_input(same_for_all_pairs):
    """False-alarm rate: 2e-6 in each case, 1e-6 for the error and 1e-6 for the value.

    What the linearisation leaves out moves either by at most a fifth of the standard deviation over 400 runs.
    """
    estimates, exact_value, exact_variance = log_normal_runs(400, same_for_all_pairs)
    assert p_of_variances(estimates, exact_variance) > FALSE_ALARM
    deviation = np.mean([estimate.value for estimate in estimates]) - exact_value
    assert abs(deviation) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(exact_variance / len(estimates))


def test_check_catches_errors_of_pairs_added_in_quadrature():
    """Chains that are correlated by swaps have larger errors than independent ones."""
    estimates, _, exact_variance = log_normal_runs(400, True)
    in_quadrature = [Estimate(estimate.value, estimate.error / 2) for estimate in estimates]
    assert p_of_variances(in_quadrature, exact_variance) < FALSE_ALARM


# ---------------------------------------------------------------------------------------------- batch means

BATCHES, LENGTH, RUNS = 20, 5, 20_000


def normal_batches(length=LENGTH, batches=BATCHES):
    """Sums of independent standard normal numbers, over batches, of many runs side by side."""
    sums = math.sqrt(length) * np.random.default_rng(23).standard_normal((batches, RUNS))
    return sums, np.full(batches, float(length))


def p_of_squares(error, exact_variance, batches=BATCHES):
    """Exact two-sided test: squared errors of normal batches are chi-square, of batches - 1 degrees each."""
    freedom = error.size * (batches - 1)
    total = float(np.sum(error**2)) / exact_variance * (batches - 1)
    return 2 * min(stats.chi2.cdf(total, freedom), stats.chi2.sf(total, freedom))


def covered(mean, error, freedom):
    """How often the 90 % interval of Student's t around the mean holds the true value 0."""
    return int(np.sum(np.abs(mean) < stats.t.ppf(0.95, freedom) * error))


def test_mean_is_the_mean_over_scans():
    sums, scans = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 3.0])
    mean, error = batch_means(sums, scans)
    assert np.allclose(mean, [1.0, 1.5], rtol=1e-15)
    assert error.shape == (2,)


def test_error_by_hand():
    mean, error = batch_means(np.array([2.0, 4.0, 9.0]), np.array([1.0, 1.0, 1.0]))
    assert mean == pytest.approx(5.0)
    assert error == pytest.approx(np.std([2.0, 4.0, 9.0], ddof=1) / math.sqrt(3), rel=1e-14)


def test_batch_errors_are_exact_for_independent_input():
    """False-alarm rate: 1e-6."""
    sums, scans = normal_batches()
    _, error = batch_means(sums, scans)
    assert p_of_squares(error, 1 / scans.sum()) > FALSE_ALARM


def test_check_catches_one_degree_of_freedom_too_many():
    sums, scans = normal_batches()
    _, error = batch_means(sums, scans)
    wrong = error * math.sqrt((BATCHES - 1) / BATCHES)
    assert p_of_squares(wrong, 1 / scans.sum()) < FALSE_ALARM


def test_intervals_cover_as_often_as_they_say():
    """False-alarm rate: 1e-6, for a coverage of 90 %."""
    sums, scans = normal_batches()
    mean, error = batch_means(sums, scans)
    assert stats.binomtest(covered(mean, error, BATCHES - 1), RUNS, 0.9).pvalue > FALSE_ALARM
    # planted fault: intervals ten percent too short
    assert stats.binomtest(covered(mean, 0.9 * error, BATCHES - 1), RUNS, 0.9).pvalue < FALSE_ALARM


def test_correlated_input_needs_its_batches():
    """False-alarm rate: 1e-6. Batches longer than the memory of an AR(1) process show its true error.

    The exact variances of its mean and of its batches' means follow from its autocovariance.
    """
    memory, length, batches, runs = 0.8, 100, 20, 400
    scans = length * batches
    rng = np.random.default_rng(41)
    noise = rng.standard_normal((scans, runs))
    chain = np.empty_like(noise)
    chain[0] = noise[0] / math.sqrt(1 - memory**2)
    for k in range(1, scans):
        chain[k] = memory * chain[k - 1] + noise[k]
    sums = chain.reshape(batches, length, runs).sum(axis=1)
    _, error = batch_means(sums, np.full(batches, float(length)))
    expected = (variance_of_mean(memory, length) - variance_of_mean(memory, scans)) / (batches - 1)
    assert stats.ttest_1samp(error**2, expected).pvalue > FALSE_ALARM
    # planted fault: every scan for itself, as if there were no memory
    _, naive = batch_means(chain, np.ones(scans))
    assert stats.ttest_1samp(naive**2, expected).pvalue < FALSE_ALARM


def variance_of_mean(memory, n):
    """Variance of the mean of n steps of an AR(1) process with unit noise."""
    lags = np.arange(1, n)
    return (1 + 2 * np.sum((1 - lags / n) * memory**lags)) / (1 - memory**2) / n


def test_single_batch_has_a_mean_and_no_error():
    mean, error = batch_means(np.array([[3.0, 6.0]]), np.array([3.0]))
    assert np.array_equal(mean, [1.0, 2.0])
    assert np.isnan(error).all()
