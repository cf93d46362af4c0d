"""The scaled index process W(t) = I_M(t) / N, where M is a Poisson process (paper, section on scaling limits).

A unit of time has mu_N = N scans for DEO and N^2 for SEO. Starts are rounded to the nearest chain. The paper extends
the process to all of [0, 1] and reflects it at the ends immediately; here a replica waits one scan at an end, as it
does in parallel tempering.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.engine.schemes import find_scheme
from sterna.errors import OptionError
from sterna.ground.compilation import compiled
from sterna.ground.numbers import machine_memory
from sterna.ground.streams import Stream
from sterna.theory.checks import check_direction, check_start, check_time, check_whole
from sterna.theory.index_process import STEPS_PER_CALL, padded_acceptance, step, walk
from sterna.theory.poisson import poisson_probabilities
from sterna.theory.streams import SCALED_INDEX_PROCESS, new_stream
from sterna.types import FloatArray, IntArray


class ScaledPath(NamedTuple):
    """A path over scaled time, given at the times of its events.

    Examples
    --------
    >>> path = scaled_index_path([0.1] * 20, time=1.0)
    >>> len(path.time) == len(path.place) == len(path.direction)
    True
    """

    time: FloatArray
    place: FloatArray
    direction: NDArray[np.int8]


@compiled
def walk_to_ends(
    scheme: int, chain: int, up: int, acceptance: FloatArray, words: Stream, scans: IntArray, ends: IntArray
) -> None:
    """Write the chain of each path after its number of scans."""
    for path in range(scans.size):
        at, upward = chain, up
        for _ in range(scans[path]):
            at, upward = step(scheme, at, upward, acceptance, words)
        ends[path] = at


@compiled
def spread(persistence: float, before: FloatArray, acceptance: FloatArray, after: FloatArray) -> None:
    """Advance a distribution over (chain, direction) by one scan; the second index is 1 for up."""
    last = acceptance.size - 2
    for chain in range(last + 1):
        after[chain, 0] = (1.0 - acceptance[chain + 1]) * before[chain, 1]
        after[chain, 1] = (1.0 - acceptance[chain]) * before[chain, 0]
        if chain < last:
            after[chain, 0] += acceptance[chain + 1] * before[chain + 1, 0]
        if chain > 0:
            after[chain, 1] += acceptance[chain] * before[chain - 1, 1]
        if persistence < 1.0:
            down, up = after[chain, 0], after[chain, 1]
            after[chain, 0] = persistence * down + (1.0 - persistence) * up
            after[chain, 1] = persistence * up + (1.0 - persistence) * down


@compiled
def mix_distributions(
    persistence: float,
    current: FloatArray,
    acceptance: FloatArray,
    following: FloatArray,
    probabilities: FloatArray,
    mixed: FloatArray,
) -> None:
    """Add up the distributions after 0, 1, 2, ... scans, weighted by their probabilities (uniformisation)."""
    for scans in range(probabilities.size):
        for chain in range(mixed.size):
            mixed[chain] += probabilities[scans] * (current[chain, 0] + current[chain, 1])
        spread(persistence, current, acceptance, following)
        current, following = following, current


def scans_per_time(n_chains: int, scheme: str) -> int:
    """mu_N: scans per unit of scaled time, N for DEO and N^2 for SEO.

    Examples
    --------
    >>> scans_per_time(11, "deo"), scans_per_time(11, "seo")
    (10, 100)
    """
    last = check_whole("n_chains", n_chains, 2, "there must be at least 2 chains, the reference and the target") - 1
    return find_scheme(scheme).scans_per_time(last)


def _nearest_chain(start: float, acceptance: FloatArray) -> int:
    return round(check_start(start) * (acceptance.size - 2))


def scaled_index_path(
    rejection: ArrayLike, time: float, start: float = 0.0, direction: int = 1, scheme: str = "deo", seed: int = 1
) -> ScaledPath:
    """Simulate one path from the chain nearest to `start`: the times of its scans, and its position after each.

    Examples
    --------
    >>> path = scaled_index_path([0.1] * 20, time=3.0)
    >>> float(path.time[0]), float(path.place[0]), float(path.time[-1])
    (0.0, 0.0, 3.0)
    """
    acceptance = padded_acceptance(rejection)
    words, generator = new_stream(seed, SCALED_INDEX_PROCESS)
    until = check_time(time)
    expected = scans_per_time(acceptance.size - 1, scheme) * until
    if 21.0 * expected > machine_memory():
        raise OptionError(f"time={time!r}: a path of about {expected:.2g} scans does not fit in memory; simulate less.")
    scans = int(generator.poisson(expected))
    times = np.sort(generator.random(scans)) * until
    chains, directions = np.empty(scans + 1, dtype=np.int32), np.empty(scans + 1, dtype=np.int8)
    chain, up = _nearest_chain(start, acceptance), check_direction(direction)
    walk(find_scheme(scheme).code, chain, up, acceptance, words, chains, directions)
    # the last state lasts until the end
    positions = np.append(chains, chains[-1]) / (acceptance.size - 2)
    return ScaledPath(np.concatenate([[0.0], times, [until]]), positions, np.append(directions, directions[-1]))


def scaled_index_ends(
    rejection: ArrayLike,
    time: float,
    n_paths: int,
    start: float = 0.0,
    direction: int = 1,
    scheme: str = "deo",
    seed: int = 1,
) -> FloatArray:
    """Simulate many paths from the chain nearest to `start` and return their positions at `time`.

    Examples
    --------
    >>> scaled_index_ends([0.1] * 20, time=0.0, n_paths=3, start=0.5)
    array([0.5, 0.5, 0.5])
    """
    acceptance = padded_acceptance(rejection)
    size = check_whole("n_paths", n_paths, 1, "give the number of paths, at least 1", bytes_each=16)
    words, generator = new_stream(seed, SCALED_INDEX_PROCESS)
    expected = scans_per_time(acceptance.size - 1, scheme) * check_time(time)
    scans = generator.poisson(expected, size)
    ends = np.empty(size, dtype=np.int64)
    chain, up = _nearest_chain(start, acceptance), check_direction(direction)
    paths_per_call = max(1, int(STEPS_PER_CALL / (expected + 1)))
    for first in range(0, size, paths_per_call):
        part = slice(first, first + paths_per_call)
        walk_to_ends(find_scheme(scheme).code, chain, up, acceptance, words, scans[part], ends[part])
    return ends / (acceptance.size - 2)


def scaled_index_law(
    rejection: ArrayLike, time: float, start: float = 0.0, direction: int = 1, scheme: str = "deo"
) -> FloatArray:
    """Exact probabilities of the positions 0, 1/N, ..., 1 at `time`, without simulation.

    Examples
    --------
    >>> scaled_index_law([0.5, 0.5], time=50.0).round(6)
    array([0.333333, 0.333333, 0.333333])
    """
    acceptance = padded_acceptance(rejection)
    probabilities = poisson_probabilities(scans_per_time(acceptance.size - 1, scheme) * check_time(time))
    start_distribution = np.zeros((acceptance.size - 1, 2))
    start_distribution[_nearest_chain(start, acceptance), check_direction(direction)] = 1.0
    mixed = np.zeros(acceptance.size - 1)
    following = np.empty_like(start_distribution)
    mix_distributions(find_scheme(scheme).persistence, start_distribution, acceptance, following, probabilities, mixed)
    return mixed
