"""Apply an explorer's kernel to many states, as the round does."""

import numba
import numpy as np
from numba import types

from sterna.engine.program import EVALUATIONS, EXPLORE, N_LOG_DENSITIES, refresh, view
from sterna.engine.round import call_explore, draw_states
from sterna.explorers.shared.slice_widths import MAX_DOUBLINGS, Parameters
from sterna.ground.compilation import address_of, as_pointer, row
from sterna.ground.rows import new_row
from sterna.ground.streams import new_stream, scan_key, start_stream


@numba.njit
def _evaluate(block, states, log_densities):
    program = view(block)
    for k in range(states.shape[0]):
        refresh(program, row(states, k), row(log_densities, k))
        row(log_densities, k)[EVALUATIONS] = 0.0


@numba.njit
def _apply(block, address, states, log_densities, beta, parameters, statistics, data, times, seed, stream):
    program = view(block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    for time in range(times):
        key = scan_key(seed, 0, 0, time)
        for k in range(states.shape[0]):
            start_stream(words, key, k)
            x, log_row = row(states, k), row(log_densities, k)
            sums = as_pointer(statistics.ctypes.data, types.float64)
            numbers = as_pointer(parameters.ctypes.data, types.float64)
            addresses = as_pointer(data.ctypes.data, types.int64)
            call_explore(address, (program, x, log_row, beta, numbers, sums, addresses, words))


def logs_of(target, states):
    """Return the log-densities of many states, in the layout that kernels use."""
    states = np.ascontiguousarray(states, dtype=float)
    log_densities = np.zeros((len(states), N_LOG_DENSITIES))
    _evaluate(target.block, states, log_densities)
    return log_densities


def slice_row(widths, first_widths=None, rounds=0, doublings=MAX_DOUBLINGS):
    """Return slice sampling's parameters of a chain: one pass over coordinates of the given widths."""
    n, first = len(widths), widths if first_widths is None else first_widths
    values = {"updates": n, "count": n, "rounds": rounds, "widths": widths, "first_widths": first}
    return new_row(Parameters, (n,), **values, doublings=doublings)


def apply(target, kernel, states, beta, parameters, times=10, seed=1, n_statistics=None, data=None, statistics=None):
    """Return the states after `times` applications of the kernel, and the log-densities that it reports.

    Without its own data a kernel explores all coordinates. `statistics` receives the sums, if given.
    """
    states = np.ascontiguousarray(states, dtype=float).copy()
    log_densities = logs_of(target, states)
    if statistics is None:
        statistics = np.zeros(n_statistics or 2 * target.dimension + 9)
    arrays = (np.arange(target.dimension),) if data is None else data
    addresses = np.array([array.ctypes.data for array in arrays] or [0], dtype=np.int64)
    parameters = np.ascontiguousarray(parameters, dtype=float)
    stream = new_stream()
    address = address_of(kernel, EXPLORE)
    _apply(target.block, address, states, log_densities, beta, parameters, statistics, addresses, times, seed, stream)
    return states, log_densities


def draws_of(target, seed=1):
    """Return the function that explorers are started with: n draws from the reference."""

    def draw(n):
        states = np.zeros((n, target.dimension))
        draw_states(target.block, seed, states, np.zeros(1, dtype=np.int64), new_stream())
        return states

    return draw


def apply_bound(
    target, bound, states, beta, *, parameters=None, kernel=None, change=None, times=10, seed=1, statistics=None
):
    """Apply a bound explorer, or another kernel in its place, with its initial parameters or those given.

    `change` may alter the parameters in place. Returns states, log-densities and the sums by which the explorer is
    tuned.
    """
    parameters = bound.start(draws_of(target)) if parameters is None else parameters
    if change is not None:
        change(parameters)
    statistics = np.zeros(bound.n_row) if statistics is None else statistics
    chosen = bound.kernel if kernel is None else kernel
    after, log_densities = apply(
        target, chosen, states, beta, parameters, times, seed, data=bound.data, statistics=statistics
    )
    return after, log_densities, statistics[: bound.n_statistics]


def check_memory(target, bound, states, beta=0.3):
    """Check that a kernel writes only to its row, and does not depend on previous contents of its working memory.

    For kernels without statistics: all of their row is working memory.
    """
    guard = 1234.56789
    first = apply_bound(target, bound, states, beta)
    for garbage in (0.0, np.nan, -1e300):
        whole = np.full(bound.n_row + 64, guard)
        whole[32:-32] = garbage
        again = apply_bound(target, bound, states, beta, statistics=whole[32:-32])
        assert np.array_equal(first[0], again[0])
        assert np.array_equal(first[1], again[1])
        assert (whole[:32] == guard).all()
        assert (whole[-32:] == guard).all()
