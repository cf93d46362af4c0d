"""Checks of complete runs against exact answers."""

import math

import numpy as np
from annealed import BOUNDED, law
from scipy import stats

import sterna


def check_joint_run(explorer):
    """Check a complete run on the joint distribution: log evidence and two moments within 4 standard errors.

    Standard errors of moments are from 40 batches. Each of the three has a two-sided false-alarm rate of 6e-5.
    """
    target = law("joint").target
    result = sterna.sample(target, explorer=explorer, n_chains=4, n_rounds=9, n_scans=20_000, progress=False)
    found = result.log_evidence
    # y is N(0, 1) under the reference and has precision 5 under the target; x is 0.8 y plus noise
    assert abs(found.value - (-0.5 * math.log(5.0) - 0.5 * 4.0 / 5.0)) < 4 * found.error
    draws = np.asarray(result.posterior["x"]).reshape(-1)
    check_mean(draws, 0.64)
    check_mean((draws - 0.64) ** 2, 0.36 + 0.64 / 5.0)


def check_bounded_run(explorer, names=("w", "s", "p")):
    """Check evidence and means of a complete run on the bounded distribution, within 4 standard errors: 6e-5 each."""
    result = sterna.sample(law("bounded").target, explorer=explorer, n_chains=5, n_rounds=10, progress=False)
    exact = math.log((math.exp(2.4) - math.exp(-1.6)) / 4.0 * (0.5 / 1.2) * (3 / 8))
    assert abs(result.log_evidence.value - exact) < 4 * result.log_evidence.error
    for name, one in zip(("w", "s", "p"), BOUNDED, strict=True):
        if name in names:
            check_mean(result.posterior[name].values.ravel(), one(1.0).mean())


def check_mean(draws, exact):
    """Compare a mean with the exact one, with 40 batches, at 6e-5: 4 standard errors of a normal variable."""
    batches = np.array([part.mean() for part in np.array_split(draws, 40)])
    assert stats.ttest_1samp(batches, exact).pvalue > 6e-5


def check_same_bits(explorer):
    """Check that a run has the same bits with one worker and with two."""
    runs = [
        sterna.sample(
            law("gaussian").target, explorer=explorer, n_chains=4, n_rounds=6, n_copies=3, workers=w, progress=False
        )
        for w in (1, 2)
    ]
    assert np.array_equal(runs[0].posterior["x"], runs[1].posterior["x"])
