"""Apply an explorer's kernel to many states, as the round does."""

import numba
import numpy as np
from numba import types

from sterna.engine.compilation import address_of, as_pointer, row
from sterna.engine.program import EXPLORE, view
from sterna.engine.round import call_explore
from sterna.engine.streams import new_generator, scan_key, start_stream


@numba.njit
def _apply(block, address, states, logs, beta, parameters, statistics, data, times, seed, stream):
    program = view(block)
    words = as_pointer(stream.ctypes.data, types.uint64)
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
    logs = np.zeros((len(states), 3))
    for k, state in enumerate(states):
        logs[k, :2] = target.log_densities(state)
    statistics = np.zeros(n_statistics or 2 * target.dimension + 1)
    addresses = np.array([array.ctypes.data for array in data] or [0], dtype=np.int64)
    stream, _generator = new_generator()
    address = address_of(kernel, EXPLORE)
    _apply(target.block, address, states, logs, beta, parameters, statistics, addresses, times, seed, stream)
    return states, logs
