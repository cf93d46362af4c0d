"""What a round records: sums over scans in fixed batches, the index process, and draws.

Sums are carried in scan order within a copy, in batches whose borders depend on the number of scans alone, so
that no division of the work into blocks or threads changes a bit.
"""

import math
from typing import NamedTuple

import numpy as np

from sterna.engine.communication import acceptance
from sterna.engine.program import LOG_LIKELIHOOD
from sterna.ground.compilation import compiled, inlined
from sterna.types import FloatArray, IndexArray, IntArray

# Batches give standard errors. They may be shorter than the draws' memory, which is read from their correlations.
MAX_BATCHES = 200

# Places in stones and bridges: what the lower chain of a pair says of the upper one, and the other way round.
FORWARD, BACKWARD = 0, 1

# Places in stones of the second moments of both, as the other chain sees them: rare weights of one are common there.
FORWARD_SQUARE, BACKWARD_SQUARE = 2, 3

# Places in bridges of the products of a forward and a backward term, at the lower and at the upper chain.
LOWER_PRODUCT, UPPER_PRODUCT = 2, 3

# Places in moments: sums of energies after exploration, their squares, of energies before it, and of products.
AFTER, SQUARE, BEFORE, PRODUCT = 0, 1, 2, 3


class Record(NamedTuple):
    """One copy's record of one round. Batches come before pairs or chains."""

    scans: IntArray
    """Scans in each batch."""
    rejection: FloatArray
    """Sums of 1 - alpha over scans, for every neighbouring pair."""
    second_rejection: FloatArray
    """The same for chains two apart, by which the barrier is corrected for saturation."""
    zeros: IntArray
    """Number of the reference's draws with likelihood zero, in each batch."""
    stone_scale: FloatArray
    """Largest exponent seen: (beta' - beta) * log_likelihood of the lower chain forward, its negative of the upper
    chain backward; of the other chain for the squares. (4, batches, pairs)"""
    stone_sum: FloatArray
    """Sums of exp(exponent - scale) over scans."""
    bridge: FloatArray
    """Bennett's sums of F = 1 / (1 + exp(pivot - exponent)) at the lower chain, of 1 - F at the upper one, and of
    F (1 - F) at both; (4, batches, pairs)."""
    moments: FloatArray
    """Sums of powers of log-likelihoods, less the round's centre; (4, batches, chains)."""
    positions: IndexArray
    """Chain of each replica after each scan: the index process."""
    trips: IntArray
    """Restarts, round trips, and the scan of the first restart (0 without one)."""
    draws: FloatArray
    """States kept: (draws, chains kept, dimension)."""
    log_likelihood: FloatArray
    """Their log-likelihoods: (draws, chains kept)."""
    energies: FloatArray
    """Log-likelihoods of all chains after each scan's exploration, if asked for: (scans or 0, chains)."""


def new_record(
    n_scans: int, n_chains: int, dimension: int, n_kept_chains: int, thin: int, keep_energies: bool = False
) -> Record:
    """Allocate all that a round of `n_scans` will write."""
    batches = min(MAX_BATCHES, n_scans)
    edges = np.arange(batches + 1) * n_scans // batches
    draws = n_scans // thin if n_kept_chains else 0
    pairs = n_chains - 1
    return Record(
        scans=np.diff(edges).astype(np.int64),
        rejection=np.zeros((batches, pairs)),
        second_rejection=np.zeros((batches, max(pairs - 1, 0))),
        zeros=np.zeros(batches, dtype=np.int64),
        stone_scale=np.full((4, batches, pairs), -np.inf),
        stone_sum=np.zeros((4, batches, pairs)),
        bridge=np.zeros((4, batches, pairs)),
        moments=np.zeros((4, batches, n_chains)),
        positions=np.zeros((n_scans, n_chains), dtype=np.int16),
        trips=np.zeros(3, dtype=np.int64),
        draws=np.empty((draws, n_kept_chains, dimension)),
        log_likelihood=np.empty((draws, n_kept_chains)),
        energies=np.empty((n_scans if keep_energies else 0, n_chains)),
    )


@compiled
def batch_of(scan: int, n_scans: int, batches: int) -> int:
    """Batch of a scan, counted from 1: the inverse of the edges b * n_scans // batches."""
    return (scan * batches - 1) // n_scans


@compiled
def logistic(x: float) -> float:
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    share = math.exp(x)
    return share / (1.0 + share)


@inlined
def add_stone(record: Record, way: int, batch: int, pair: int, exponent: float) -> None:
    """Add exp(exponent) to a sum that is scaled by the largest of them, so that nothing overflows or vanishes."""
    scale = record.stone_scale[way, batch, pair]
    if exponent <= scale:
        # exp(-inf) = 0 where a draw of the reference has likelihood zero
        if exponent > -math.inf:
            record.stone_sum[way, batch, pair] += math.exp(exponent - scale)
    else:
        record.stone_sum[way, batch, pair] = 1.0 + record.stone_sum[way, batch, pair] * math.exp(scale - exponent)
        record.stone_scale[way, batch, pair] = exponent


@compiled
def add_pairs(
    record: Record,
    batch: int,
    schedule: FloatArray,
    pivot: FloatArray,
    log_densities: FloatArray,
    replica_of: IntArray,
    accepted: FloatArray,
) -> None:
    """Add what one scan's energies say of neighbouring pairs, as they were before its swaps."""
    for pair in range(schedule.size - 1):
        record.rejection[batch, pair] += 1.0 - accepted[pair]
        step = schedule[pair + 1] - schedule[pair]
        lower = step * log_densities[replica_of[pair], LOG_LIKELIHOOD]
        upper = step * log_densities[replica_of[pair + 1], LOG_LIKELIHOOD]
        add_stone(record, FORWARD, batch, pair, lower)
        add_stone(record, BACKWARD, batch, pair, -upper)
        add_stone(record, FORWARD_SQUARE, batch, pair, upper)
        if lower > -math.inf:
            add_stone(record, BACKWARD_SQUARE, batch, pair, -lower)
        up, down = logistic(lower - pivot[pair]), logistic(pivot[pair] - upper)
        record.bridge[FORWARD, batch, pair] += up
        record.bridge[BACKWARD, batch, pair] += down
        record.bridge[LOWER_PRODUCT, batch, pair] += up * (1.0 - up)
        record.bridge[UPPER_PRODUCT, batch, pair] += down * (1.0 - down)
    for pair in range(schedule.size - 2):
        record.second_rejection[batch, pair] += 1.0 - acceptance(
            schedule[pair],
            schedule[pair + 2],
            log_densities[replica_of[pair], LOG_LIKELIHOOD],
            log_densities[replica_of[pair + 2], LOG_LIKELIHOOD],
        )


@compiled
def add_chains(
    record: Record,
    scan: int,
    batch: int,
    centre: FloatArray,
    before: FloatArray,
    log_densities: FloatArray,
    replica_of: IntArray,
) -> None:
    """Add the energies of all chains, beside what they were before the scan's exploration."""
    keep = record.energies.shape[0] > 0
    for chain in range(replica_of.size):
        energy = log_densities[replica_of[chain], LOG_LIKELIHOOD]
        if keep:
            record.energies[scan - 1, chain] = energy
        if energy == -math.inf:
            # only the reference can draw likelihood zero
            record.zeros[batch] += 1
            continue
        now = energy - centre[chain]
        record.moments[AFTER, batch, chain] += now
        record.moments[SQUARE, batch, chain] += now * now
        if chain > 0:
            then = before[chain] - centre[chain]
            record.moments[BEFORE, batch, chain] += then
            record.moments[PRODUCT, batch, chain] += then * now


@compiled
def add_states(
    record: Record,
    scan: int,
    thin: int,
    states: FloatArray,
    log_densities: FloatArray,
    chain_of: IntArray,
    replica_of: IntArray,
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
            record.log_likelihood[scan // thin - 1, place] = log_densities[replica, LOG_LIKELIHOOD]
