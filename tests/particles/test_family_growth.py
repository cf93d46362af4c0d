"""The error of the evidence after hundreds of resamplings, in a model whose variance is known."""

import math

import numpy as np
import pytest

from sterna.particles.evidence import Evidence
from sterna.particles.family_growth import FamilyGrowth

RUNS, SIZE, STEPS, LENGTH = 80, 200, 250, 0.05


def one_run(rng):
    """Weight independent normal numbers x by exp(LENGTH x) and resample, step by step; exploration forgets all."""
    families, growth, log_evidence = np.arange(SIZE), FamilyGrowth.of_first_draws(SIZE), 0.0
    for _ in range(STEPS):
        weights = np.exp(LENGTH * rng.standard_normal(SIZE))
        log_evidence += math.log(weights.mean())
        weights /= weights.sum()
        growth = growth.reweighted(np.bincount(families, weights, minlength=SIZE))
        points = (np.arange(SIZE) + rng.random(SIZE)) / SIZE
        families = families[np.minimum(np.searchsorted(np.cumsum(weights), points), SIZE - 1)]
        growth = growth.resampled(np.bincount(families, minlength=SIZE) / SIZE)
    return Evidence(log_evidence, growth)


def variances():
    rng = np.random.default_rng(5)
    return [one_run(rng) for _ in range(RUNS)]


def test_the_error_survives_hundreds_of_resamplings():
    """The mean of the estimated variances is the exact one, STEPS (exp(LENGTH**2) - 1) / SIZE, within 4 errors.

    That is a false-alarm rate of 6e-5, and so is that of the mean of Z. No stated error is zero. Intervals with the
    stated freedom cover 95 %, of which 85 % are 4 standard deviations below.
    """
    found = variances()
    exact = STEPS * math.expm1(LENGTH**2) / SIZE
    estimated = np.array([-math.expm1(one.growth.log_kept) for one in found])
    assert abs(estimated.mean() - exact) <= 4 * estimated.std() / math.sqrt(RUNS)
    estimates, truth = [one.estimate for one in found], STEPS * LENGTH**2 / 2
    ratio = np.exp([one.value - truth for one in estimates])
    assert abs(ratio.mean() - 1) <= 4 * ratio.std() / math.sqrt(RUNS)
    known = [one for one in estimates if math.isfinite(one.error)]
    assert len(known) > RUNS / 2
    assert all(one.error > 0.3 * math.sqrt(exact) for one in known)
    assert np.mean([one.interval()[0] <= truth <= one.interval()[1] for one in known]) >= 0.85
    # a sample standard deviation of 80 numbers has an error of about 8 %, more with tails
    noise = math.sqrt(np.mean([one.growth.noise**2 for one in found]))
    assert noise == pytest.approx(estimated.std(), rel=0.5)


def test_planted_scatter_of_offspring_is_noticed(monkeypatch):
    """If resamplings count as errors, the variance is many times too large."""
    monkeypatch.setattr(FamilyGrowth, "resampled", FamilyGrowth.reweighted)
    assert np.mean([one.growth.relative_variance for one in variances()]) > 4 * STEPS * LENGTH**2 / SIZE
