"""Densities, slopes and draws of distributions through the engine, and tests of draws against an exact distribution."""

import numba
import numpy as np
from numba import types
from scipy import stats

import sterna
from sterna.engine.densities import coordinate_slope, draw_from_stream
from sterna.engine.program import view
from sterna.engine.round import draw_states
from sterna.ground.compilation import as_pointer
from sterna.ground.streams import new_stream, scan_key, start_stream

DRAWS = 100_000
# Each statistical check below gives a false alarm once in a million runs.
FALSE_ALARM = 1e-6


def zero():
    return 0.0


def target_of(distribution):
    return sterna.Target(zero, {"v": distribution})


def log_density(distribution, points):
    """The engine's log-density at each of several values of a scalar variable."""
    target = target_of(distribution)
    return np.array([target.log_densities(np.array([float(point)]))[0] for point in points])


def draw(distribution, number=DRAWS, seed=5):
    """Draws of a variable through the engine, in its own shape."""
    target = target_of(distribution)
    states = np.zeros((number, target.dimension))
    draw_states(target.block, seed, states, np.zeros(1, dtype=np.int64), new_stream())
    return target.space.values(states)["v"]


def support_of(frozen):
    """The integers that carry all but 1e-13 of a discrete distribution."""
    return np.arange(int(frozen.ppf(1e-13)), int(frozen.ppf(1 - 1e-13)) + 1)


@numba.njit
def _many_slopes(block, points, out):
    program = view(block)
    for k in range(points.size):
        out[k] = coordinate_slope(program.family[0], program.constants, 0, points[k])


def slope(distribution, points):
    """The engine's slope of the log-density at each of several values of a scalar variable."""
    target = target_of(distribution)
    out = np.zeros(len(points))
    _many_slopes(target.block, np.asarray(points, dtype=float), out)
    return out


@numba.njit
def _many_draws(block, out, stream):
    program = view(block)
    words = as_pointer(stream.ctypes.data, types.uint64)
    start_stream(words, scan_key(5, 0, 0, 0), 0)
    for k in range(out.size):
        out[k] = draw_from_stream(program.family[0], program.constants, 0, program.table, words)


def draw_for_kernels(distribution, number):
    """Draws of a scalar variable from a stream alone."""
    target = target_of(distribution)
    out = np.zeros(number)
    _many_draws(target.block, out, new_stream())
    values = np.clip(out, target.program.lower[0], target.program.upper[0])
    return values if distribution.coordinates.value_type == 0 else values.astype(np.int64)


def p_of_distribution(draws, frozen):
    """Kolmogorov and Smirnov for continuous distributions, chi-square over cells of at least ten for discrete ones."""
    if not hasattr(frozen, "pmf"):
        return stats.kstest(draws, frozen.cdf).pvalue
    support = support_of(frozen)
    if draws.min() < support[0] or draws.max() > support[-1]:
        return 0.0
    expected = frozen.pmf(support) * len(draws)
    if np.isin(draws, support[expected == 0]).any():
        return 0.0
    cell = np.minimum(np.cumsum(expected) // 10, (expected.sum() - 10) // 10).astype(int)
    counts = np.bincount(cell[draws - support[0]], minlength=cell[-1] + 1)
    expected = np.bincount(cell, expected)
    seen = expected > 0
    return stats.chisquare(counts[seen], expected[seen] * len(draws) / expected.sum()).pvalue


def p_of_mean(samples, exact):
    """t-test of a mean; 1e5 samples are enough for the normal limit at the threshold."""
    return stats.ttest_1samp(samples, exact).pvalue
