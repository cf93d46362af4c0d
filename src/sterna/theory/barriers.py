"""Communication barriers in closed form (paper, appendices on modes, high dimension and the models)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.theory.checks import check_betas, check_function, check_number, check_numbers, check_whole
from sterna.types import FloatArray


def _normal_scale(dim: int) -> float:
    """Return 2^(1-d) / B(d/2, d/2) in its equal form 1 / B(1/2, d/2), because the factors overflow for large d."""
    from scipy.special import poch

    size = check_whole("dim", dim, 1, "a normal model has at least one dimension")
    return float(poch(0.5 * size, 0.5)) / math.sqrt(math.pi)


def _check_precision(precision: float) -> float:
    return check_number("precision", precision, 0.0, "give a number above 0", above=True)


def normal_local_barrier(beta: ArrayLike, dim: int = 5, precision: float = 5.0) -> FloatArray:
    """lambda(beta) of `sterna.models.normal`.

    Examples
    --------
    >>> normal_local_barrier([0.0, 1.0], dim=2, precision=5.0)
    array([2. , 0.4])
    """
    excess = _check_precision(precision) - 1.0
    return np.asarray(_normal_scale(dim) * abs(excess) / (1.0 + check_betas(beta) * excess))


def normal_barrier(beta: ArrayLike = 1.0, dim: int = 5, precision: float = 5.0) -> FloatArray:
    """Lambda(beta) of `sterna.models.normal`; the global barrier at the default, beta = 1.

    Examples
    --------
    >>> normal_barrier(dim=2, precision=np.exp(6.0)).round(12)
    np.float64(3.0)
    """
    excess = _check_precision(precision) - 1.0
    return np.asarray(_normal_scale(dim) * np.abs(np.log1p(check_betas(beta) * excess)))[()]


def _even_share(betas: FloatArray, k: int, a: float) -> FloatArray:
    """Probability of the even numbers at beta, (k+1) a^beta / (k + (k+1) a^beta)."""
    from scipy.special import expit

    modes = check_whole("k", k, 1, "the discrete model has 2k + 1 points, with k at least 1")
    height = check_number("a", a, 0.0, "give the height of the modes, above 0", above=True)
    return np.asarray(expit(betas * math.log(height) + math.log1p(1.0 / modes)))


def discrete_local_barrier(beta: ArrayLike, k: int = 2, a: float = 100.0) -> FloatArray:
    """lambda(beta) of `sterna.models.discrete`.

    Examples
    --------
    >>> discrete_local_barrier([0.0, 1.0], k=2, a=100.0).round(4)
    array([1.1052, 0.0303])
    """
    even = _even_share(check_betas(beta), k, a)
    return np.asarray(even * (1.0 - even) * abs(math.log(a)))


def discrete_barrier(beta: ArrayLike = 1.0, k: int = 2, a: float = 100.0) -> FloatArray:
    """Lambda(beta) of `sterna.models.discrete`: the change in the probability of the even numbers.

    Examples
    --------
    >>> discrete_barrier(k=2, a=100.0).round(4)
    np.float64(0.3934)
    """
    return np.asarray(np.abs(_even_share(check_betas(beta), k, a) - _even_share(np.zeros(()), k, a)))[()]


def high_dimensional_local_barrier(beta: ArrayLike, dim: int, deviation: Callable[[float], float]) -> FloatArray:
    """lambda(beta) of `dim` independent coordinates in the limit of high dimension: sqrt(d / pi) sigma(beta).

    `deviation` is sigma(beta), the standard deviation of one coordinate's energy V under the annealed distribution.

    Examples
    --------
    >>> high_dimensional_local_barrier(0.5, 314, lambda beta: 2 * beta).round(3)
    np.float64(9.997)
    """
    size = check_whole("dim", dim, 1, "there must be at least one coordinate")
    check_function("deviation", deviation, "give the standard deviation of V as a function of beta")
    betas = check_betas(beta)
    values = np.array([deviation(at) for at in betas.flat], dtype=np.float64).reshape(betas.shape)
    return np.asarray(math.sqrt(size / math.pi) * values)[()]


def high_dimensional_barrier(dim: int, deviation: Callable[[float], float]) -> float:
    """Lambda of `dim` independent coordinates in the limit of high dimension: sqrt(d / pi) times the integral of sigma.

    Examples
    --------
    >>> round(high_dimensional_barrier(314, lambda beta: 2 * beta), 3)
    9.997
    """
    from scipy.integrate import quad

    integral, _ = quad(lambda beta: float(high_dimensional_local_barrier(beta, dim, deviation)), 0.0, 1.0, limit=200)
    return float(integral)


def multimodal_barrier(weights: ArrayLike, barriers: ArrayLike) -> FloatArray:
    """Barrier of a multimodal target: the mean of the barriers between pairs of modes, weighted by p_k p_k'.

    It holds if the reference gives every mode the same weight p_k as the target. `barriers[..., k, k']` are global or
    local barriers; those of a mode with itself are on the diagonal.

    Examples
    --------
    >>> multimodal_barrier([0.75, 0.25], [[1.0, 3.0], [3.0, 2.0]])
    np.float64(1.8125)
    """
    p = check_numbers("weights", weights, "give the weight of each mode")
    pairs = check_numbers("barriers", barriers, "give the barrier between each pair of modes")
    if p.ndim != 1 or not (p >= 0).all() or not math.isclose(p.sum(), 1.0, rel_tol=1e-9):
        raise OptionError(f"weights={weights!r} are not valid: give nonnegative weights of the modes that sum to 1.")
    if pairs.shape[-2:] != (p.size, p.size):
        raise OptionError(
            f"barriers has shape {pairs.shape}; with {p.size} modes its last two axes must be {p.size, p.size}."
        )
    if not (pairs >= 0).all() or not np.allclose(pairs, np.swapaxes(pairs, -1, -2)):
        raise OptionError("barriers must be symmetric and nonnegative: give the same barrier from k to k' and back.")
    return np.asarray(pairs @ p @ p)[()]


def barrier_rejection(cumulative: Callable[[FloatArray], ArrayLike], schedule: ArrayLike) -> FloatArray:
    """Rejections of a schedule, given a cumulative barrier: its increments, up to third order in the spacing.

    Examples
    --------
    >>> barrier_rejection(lambda beta: discrete_barrier(beta, a=1e4), [0.0, 0.5, 1.0]).round(3)
    array([0.393, 0.007])
    """
    check_function("cumulative", cumulative, "give the barrier up to beta as a function of beta")
    return np.diff(np.asarray(cumulative(check_betas(schedule, "schedule")), dtype=np.float64))
