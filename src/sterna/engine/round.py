"""The round, where all of the time is spent: explore every replica, communicate once, record."""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from sterna.engine.communication import measure, swap
from sterna.engine.index_process import follow
from sterna.engine.program import (
    EVALUATIONS,
    EXPLORE,
    LARGEST_REFERENCE,
    LOG_LIKELIHOOD,
    N_LOG_DENSITIES,
    Program,
    check_draw,
    draw_reference,
    refresh,
    view,
)
from sterna.engine.record import Record, add_chains, add_pairs, add_states, batch_of
from sterna.engine.running_energies import refresh_running, remember_largest
from sterna.engine.schemes import parity_of
from sterna.engine.stop import CEILING, poll
from sterna.ground.compilation import as_pointer, caller, compiled, inlined, int_pointer, row
from sterna.ground.streams import Stream, scan_key, start_stream
from sterna.types import FloatArray, IntArray, WordArray

# Running energies are evaluated again after so many scans, so that rounding errors cannot accumulate.
REFRESH_EVERY = 64

# The copy number of draws that belong to no copy.
NO_COPY = 1 << 40

call_explore = caller(EXPLORE)


# What `Copy.at_work` holds.
REPLICA, SCAN = 0, 1


def new_at_work() -> IntArray:
    """Return the memory of what is being explored; every thread has its own."""
    return np.zeros(2, dtype=np.int64)


class Copy(NamedTuple):
    """The state of one copy of parallel tempering: all that its next scan needs."""

    states: FloatArray
    """(replicas, dimension)"""
    log_densities: FloatArray
    """(replicas, `sterna.engine.program.LogDensities`)"""
    chain_of: IntArray
    replica_of: IntArray
    leg: IntArray
    """Which leg of a round trip each replica is on; it continues from round to round."""
    accepted: FloatArray
    """Acceptance probability of every pair in the current scan."""
    before: FloatArray
    """Log-likelihood of every chain before the exploration of the current scan."""
    at_work: IntArray
    """REPLICA, the one that is being explored, and SCAN, so that an error can report its state."""


class Plan(NamedTuple):
    """Everything that is fixed during a round."""

    block: IntArray
    """The target's program (`Program.block`)."""
    explore: int
    """Address of the explorer's kernel."""
    explorer_data: IntArray
    """Addresses of the explorer's data."""
    explorations: int
    """Number of calls of the kernel per chain and scan."""
    scheme: int
    schedule: FloatArray
    parameters: FloatArray
    """The explorer's parameters, a row per chain."""
    pivot: FloatArray
    """Estimate of log Z(beta')/Z(beta) for every pair; Bennett's sums have the least variance if it is exact."""
    centre: FloatArray
    """Estimate of the mean log-likelihood of every chain, which is subtracted before moments are summed, against
    cancellation."""
    seed: int
    round_number: int
    batch_scans: int
    """With `batches`, where batches end (`sterna.engine.record.Layout`)."""
    batches: int
    thin: int


def new_copy(n_chains: int, dimension: int) -> Copy:
    """Allocate a copy with replica j at chain j."""
    leg = np.zeros(n_chains, dtype=np.int64)
    leg[0] = 1
    return Copy(
        states=np.zeros((n_chains, dimension)),
        log_densities=np.zeros((n_chains, N_LOG_DENSITIES)),
        chain_of=np.arange(n_chains, dtype=np.int64),
        replica_of=np.arange(n_chains, dtype=np.int64),
        leg=leg,
        accepted=np.zeros(n_chains - 1),
        before=np.zeros(n_chains),
        at_work=new_at_work(),
    )


def nearest_chains(old: FloatArray, new: FloatArray) -> IntArray:
    """Return for every new chain the nearest old one on the barrier; only chain 0 is taken from chain 0.

    The state of the reference chain can have likelihood zero, which is not allowed in any other chain.
    """
    nearest = np.abs(new[:, None] - old[None, 1:]).argmin(axis=1).astype(np.int64) + 1
    nearest[0] = 0
    return nearest


def resized(copy: Copy, nearest: IntArray) -> Copy:
    """Return a copy with another number of chains, each of which begins at the state of its nearest old chain."""
    new = new_copy(len(nearest), copy.states.shape[1])
    replicas = copy.replica_of[nearest]
    new.states[:] = copy.states[replicas]
    new.log_densities[:, :EVALUATIONS] = copy.log_densities[replicas, :EVALUATIONS]
    new.log_densities[:, LARGEST_REFERENCE:] = copy.log_densities[replicas, LARGEST_REFERENCE:]
    return new


@compiled
def find_start(
    block: IntArray,
    seed: int,
    tries: int,
    copy_number: int,
    copy: Copy,
    first: int,
    last: int,
    stream: WordArray,
) -> None:
    """Draw replicas `first` to `last - 1` from the reference, up to `tries` times while the likelihood is zero."""
    program = view(block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    for replica in range(first, last):
        copy.at_work[REPLICA] = replica
        x, log_densities = row(copy.states, replica), row(copy.log_densities, replica)
        for attempt in range(tries):
            start_stream(words, scan_key(seed, copy_number, 0, attempt), replica)
            draw_reference(program, x, words)
            refresh(program, x, log_densities)
            check_draw(log_densities)
            if log_densities[LOG_LIKELIHOOD] > -math.inf:
                break


@compiled
def refresh_some(block: IntArray, copy: Copy, first: int, last: int, stream: WordArray) -> None:
    """Evaluate replicas `first` to `last - 1` again, because the target has changed."""
    program = view(block)
    for replica in range(first, last):
        copy.at_work[REPLICA] = replica
        refresh(program, row(copy.states, replica), row(copy.log_densities, replica))


@compiled
def draw_states(block: IntArray, seed: int, states: FloatArray, at_work: IntArray, stream: WordArray) -> None:
    """Fill rows with independent draws from the reference, by streams that no copy uses."""
    program = view(block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    key = scan_key(seed, NO_COPY, 0, 0)
    for k in range(states.shape[0]):
        at_work[REPLICA] = k
        start_stream(words, key, k)
        draw_reference(program, row(states, k), words)


@inlined
def explore_replica(
    program: Program,
    plan: Plan,
    copy: Copy,
    statistics: FloatArray,
    replica: int,
    scan: int,
    stream: Stream,
) -> None:
    """Explore one replica: by an exact draw in chain 0, by the explorer's kernel in all others."""
    chain = copy.chain_of[replica]
    x, log_densities = row(copy.states, replica), row(copy.log_densities, replica)
    copy.at_work[REPLICA] = replica
    if chain == 0:
        draw_reference(program, x, stream)
        refresh(program, x, log_densities)
        check_draw(log_densities)
        return
    remember_largest(log_densities)
    parameters, sums = row(plan.parameters, chain), row(statistics, chain)
    data = int_pointer(plan.explorer_data.ctypes.data)
    for _ in range(plan.explorations):
        call_explore(plan.explore, (program, x, log_densities, plan.schedule[chain], parameters, sums, data, stream))
        # for kernels that evaluate without `log_likelihood`, which looks by itself
        if program.stop[CEILING] < math.inf:
            poll(program.stop)
    if scan % REFRESH_EVERY == 0:
        refresh_running(program, x, log_densities)


@inlined
def explore_range(
    program: Program,
    plan: Plan,
    statistics: FloatArray,
    scan: int,
    copy_number: int,
    copy: Copy,
    first: int,
    last: int,
    stream: Stream,
) -> None:
    """Explore replicas `first` to `last - 1`, each with its own stream."""
    key = scan_key(plan.seed, copy_number, plan.round_number, scan)
    copy.at_work[SCAN] = scan
    for replica in range(first, last):
        start_stream(stream, key, replica)
        copy.before[copy.chain_of[replica]] = copy.log_densities[replica, LOG_LIKELIHOOD]
        explore_replica(program, plan, copy, statistics, replica, scan, stream)


@inlined
def communicate_and_record(plan: Plan, copy_number: int, copy: Copy, record: Record, scan: int) -> None:
    """Propose swaps and record, after every replica has been explored."""
    key = scan_key(plan.seed, copy_number, plan.round_number, scan)
    measure(plan.schedule, copy.log_densities, copy.replica_of, copy.accepted)
    batch = batch_of(scan, plan.batch_scans, plan.batches)
    add_pairs(record, batch, plan.schedule, plan.pivot, copy.log_densities, copy.replica_of, copy.accepted)
    add_chains(record, scan, batch, plan.centre, copy.before, copy.log_densities, copy.replica_of)
    swap(copy.chain_of, copy.replica_of, copy.accepted, parity_of(plan.scheme, scan, key), key)
    follow(copy.chain_of, copy.leg, record.trips, scan)
    add_states(record, scan, plan.thin, copy.states, copy.log_densities, copy.chain_of, copy.replica_of)


@compiled
def run_scans(
    plan: Plan,
    copy_number: int,
    copy: Copy,
    statistics: FloatArray,
    record: Record,
    first: int,
    last: int,
    stream: WordArray,
) -> None:
    """Run scans `first` to `last` of a round, counted from 1 (paper, algorithm Distributed DEO)."""
    program = view(plan.block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    for scan in range(first, last + 1):
        explore_range(program, plan, statistics, scan, copy_number, copy, 0, copy.chain_of.size, words)
        communicate_and_record(plan, copy_number, copy, record, scan)


@compiled
def explore_some(
    plan: Plan,
    statistics: FloatArray,
    scan: int,
    copy_number: int,
    copy: Copy,
    first: int,
    last: int,
    stream: WordArray,
) -> None:
    """Explore some replicas of a scan; others explore the rest."""
    program = view(plan.block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    explore_range(program, plan, statistics, scan, copy_number, copy, first, last, words)


@compiled
def end_scan(plan: Plan, copy_number: int, copy: Copy, record: Record, scan: int) -> None:
    """Communicate and record, after `explore_some` has explored every replica."""
    communicate_and_record(plan, copy_number, copy, record, scan)
