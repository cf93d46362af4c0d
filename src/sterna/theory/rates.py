"""Round-trip rates and times (paper, theorem on round trips, its corollary, and the section on tuning N).

All assume efficient local exploration: energies before and after an exploration are independent.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.engine.schemes import find_scheme
from sterna.theory.checks import check_number, check_numbers, check_rejection, check_whole
from sterna.types import FloatArray

_BARRIER_ADVICE = "give a finite, nonnegative number"


def schedule_inefficiency(rejection: ArrayLike) -> float:
    """E, the sum of r / (1 - r) over neighbouring pairs; infinite if some pair always rejects.

    Examples
    --------
    >>> schedule_inefficiency([0.5, 0.2])
    1.25
    """
    probabilities = check_rejection(rejection)
    with np.errstate(divide="ignore"):
        return float(np.sum(probabilities / (1.0 - probabilities)))


def predicted_round_trip_rate(rejection: ArrayLike, scheme: str = "deo") -> float:
    """Round trips per scan of all replicas together: 1/(2 + 2E) for DEO, 1/(2N + 2E) for SEO.

    Examples
    --------
    >>> predicted_round_trip_rate([0.5, 0.5, 0.5], "deo")
    0.125
    """
    inefficiency = schedule_inefficiency(rejection)
    return 1.0 / (2.0 * find_scheme(scheme).travel(np.size(rejection)) + 2.0 * inefficiency)


def expected_round_trip_time(rejection: ArrayLike, scheme: str = "deo") -> float:
    """E[T]: expected scans of one replica from the reference to the target and back, (N + 1) / rate.

    Examples
    --------
    >>> expected_round_trip_time([0.5, 0.5, 0.5], "deo")
    32.0
    >>> expected_round_trip_time([0.5, 0.5, 0.5], "seo")
    48.0
    """
    rate = predicted_round_trip_rate(rejection, scheme)
    return (np.size(rejection) + 1) / rate if rate > 0 else math.inf


def optimal_round_trip_rate(barrier: float, zero_share: float = 0.0) -> float:
    """Upper limit of DEO's rate over all numbers of chains: 1/(2 + 2 Lambda).

    A share r of the reference with zero likelihood is one step that no schedule can divide, so it counts r/(1 - r).

    Examples
    --------
    >>> optimal_round_trip_rate(4.0)
    0.1
    """
    total = check_number("barrier", barrier, 0.0, _BARRIER_ADVICE)
    share = check_number("zero_share", zero_share, 0.0, "give a share of the reference, from 0 to 1", 1.0)
    if share == 1:
        return 0.0
    return 1.0 / (2.0 + 2.0 * (total - share + share / (1.0 - share)))


def optimal_n_chains(barrier: float) -> int:
    """Chains per copy that maximise round trips for a fixed number of cores: N* + 1 with N* = ceil(2 Lambda).

    About half of the swaps are then rejected. There are at least two chains, the reference and the target.

    Examples
    --------
    >>> optimal_n_chains(4.6)
    11
    """
    number = check_number("barrier", barrier, 0.0, _BARRIER_ADVICE)
    return max(2, math.ceil(2.0 * number) + 1)


def optimal_n_copies(barrier: float, cores: int) -> int:
    """Copies of parallel tempering for a number of cores: k* = cores / (N* + 1), rounded down, but at least one.

    Examples
    --------
    >>> optimal_n_copies(4.6, cores=64)
    5
    """
    available = check_whole("cores", cores, 1, "give the number of cores, at least 1")
    return max(1, available // optimal_n_chains(barrier))


def budget_round_trip_rate(barrier: float, n_chains: ArrayLike, cores: float) -> FloatArray:
    """Round trips per scan of all copies that fit on `cores` (paper, equation for tau_Lambda(N)).

    The number of copies, cores / n_chains, is not rounded, and rejections are assumed to be Lambda / N, so the rate is
    0 if N <= Lambda. It is largest at N = 2 Lambda.

    Examples
    --------
    >>> budget_round_trip_rate(5.0, [6, 11, 21], cores=66).round(3)
    array([0.   , 0.273, 0.205])
    """
    total = check_number("barrier", barrier, 0.0, _BARRIER_ADVICE)
    available = check_number("cores", cores, 0.0, "give the number of cores, above 0", above=True)
    chains = check_numbers("n_chains", n_chains, "give numbers of chains")
    for number in chains.flat:
        check_number("n_chains", number, 2.0, "there must be at least 2 chains, the reference and the target")
    accepted = np.maximum(0.0, 1.0 - total / (chains - 1.0))
    # if Lambda = 0, nothing is rejected and the fraction is 1
    return np.asarray(available / (2.0 * chains) * accepted / (accepted + total))
