"""Mode weights of a bimodal posterior with modes 20 standard deviations apart, which a single chain cannot sample."""

import math

import numpy as np
import pytest
from targets import two_modes

import sterna

BATCHES = 25


def batches_of(indicator):
    """Return means of an indicator (copies, draws) over batches of successive draws."""
    length = indicator.shape[1] // BATCHES
    return indicator[:, : BATCHES * length].reshape(-1, length).mean(axis=1)


@pytest.mark.parametrize(("dim", "n_chains"), [(2, 12), pytest.param(20, 30, marks=pytest.mark.laws)])
def test_weights(dim, n_chains):
    """Within 4 standard errors from 50 batches (two copies): false-alarm rates of 2e-4 for weight and evidence."""
    target = sterna.Target(two_modes, {"x": sterna.Uniform(-20, 20, shape=dim)})
    result = sterna.sample(target, n_chains=n_chains, n_rounds=12, n_copies=2, progress=False)
    means = batches_of(result.posterior["x"].values.sum(axis=-1) > 0)
    error = means.std(ddof=1) / math.sqrt(len(means))
    assert error <= 0.02
    assert abs(means.mean() - 0.1) <= 4 * error
    # planted fault: equal weights must be detected
    assert abs(means.mean() - 0.5) > 4 * error
    exact = dim * (0.5 * math.log(2 * math.pi) - math.log(40.0))
    assert abs(result.log_evidence.value - exact) <= 4 * result.log_evidence.error
    assert result.warnings == []


def test_a_single_chain_does_not_find_both():
    """Two chains, of which the first draws from the reference, never swap in 20 dimensions."""
    target = sterna.Target(two_modes, {"x": sterna.Uniform(-20, 20, shape=20)})
    result = sterna.sample(target, n_chains=2, n_rounds=0, n_scans=4000, progress=False)
    assert len(np.unique(result.posterior["x"].values.sum(axis=-1) > 0)) == 1
    assert result.restarts == 0
    assert any("Too few chains" in text for text in result.warnings)
    assert any("restarts" in text for text in result.warnings)
