"""Shares of the target's draws in a region, with upper bounds that know that a journey brings news only once."""

import numpy as np

from sterna.types import BoolArray, FloatArray, IndexArray, IntArray


def journeys_of(positions: IndexArray, thin: int) -> IntArray:
    """Return the journey to which each draw of the target chain belongs, from the index process (scans, replicas).

    A journey is a replica's stay between two visits to the reference. What a replica does before its first visit
    counts as one.
    """
    n_scans, n_replicas = positions.shape
    visits = (positions == 0).cumsum(axis=0)
    scans = np.arange(thin - 1, n_scans, thin)
    replicas = (positions[scans] == n_replicas - 1).argmax(axis=1)
    return np.asarray(visits[scans, replicas] * n_replicas + replicas, dtype=np.int64)


def effective_journeys(journeys: IntArray) -> float:
    """Return how many journeys of equal length are worth as much as these (Kish)."""
    counts = np.unique(journeys, return_counts=True)[1].astype(np.float64)
    return float(counts.sum() ** 2 / (counts * counts).sum())


def upper_share(inside: BoolArray | FloatArray, size: float, level: float) -> float:
    """Return the upper bound of a share (Clopper and Pearson), as if `size` of the draws were independent."""
    from scipy.special import betaincinv

    hits = float(np.mean(inside)) * size
    if hits >= size:
        return 1.0
    return float(betaincinv(hits + 1.0, size - hits, level))


def lower_share(inside: BoolArray | FloatArray, size: float, level: float) -> float:
    """Return the lower bound of a share, as if `size` of the draws were independent."""
    return 1.0 - upper_share(1.0 - np.asarray(inside, dtype=np.float64), size, level)
