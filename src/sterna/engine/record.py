"""What a round records: sums over scans in fixed batches, the index process, and draws.

Sums are carried in scan order within a copy, in batches whose borders depend on the number of scans alone, so
that no division of the work into blocks or threads changes a bit.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sterna.engine.compilation import compiled
from sterna.engine.program import LOG_LIKELIHOOD

# Batches give standard errors, so they must be longer than the draws remember; a run too short for two has no error.
MAX_BATCHES = 25
SHORTEST_BATCH = 8

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]


class Record(NamedTuple):
    """One copy's record of one round. Batches come first, then pairs or chains."""

    scans: Integers
    """Scans in each batch."""
    rejection: NDArray[np.float64]
    """Sums of 1 - alpha over scans, for every neighbouring pair."""
    zeros: Integers
    """Number of the reference's draws with likelihood zero, in each batch."""
    stone_scale: NDArray[np.float64]
    """Largest (beta' - beta) * log_likelihood seen, for every pair."""
    stone_sum: NDArray[np.float64]
    """Sums of exp((beta' - beta) * log_likelihood - scale) over scans."""
    positions: NDArray[np.int16]
    """Chain of each replica after each scan: the index process."""
    trips: Integers
    """Restarts and round trips."""
    draws: NDArray[np.float64]
    """States kept: (draws, chains kept, dimension)."""
    log_likelihood: NDArray[np.float64]
    """Their log-likelihoods: (draws, chains kept)."""


def new_record(n_scans: int, n_chains: int, dimension: int, n_kept_chains: int, thin: int) -> Record:
    """Allocate all that a round of `n_scans` will write."""
    batches = max(1, min(MAX_BATCHES, n_scans // SHORTEST_BATCH))
    edges = np.arange(batches + 1) * n_scans // batches
    draws = n_scans // thin if n_kept_chains else 0
    return Record(
        scans=np.diff(edges).astype(np.int64),
        rejection=np.zeros((batches, n_chains - 1)),
        zeros=np.zeros(batches, dtype=np.int64),
        stone_scale=np.full((batches, n_chains - 1), -np.inf),
        stone_sum=np.zeros((batches, n_chains - 1)),
        positions=np.zeros((n_scans, n_chains), dtype=np.int16),
        trips=np.zeros(2, dtype=np.int64),
        draws=np.empty((draws, n_kept_chains, dimension)),
        log_likelihood=np.empty((draws, n_kept_chains)),
    )


@compiled
def batch_of(scan: int, n_scans: int, batches: int) -> int:
    """Batch of a scan, counted from 1: the inverse of the edges b * n_scans // batches."""
    return (scan * batches - 1) // n_scans


@compiled
def add_energies(
    record: Record,
    batch: int,
    schedule: Numbers,
    logs: NDArray[np.float64],
    replica_of: Integers,
    accepted: Numbers,
) -> None:
    """Add one scan's acceptance probabilities and energies, as they were before its swaps."""
    for pair in range(schedule.size - 1):
        record.rejection[batch, pair] += 1.0 - accepted[pair]
        stone = (schedule[pair + 1] - schedule[pair]) * logs[replica_of[pair], LOG_LIKELIHOOD]
        scale = record.stone_scale[batch, pair]
        if stone <= scale:
            # exp(-inf) = 0 where a draw of the reference has likelihood zero
            if stone > -math.inf:
                record.stone_sum[batch, pair] += math.exp(stone - scale)
        else:
            record.stone_sum[batch, pair] = 1.0 + record.stone_sum[batch, pair] * math.exp(scale - stone)
            record.stone_scale[batch, pair] = stone
    if logs[replica_of[0], LOG_LIKELIHOOD] == -math.inf:
        record.zeros[batch] += 1


@compiled
def add_states(
    record: Record,
    scan: int,
    thin: int,
    states: NDArray[np.float64],
    logs: NDArray[np.float64],
    chain_of: Integers,
    replica_of: Integers,
) -> None:
    """Write the index process and, every `thin` scans, the states of the chains kept (the last ones)."""
    for replica in range(chain_of.size):
        record.positions[scan - 1, replica] = chain_of[replica]
    kept = record.draws.shape[1]
    if kept > 0 and scan % thin == 0:
        first = chain_of.size - kept
        for place in range(kept):
            replica = replica_of[first + place]
            for i in range(states.shape[1]):
                record.draws[scan // thin - 1, place, i] = states[replica, i]
            record.log_likelihood[scan // thin - 1, place] = logs[replica, LOG_LIKELIHOOD]
