"""Long checks, over many seeds (`make laws`)."""

import exact
import numpy as np
import pytest
from scipy import stats

import sterna

pytestmark = pytest.mark.laws

SEEDS = 300
LEVELS = exact.binomial_levels(20, 0.3, 0.8)


def gain(z):
    total = 0.0
    for value in z:
        total += 0.8 * value
    return total


def test_errors_are_honest():
    """Deviations divided by standard errors are Student's t with 24 degrees of freedom: two tests at 1e-4."""
    target = sterna.Target(gain, {"z": sterna.Bernoulli(0.3, shape=20)})
    scores = []
    for seed in range(SEEDS):
        result = sterna.sample(target, n_chains=8, n_rounds=9, n_scans=10_000, seed=seed, progress=False)
        rejection = exact.level_rejections(result.schedule, *LEVELS).sum()
        evidence = exact.log_evidence(*LEVELS)
        scores.append(
            (
                (result.rejection.sum() - rejection) / result.last.total_rejection_error,
                (result.log_evidence.value - evidence) / result.log_evidence.error,
            )
        )
    for column in np.array(scores).T:
        assert stats.kstest(column, stats.t(24).cdf).pvalue > 1e-4
        # planted fault: errors half as large, which 300 seeds detect at 3e-7
        assert stats.kstest(2.0 * column, stats.t(24).cdf).pvalue < 1e-4


@pytest.mark.parametrize("scheme", ["deo", "seo"])
def test_rates_over_many_round_trips(scheme):
    """Within 4 standard errors from 400 batches (a false-alarm rate of 8e-5); each standard error is below 0.5 %."""
    n_chains, scans, copies = 12, 100_000, 16
    target = sterna.Target(gain, {"z": sterna.Bernoulli(0.3, shape=20)})
    result = sterna.sample(
        target, n_chains=n_chains, n_rounds=10, n_scans=scans, n_copies=copies, scheme=scheme, progress=False
    )
    rejection = exact.level_rejections(result.schedule, *LEVELS)
    travel = 1 if scheme == "deo" else n_chains - 1
    predicted = 1 / (2 * travel + 2 * np.sum(rejection / (1 - rejection)))
    batches = 25
    counts = []
    for paths in result.index_process:
        ends = np.zeros(scans, dtype=int)
        for path in paths.T:
            extremes = np.flatnonzero((path == 0) | (path == n_chains - 1))
            up = (path[extremes[1:]] > 0) & (path[extremes[:-1]] == 0)
            np.add.at(ends, extremes[1:][up], 1)
        counts.append(ends.reshape(batches, -1).sum(axis=1))
    counts = np.concatenate(counts) / (scans / batches)
    error = counts.std(ddof=1) / np.sqrt(len(counts))
    assert error < 0.005 * predicted
    assert abs(counts.mean() - predicted) <= 4 * error
