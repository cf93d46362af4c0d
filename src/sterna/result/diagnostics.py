"""Effective sample size and R-hat of draws (Vehtari et al. 2021), without importing ArviZ, which takes seconds."""

import math

import numpy as np

from sterna.tuning.memory import effective_size
from sterna.types import FloatArray


def _split(draws: FloatArray) -> FloatArray:
    """Halve every chain: (chains, draws) to (2 chains, draws / 2); the middle draw of an odd number is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _rank_normalise(draws: FloatArray) -> FloatArray:
    """Replace draws by normal scores of their ranks; ties share their mean rank."""
    from scipy.special import ndtri

    flat = draws.ravel()
    _, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_rank = last - (counts - 1) / 2.0
    return np.asarray(ndtri((mean_rank[inverse.ravel()] - 0.375) / (flat.size + 0.25))).reshape(draws.shape)


def ess_bulk(draws: FloatArray) -> float:
    """Bulk effective sample size of (chains, draws); NaN for fewer than four draws per chain or non-finite values."""
    if draws.shape[1] < 4 or not np.isfinite(draws).all():
        return math.nan
    return effective_size(_rank_normalise(_split(draws)))


def mcse_mean(draws: FloatArray) -> float:
    """Standard error of the mean of (chains, draws), from the draws and not their ranks, which hide distances."""
    if draws.shape[1] < 4 or not np.isfinite(draws).all():
        return math.nan
    return float(draws.std(ddof=1)) / math.sqrt(effective_size(_split(draws)))


def _r_hat(draws: FloatArray) -> float:
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean()
    between = draws.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else math.inf
    return math.sqrt((within * (n - 1) / n + between) / within)


def r_hat(draws: FloatArray) -> float:
    """Rank-normalised split R-hat: the larger value of the draws and of their distances from the median."""
    if draws.shape[1] < 4 or not np.isfinite(draws).all():
        return math.nan
    split = _split(draws)
    folded = np.abs(split - np.median(split))
    return max(_r_hat(_rank_normalise(split)), _r_hat(_rank_normalise(folded)))


def summary_of(draws: FloatArray) -> dict[str, float]:
    """Summarise one scalar's draws (copies, draws): across copies and, if there are several, within each."""
    summary = {
        "mean": float(draws.mean()),
        "mcse": mcse_mean(draws),
        "sd": float(draws.std(ddof=1)) if draws.size > 1 else math.nan,
        "ess_bulk": ess_bulk(draws),
        "r_hat": r_hat(draws),
    }
    copies = [draws[k : k + 1] for k in range(len(draws))]
    summary["ess_within"] = sum(map(ess_bulk, copies)) if len(draws) > 1 else summary["ess_bulk"]
    summary["r_hat_within"] = max(map(r_hat, copies)) if len(draws) > 1 else summary["r_hat"]
    return summary
