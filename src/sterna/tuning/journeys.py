"""Journeys: what a replica does between two visits to the reference, where it is drawn again.

Between modes that are far apart only journeys bring news, so draws of one journey are a cluster: 50 journeys determine
the weight of a mode no better than 50 independent draws. The variance of a mean over clusters is that of a ratio
estimator, and its degrees of freedom follow from how unequal the clusters' parts are.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sterna.types import FloatArray, IndexArray, IntArray


def journey_numbers(positions: IndexArray) -> Iterator[IntArray]:
    """Number the journeys of one copy by replica and time: for each replica in turn, its journey in every scan.

    `positions` is the index process, (scans, replicas). A replica that a scan leaves at chain 0 begins a journey in
    the next scan. What it does before its first visit is one journey, too. Numbers of all replicas at once would take
    several times the memory of everything that a long run records.
    """
    used = 0
    for path in positions.T:
        numbers = np.cumsum(np.concatenate([[0], path[:-1] == 0])) + used
        used = int(numbers[-1]) + 1
        yield numbers


def journeys_of_draws(positions: Sequence[IndexArray], thin: int = 1) -> IntArray:
    """Return the journey of each draw of the target chain, (copies, draws): numbers from 0 on, none in two copies."""
    found, used = [], 0
    for one in positions:
        numbers = np.empty(len(one), dtype=np.int64)
        # each scan leaves one replica at the target
        for path, journeys in zip(one.T, journey_numbers(one), strict=True):
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


def error_of_sum(parts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the standard error of sums of independent parts of mean zero, (..., parts), and its degrees of freedom.

    For normal parts of any scales, its square scatters as with about 3 (sum u**2)**2 / sum u**4 degrees of freedom:
    as many as there are parts if all have the same scale, and 3 if a single one dominates.
    """
    n = parts.shape[-1]
    # powers of huge energies would otherwise overflow
    scale = np.abs(parts).max(axis=-1, keepdims=True, initial=0.0)
    squares = np.square(np.divide(parts, scale, out=np.zeros_like(parts), where=scale > 0))
    total = squares.sum(axis=-1)
    fourth = np.square(squares).sum(axis=-1)
    freedom = np.divide(3.0 * total**2, fourth, out=np.ones_like(total), where=fourth > 0)
    error = scale[..., 0] * np.sqrt(total * (n / max(n - 1, 1)))
    return error, np.clip(freedom, 1.0, math.inf)
