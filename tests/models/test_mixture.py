"""The mixture: densities, exploration and answers, against an enumeration of all indicators."""

import itertools
import math

import numpy as np
import pytest
from invariance import chi_square
from kernels import apply_bound, draws_of, logs_of
from quick import first
from runs import check_mean
from scipy import stats
from scipy.special import betaln, logsumexp

import sterna
from sterna.models.mixture import likelihood_change, reference_change, simulate

LEVEL = 1e-6
SEEN = np.array([60.0, 75.0, 190.0, 230.0])


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)


# ------------------------------------------------------------------------------------------------- densities


def plain_log_densities(state, y):
    share, mu, sigma, z = state[0], state[1:3], state[3:5], state[5:].astype(int)
    reference = stats.norm(150, 100).logpdf(mu).sum() - 2 * math.log(100.0)
    reference += np.log(np.array([share, 1 - share])[z]).sum()
    return reference, stats.norm(mu[z], sigma[z]).logpdf(y).sum()


def test_densities_are_those_of_plain_sums():
    target = sterna.models.mixture(SEEN)
    for state in draws_of(target)(100):
        assert target.log_densities(state) == pytest.approx(plain_log_densities(state, SEEN), rel=1e-9)


def largest_errors(change_of_reference, change_of_likelihood, y):
    """Largest relative errors of local changes, from every state to one coordinate of another."""
    states = draws_of(sterna.models.mixture(y))(30)
    errors = []
    for x, other in itertools.pairwise(states):
        for i in range(len(x)):
            moved = x.copy()
            moved[i] = other[i]
            before, after = plain_log_densities(x, y), plain_log_densities(moved, y)
            found = change_of_reference(x, i, other[i]), change_of_likelihood(x, i, other[i], y)
            scale = 1 + np.abs(before) + np.abs(after)
            errors.append(np.abs(np.array(found) + before - after) / scale)
    return np.max(errors, axis=0)


def test_local_changes_are_differences_of_whole_densities():
    for y in (SEEN, np.linspace(50.0, 250.0, 30)):
        assert (largest_errors(reference_change, likelihood_change, y) < 1e-12).all()

    # planted faults: a deviation whose logarithm is left out, and weights that all observations share
    def without_logarithm(x, i, new, y):
        members = np.sum(x[5:] == i - 3)
        return likelihood_change(x, i, new, y) - (members * math.log(x[i] / new) if i in (3, 4) else 0.0)

    def one_indicator_too_few(x, i, new):
        return reference_change(x[:-1], i, new) if i == 0 else reference_change(x, i, new)

    assert (largest_errors(one_indicator_too_few, without_logarithm, SEEN) > 1e-4).all()


# ----------------------------------------------------------------------------------- the simulator and the data


def test_simulator_and_model_agree(no_folder):
    """Mean and spread of the observations, by the simulator and by draws of the reference: at 1e-6 each."""
    rng = np.random.default_rng(1)
    target = sterna.models.mixture(size=150)
    values = target.space.values(draws_of(target)(2000))

    def observations(k, factor=1.0):
        z = values["z"][k]
        return rng.normal(values["mu"][k][z], factor * values["sigma"][k][z])

    seen = [simulate(np.random.default_rng(k), 150) for k in range(2000)]
    again = [observations(k) for k in range(2000)]
    narrow = [observations(k, 0.5) for k in range(2000)]

    def p_of(summary, *samples):
        return stats.ks_2samp(*([summary(y) for y in sample] for sample in samples)).pvalue

    assert min(p_of(np.mean, seen, again), p_of(np.std, seen, again)) > LEVEL
    # planted fault: deviations half as large
    assert p_of(np.std, seen, narrow) < LEVEL


@pytest.mark.parametrize("size", [300, 150])
def test_default_data_are_simulated_in_the_sizes_of_the_paper(no_folder, size):
    target = sterna.models.mixture(size=size)
    assert target.dimension == size + 5
    assert any("simulated" in note for note in target.notes)


def test_a_file_is_read(monkeypatch, tmp_path):
    (tmp_path / "mixture").mkdir()
    (tmp_path / "mixture" / "mixture_data_150.csv").write_text("100.0\n2e2\n")
    monkeypatch.setenv("STERNA_DATA", str(tmp_path))
    target = sterna.models.mixture(size=150)
    assert target.dimension == 7
    assert target.notes == []


@pytest.mark.parametrize("wrong", [{"size": 100}, {"y": []}, {"y": [[1.0]]}, {"y": [np.inf]}, {"y": ["a"]}])
def test_what_are_no_observations_is_refused(no_folder, wrong):
    with pytest.raises(sterna.OptionError, match="mixture"):
        sterna.models.mixture(**wrong)


# -------------------------------------------------------------------------------------------- exact answers


class Enumerated:
    """The annealed distribution by enumeration: given the indicators, components are independent and means normal."""

    sigma = 100.0 * (np.arange(40_000) + 0.5) / 40_000

    def __init__(self, y, beta=1.0):
        self.y, self.beta = y, beta
        self.subsets = np.array(list(itertools.product((0, 1), repeat=len(y))))
        # a component that has a subset: the logarithm of its integral, by the midpoint rule on the deviation
        self.integrands = {tuple(s): self._integrand(y[s == 1]) for s in self.subsets}
        integral = {s: logsumexp(f) for s, f in self.integrands.items()}
        second = self.subsets.sum(axis=1)
        weights = betaln(len(y) - second + 1, second + 1)
        self.log_densities = weights + [integral[tuple(s)] + integral[tuple(1 - s)] for s in self.subsets]
        self.log_evidence = float(logsumexp(self.log_densities))
        self.distribution = np.exp(self.log_densities - self.log_evidence)

    def _moments(self, own, sigma):
        """Precision and mean of a component's mean, given its deviation."""
        precision = 1e-4 + self.beta * len(own) / sigma**2
        return precision, (150e-4 + self.beta * own.sum() / sigma**2) / precision

    def _integrand(self, own):
        precision, mean = self._moments(own, self.sigma)
        log_densities = -0.5 * self.beta * len(own) * np.log(2 * np.pi * self.sigma**2)
        log_densities += -0.5 * np.log(precision * 1e4) + 0.5 * precision * mean**2 - 0.5 * 150**2 * 1e-4
        return log_densities - 0.5 * self.beta * (own**2).sum() / self.sigma**2 - math.log(len(self.sigma))

    def draw(self, n, rng):
        chosen = self.subsets[rng.choice(len(self.distribution), size=n, p=self.distribution)]
        second = chosen.sum(axis=1)
        states = np.empty((n, 5 + len(self.y)))
        states[:, 0] = rng.beta(len(self.y) - second + 1, second + 1)
        states[:, 5:] = chosen
        for subset in self.subsets:
            rows = np.flatnonzero((chosen == subset).all(axis=1))
            for k in (0, 1):
                members = tuple(subset if k == 1 else 1 - subset)
                log_densities = self.integrands[members]
                sigma = rng.choice(self.sigma, size=len(rows), p=np.exp(log_densities - logsumexp(log_densities)))
                sigma = sigma + (rng.random(len(rows)) - 0.5) * (self.sigma[1] - self.sigma[0])
                precision, mean = self._moments(self.y[np.array(members) == 1], sigma)
                states[rows, 1 + k] = mean + rng.standard_normal(len(rows)) / np.sqrt(precision)
                states[rows, 3 + k] = sigma
        return states


def p_of_exploration(beta, target):
    """Compare states after ten scans from exact draws with exact answers; smallest p of six, times six."""
    exact = Enumerated(SEEN, beta)
    states, others = (exact.draw(20_000, np.random.default_rng(seed)) for seed in (1, 2))
    after, log_densities, _ = apply_bound(target, target.explorer.bind(target), states, beta)
    assert np.allclose(log_densities[:, :2], logs_of(target, after)[:, :2], rtol=1e-8, atol=1e-8)
    found = [stats.ks_2samp(after[:, k], others[:, k]).pvalue for k in range(5)]
    return 6 * min(*found, chi_square(after[:, 5:] @ [8, 4, 2, 1], exact.distribution))


@pytest.mark.parametrize("beta", first(1, [0.1, 1.0]))
def test_exploration_leaves_the_distribution_unchanged(beta):
    """False-alarm rate: 1e-6."""
    assert p_of_exploration(beta, sterna.models.mixture(SEEN)) > LEVEL


@pytest.mark.laws
def test_exploration_check_catches_another_observation():
    assert p_of_exploration(1.0, sterna.models.mixture(SEEN + np.array([0.0, 25.0, 0.0, 0.0]))) < LEVEL


def test_runs_find_evidence_and_shares():
    """Within 4 standard errors of the enumeration: false alarms of 6e-5, four times."""
    y = np.array([60.0, 75.0, 78.0, 190.0, 230.0, 231.0])
    exact = Enumerated(y)
    result = sterna.sample(sterna.models.mixture(y), n_chains=6, n_rounds=13, n_copies=1, progress=False)
    assert abs(result.log_evidence.value - exact.log_evidence) < 4 * result.log_evidence.error
    assert result.log_evidence.error < 0.05
    z = result.posterior["z"].values.reshape(-1, len(y))
    for i, j in ((0, 1), (0, 3)):
        together = exact.distribution[exact.subsets[:, i] == exact.subsets[:, j]].sum()
        check_mean((z[:, i] == z[:, j]).astype(float), together)
    check_mean(result.posterior["w"].values[..., 0].ravel(), 0.5)
    # planted fault: indicators of equal probability, whatever the weights
    wrong = logsumexp(
        exact.log_densities - betaln(*(np.sum(exact.subsets == k, axis=1) + 1 for k in (0, 1))) - 6 * math.log(2)
    )
    assert abs(result.log_evidence.value - wrong) > 4 * result.log_evidence.error


# ---------------------------------------------------------------------------------------------- two labelings

CLUSTERS = np.concatenate([np.linspace(80, 104, 8), np.linspace(196, 220, 8)])


@pytest.mark.laws
def test_both_labelings_are_visited_alike():
    """Share of one labeling within 4 standard errors of 1/2, at an error of at most 0.02."""
    target = sterna.models.mixture(CLUSTERS)
    result = sterna.sample(target, n_chains=8, n_rounds=9, n_scans=60_000, n_copies=1, progress=False)
    mu = result.posterior["mu"].values[0]
    first = (mu[:, 0] < mu[:, 1]).astype(float)
    error = np.std([part.mean() for part in np.array_split(first, 40)], ddof=1) / math.sqrt(40)
    assert error <= 0.02
    assert abs(first.mean() - 0.5) < 4 * error


def test_one_chain_stays_in_its_labeling():
    """Of a hundred chains, after 100 scans; with a mean of 1/2, fewer than 10 would be a false alarm of 1e-17."""
    target = sterna.models.mixture(CLUSTERS)
    start = np.concatenate([[0.5, 95.0, 205.0, 10.0, 10.0], np.repeat([0.0, 1.0], 8)])
    after, _, _ = apply_bound(target, target.explorer.bind(target), np.tile(start, (100, 1)), 1.0, times=100)
    assert (after[:, 1] > after[:, 2]).sum() < 10
    assert not np.array_equal(after[0], after[1])
