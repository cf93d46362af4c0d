"""Apply an explorer's kernel to many states, as the round does."""

import numba
import numpy as np
from numba import types

from sterna.engine.compilation import address_of, as_pointer, row
from sterna.engine.program import EVALUATIONS, EXPLORE, N_LOGS, refresh, view
from sterna.engine.round import call_explore, draw_states
from sterna.engine.streams import new_generator, scan_key, start_stream


@numba.njit
def _apply(block, address, states, logs, beta, parameters, statistics, data, times, seed, stream):
    program = view(block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    for k in range(states.shape[0]):
        refresh(program, row(states, k), row(logs, k))
    logs[:, EVALUATIONS] = 0.0
    for time in range(times):
        key = scan_key(seed, 0, 0, time)
        for k in range(states.shape[0]):
            start_stream(words, key, k)
            x, log_row = row(states, k), row(logs, k)
            sums = as_pointer(statistics.ctypes.data, types.float64)
            numbers = as_pointer(parameters.ctypes.data, types.float64)
            addresses = as_pointer(data.ctypes.data, types.int64)
            call_explore(address, (program, x, log_row, beta, numbers, sums, addresses, words))


def apply(target, kernel, states, beta, parameters, times=10, seed=1, n_statistics=None, data=None, statistics=None):
    """Return the states after `times` applications of the kernel, and their log-densities as it reports them.

    Without data of its own a kernel explores all coordinates. `statistics` receives the sums, if given.
    """
    states = np.ascontiguousarray(states, dtype=float).copy()
    logs = np.zeros((len(states), N_LOGS))
    if statistics is None:
        statistics = np.zeros(n_statistics or 2 * target.dimension + 1)
    arrays = (np.arange(target.dimension),) if data is None else data
    addresses = np.array([array.ctypes.data for array in arrays], dtype=np.int64)
    stream, _generator = new_generator()
    address = address_of(kernel, EXPLORE)
    _apply(target.block, address, states, logs, beta, parameters, statistics, addresses, times, seed, stream)
    return states, logs


def draws_of(target, seed=1):
    """Return the function by which explorers start: n draws from the reference."""

    def draw(n):
        states = np.zeros((n, target.dimension))
        draw_states(target.block, seed, states, np.zeros(1, dtype=np.int64), *new_generator())
        return states

    return draw


def apply_bound(target, bound, states, beta, kernel=None, change=None, times=10, seed=1):
    """Apply a bound explorer, or another kernel in its place, with its first parameters, changed if wanted.

    Returns states, log-densities and the sums by which it is tuned.
    """
    parameters = bound.start(draws_of(target))
    if change is not None:
        change(parameters)
    statistics = np.zeros(bound.n_row)
    after, logs = apply(
        target, kernel or bound.kernel, states, beta, parameters, times, seed, data=bound.data, statistics=statistics
    )
    return after, logs, statistics[: bound.n_statistics]
