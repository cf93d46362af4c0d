"""Effective sample size and R-hat against ArviZ."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from sterna.result.diagnostics import ess_bulk, mcse_mean, r_hat

with warnings.catch_warnings():
    # what ArviZ says about itself or its own dependencies when imported is not ours to fix
    warnings.simplefilter("ignore")
    arviz = pytest.importorskip("arviz")

AGREEMENT = 1e-6


def autoregression(memory, chains, draws, shift=0.0):
    """Chains of an AR(1) process, from its stationary distribution, whose means differ by `shift`."""
    rng = np.random.default_rng([chains, draws, round(100 * (memory + 1))])
    noise = rng.standard_normal((chains, draws))
    states = np.empty_like(noise)
    states[:, 0] = noise[:, 0] / math.sqrt(1 - memory**2)
    for k in range(1, draws):
        states[:, k] = memory * states[:, k - 1] + noise[:, k]
    return states + shift * np.arange(chains)[:, None]


def cases(least_chains):
    """Draws that chains of every kind might give."""
    for chains in (1, 2, 4):
        if chains < least_chains:
            continue
        for draws in (20, 101, 1000):
            for memory in (-0.9, -0.3, 0.0, 0.5, 0.9, 0.99):
                yield f"AR({memory}), {chains} x {draws}", autoregression(memory, chains, draws)
        plain = autoregression(0.5, chains, 500)
        yield f"shifted means, {chains}", autoregression(0.5, chains, 500, shift=1.0)
        yield f"far apart, {chains}", autoregression(0.0, chains, 500, shift=100.0)
        yield f"different scales, {chains}", plain * (1.0 + np.arange(chains))[:, None]
        yield f"heavy tails, {chains}", np.sinh(3 * plain)
        yield f"ties, {chains}", np.floor(plain)
        yield f"binary, {chains}", (plain > 1).astype(float)
        yield f"trend, {chains}", plain + np.linspace(0, 5, 500)


def arviz_ess(draws):
    return float(arviz.ess(draws, method="bulk"))


def arviz_r_hat(draws):
    return float(arviz.rhat(draws, method="rank"))


def disagreements(ours, theirs, least_chains):
    """Cases in which two functions differ, with both values."""
    pairs = {name: (ours(draws), theirs(draws)) for name, draws in cases(least_chains)}
    return {name: (a, b) for name, (a, b) in pairs.items() if not math.isclose(a, b, rel_tol=AGREEMENT)}


def test_bulk_effective_sample_size_is_arvizs():
    assert disagreements(ess_bulk, arviz_ess, least_chains=1) == {}


def test_r_hat_is_arvizs():
    assert disagreements(r_hat, arviz_r_hat, least_chains=2) == {}


def normal_scores(draws):
    ranks = stats.rankdata(draws).reshape(draws.shape)
    return stats.norm.ppf((ranks - 0.375) / (draws.size + 0.25))


def test_r_hat_of_one_chain_is_that_of_its_halves():
    """ArviZ refuses one chain; its plain R-hat of the two halves' normal scores, once folded, is the same thing."""
    draws = autoregression(0.5, 1, 500)
    halves = draws.reshape(2, 250)
    folded = np.abs(halves - np.median(halves))
    exact = max(float(arviz.rhat(normal_scores(part), method="identity")) for part in (halves, folded))
    assert r_hat(draws) == pytest.approx(exact, rel=AGREEMENT)


@pytest.mark.parametrize(
    ("fault", "theirs"),
    [
        (lambda draws: ess_bulk(draws[:, :-2]), arviz_ess),
        (lambda draws: ess_bulk(np.round(draws, 1)), arviz_ess),
        (lambda draws: r_hat(draws[:, :-2]), arviz_r_hat),
        (lambda draws: r_hat(np.round(draws, 1)), arviz_r_hat),
    ],
)
def test_comparison_catches_small_changes_of_the_draws(fault, theirs):
    assert len(disagreements(fault, theirs, least_chains=2)) > 30


def test_comparison_catches_values_without_ranks():
    def plain_r_hat(draws):
        return float(arviz.rhat(draws, method="split"))

    assert disagreements(plain_r_hat, arviz_r_hat, least_chains=2)


@pytest.mark.parametrize("chains", [1, 3])
def test_constant_draws(chains):
    """As in ArviZ, nothing says that constant draws are dependent."""
    constant = np.full((chains, 100), 3.0)
    assert ess_bulk(constant) == arviz_ess(constant) == 100 * chains
    assert r_hat(constant) == 1.0


def test_chains_stuck_at_different_values_are_caught():
    stuck = np.broadcast_to(np.array([[0.0], [1.0], [2.0]]), (3, 100))
    assert r_hat(stuck) > 1e6
    assert ess_bulk(stuck) == pytest.approx(arviz_ess(stuck), rel=AGREEMENT)


@pytest.mark.parametrize("measure", [ess_bulk, r_hat])
def test_too_few_or_broken_draws_have_no_diagnostics(measure):
    draws = autoregression(0.0, 2, 100)
    assert math.isnan(measure(draws[:, :3]))
    for bad in (np.nan, np.inf, -np.inf):
        broken = draws.copy()
        broken[1, 7] = bad
        assert math.isnan(measure(broken))


@pytest.mark.parametrize("measure", [ess_bulk, r_hat])
def test_four_draws_are_enough(measure):
    assert measure(autoregression(0.0, 2, 4)) > 0


@pytest.mark.parametrize("measure", [ess_bulk, r_hat])
def test_diagnostics_see_ranks_alone_and_no_order_of_chains(measure):
    """R-hat folds about the median, so it sees a monotone map unless that is linear."""
    draws = autoregression(0.7, 3, 200)
    assert measure(draws[::-1]) == pytest.approx(measure(draws), rel=1e-12)
    assert measure(5.0 * draws - 3.0) == pytest.approx(measure(draws), rel=1e-12)
    if measure is ess_bulk:
        assert measure(np.exp(draws)) == pytest.approx(measure(draws), rel=1e-12)


def arviz_mcse(draws):
    return draws.std(ddof=1) / math.sqrt(float(arviz.ess(draws, method="mean")))


def test_error_of_the_mean_is_arvizs():
    assert disagreements(mcse_mean, arviz_mcse, least_chains=1) == {}
