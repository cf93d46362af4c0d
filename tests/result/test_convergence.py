"""Warnings about the target chain's convergence, which are as fair to several short copies as to a long one."""

import numpy as np
import pytest
from quick import first

from sterna.result import convergence
from sterna.result.convergence import RUNS_PER_FALSE_ALARM, error_is_a_guess, explained_r_hat, halves_disagree
from sterna.result.diagnostics import ess_bulk, summary_of
from sterna.result.summary import EXPLANATION


def clustered(rng, n_copies, n_draws, mean_length=40):
    """Whole journeys, of which copies have no two in common, are in one of two modes of the same weight."""
    draws, journeys, used = [], [], 0
    for _ in range(n_copies):
        numbers = np.repeat(np.arange(n_draws), rng.geometric(1 / mean_length, size=n_draws))[:n_draws]
        draws.append(rng.choice([-5.0, 5.0], size=n_draws)[numbers] + rng.standard_normal(n_draws))
        journeys.append(numbers + used)
        used += int(numbers.max()) + 1
    return np.array(draws), np.array(journeys)


def disagrees(draws, journeys):
    return halves_disagree(draws, journeys, summary_of(draws, journeys)["ess"], scalars=1)


@pytest.mark.parametrize("n_copies", first(1, [4, 1, 2, 8]))
def test_journeys_explain_that_halves_differ_however_short_the_copies(n_copies, monkeypatch):
    """2000 draws of about 100 journeys: alarms of 1e-4, so that 3 of 100 runs have one with a probability of 2e-7."""
    rng = np.random.default_rng(n_copies)
    runs = [clustered(rng, n_copies, 2000 // n_copies, mean_length=20) for _ in range(100)]
    assert sum(disagrees(*run) for run in runs) <= 2
    # planted fault: effective sample sizes alone do not explain the differences between short copies
    monkeypatch.setattr(convergence, "MIN_FREEDOM", np.inf)
    assert n_copies < 4 or sum(disagrees(*run) for run in runs) > 5


@pytest.mark.parametrize("n_copies", [1, 4])
def test_journeys_do_not_explain_a_drift(n_copies):
    """One mode in the first half of each copy, the other in the second: with 200 journeys, F is about 190."""
    draws, journeys = clustered(np.random.default_rng(7), n_copies, 4000 // n_copies, mean_length=20)
    assert not disagrees(draws, journeys)
    late = np.arange(draws.shape[1]) >= draws.shape[1] // 2
    assert disagrees(np.where(late, 1.0, -1.0) * np.abs(draws), journeys)


def test_few_journeys_explain_nothing():
    """Each of four copies stays in its mode, which is no more than four draws."""
    draws = np.array([-5.0, 5.0, 5.0, -5.0])[:, None] + np.random.default_rng(3).standard_normal((4, 500))
    assert disagrees(draws, np.repeat(np.arange(4), 500).reshape(4, 500))


def test_the_bound_is_that_of_fishers_distribution():
    """Halves of independent draws exceed it as often as promised; 20 000 runs have an error of 0.0007."""
    chains, n = 4, 20
    draws = np.random.default_rng(5).standard_normal((20_000, chains, n))
    squared = 1.0 + draws.mean(axis=2).var(axis=1, ddof=1) / draws.var(axis=2, ddof=1).mean(axis=1)
    limit = explained_r_hat(chains * n, chains * (n - 1), chains, scalars=100 / RUNS_PER_FALSE_ALARM)
    assert np.mean(squared > limit**2) == pytest.approx(0.01, abs=0.003)


@pytest.mark.parametrize(("journeys", "guess"), [(20, False), (5, True), (800, True)])
def test_enough_journeys_vouch_for_errors_of_few_effective_draws(journeys, guess):
    """Twenty stays of one mode each: as one journey each they vouch, as five or as one for every draw they do not."""
    modes = np.repeat(np.random.default_rng(2).permutation([-5.0, 5.0] * 10), 40)
    draws = (modes + np.random.default_rng(3).standard_normal(800))[None, None]
    assert ess_bulk(draws[0]) < 50
    numbers = np.repeat(np.arange(journeys), 800 // journeys)[None]
    assert error_is_a_guess(draws, numbers, np.array([ess_bulk(draws[0])])).tolist() == [guess]


def test_the_legend_of_the_summary_says_what_is_a_warning():
    assert f"Above {convergence.MAX_R_HAT} there is a warning, unless the number of journeys" in EXPLANATION
