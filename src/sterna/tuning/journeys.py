"""Journeys: what a replica does between two visits to the reference, where it is drawn again.

Between modes that are far apart only journeys bring news, so draws of one journey are a cluster: 50 journeys determine
the weight of a mode no better than 50 independent draws. The variance of a mean over clusters is that of a ratio
estimator, and its degrees of freedom follow from how unequal the clusters' parts are.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sterna.types import FloatArray, IndexArray, IntArray


def journey_numbers(positions: IndexArray, ancestors: IntArray | None = None) -> Iterator[IntArray]:
    """Number the journeys of one copy by replica and time: for each replica in turn, its journey in every scan.

    `positions` is the index process, (scans, replicas). A replica that a scan leaves at chain 0 begins a journey in
    the next scan. What it does before its first visit is one journey, too, together with the replicas that have the
    same ancestor (`lineages.py`). Numbers of all replicas at once would take several times the memory of everything
    that a long run records.
    """
    used, firsts = 0, dict[int, int]()
    for replica, path in enumerate(positions.T):
        begun = np.cumsum(np.concatenate([[0], path[:-1] == 0]))
        ancestor = replica if ancestors is None else int(ancestors[replica])
        if ancestor not in firsts:
            firsts[ancestor], used = used, used + 1
        yield np.where(begun == 0, firsts[ancestor], begun - 1 + used)
        used += int(begun[-1])


def journeys_of_draws(
    positions: Sequence[IndexArray], thin: int = 1, ancestors: Sequence[IntArray] | None = None
) -> IntArray:
    """Return the journey of each draw of the target chain, (copies, draws): numbers from 0 on, none in two copies."""
    found, used = [], 0
    names_of_copies = [None] * len(positions) if ancestors is None else ancestors
    for one, names in zip(positions, names_of_copies, strict=True):
        numbers = np.empty(len(one), dtype=np.int64)
        # each scan leaves one replica at the target
        for path, journeys in zip(one.T, journey_numbers(one, names), strict=True):
            there = path == one.shape[1] - 1
            numbers[there] = journeys[there]
        _, dense = np.unique(numbers[thin - 1 :: thin], return_inverse=True)
        found.append(dense.reshape(-1) + used)
        used += int(dense.max(initial=-1)) + 1
    return np.stack(found).astype(np.int64)


def sizes_of(journeys: IntArray) -> FloatArray:
    """Return how many draws each journey has."""
    return np.bincount(journeys.ravel()).astype(np.float64)


def effective_number(sizes: FloatArray) -> float:
    """Return how many journeys of equal size would be worth the same."""
    return float(sizes.sum() ** 2 / np.square(sizes).sum())


def sums_by_journey(values: FloatArray, journeys: IntArray) -> FloatArray:
    """Sum each row of values, (k, draws), over every journey, (draws,): (k, journeys)."""
    order = np.argsort(journeys, kind="stable")
    first = np.flatnonzero(np.diff(journeys[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[:, order], first, axis=1))


def error_of_sum(parts: FloatArray, shares: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the standard error of sums of independent parts of mean zero, (..., parts), and its degrees of freedom.

    Parts are centred at an estimated mean, of which each makes up one of the `shares`, by default all the same; that
    makes them smaller, most of all the largest. If parts are p times a value, a square is 1 - 2 p + sum p**2 times what
    it would be around the true mean.

    For normal parts of any scales, its square scatters as with about 3 (sum u**2)**2 / sum u**4 degrees of freedom:
    as many as there are parts if all have the same scale, and 3 if a single one dominates.
    """
    shares = np.full(parts.shape[-1], 1.0 / parts.shape[-1]) if shares is None else shares
    left = 1.0 - 2.0 * shares + np.square(shares).sum()
    # a single part equals its mean, and says nothing
    parts = np.divide(parts, np.sqrt(np.maximum(left, 0.0)), out=np.zeros_like(parts), where=left > 1e-9)
    # powers of huge energies would otherwise overflow
    scale = np.abs(parts).max(axis=-1, keepdims=True, initial=0.0)
    squares = np.square(np.divide(parts, scale, out=np.zeros_like(parts), where=scale > 0))
    total = squares.sum(axis=-1)
    fourth = np.square(squares).sum(axis=-1)
    freedom = np.divide(3.0 * total**2, fourth, out=np.ones_like(total), where=fourth > 0)
    return scale[..., 0] * np.sqrt(total), np.clip(freedom, 1.0, math.inf)
