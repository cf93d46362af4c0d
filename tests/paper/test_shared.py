"""What figures compute from tables: peaks, areas, tables of rounds, and the most probable hidden states."""

import itertools

import numpy as np
import pytest

import sterna
from sterna.paper.figure import select, table
from sterna.paper.figures.shared.areas import area, area_between
from sterna.paper.figures.shared.hidden_states import log_densities, most_probable_states
from sterna.paper.figures.shared.methods import chain_alone, nrpt, run_methods, sequential, thinned
from sterna.paper.figures.shared.peaks import peaks
from sterna.paper.figures.shared.round_tables import round_tables, schedule_of
from sterna.paper.figures.traces import jumps_between, modes_of
from sterna.paper.study import Study


def pairs_of(local, error, n=40, noise=None):
    """Pairs of a uniform schedule with rejections of a given local barrier."""
    betas = np.linspace(0.0, 1.0, n + 1)
    rejection = local(0.5 * (betas[1:] + betas[:-1])) / n
    if noise is not None:
        rejection = rejection + noise
    return {
        "beta": betas[:-1],
        "next_beta": betas[1:],
        "rejection": rejection,
        "error": np.full(n, error),
    }


def test_peaks_are_found_where_they_are():
    def local(beta):
        return 1.0 + 3.0 * np.exp(-(((beta - 0.3) / 0.06) ** 2)) + 2.0 * np.exp(-(((beta - 0.8) / 0.06) ** 2))

    assert peaks(pairs_of(local, 1e-4)) == pytest.approx([0.3, 0.8], abs=0.02)
    assert peaks(pairs_of(lambda beta: 1.0 / (0.1 + beta), 1e-4)) == pytest.approx([0.0125])
    assert peaks(pairs_of(lambda beta: 1.0 + beta, 1e-4)) == pytest.approx([0.9875])
    assert peaks(pairs_of(lambda beta: 1.0 + 0.1 * beta, 1e-4)) == []


def runs_with_several_peaks():
    """Count the runs in which noise around a constant barrier has more than one peak, out of 20."""
    rng, several = np.random.default_rng(1), 0
    for _ in range(20):
        noise = rng.normal(0.0, 0.003, 40)
        several += len(peaks(pairs_of(lambda beta: np.full(len(beta), 2.0), 0.003, noise=noise))) > 1
    return several


def test_noise_has_no_further_peaks(monkeypatch):
    """False alarms 3e-5: a second peak needs a range of 40 normal numbers above 4 sqrt(2), which has probability 0.035,
    and more than five of 20 are a failure."""
    assert runs_with_several_peaks() <= 5
    # planted fault: dips that noise makes count, too
    monkeypatch.setattr("sterna.paper.figures.shared.peaks.ERRORS", 1.0)
    monkeypatch.setattr("sterna.paper.figures.shared.peaks.SHARE", 0.0)
    assert runs_with_several_peaks() > 5


def test_areas():
    x = np.linspace(0.0, 1.0, 11)
    assert area(x, 2.0 * x) == pytest.approx(1.0)
    assert area_between(x, 3.0 * x, 2.0 * x) == pytest.approx(0.5)


def probability(states, residuals, steps, m, rate, deviations):
    """Log-density of a path of states and the data, from the model's definition."""
    total = -np.log(m) + log_densities(residuals, m, deviations)[np.arange(len(states)), states].sum()
    for k in range(1, len(states)):
        stay = np.exp(-rate * steps[k])
        total += np.log((1.0 - stay) / m + stay * (states[k] == states[k - 1]))
    return total


@pytest.mark.parametrize("seed", range(5))
def test_hidden_states_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    m, rate, deviations = 3, 0.3, (0.2, 0.1)
    residuals, steps = rng.normal(0.3, 0.5, 6), rng.integers(1, 4, 6)
    best = max(
        itertools.product(range(m), repeat=6),
        key=lambda path: probability(np.array(path), residuals, steps, m, rate, deviations),
    )
    assert tuple(most_probable_states(residuals, steps, m, rate, deviations)) == best


def test_steps_between_bins_matter():
    """A fault that forgets the number of bins between two observations gives another path."""
    residuals, deviations = np.array([0.0, 0.0, 0.35, 0.35]), (0.3, 0.0)
    near = most_probable_states(residuals, np.array([0, 1, 1, 1]), 3, 0.001, deviations)
    far = most_probable_states(residuals, np.array([0, 1, 5000, 1]), 3, 0.001, deviations)
    assert near.tolist() == [1, 1, 1, 1]
    assert far.tolist() == [1, 1, 2, 2]


@pytest.fixture(scope="module")
def result():
    return sterna.sample(
        sterna.models.normal(2), explorer="slice", n_chains=5, n_rounds=4, n_scans=30, path="prior", progress=False
    )


def test_tables_of_rounds_are_those_of_the_result(result):
    tables = round_tables([("one", result)])
    last = select(tables["pairs"], round=5)
    assert np.array_equal(schedule_of(last), result.schedule)
    assert np.array_equal(last["rejection"], result.rejection)
    assert tables["rounds"]["evidence"][-1] == result.log_evidence.value
    assert tables["rounds"]["scans"].tolist() == [2, 4, 8, 16, 30]
    curve = select(tables["curves"], round=5)
    assert np.array_equal(curve["local"], result.local_barrier(curve["beta"]))
    assert set(round_tables([("one", result)], curves="last")["curves"]["round"]) == {5}


def test_methods_say_what_they_cost():
    study, target = Study(), sterna.models.ising(3)
    chosen = [nrpt(4, 3, 20), chain_alone(3, 50), sequential(30, 0.9, 2, "SMC")]
    found = run_methods(study, "ising", target, chosen)
    assert [one.method for one in found] == ["NRPT", "single chain", "SMC"]
    assert [len(one.log_likelihood) for one in found] == [20, 50, 30]
    assert [one.summary[3] for one in found[:2]] == [4 * (14 + 20), 14 + 50]
    assert found[2].summary[3] == 30 * (study.rows[2]["tuning_scans"] + 2)
    assert all(one.values["spin"].shape == (len(one.log_likelihood), 3, 3) for one in found)
    assert [row["n_chains"] for row in study.rows] == [4, 1, 0]


def test_jumps_between_modes():
    x, v = np.array([-1.0, -1.0, 1.0, 1.0, -1.0, 1.0]), np.array([5.0, 6.0, 5.0, 6.0, 5.0, 6.0])
    modes = modes_of(x, v, apart=1.0)
    assert jumps_between(modes, x, v) == (3, 0.5)
    # a chain on a plateau far above both modes is in neither
    assert jumps_between(modes, x, v + 100.0) == (0, 0.0)
    # one wide mode is one mode
    assert jumps_between(modes_of(x, v, apart=5.0), x, v) == (0, 0.0)


def test_thinned():
    assert thinned(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert thinned(101, 3).tolist() == [0, 50, 100]


def test_selecting_rows():
    given = table(("name", "x"), [("a", 1), ("b", 2), ("a", 3)])
    assert select(given, name="a")["x"].tolist() == [1, 3]
    assert select(given, name="a", x=3)["x"].tolist() == [3]
