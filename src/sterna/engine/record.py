"""What a round records: sums over scans in fixed batches, the index process, and draws.

Within a copy, sums are accumulated in the order of the scans, in batches whose borders depend only on the number of
scans that the round began with. So the bits do not depend on how the work is divided into blocks or threads.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sterna.engine.communication import acceptance
from sterna.engine.index_process import Trips
from sterna.engine.program import LOG_LIKELIHOOD
from sterna.ground.compilation import compiled, inlined
from sterna.ground.rows import fields, size_of
from sterna.types import FloatArray, IndexArray, IntArray

# Standard errors come from batches. These may be shorter than the autocorrelation time, because their correlations are
# taken into account.
MAX_BATCHES = 200


@fields
class Stones:
    """Stepping-stone sums of a pair: by draws of the lower chain (forward) and of the upper one (backward).

    Their second moments are taken over the other chain of the pair, where weights that are rare in the first are
    common.
    """

    forward = 1
    backward = 1
    forward_square = 1
    backward_square = 1


@fields
class Bridges:
    """Bennett's sums of a pair: forward, backward, and products of both terms at the lower and at the upper chain."""

    forward = 1
    backward = 1
    lower_product = 1
    upper_product = 1


@fields
class Moments:
    """Sums of a chain's energies after exploration, their squares, energies before it, and products of the two."""

    after = 1
    square = 1
    before = 1
    product = 1


class Record(NamedTuple):
    """One copy's record of one round. The axis of batches comes before that of pairs or chains."""

    scans: IntArray
    """Scans in each batch."""
    rejection: FloatArray
    """Sums of 1 - alpha over scans, for each pair of neighbouring chains."""
    second_rejection: FloatArray
    """The same for chains two apart, which serve to correct the barrier for saturation."""
    zeros: IntArray
    """Number of draws from the reference with likelihood zero, in each batch."""
    stone_scale: FloatArray
    """Largest exponent so far: (beta' - beta) * log_likelihood of the lower chain (forward), its negative of the upper
    chain (backward), and the same of the other chain for the squares; (`Stones`, batches, pairs)."""
    stone_sum: FloatArray
    """Sums of exp(exponent - scale) over scans."""
    bridge: FloatArray
    """Bennett's sums of F = 1 / (1 + exp(pivot - exponent)) at the lower chain, of 1 - F at the upper one, and of
    F (1 - F) at both; (`Bridges`, batches, pairs)."""
    moments: FloatArray
    """Sums of powers of log-likelihoods minus the round's centre; (`Moments`, batches, chains)."""
    positions: IndexArray
    """The index process: the chain of each replica after each scan."""
    trips: IntArray
    """Counts of restarts and round trips; `sterna.engine.index_process.Trips`."""
    draws: FloatArray
    """States that are kept: (draws, chains kept, dimension)."""
    log_likelihood: FloatArray
    """Their log-likelihoods: (draws, chains kept)."""
    energies: FloatArray
    """Log-likelihoods of all chains after the exploration of each scan: (scans, chains)."""


class Layout(NamedTuple):
    """Where batches end: batch b with scan (b + 1) * scans // batches, also beyond `scans` if a round is extended."""

    scans: int
    batches: int

    def sizes(self, n_scans: int) -> IntArray:
        """Return the number of scans in each batch of a round of `n_scans`, of which the last may be incomplete."""
        batches = batch_of(n_scans, self.scans, self.batches) + 1
        edges = np.minimum(np.arange(batches + 1) * self.scans // self.batches, n_scans)
        return np.diff(edges).astype(np.int64)


def layout_of(n_scans: int) -> Layout:
    """Return the batches of a round that begins with `n_scans`."""
    return Layout(n_scans, min(MAX_BATCHES, n_scans))


def new_record(n_scans: int, layout: Layout, n_chains: int, dimension: int, n_kept_chains: int, thin: int) -> Record:
    """Allocate everything that a round of `n_scans` writes."""
    sizes = layout.sizes(n_scans)
    batches = len(sizes)
    draws = n_scans // thin if n_kept_chains else 0
    pairs = n_chains - 1
    return Record(
        scans=sizes,
        rejection=np.zeros((batches, pairs)),
        second_rejection=np.zeros((batches, max(pairs - 1, 0))),
        zeros=np.zeros(batches, dtype=np.int64),
        stone_scale=np.full((size_of(Stones), batches, pairs), -np.inf),
        stone_sum=np.zeros((size_of(Stones), batches, pairs)),
        bridge=np.zeros((size_of(Bridges), batches, pairs)),
        moments=np.zeros((size_of(Moments), batches, n_chains)),
        positions=np.zeros((n_scans, n_chains), dtype=np.int16),
        trips=np.zeros(size_of(Trips), dtype=np.int64),
        draws=np.empty((draws, n_kept_chains, dimension)),
        log_likelihood=np.empty((draws, n_kept_chains)),
        energies=np.empty((n_scans, n_chains)),
    )


def extended(record: Record, n_scans: int, layout: Layout, thin: int) -> Record:
    """Return a record with room for more scans: what it holds comes first."""
    chains, kept, dimension = record.positions.shape[1], record.draws.shape[1], record.draws.shape[2]
    longer = new_record(n_scans, layout, chains, dimension, kept, thin)
    return longer._replace(trips=record.trips, **{
        name: _overwritten(getattr(longer, name), getattr(record, name), axis) for name, axis in _GROWING.items()
    })  # fmt: skip


# The axis of every array that is longer with more scans: over batches, scans or draws.
_BATCHED = {
    "rejection": 0, "second_rejection": 0, "zeros": 0, "stone_scale": 1, "stone_sum": 1, "bridge": 1, "moments": 1,
}  # fmt: skip
BY_SCAN = ("positions", "draws", "log_likelihood", "energies")
_GROWING = {**_BATCHED, **dict.fromkeys(BY_SCAN, 0)}


def _overwritten(longer: Any, shorter: Any, axis: int) -> Any:
    longer[(slice(None),) * axis + (slice(shorter.shape[axis]),)] = shorter
    return longer


def cut(record: Record, n_scans: int, layout: Layout, thin: int) -> Record:
    """Return what a record holds of its first scans, after which nothing was recorded yet."""
    sizes = layout.sizes(n_scans)
    found = {name: _first(getattr(record, name), len(sizes), axis) for name, axis in _BATCHED.items()}
    scans = {"positions": n_scans, "energies": n_scans, "draws": n_scans // thin, "log_likelihood": n_scans // thin}
    return record._replace(scans=sizes, **found, **{name: getattr(record, name)[:n] for name, n in scans.items()})


def _first(array: Any, n: int, axis: int) -> Any:
    return array[(slice(None),) * axis + (slice(n),)]


def coarsened(record: Record) -> Record:
    """Return a record with pairs of batches merged, as if each batch had had twice as many scans."""
    scale = _pairs(record.stone_scale, 1, -np.inf)
    largest = scale.max(axis=2)
    with np.errstate(invalid="ignore"):
        # two batches without a term have scales of -inf
        weights = np.where(scale > -np.inf, np.exp(scale - largest[:, :, None]), 0.0)
    sums = {name: _pairs(getattr(record, name), axis, 0).sum(axis=axis + 1) for name, axis in _BATCHED.items()}
    stones = (_pairs(record.stone_sum, 1, 0) * weights).sum(axis=2)
    scans = _pairs(record.scans, 0, 0).sum(axis=1)
    return record._replace(**{**sums, "stone_scale": largest, "stone_sum": stones, "scans": scans})


def _pairs(array: Any, axis: int, missing: float) -> Any:
    """Return an array with its axis of batches cut into pairs, of which the last may lack one."""
    if array.shape[axis] % 2:
        shape = [*array.shape]
        shape[axis] = 1
        array = np.concatenate([array, np.full(shape, missing, dtype=array.dtype)], axis=axis)
    return array.reshape(*array.shape[:axis], array.shape[axis] // 2, 2, *array.shape[axis + 1 :])


@compiled
def batch_of(scan: int, scans: int, batches: int) -> int:
    """Return the batch of a scan; scans count from 1, and batch b ends with scan (b + 1) * scans // batches."""
    return (scan * batches - 1) // scans


@compiled
def logistic(x: float) -> float:
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    share = math.exp(x)
    return share / (1.0 + share)


@inlined
def add_stone(record: Record, stone: int, batch: int, pair: int, exponent: float) -> None:
    """Add exp(exponent) to a sum that is scaled by its largest term, so that it neither overflows nor underflows."""
    scale = record.stone_scale[stone, batch, pair]
    if exponent <= scale:
        # exp(-inf) = 0 for a draw from the reference with likelihood zero
        if exponent > -math.inf:
            record.stone_sum[stone, batch, pair] += math.exp(exponent - scale)
    else:
        record.stone_sum[stone, batch, pair] = 1.0 + record.stone_sum[stone, batch, pair] * math.exp(scale - exponent)
        record.stone_scale[stone, batch, pair] = exponent


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
    """Add one scan's terms of neighbouring pairs, from the energies before its swaps."""
    for pair in range(schedule.size - 1):
        record.rejection[batch, pair] += 1.0 - accepted[pair]
        step = schedule[pair + 1] - schedule[pair]
        lower = step * log_densities[replica_of[pair], LOG_LIKELIHOOD]
        upper = step * log_densities[replica_of[pair + 1], LOG_LIKELIHOOD]
        add_stone(record, Stones.forward, batch, pair, lower)
        add_stone(record, Stones.backward, batch, pair, -upper)
        add_stone(record, Stones.forward_square, batch, pair, upper)
        if lower > -math.inf:
            add_stone(record, Stones.backward_square, batch, pair, -lower)
        up, down = logistic(lower - pivot[pair]), logistic(pivot[pair] - upper)
        record.bridge[Bridges.forward, batch, pair] += up
        record.bridge[Bridges.backward, batch, pair] += down
        record.bridge[Bridges.lower_product, batch, pair] += up * (1.0 - up)
        record.bridge[Bridges.upper_product, batch, pair] += down * (1.0 - down)
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
    """Add the energies of all chains after the scan's exploration, and their products with those before it."""
    for chain in range(replica_of.size):
        energy = log_densities[replica_of[chain], LOG_LIKELIHOOD]
        record.energies[scan - 1, chain] = energy
        if energy == -math.inf:
            # only a draw from the reference can have likelihood zero
            record.zeros[batch] += 1
            continue
        now = energy - centre[chain]
        record.moments[Moments.after, batch, chain] += now
        record.moments[Moments.square, batch, chain] += now * now
        if chain > 0:
            then = before[chain] - centre[chain]
            record.moments[Moments.before, batch, chain] += then
            record.moments[Moments.product, batch, chain] += then * now


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
    """Write the index process and, every `thin` scans, the states of the chains that are kept, which are the last."""
    for replica in range(chain_of.size):
        record.positions[scan - 1, replica] = chain_of[replica]
    kept = record.draws.shape[1]
    if kept > 0 and scan % thin == 0:
        first = chain_of.size - kept
        for k in range(kept):
            replica = replica_of[first + k]
            for i in range(states.shape[1]):
                record.draws[scan // thin - 1, k, i] = states[replica, i]
            record.log_likelihood[scan // thin - 1, k] = log_densities[replica, LOG_LIKELIHOOD]
