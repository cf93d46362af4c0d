"""Apply an explorer's kernel to many states, as the round does."""

import numba
import numpy as np
from numba import types

from sterna.engine.compilation import address_of, as_pointer, row
from sterna.engine.program import EXPLORE, N_LOGS, view
from sterna.engine.round import call_explore, draw_states
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


def apply(target, kernel, states, beta, parameters, times=10, seed=1, n_row=None, data=None):
    """Return the states after `times` applications of the kernel, and their log-densities as it reports them.

    By default the kernel is given all coordinates, and a row for its statistics and scratch that suits a slice's.
    """
    states = np.ascontiguousarray(states, dtype=float).copy()
    logs = np.zeros((len(states), N_LOGS))
    for k, state in enumerate(states):
        logs[k, :2] = target.log_densities(state)
    row_of_numbers = np.zeros(n_row or 2 * target.dimension + 1)
    arrays = (np.arange(target.dimension),) if data is None else data
    addresses = np.array([array.ctypes.data for array in arrays] or [0], dtype=np.int64)
    stream, _generator = new_generator()
    address = address_of(kernel, EXPLORE)
    _apply(target.block, address, states, logs, beta, parameters, row_of_numbers, addresses, times, seed, stream)
    return states, logs


def explore(target, explorer, states, beta, times=10, seed=1, kernel=None, coordinates=None, parameters=None):
    """Apply a bound explorer as it starts (or with given parameters, or with another kernel in its place)."""
    bound = explorer.bind(target, coordinates)
    row = bound.start(lambda n: draws_of(target, n)) if parameters is None else parameters
    return apply(target, kernel or bound.kernel, states, beta, row, times, seed, bound.n_row, bound.data)


def draws_of(target, n):
    """Draws from a target's reference."""
    draws, at_work = np.zeros((n, target.dimension)), np.zeros(1, dtype=np.int64)
    draw_states(target.block, 1, draws, at_work, *new_generator())
    return draws


def slice_parameters(*widths, updates=None):
    """A slice's row of parameters."""
    return np.array([len(widths) if updates is None else updates, len(widths), *widths], dtype=float)
