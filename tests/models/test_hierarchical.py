"""The hierarchical model: densities, exploration and answers, against a collapsed form in which no p is left."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from kernels import apply_bound, draws_of, logs_of
from plain import load
from quick import first
from runs import check_mean
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

import sterna
from sterna.models.hierarchical import likelihood_change, reference_change, simulate

LAUNCHES, FAILURES = np.array([1, 3, 10, 40]), np.array([0, 1, 0, 9])
LEVEL = 1e-6


def small():
    return sterna.models.hierarchical(LAUNCHES, FAILURES)


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)


# ------------------------------------------------------------------------------------------------- densities


def test_densities_are_those_of_plain_sums():
    target = small()
    for state in draws_of(target)(200):
        m, s, p = state[0], state[1], state[2:]
        reference = stats.expon(scale=10.0).logpdf(s) + stats.beta(m * s, (1 - m) * s).logpdf(p).sum()
        likelihood = stats.binom(LAUNCHES, p).logpmf(FAILURES).sum()
        assert target.log_densities(state) == pytest.approx((reference, likelihood), rel=1e-9, abs=1e-9)


def test_likelihood_sums_to_one_over_all_data():
    p, total = np.array([0.3, 0.05]), 0.0
    for failures in itertools.product(range(4), range(3)):
        target = sterna.models.hierarchical([3, 2], failures)
        total += math.exp(target.log_densities(m=0.5, s=1.0, p=p)[1])
    assert total == pytest.approx(1.0, rel=1e-12)


def largest_error(change, whole, states):
    """Largest error of a local change, from every state to one coordinate of another."""
    errors = []
    for x, other in itertools.pairwise(states):
        for i in range(len(x)):
            moved = x.copy()
            moved[i] = other[i]
            exact = whole(moved) - whole(x)
            errors.append(abs(change(x, i, other[i]) - exact) / max(1.0, abs(whole(x)), abs(whole(moved))))
    return max(errors)


def test_local_changes_are_differences_of_whole_densities():
    target = small()
    states = draws_of(target)(100)

    def of_likelihood(x, i, new):
        return likelihood_change(x, i, new, LAUNCHES, FAILURES)

    assert largest_error(reference_change, lambda x: target.log_densities(x)[0], states) < 1e-12
    assert largest_error(of_likelihood, lambda x: target.log_densities(x)[1], states) < 1e-12

    # planted fault: the normalisers of one probability too few
    def one_too_few(x, i, new):
        return reference_change(x[:-1], i, new) if i < 2 else reference_change(x, i, new)

    assert largest_error(one_too_few, lambda x: target.log_densities(x)[0], states) > 1e-3


def test_draws_that_round_to_the_edge_are_clamped():
    for clamp, least in ((True, 1e-300), (False, np.finfo(float).tiny)):
        target = sterna.models.hierarchical([5] * 50, [0] * 50, clamp=clamp)
        p = draws_of(target)(4000)[:, 2:]
        assert p.min() == least
        assert p.max() == 1 - 1e-16
        assert np.isfinite(logs_of(target, draws_of(target)(200))).all()


# ----------------------------------------------------------------------------------- the simulator and the data


def test_simulator_and_model_agree(no_folder):
    """Mean and spread of the types' shares, by the simulator and by draws of the reference: at 1e-6 each."""
    launches, _ = simulate(np.random.default_rng(0))
    draws, rng = draws_of(sterna.models.hierarchical())(3000), np.random.default_rng(1)

    def shares(m, s):
        return rng.binomial(launches, rng.beta(m * s, (1 - m) * s, 367)) / launches

    seen = [f / n for n, f in (simulate(np.random.default_rng(k)) for k in range(3000))]
    again = [rng.binomial(launches, state[2:]) / launches for state in draws]
    narrow = [shares(state[0], 2.0 * state[1]) for state in draws]
    for summary in (np.mean, np.std):
        assert stats.ks_2samp(*([summary(x) for x in shares] for shares in (seen, again))).pvalue > LEVEL
    # planted fault: sizes twice as large
    assert stats.ks_2samp(*([np.std(x) for x in shares] for shares in (seen, narrow))).pvalue < LEVEL


def test_default_data_are_simulated_in_the_sizes_of_the_paper(no_folder):
    target = sterna.models.hierarchical()
    assert target.dimension == 369
    assert any("simulated" in note for note in target.notes)
    launches, failures = simulate(np.random.default_rng(1))
    assert (len(launches), launches.sum(), launches.min()) == (367, 5667, 1)
    assert (failures <= launches).all()


def test_a_file_is_read(monkeypatch, tmp_path):
    folder = tmp_path / "hierarchical_rockets"
    folder.mkdir()
    (folder / "failure_counts.csv").write_text("LV.Type,numberOfLaunches,numberOfFailures\nAriane 5,10,2\nVega,3,0\n")
    monkeypatch.setenv("STERNA_DATA", str(tmp_path))
    target = sterna.models.hierarchical()
    assert target.notes == []
    state = np.array([0.5, 2.0, 0.3, 0.2])
    assert target.log_densities(state)[1] == pytest.approx(stats.binom([10, 3], state[2:]).logpmf([2, 0]).sum())


@pytest.mark.parametrize(
    "given",
    [([1, 2], None), ([1, 2], [0]), ([1], [2]), ([1.5], [1]), ([1], [-1]), ([], []), ([[1]], [[1]])],
)
def test_what_are_no_counts_is_refused(given):
    with pytest.raises(sterna.OptionError, match="hierarchical"):
        sterna.models.hierarchical(*given)


# -------------------------------------------------------------------------------------------- exact answers


class Collapsed:
    """The distribution of (m, s) with all p integrated out, on a grid; given (m, s), every p has a beta density."""

    def __init__(self, launches, failures, beta=1.0, points=600):
        self.launches, self.failures, self.beta = launches, failures, beta
        # on scales on which the distribution is smooth: the logit of m and the logarithm of s
        t, u = np.linspace(-12, 12, points), np.linspace(-8, 6, points)
        self.m, self.s = 1 / (1 + np.exp(-t))[:, None], np.exp(u)[None, :]
        m_other = 1 / (1 + np.exp(t))[:, None]
        a, b = self.m * self.s, m_other * self.s
        log_densities = np.log(self.m) + np.log(m_other) + np.log(0.1) - 0.1 * self.s + np.log(self.s)
        # types of equal numbers have equal factors
        kinds, counts = np.unique(np.stack([launches, failures]), axis=1, return_counts=True)
        for n, f, count in zip(*kinds, counts, strict=True):
            log_densities = log_densities + count * (betaln(a + beta * f, b + beta * (n - f)) - betaln(a, b))
        self.log_densities = log_densities + math.log((t[1] - t[0]) * (u[1] - u[0]))
        self.distribution = np.exp(self.log_densities - logsumexp(self.log_densities))

    @property
    def log_evidence(self):
        choices = gammaln(self.launches + 1) - gammaln(self.failures + 1) - gammaln(self.launches - self.failures + 1)
        return float(logsumexp(self.log_densities) + choices.sum())

    def mean(self, values):
        return float((self.distribution * values).sum())

    def draw(self, n, rng):
        """Draw states; a point of the grid stands for its cell."""
        rows, columns = np.unravel_index(
            rng.choice(self.distribution.size, size=n, p=self.distribution.ravel()), self.distribution.shape
        )
        t, u = np.log(self.m / (1 - self.m)).ravel(), np.log(self.s).ravel()
        t = t[rows] + (t[1] - t[0]) * (rng.random(n) - 0.5)
        u = u[columns] + (u[1] - u[0]) * (rng.random(n) - 0.5)
        m, s = 1 / (1 + np.exp(-t)), np.exp(u)
        a = (m * s)[:, None] + self.beta * self.failures
        b = ((1 - m) * s)[:, None] + self.beta * (self.launches - self.failures)
        p = np.clip(rng.beta(a, b), 1e-300, 1 - 1e-16)
        return np.column_stack([m, s, p])


def p_of_exploration(beta, target, explorer):
    """Compare states after ten scans from exact draws with other exact draws, by coordinate; smallest p times six."""
    exact = Collapsed(LAUNCHES, FAILURES, beta)
    states, others = (exact.draw(10_000, np.random.default_rng(seed)) for seed in (1, 2))
    after, log_densities, _ = apply_bound(target, explorer.bind(target), states, beta)
    assert np.allclose(log_densities[:, :2], logs_of(target, after)[:, :2], rtol=1e-9, atol=1e-9)
    assert ((after != states).mean(axis=0) > 0.5).all()
    return 6 * min(stats.ks_2samp(after[:, k], others[:, k]).pvalue for k in range(6))


@pytest.mark.parametrize("own", [True, False], ids=["collapsed", "slices"])
@pytest.mark.parametrize("beta", first(1, [0.3, 1.0]))
def test_exploration_leaves_the_distribution_unchanged(beta, own):
    """False-alarm rate: 1e-6."""
    target = small()
    assert p_of_exploration(beta, target, target.explorer if own else sterna.Slice()) > LEVEL
    # planted fault: one failure more
    other = sterna.models.hierarchical(LAUNCHES, FAILURES + np.array([0, 1, 0, 0]))
    assert p_of_exploration(beta, other, other.explorer if own else sterna.Slice()) < LEVEL


FAULTS = {
    "size without its Jacobian": (
        "+ 2.0 * math.log(10.0 + size) >= level",
        "+ 2.0 * math.log(10.0 + old) >= level",
    ),
    "size without its prior": ("total = -0.1 * s", "total = 0.0 * s"),
    "not annealed": ("log_gamma_draw(a + beta * failures[r], stream)", "log_gamma_draw(a + failures[r], stream)"),
    "old mean": ("a, b = x[State.mean] * x[State.size], (1.0", "a, b = 0.5 * x[State.size], (1.0"),
}


@pytest.mark.parametrize("fault", first(1, FAULTS))
def test_planted_faults_of_the_collapsed_kernel_are_caught(fault):
    target, exact = small(), Collapsed(LAUNCHES, FAILURES, 0.3)
    kernel = load("models/kernels/beta_binomial.py", [FAULTS[fault]], compiled=True).explore
    states, others = (exact.draw(10_000, np.random.default_rng(seed)) for seed in (1, 2))
    after, _, _ = apply_bound(target, target.explorer.bind(target), states, 0.3, kernel=kernel)
    assert min(stats.ks_2samp(after[:, k], others[:, k]).pvalue for k in range(6)) < LEVEL


def test_the_explorer_of_other_data_is_refused():
    target, other = small(), sterna.models.hierarchical(LAUNCHES, FAILURES + np.array([0, 1, 0, 0]))
    with pytest.raises(sterna.OptionError, match="another model"):
        other.explorer.bind(target)
    with pytest.raises(sterna.OptionError, match="not a part"):
        target.explorer.bind(target, np.arange(3))
    with pytest.raises(sterna.OptionError, match="passes"):
        replace(target.explorer, passes=-1)


@pytest.mark.parametrize(
    "explorer", [None, pytest.param(sterna.Slice(), marks=pytest.mark.laws)], ids=["collapsed", "slices"]
)
def test_runs_find_evidence_and_means(explorer):
    """Within 4 standard errors of the collapsed model: false alarms of 6e-5, three times."""
    rng = np.random.default_rng(5)
    launches = rng.integers(1, 30, size=20)
    failures = rng.binomial(launches, rng.beta(0.8, 3.2, 20))
    exact = Collapsed(launches, failures)
    assert exact.log_evidence == pytest.approx(Collapsed(launches, failures, points=900).log_evidence, abs=1e-6)
    target = sterna.models.hierarchical(launches, failures)
    result = sterna.sample(target, explorer=explorer, n_chains=8, n_rounds=11, n_copies=1, progress=False)
    assert abs(result.log_evidence.value - exact.log_evidence) < 4 * result.log_evidence.error
    assert result.log_evidence.error < 0.2
    check_mean(result.posterior["m"].values.ravel(), exact.mean(exact.m))
    check_mean(result.posterior["s"].values.ravel(), exact.mean(exact.s))
    # planted fault: all launches of one type failed
    wrong = Collapsed(launches, np.where(np.arange(20) == failures.argmin(), launches, failures))
    assert abs(result.log_evidence.value - wrong.log_evidence) > 4 * result.log_evidence.error
