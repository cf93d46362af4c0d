"""Long runs of models with the paper's sizes, against answers obtained without parallel tempering."""

import itertools

import numpy as np
import pytest
from model_checks import SHARED, check_run, use_real_data
from ode_truth import ode_means, ode_truth
from scipy import stats
from scipy.special import betaln, expit, log_expit, logsumexp

from sterna.models.ode import ode
from sterna.models.spike_slab import read, simulate, spike_slab

pytestmark = pytest.mark.laws

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


class SpikeSlab:
    """Return the posterior of the spike-and-slab model, by importance sampling for every choice of switches.

    Weights that are switched off integrate out. The first and last covariate are the same, so that only their sum
    counts, which is Cauchy with the scale of one or, if both are on, of two. That leaves three cases for them times 64
    for the others. The scale is integrated out, between exp(-9) and exp(3). Of the up to eight
    parameters left the likelihood is log-concave, and rules: draws are Student's around its mode.
    """

    def __init__(self, labels, covariates, draws, seed=1):
        assert np.array_equal(covariates[:, 0], covariates[:, -1])
        self.sign = np.where(labels == 1, 1.0, -1.0)
        self.spread = covariates[:, :-1].std(axis=0)
        self.covariates = covariates[:, :-1] / self.spread
        self.rng = np.random.default_rng(seed)
        size = covariates.shape[1]
        cases = [(both, *others) for both in (0, 1, 2) for others in itertools.product((0, 1), repeat=size - 2)]
        number = np.array([sum(case) for case in cases])
        chance = betaln(number + 1, size - number + 1) + np.log([2.0 if case[0] == 1 else 1.0 for case in cases])
        pilot = [self.case(*case, draws=200) for case in cases]
        log_densities = chance + [row[0] for row in pilot]
        likely = log_densities > log_densities.max() - 9
        found = [
            self.case(*case, draws=draws) if more else row for case, row, more in zip(cases, pilot, likely, strict=True)
        ]
        rows = np.column_stack([found, (number + 1) / (size + 2), cases])
        rows[:, 0] += chance
        self.log_evidence = logsumexp(rows[:, 0])
        weight = np.exp(rows[:, 0] - self.log_evidence)
        self.error = np.sqrt(np.sum(weight**2 * rows[:, 1]))
        self.scale, self.intercept, self.share, *self.switches = weight @ rows[:, 2:]

    def case(self, both, *others, draws):
        """Return the log evidence of one choice with its relative variance, and the means of scale and intercept."""
        on = np.array([both > 0, *others], dtype=bool)
        width = np.concatenate([[1.0], np.array([max(both, 1), *np.ones(len(others))])[on] * self.spread[on]])
        x = self.sign[:, None] * np.column_stack([np.ones(len(self.sign)), self.covariates[:, on]])
        mode = np.zeros(len(width))
        for _ in range(30):
            p = expit(x @ mode)
            precision = (x * (p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(len(width))
            mode += np.linalg.solve(precision, x.T @ (1 - p) - 1e-3 * mode)
        proposal = stats.multivariate_t(mode, 1.2 * np.linalg.inv(precision), df=5)
        points = proposal.rvs(draws, random_state=self.rng).reshape(draws, -1)
        # the slab with its scale integrated out, by Gauss-Legendre quadrature over the logarithm of the scale
        scales, nodes = np.exp(6 * NODES - 3), 6 * WEIGHTS * np.exp(6 * NODES - 3 - np.exp(6 * NODES - 3))
        ratio = points[:, None, :] / (scales[:, None] * width)
        slab = nodes / np.prod(np.pi * scales[:, None] * width * (1 + ratio**2), axis=-1)
        log_densities = log_expit(points @ x.T).sum(axis=-1) + np.log(slab.sum(axis=1)) - proposal.logpdf(points)
        weight = np.exp(log_densities - logsumexp(log_densities))
        scale = weight @ (slab @ scales / slab.sum(axis=1))
        return logsumexp(log_densities) - np.log(draws), np.sum(weight**2) - 1 / draws, scale, weight @ points[:, 0]


def spike_slab_means(exact):
    means = {
        lambda p: p["scale"]: exact.scale,
        lambda p: p["intercept"]: exact.intercept,
        lambda p: p["share"]: exact.share,
        lambda p: p["switch"][..., 0] + p["switch"][..., -1]: exact.switches[0],
        # one covariate, included twice
        lambda p: p["switch"][..., 0] - p["switch"][..., -1]: 0.0,
    }
    return means | {lambda p, j=j: p["switch"][..., j]: exact.switches[j] for j in (1, 2, 3, 4, 6)}


@pytest.mark.parametrize("naive", [False, True])
def test_spike_slab(naive):
    """Evidence and ten means, at 6e-5 each; importance sampling adds a third of a standard error: 2e-4."""
    exact = SpikeSlab(*simulate(), draws=15_000)
    assert exact.error < 0.02
    check_run(
        spike_slab(*simulate(), naive=naive), exact.log_evidence, spike_slab_means(exact), n_chains=12, n_rounds=11
    )


def without_sex():
    labels, covariates = read(SHARED / "spike_slab_titanic" / "titanic.csv", 200)
    return labels, np.delete(covariates, 5, axis=1)


def test_spike_slab_of_the_papers_data(monkeypatch):
    """The same; the barrier in the paper is 4.7."""
    use_real_data(monkeypatch)
    exact = SpikeSlab(*read(SHARED / "spike_slab_titanic" / "titanic.csv", 200), draws=15_000)
    assert exact.error < 0.02
    result = check_run(spike_slab(naive=True), exact.log_evidence, spike_slab_means(exact), n_chains=30, n_rounds=10)
    assert result.rejection.sum() == pytest.approx(4.7, rel=0.1)
    # planted fault: one covariate omitted
    with pytest.raises(AssertionError):
        check_run(spike_slab(*without_sex()), exact.log_evidence, {}, n_chains=12, n_rounds=10)


def test_ode_of_the_papers_data(monkeypatch):
    """Evidence, five means and the weight of a mode, at 6e-5 each; the barrier in the paper is 6.4."""
    use_real_data(monkeypatch)
    times, _, observations = np.loadtxt(SHARED / "ode_mrna" / "processed.csv", delimiter=",", skiprows=1).T
    assert len(times) == 52
    evidence, _, values = ode_truth(times, observations)
    for naive in (False, True):
        result = check_run(ode(naive=naive), evidence, ode_means(values), n_chains=50, n_rounds=12)
        assert result.global_barrier == pytest.approx(6.4, rel=0.1)
        # modes change only with restarts: batches of 800 scans instead of 200
        first = np.asarray(result.posterior["beta"] > result.posterior["delta"], dtype=float).ravel()
        batches = [part.mean() for part in np.array_split(first, 10)]
        assert stats.ttest_1samp(batches, 0.5).pvalue > 6e-5
    # planted fault: a prior that is ten times as wide
    with pytest.raises(AssertionError):
        check_run(ode(), evidence - np.log(10.0), {}, n_chains=50, n_rounds=12)
