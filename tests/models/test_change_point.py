"""The change-point model: given the change, both means have gamma distributions, so that everything is a finite sum."""

import numpy as np
import pytest
from model_checks import SHARED, check_run, check_simulator, check_values, use_real_data
from plain import load
from scipy import stats
from scipy.special import gammaln, logsumexp

import sterna
from sterna.models.change_point import change_point, simulate


def plain(counts, rate=1 / 15):
    def log_densities(change, early, late):
        means = [early if t <= change else late for t in range(len(counts))]
        prior = -np.log(len(counts)) + sum(np.log(rate) - rate * mean for mean in (early, late))
        return prior, stats.poisson.logpmf(counts, means).sum()

    return log_densities


def exact(counts, rate=1 / 15, beta=1.0):
    """Log evidence, probabilities of the change, and shapes and rates of both means' gamma distributions given it."""
    n, shapes, rates = len(counts), [], []
    for change in range(n):
        before, after = counts[: change + 1], counts[change + 1 :]
        shapes.append([beta * before.sum() + 1, beta * after.sum() + 1])
        rates.append([beta * len(before) + rate, beta * len(after) + rate])
    shapes, rates = np.array(shapes), np.array(rates)
    log_densities = (np.log(rate) + gammaln(shapes) - shapes * np.log(rates)).sum(axis=1)
    log_densities -= np.log(n) + beta * gammaln(counts + 1.0).sum()
    return logsumexp(log_densities), np.exp(log_densities - logsumexp(log_densities)), shapes, rates


def means(counts):
    _, weight, shapes, rates = exact(counts)
    early, late = weight @ (shapes / rates)
    return {
        lambda p: p["change"]: weight @ np.arange(len(counts)),
        lambda p: p["early"]: early,
        lambda p: p["late"]: late,
    }


def test_log_densities():
    counts = simulate()
    check_values(change_point(counts), plain(counts))
    check_values(change_point([0, 0, 3]), plain(np.array([0, 0, 3])))


FAULTS = {
    "a day too few is late": ("late * (last - change)", "late * (last - change - 1)"),
    "no factorials": ("math.lgamma(count + 1)", "0.0"),
    "another rate": ("rate: float = 1 / 15", "rate: float = 1 / 20"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_change_the_log_densities(fault):
    wrong = load("models/change_point.py", [FAULTS[fault]]).change_point(simulate())
    with pytest.raises(AssertionError):
        check_values(wrong, plain(simulate()))


def test_the_simulator_and_the_likelihood_agree():
    """A false alarm of 6e-5 for each of three means."""
    targets = [change_point(simulate(seed=seed)) for seed in range(200)]
    counts = np.arange(200)
    entropies = [-np.sum(stats.poisson.pmf(counts, mean) * stats.poisson.logpmf(counts, mean)) for mean in (18.0, 23.0)]
    check_simulator(targets, np.array([44.0, 18.0, 23.0]), [-45 * entropies[0] - 29 * entropies[1]] * 200, [1, 2])


def test_a_run_finds_the_exact_sums():
    """Evidence and three means, at 6e-5 each."""
    counts = simulate()
    check_run(change_point(counts), exact(counts)[0], means(counts), n_chains=12, n_rounds=11)


@pytest.mark.laws
def test_a_run_does_not_find_those_of_another_rate():
    counts = simulate()
    with pytest.raises(AssertionError):
        check_run(change_point(counts), exact(counts, rate=1 / 5)[0], {}, n_chains=12, n_rounds=11)


def exact_rejections(counts, schedule, n, rng):
    """Rejections of neighbours, from exact independent draws at every beta, with their standard errors."""
    energies = []
    for beta in schedule:
        _, weight, shapes, rates = exact(counts, beta=beta)
        change = rng.choice(len(counts), size=n, p=weight)
        early, late = rng.gamma(shapes[change].T, 1 / rates[change].T)
        before = np.cumsum(counts)[change]
        value = before * np.log(early) - (change + 1) * early - (len(counts) - 1 - change) * late
        energies.append(value + (counts.sum() - before) * np.log(late))
    terms = [
        -np.expm1(np.minimum(0.0, (schedule[k + 1] - schedule[k]) * (energies[k] - energies[k + 1])))
        for k in range(len(schedule) - 1)
    ]
    return np.mean(terms, axis=1), np.std(terms, axis=1) / np.sqrt(n)


def check_barrier(counts, n_chains):
    """The sum of rejections is that of exact draws, within 4 standard errors of both: 6e-5."""
    result = sterna.sample(change_point(counts), n_chains=n_chains, n_rounds=12, progress=False)
    rejections, errors = exact_rejections(counts, result.schedule, 200_000, np.random.default_rng(1))
    error = np.hypot(result.last.total_rejection_error, np.linalg.norm(errors))
    assert abs(result.rejection.sum() - rejections.sum()) < 4 * error
    return result


def test_rejections_are_those_of_exact_draws():
    check_barrier(simulate(), 12)


@pytest.mark.laws
def test_the_barrier_of_the_papers_data(monkeypatch):
    use_real_data(monkeypatch)
    target = change_point()
    assert not target.notes
    counts = np.loadtxt(SHARED / "change_point" / "txtdata.csv")
    assert (len(counts), counts.sum()) == (74, 1461)
    check_run(target, exact(counts)[0], means(counts), n_chains=20, n_rounds=10)
    # 4.02 by quadrature, 4.0 in the paper
    assert check_barrier(counts, 20).global_barrier == pytest.approx(4.02, rel=0.05)


def test_data_are_simulated_where_none_are_given(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)
    assert "simulated" in sterna.models.change_point().notes[0]


def test_what_are_no_counts_is_refused():
    for wrong in ({"counts": [1.5]}, {"counts": [-1]}, {"counts": []}, {"rate": 0.0}):
        with pytest.raises(sterna.OptionError, match="integers from 0 up, rate positive"):
            change_point(**wrong)
