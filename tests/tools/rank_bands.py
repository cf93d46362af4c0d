"""Ranks of true parameters among posterior draws, and the band in which their distribution lies if all is right."""

import numpy as np
from scipy import stats


def rank_of(truth, draws, rng):
    """Return how many draws are below the truth; ties, as of integers, are broken at random."""
    draws = np.asarray(draws, dtype=float)
    return int((draws < truth).sum() + rng.integers((draws == truth).sum() + 1))


def tail(counts, n_ranks, n):
    """Return the smallest two-sided tail probability of the numbers of ranks up to each value."""
    shares = np.arange(1, n_ranks) / n_ranks
    below, above = stats.binom.cdf(counts, n, shares), stats.binom.sf(counts - 1, n, shares)
    return (2 * np.minimum(below, above)).min(axis=-1)


def cumulative(ranks, n_ranks):
    """Return how many ranks are at most 0, 1, ..., n_ranks - 2."""
    return np.cumsum(np.apply_along_axis(np.bincount, -1, ranks, minlength=n_ranks), axis=-1)[..., :-1]


def level_of_band(n, n_ranks, false_alarm, simulations=20_000, seed=1):
    """Return the tail probability below which uniform ranks fall once in 1 / false_alarm times, by simulation.

    The band is simultaneous over all values (Säilynoja, Bürkner and Vehtari, 2022).
    """
    rng = np.random.default_rng(seed)
    tails = [
        tail(cumulative(rng.integers(n_ranks, size=(500, n)), n_ranks), n_ranks, n) for _ in range(simulations // 500)
    ]
    return float(np.quantile(np.concatenate(tails), false_alarm))


def is_inside(ranks, n_ranks, false_alarm=1e-3):
    """Return whether ranks are inside the band, and their tail relative to its level."""
    level = level_of_band(len(ranks), n_ranks, false_alarm)
    found = float(tail(cumulative(np.asarray(ranks), n_ranks), n_ranks, len(ranks)))
    return found >= level, found / level
