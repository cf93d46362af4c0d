"""Effective sample size and R-hat of draws (Vehtari et al. 2021), without the seconds that importing ArviZ takes."""

import math

import numpy as np

from sterna.tuning.memory import effective_size
from sterna.types import FloatArray


def _split(draws: FloatArray) -> FloatArray:
    """Halve every chain: (chains, draws) to (2 chains, draws / 2), leaving out a middle draw."""
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
    """Bulk effective sample size of (chains, draws); NaN below four draws a chain or for values that are not finite."""
    if draws.shape[1] < 4 or not np.isfinite(draws).all():
        return math.nan
    return effective_size(_rank_normalise(_split(draws)))


def mcse_mean(draws: FloatArray) -> float:
    """Standard error of the mean of (chains, draws); unlike `ess_bulk` it is not fooled by modes of unequal ranks."""
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
    """Rank-normalised split R-hat: the larger of that of the draws and that of their distances from the median."""
    if draws.shape[1] < 4 or not np.isfinite(draws).all():
        return math.nan
    split = _split(draws)
    folded = np.abs(split - np.median(split))
    return max(_r_hat(_rank_normalise(split)), _r_hat(_rank_normalise(folded)))


def summary_of(draws: FloatArray) -> dict[str, float]:
    """Summary of one scalar's draws: (copies, draws); across copies and, where there are several, within them."""
    found = {
        "mean": float(draws.mean()),
        "mcse": mcse_mean(draws),
        "sd": float(draws.std(ddof=1)) if draws.size > 1 else math.nan,
        "ess_bulk": ess_bulk(draws),
        "r_hat": r_hat(draws),
    }
    alone = [draws[k : k + 1] for k in range(len(draws))]
    found["ess_within"] = sum(map(ess_bulk, alone)) if len(draws) > 1 else found["ess_bulk"]
    found["r_hat_within"] = max(map(r_hat, alone)) if len(draws) > 1 else found["r_hat"]
    return found
