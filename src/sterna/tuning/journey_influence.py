"""How far each journey moves the evidence and the mean energies, from the energies of all chains.

A journey visits all chains on its way: in whichever mode it ends, it brings that mode's energies to all of them. So the
evidence is linearised as in Bennett's acceptance ratio, and a draw counts for the journey that holds its chain.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sterna.engine.record import Bridges, Record
from sterna.tuning.batches import Batches
from sterna.tuning.journeys import error_of_sum, journey_numbers
from sterna.types import FloatArray, IntArray

MAX_INT32 = 2**31 - 1


@dataclass(frozen=True)
class JourneyInfluence:
    """Influence of every journey of a round, in the order of the copies."""

    evidence: FloatArray
    """On log Z(1)/Z(0)."""
    reference: FloatArray
    """On the mean log-likelihood of the reference; NaN if that is zero anywhere."""
    target: FloatArray
    """On the mean log-likelihood of the target."""
    curve_error: FloatArray
    """Standard errors of log Z(beta)/Z(0) that follow, at all betas but 0."""


def journeys_at_chains(record: Record, ancestors: IntArray | None = None) -> NDArray[np.signedinteger]:
    """Return which journey holds each chain when energies are recorded, before the swaps of a scan: (scans, chains)."""
    positions = record.positions
    scans, chains = positions.shape
    # one column after the other, because they are read so; in four bytes, because this is as large as the record
    smallest = np.int32 if positions.size < MAX_INT32 else np.int64
    found = np.empty((scans, chains), dtype=smallest, order="F")
    every = np.arange(scans)
    for replica, numbers in enumerate(journey_numbers(positions, ancestors)):
        # the first scan's swaps are unknown; they have hardly any influence
        before = np.concatenate([positions[:1, replica], positions[:-1, replica]])
        found[every, before] = numbers
    return found


def journey_influence(
    schedule: FloatArray,
    pivot: FloatArray,
    records: Sequence[Record],
    batches: Batches,
    ancestors: Sequence[IntArray] | None = None,
) -> JourneyInfluence:
    """Return what the journeys of a round say; Bennett's sums are those of its batches."""
    up = batches.mean(batches.bridge[Bridges.forward])
    down = batches.mean(batches.bridge[Bridges.backward])
    # kept apart from each other until the end, because numbers of journeys are those of each copy
    names = [None] * len(records) if ancestors is None else ancestors
    holders = [journeys_at_chains(record, one) for record, one in zip(records, names, strict=True)]
    counts = [int(one.max()) + 1 for one in holders]
    scans = float(batches.scans.sum())

    def summed(chain: int, terms: Sequence[FloatArray]) -> FloatArray:
        parts = zip(holders, terms, counts, strict=True)
        return np.concatenate([np.bincount(one[:, chain], term, n) for one, term, n in parts])

    total = np.zeros(sum(counts))
    curve = []
    with np.errstate(all="ignore"):
        for pair, step in enumerate(np.diff(schedule)):
            lower = [_logistic(step * record.energies[:, pair] - pivot[pair]) for record in records]
            upper = [_logistic(pivot[pair] - step * record.energies[:, pair + 1]) for record in records]
            total += summed(pair, [term / up[pair] - 1.0 for term in lower]) / scans
            total -= summed(pair + 1, [term / down[pair] - 1.0 for term in upper]) / scans
            curve.append(error_of_sum(total)[0])
        ends = []
        for chain in (0, len(schedule) - 1):
            mean = np.mean([record.energies[:, chain].mean() for record in records])
            ends.append(summed(chain, [record.energies[:, chain] - mean for record in records]) / scans)
    return JourneyInfluence(total, ends[0], ends[1], np.array(curve))


def _logistic(x: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    share = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, share) / (1.0 + share)
