"""Apply an explorer's kernel to many states, as the round does."""

import numba
import numpy as np
from numba import types

from sterna.engine.compilation import address_of, as_pointer, row
from sterna.engine.program import EXPLORE, N_LOGS, view
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


def apply(target, kernel, states, beta, parameters, times=10, seed=1, statistics=None, data=None):
    """Return the states after `times` applications of the kernel, and their logs as it reports them.

    By default the kernel's data are all coordinates. Statistics are added to the array given.
    """
    states = np.ascontiguousarray(states, dtype=float).copy()
    logs = np.zeros((len(states), N_LOGS))
    for k, state in enumerate(states):
        logs[k, :2] = target.log_densities(state)
    if statistics is None:
        statistics = np.zeros(2 * target.dimension + 9)
    if data is None:
        data = (np.arange(target.dimension),)
    addresses = np.array([array.ctypes.data for array in data], dtype=np.int64)
    parameters = np.ascontiguousarray(parameters, dtype=float)
    stream, _generator = new_generator()
    address = address_of(kernel, EXPLORE)
    _apply(target.block, address, states, logs, beta, parameters, statistics, addresses, times, seed, stream)
    return states, logs


def apply_bound(target, bound, states, beta, times=10, seed=1, kernel=None, parameters=None, statistics=None):
    """Apply an explorer bound to a target; `kernel` takes the place of its own, as with a planted fault."""
    if parameters is None:
        parameters = bound.start(lambda n: np.asarray(states, dtype=float)[:n])
    if statistics is None:
        statistics = np.zeros(bound.n_row)
    chosen = bound.kernel if kernel is None else kernel
    return apply(target, chosen, states, beta, parameters, times, seed, statistics, bound.data)
