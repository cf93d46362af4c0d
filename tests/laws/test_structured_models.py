"""The paper's models of many dependent variables, on its data, with its numbers of chains (`make laws`)."""

import math

import numpy as np
import pytest
from real_data import FOLDER, needs_data, real_data  # noqa: F401
from runs import check_mean
from scipy.special import betaln, gammaln, logsumexp

import sterna
from sterna.models.hierarchical import read

pytestmark = [pytest.mark.laws, needs_data, pytest.mark.usefixtures("real_data")]


def check_barrier(result, paper):
    """Both estimates within 10 % of the paper's, which is a plain sum of rejections."""
    assert result.rejection.sum() == pytest.approx(paper, rel=0.1)
    assert result.global_barrier == pytest.approx(paper, rel=0.1)


def collapsed_rockets():
    """Evidence and means of m and s by quadrature over the two, with all p integrated out in closed form."""
    launches, failures = read(FOLDER / "hierarchical_rockets" / "failure_counts.csv")
    t, u = np.linspace(-12, 12, 600)[:, None], np.linspace(-8, 6, 600)[None, :]
    m, s = 1 / (1 + np.exp(-t)), np.exp(u)
    a, b = m * s, s / (1 + np.exp(t))
    logs = np.log(m) - np.log1p(np.exp(t)) + np.log(0.1) - 0.1 * s + u
    kinds, counts = np.unique(np.stack([launches, failures]), axis=1, return_counts=True)
    for n, f, count in zip(*kinds, counts, strict=True):
        choices = gammaln(n + 1) - gammaln(f + 1) - gammaln(n - f + 1)
        logs = logs + count * (choices + betaln(a + f, b + n - f) - betaln(a, b))
    total = logsumexp(logs)
    law = np.exp(logs - total)
    return total + math.log((t[1, 0] - t[0, 0]) * (u[0, 1] - u[0, 0])), (law * m).sum(), (law * s).sum()


def test_hierarchical():
    """Evidence and two means within 4 standard errors: false alarms of 6e-5 each."""
    log_evidence, m, s = collapsed_rockets()
    assert log_evidence == pytest.approx(-474.2014, abs=1e-4)
    result = sterna.sample(sterna.models.hierarchical(), n_chains=30, n_rounds=11, progress=False)
    assert abs(result.log_evidence.value - log_evidence) < 4 * result.log_evidence.error
    check_mean(result.posterior["m"].values.ravel(), m)
    check_mean(result.posterior["s"].values.ravel(), s)
    check_barrier(result, 12.0)


@pytest.mark.parametrize(
    ("size", "n_chains", "n_scans", "barrier"), [(300, 30, 25_000, 8.2), (150, 20, 20_000, 5.5)], ids=["300", "150"]
)
def test_mixture(size, n_chains, n_scans, barrier):
    """Both labelings have their half, within 4 standard errors of at most 0.02."""
    target = sterna.models.mixture(size=size)
    result = sterna.sample(target, n_chains=n_chains, n_rounds=10, n_scans=n_scans, n_copies=2, progress=False)
    mu = result.posterior["mu"].values
    first = (mu[..., 0] < mu[..., 1]).astype(float)
    batches = first.reshape(2 * 25, -1).mean(axis=1)
    error = batches.std(ddof=1) / math.sqrt(len(batches))
    assert error <= 0.02
    assert abs(first.mean() - 0.5) < 4 * error
    check_barrier(result, barrier)


def test_copy_number():
    """Both ploidies are visited, at the rate of restarts that the paper's budget needs."""
    target = sterna.models.copy_number()
    result = sterna.sample(target, n_chains=50, n_rounds=10, n_scans=1000, n_copies=2, progress=False)
    check_barrier(result, 13.0)
    # the curve of a profile of twice the copies is lower by log 2
    level = result.posterior["f"].values[..., 0].ravel()
    doubled = level < np.median(level[level > level.max() - 0.5]) - 0.5 * math.log(2.0)
    assert 0.02 < doubled.mean() < 0.98
    assert result.round_trip_rate > 6e-3
