"""Effective sample size and R-hat of draws (Vehtari et al. 2021), without importing ArviZ, which takes seconds.

Functions of several quantities take (quantities, chains, draws) and treat each alike, whatever the others are.
"""

import math

import numpy as np

from sterna.tuning.mean_errors import mean_errors, split_chains
from sterna.tuning.memory import effective_sizes
from sterna.types import BoolArray, FloatArray, IntArray

# Fewer draws per chain have no diagnostics.
MIN_DRAWS = 4


def _rank_normalise(draws: FloatArray) -> FloatArray:
    """Replace the draws of each quantity by normal scores of their ranks; ties share their mean rank."""
    from scipy.special import ndtri

    flat = draws.reshape(len(draws), -1)
    n = flat.shape[1]
    order = np.argsort(flat, axis=1, kind="stable")
    ordered = np.take_along_axis(flat, order, axis=1)
    places = np.broadcast_to(np.arange(n), flat.shape)
    changes = ordered[:, 1:] != ordered[:, :-1]
    no_tie = np.ones((len(flat), 1), dtype=np.bool_)
    first = np.maximum.accumulate(np.where(np.hstack([no_tie, changes]), places, 0), axis=1)
    last = np.where(np.hstack([changes, no_tie]), places, n - 1)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    # the mean rank of places first to last is 1 + (first + last) / 2
    scores = ndtri((1.0 + 0.5 * np.arange(2 * n - 1) - 0.375) / (n + 0.25))
    found = np.empty(flat.shape)
    np.put_along_axis(found, order, scores[first + last], axis=1)
    return found.reshape(draws.shape)


def _usable(draws: FloatArray) -> BoolArray:
    """Return which quantities have diagnostics."""
    return np.asarray(np.isfinite(draws).all(axis=(1, 2)) & (draws.shape[2] >= MIN_DRAWS))


def ess_bulks(draws: FloatArray) -> FloatArray:
    """Bulk effective sample sizes of the series; NaN for few draws per chain or non-finite values."""
    found, usable = np.full(len(draws), math.nan), _usable(draws)
    if usable.any():
        found[usable] = effective_sizes(_rank_normalise(split_chains(draws[usable])))
    return found


def ess_bulk(draws: FloatArray) -> float:
    """Bulk effective sample size of the series of one quantity, (chains, draws)."""
    return float(ess_bulks(draws[None])[0])


def mcse_mean(draws: FloatArray) -> float:
    """Standard error of the mean of (chains, draws), from the series and not its ranks, which hide distances."""
    if not _usable(draws[None])[0]:
        return math.nan
    return float(draws.std(ddof=1)) / math.sqrt(float(effective_sizes(split_chains(draws[None]))[0]))


def plain_r_hats(draws: FloatArray) -> FloatArray:
    """R-hat of draws as they are, neither split nor by ranks."""
    n = draws.shape[2]
    within = draws.var(axis=2, ddof=1).mean(axis=1)
    between = draws.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt((within * (n - 1) / n + between) / within)
    return np.where(within == 0, np.where(between == 0, 1.0, math.inf), found)


def r_hats(draws: FloatArray) -> FloatArray:
    """Rank-normalised split R-hat: the larger value of the draws and of their distances from the median."""
    found, usable = np.full(len(draws), math.nan), _usable(draws)
    if usable.any():
        found[usable] = np.maximum(*(plain_r_hats(scores) for scores in rank_scores(draws[usable])))
    return found


def rank_scores(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return normal scores of the draws of halved chains, and of their distances from the median."""
    split = split_chains(draws)
    folded = np.abs(split - np.median(split, axis=(1, 2), keepdims=True))
    return _rank_normalise(split), _rank_normalise(folded)


def r_hat(draws: FloatArray) -> float:
    """R-hat of one quantity, (chains, draws)."""
    return float(r_hats(draws[None])[0])


def summaries_of(draws: FloatArray, journeys: IntArray | None = None) -> list[dict[str, float]]:
    """Summarise quantities, (quantities, copies, draws), whose draws belong to journeys, (copies, draws).

    Without journeys, each draw counts as one.
    """
    n_copies, n = draws.shape[1:]
    if journeys is None:
        journeys = np.arange(n_copies * n).reshape(n_copies, n)
    flat = draws.reshape(len(draws), -1)
    bulk, r_hat_all = ess_bulks(draws), r_hats(draws)
    errors = mean_errors(draws, journeys, bulk)
    sd = flat.std(axis=1, ddof=1) if flat.shape[1] > 1 else np.full(len(flat), math.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ess = np.square(sd / errors.error)
    quantiles = np.quantile(flat, [0.05, 0.5, 0.95], axis=1)
    copies = [draws[:, k : k + 1] for k in range(n_copies)]
    columns = {
        "mean": flat.mean(axis=1),
        "mcse": errors.error,
        "sd": sd,
        "q5": quantiles[0],
        "median": quantiles[1],
        "q95": quantiles[2],
        "ess": ess,
        # the same number by the name that other tools know
        "ess_bulk": ess,
        "r_hat": r_hat_all,
        "mcse_series": errors.series,
        "ess_series": bulk,
        "ess_within": np.sum([ess_bulks(copy) for copy in copies], axis=0) if n_copies > 1 else bulk,
        "r_hat_within": np.max([r_hats(copy) for copy in copies], axis=0) if n_copies > 1 else r_hat_all,
    }
    return [{name: float(column[k]) for name, column in columns.items()} for k in range(len(draws))]


def summary_of(draws: FloatArray, journeys: IntArray | None = None) -> dict[str, float]:
    """Summarise one scalar's draws, (copies, draws)."""
    return summaries_of(np.asarray(draws, dtype=np.float64)[None], journeys)[0]
