"""Where climbs begin: draws from the reference, states of the chains, draws from the target."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from sterna.types import BoolArray, FloatArray, IntArray

Rows = TypeVar("Rows", FloatArray, BoolArray)


def along_the_diagonal(draws: FloatArray, free: BoolArray) -> FloatArray:
    """Return points whose real coordinates all have the same rank among the draws: the medians first, then quartiles.

    In many dimensions independent draws are all far from the diagonal, and variables of one kind often agree. The
    centre of a reference is often where its user expects the target.
    """
    points = draws.copy()
    points[:, free] = np.sort(draws[:, free], axis=0)
    # row k by the reversed bits of k + 1, which are 1/2, 1/4, 3/4, ...: every part of the rows covers all ranks
    places = reversed_bits(np.arange(1, len(draws) + 1))
    return np.asarray(points[np.argsort(np.argsort(places))])


def reversed_bits(numbers: IntArray) -> IntArray:
    """Return numbers below 2**32 with their 32 bits reversed."""
    result = np.zeros_like(numbers)
    for k in range(32):
        result |= ((numbers >> k) & 1) << (31 - k)
    return result


def with_other_integers(targets: FloatArray, references: FloatArray, free: BoolArray) -> FloatArray:
    """Return target draws, each with one integer taken from a draw of the reference, in turn."""
    points, integers = targets.copy(), np.flatnonzero(~free)
    rows = np.arange(len(points))
    turn = integers[rows % len(integers)]
    points[rows, turn] = references[rows % len(references), turn]
    return np.asarray(points)


def in_turn(groups: Sequence[Rows]) -> Rows:
    """Return the rows of all groups: the first of each, then the second of each, as long as there are any."""
    turns = np.concatenate([np.arange(len(group)) for group in groups])
    rows: Rows = np.concatenate(groups)[np.argsort(turns, kind="stable")]
    return rows
