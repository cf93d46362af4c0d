"""The limit of SEO's index process: Brownian motion with reflecting ends (paper, section on scaling limits)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.theory.checks import check_numbers, check_start, check_time, check_whole
from sterna.theory.reflection import fold, folded_cdf
from sterna.theory.streams import BROWNIAN_MOTION, new_stream
from sterna.types import FloatArray

# After this time the distribution is uniform up to rounding: exp(-pi^2 t / 2) < 1e-17.
_MIXING_TIME = 8.0


def brownian_motion_path(times: ArrayLike, start: float = 0.0, seed: int = 1) -> FloatArray:
    """Simulate one path at the given times, exactly, by folding a free Brownian motion.

    Examples
    --------
    >>> brownian_motion_path([0.0, 0.5, 1.0], start=0.25)[0]
    np.float64(0.25)
    """
    clock = check_numbers("times", times, "give a list of times")
    if clock.ndim != 1 or not np.isfinite(clock).all() or (clock < 0).any() or (np.diff(clock) < 0).any():
        raise OptionError(
            f"times={np.array2string(clock, threshold=10)} must be finite times that do not decrease, from 0."
        )
    _, generator = new_stream(seed, BROWNIAN_MOTION)
    moves = np.sqrt(np.diff(clock, prepend=0.0)) * generator.standard_normal(clock.size)
    return fold(check_start(start) + np.cumsum(moves))


def brownian_motion_ends(time: float, n_paths: int, start: float = 0.0, seed: int = 1) -> FloatArray:
    """Draw the positions at `time` of many paths from one start.

    Examples
    --------
    >>> brownian_motion_ends(0.0, n_paths=2, start=0.25)
    array([0.25, 0.25])
    """
    size = check_whole("n_paths", n_paths, 1, "give the number of paths, at least 1", bytes_each=8)
    _, generator = new_stream(seed, BROWNIAN_MOTION)
    return fold(check_start(start) + math.sqrt(check_time(time)) * generator.standard_normal(size))


def brownian_motion_cdf(place: ArrayLike, time: float, start: float = 0.0) -> FloatArray:
    """P(W(time) <= place), as a sum over the mirror images of the start.

    Examples
    --------
    >>> brownian_motion_cdf([0.0, 0.5, 1.0], time=0.04, start=0.5)
    array([0. , 0.5, 1. ])
    """
    from scipy.special import ndtr

    until, first = check_time(time), check_start(start)
    positions = check_numbers("place", place, "give one position or several")
    if until == 0:
        return np.where(positions >= first, 1.0, 0.0)
    if until > _MIXING_TIME:
        return np.clip(positions, 0.0, 1.0)
    deviation = math.sqrt(until)
    return folded_cdf(positions, lambda ends: np.asarray(ndtr((ends - first) / deviation)), 1.0 + 9.0 * deviation)
