"""Schedule generators G, with betas G(i / N) for any number of chains (paper, section on scaling limits)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.theory.checks import check_betas, check_function, check_number, check_schedule, check_whole
from sterna.theory.cumulative_barrier import Barrier
from sterna.types import FloatArray

Generator = Callable[[ArrayLike], FloatArray]


def _positions(position: ArrayLike) -> FloatArray:
    """Return positions on the way from the reference, 0, to the target, 1."""
    return check_betas(position, "position", "positions from 0 to 1")


def uniform_generator() -> Generator:
    """G(w) = w.

    Examples
    --------
    >>> generated_schedule(uniform_generator(), 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    return _positions


def geometric_generator(gamma: float) -> Generator:
    """G(w) = (gamma^(1-w) - gamma) / (1 - gamma): inverse temperatures in geometric progression from gamma to 1.

    It is meant for a reference that is the target raised to the power gamma, for 0 < gamma < 1.

    Examples
    --------
    >>> generated_schedule(geometric_generator(0.01), 3).round(4)
    array([0.    , 0.0909, 1.    ])
    """
    advice = "the reference is the target raised to the power gamma, so give a number between 0 and 1"
    power = check_number("gamma", gamma, 0.0, advice, above=True)
    if power >= 1:
        raise OptionError(f"gamma={gamma!r} is not valid: {advice}.")
    # expm1 is accurate for gamma near 1; both ends are exact
    scale = np.log(power)
    return lambda position: np.asarray(power * np.expm1(-_positions(position) * scale) / (power * np.expm1(-scale)))


def optimal_generator(barrier: Barrier | Callable[[FloatArray], ArrayLike]) -> Generator:
    """G, the inverse of Lambda(beta) / Lambda: every interval holds the same part of the barrier.

    Takes a cumulative barrier as a function of an array of betas, or a run's `Barrier`, whose jump at 0 is ignored
    because no schedule can divide it. If the barrier is zero, all generators are optimal, and the uniform one is
    returned.

    Examples
    --------
    >>> from sterna.theory import normal_barrier
    >>> generated_schedule(optimal_generator(lambda beta: normal_barrier(beta, dim=3, precision=16.0)), 3).round(6)
    array([0. , 0.2, 1. ])
    """
    cumulative = barrier.smooth if isinstance(barrier, Barrier) else barrier
    check_function("barrier", cumulative, "give the barrier up to beta as a function of beta, or that of a round")
    total = float(np.asarray(cumulative(np.ones(1)))[0])
    if not np.isfinite(total):
        raise OptionError(f"The cumulative barrier is {total} at beta=1; give a barrier that is finite there.")
    if not total > 0:
        return uniform_generator()

    def generate(position: ArrayLike) -> FloatArray:
        positions = _positions(position)
        low, high = np.zeros(positions.shape), np.ones(positions.shape)
        # bisection, because a barrier may have flat pieces, whose slope is 0
        for _ in range(80):
            middle = 0.5 * (low + high)
            below = np.asarray(cumulative(middle)) < positions * total
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(positions <= 0, 0.0, np.where(positions >= 1, 1.0, high))

    return generate


def generated_schedule(generator: Generator, n_chains: int) -> FloatArray:
    """Betas G(i / N) of `n_chains` = N + 1 chains.

    Examples
    --------
    >>> generated_schedule(lambda position: position**2, 3)
    array([0.  , 0.25, 1.  ])
    """
    check_function("generator", generator, "give one such as sterna.theory.uniform_generator()")
    size = check_whole("n_chains", n_chains, 2, "there must be at least 2 chains, the reference and the target")
    return check_schedule(generator(np.linspace(0.0, 1.0, size)), size)
