"""The annealing schedule from the barrier (paper, algorithm UpdateSchedule)."""

import numpy as np

from sterna.theory.cumulative_barrier import Barrier
from sterna.theory.monotone import monotone_cubic
from sterna.types import FloatArray

# Share of the barrier that every interval is given, so that the barrier can be inverted if nothing was rejected there.
_MIN_SHARE = 1e-6


def uniform_schedule(n_chains: int) -> FloatArray:
    """Return equally spaced betas, the first round's schedule."""
    return np.linspace(0.0, 1.0, n_chains)


def update_schedule(barrier: Barrier, n_chains: int) -> FloatArray:
    """Place the betas so that each interval holds the same part of the barrier.

    A barrier of zero gives equal spacing; flat pieces receive few betas. The result increases strictly from exactly 0
    to exactly 1.
    """
    old, cumulative = barrier.smooth.x, barrier.smooth.y
    if not cumulative[-1] > 0:
        return uniform_schedule(n_chains)
    steps = np.diff(cumulative) / cumulative[-1] + _MIN_SHARE * np.diff(old)
    curve = monotone_cubic(old, np.concatenate([[0.0], np.cumsum(steps)]))
    schedule = curve.inverse(np.linspace(0.0, curve.y[-1], n_chains))
    schedule[0], schedule[-1] = 0.0, 1.0
    return _strictly_increasing(schedule)


def _strictly_increasing(schedule: FloatArray) -> FloatArray:
    """Separate betas that rounding made equal, first away from 0 and then away from 1."""
    for k in range(1, len(schedule)):
        schedule[k] = max(schedule[k], np.nextafter(schedule[k - 1], 2.0))
    schedule[-1] = 1.0
    for k in range(len(schedule) - 2, 0, -1):
        schedule[k] = min(schedule[k], np.nextafter(schedule[k + 1], -1.0))
    return schedule
