"""Apply an explorer's kernel to many states, as the round does."""

import numba
import numpy as np
from numba import types

from sterna.engine.compilation import address_of, as_pointer, row
from sterna.engine.program import EXPLORE, N_LOGS, refresh, view
from sterna.engine.round import call_explore, draw_states
from sterna.engine.streams import new_generator, scan_key, start_stream


@numba.njit
def _apply(block, address, states, logs, beta, parameters, statistics, data, times, seed, stream):
    program = view(block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    for k in range(states.shape[0]):
        refresh(program, row(states, k), row(logs, k))
    for time in range(times):
        key = scan_key(seed, 0, 0, time)
        for k in range(states.shape[0]):
            start_stream(words, key, k)
            x, log_row = row(states, k), row(logs, k)
            sums = as_pointer(statistics.ctypes.data, types.float64)
            numbers = as_pointer(parameters.ctypes.data, types.float64)
            addresses = as_pointer(data.ctypes.data, types.int64)
            call_explore(address, (program, x, log_row, beta, numbers, sums, addresses, words))


def apply(target, kernel, states, beta, parameters, times=10, seed=1, n_statistics=None, data=()):
    """Return the states after `times` applications of the kernel, and their log-densities as it reports them."""
    states = np.ascontiguousarray(states, dtype=float).copy()
    logs = np.zeros((len(states), N_LOGS))
    statistics = np.zeros(n_statistics or 2 * target.dimension + 1)
    addresses = np.array([array.ctypes.data for array in data] or [0], dtype=np.int64)
    stream, _generator = new_generator()
    address = address_of(kernel, EXPLORE)
    _apply(target.block, address, states, logs, beta, parameters, statistics, addresses, times, seed, stream)
    return states, logs


def draw_from(target, seed=1):
    """Return `draw(n)`, which gives n draws from the target's reference, as the run passes it to explorers."""

    def draw(n):
        states, at_work = np.zeros((n, target.dimension)), np.zeros(1, dtype=np.int64)
        draw_states(target.block, seed, states, at_work, *new_generator())
        return states

    return draw


def apply_bound(target, bound, states, beta, parameters=None, kernel=None, times=10, seed=1):
    """Apply the kernel of a bound explorer, or a faulty one in its place; also return the statistics."""
    parameters = bound.start(draw_from(target)) if parameters is None else parameters
    states = np.ascontiguousarray(states, dtype=float).copy()
    logs = np.zeros((len(states), N_LOGS))
    statistics = np.zeros(bound.n_row)
    addresses = np.array([array.ctypes.data for array in bound.data], dtype=np.int64)
    stream, _generator = new_generator()
    address = address_of(kernel or bound.kernel, EXPLORE)
    _apply(target.block, address, states, logs, beta, parameters, statistics, addresses, times, seed, stream)
    return states, logs, statistics[: bound.n_statistics]
