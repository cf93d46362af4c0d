"""The scaled index process W(t) = I_M(t) / N, where M is a Poisson process (paper, section on scaling limits).

A unit of time has mu_N = N scans for DEO and N^2 for SEO. Starts are moved to the nearest chain. The paper extends the
process to all of [0, 1] and there reflects it at an end at once; here a replica waits a scan at an end, as it does in
parallel tempering.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.engine.schemes import find_scheme
from sterna.ground.compilation import compiled
from sterna.theory.checks import check_direction, check_start, check_time, check_whole
from sterna.theory.index_process import STEPS_AT_ONCE, padded_acceptance, step, walk
from sterna.theory.poisson import poisson_chances
from sterna.theory.streams import SCALED_INDEX_PROCESS, new_stream
from sterna.types import FloatArray


class ScaledPath(NamedTuple):
    """A path over scaled time, by the moments at which something happens."""

    time: FloatArray
    place: FloatArray
    direction: NDArray[np.int8]


@compiled
def walk_to_ends(scheme: int, chain: int, up: int, acceptance: FloatArray, words: Any, scans: Any, ends: Any) -> None:
    """Write the chain in which each path is after its number of scans."""
    for path in range(scans.size):
        at, upward = chain, up
        for _ in range(scans[path]):
            at, upward = step(scheme, at, upward, acceptance, words)
        ends[path] = at


@compiled
def spread(persistence: float, law: FloatArray, acceptance: FloatArray, after: FloatArray) -> None:
    """Advance by one scan a distribution over (chain, direction), of which the second index is 1 for up."""
    last = acceptance.size - 2
    for chain in range(last + 1):
        after[chain, 0] = (1.0 - acceptance[chain + 1]) * law[chain, 1]
        after[chain, 1] = (1.0 - acceptance[chain]) * law[chain, 0]
        if chain < last:
            after[chain, 0] += acceptance[chain + 1] * law[chain + 1, 0]
        if chain > 0:
            after[chain, 1] += acceptance[chain] * law[chain - 1, 1]
        if persistence < 1.0:
            down, up = after[chain, 0], after[chain, 1]
            after[chain, 0] = persistence * down + (1.0 - persistence) * up
            after[chain, 1] = persistence * up + (1.0 - persistence) * down


@compiled
def mix_laws(
    persistence: float,
    law: FloatArray,
    acceptance: FloatArray,
    spare: FloatArray,
    chances: FloatArray,
    mixed: FloatArray,
) -> None:
    """Add up the laws after 0, 1, 2, ... scans, each with its chance (uniformisation)."""
    for scans in range(chances.size):
        for chain in range(mixed.size):
            mixed[chain] += chances[scans] * (law[chain, 0] + law[chain, 1])
        spread(persistence, law, acceptance, spare)
        law, spare = spare, law


def scans_per_time(n_chains: int, scheme: str) -> int:
    """mu_N: scans in a unit of scaled time, N for DEO and N^2 for SEO.

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
    """Simulate one path from the chain nearest to `start`: the times of its scans, and where it is after each of them.

    Examples
    --------
    >>> path = scaled_index_path([0.1] * 20, time=3.0)
    >>> float(path.time[0]), float(path.place[0]), float(path.time[-1])
    (0.0, 0.0, 3.0)
    """
    acceptance = padded_acceptance(rejection)
    words, generator = new_stream(seed, SCALED_INDEX_PROCESS)
    until = check_time(time)
    scans = int(generator.poisson(scans_per_time(acceptance.size - 1, scheme) * until))
    times = np.sort(generator.random(scans)) * until
    chains, directions = np.empty(scans + 1, dtype=np.int32), np.empty(scans + 1, dtype=np.int8)
    chain, up = _nearest_chain(start, acceptance), check_direction(direction)
    walk(find_scheme(scheme).code, chain, up, acceptance, words, chains, directions)
    # the last state lasts until the end
    places = np.append(chains, chains[-1]) / (acceptance.size - 2)
    return ScaledPath(np.concatenate([[0.0], times, [until]]), places, np.append(directions, directions[-1]))


def scaled_index_ends(
    rejection: ArrayLike,
    time: float,
    n_paths: int,
    start: float = 0.0,
    direction: int = 1,
    scheme: str = "deo",
    seed: int = 1,
) -> FloatArray:
    """Simulate many paths from the chain nearest to `start` and return where they are at `time`.

    Examples
    --------
    >>> scaled_index_ends([0.1] * 20, time=0.0, n_paths=3, start=0.5)
    array([0.5, 0.5, 0.5])
    """
    acceptance = padded_acceptance(rejection)
    size = check_whole("n_paths", n_paths, 1, "give the number of paths, at least 1")
    words, generator = new_stream(seed, SCALED_INDEX_PROCESS)
    expected = scans_per_time(acceptance.size - 1, scheme) * check_time(time)
    scans = generator.poisson(expected, size)
    ends = np.empty(size, dtype=np.int64)
    chain, up = _nearest_chain(start, acceptance), check_direction(direction)
    paths_at_once = max(1, int(STEPS_AT_ONCE / (expected + 1)))
    for first in range(0, size, paths_at_once):
        part = slice(first, first + paths_at_once)
        walk_to_ends(find_scheme(scheme).code, chain, up, acceptance, words, scans[part], ends[part])
    return ends / (acceptance.size - 2)


def scaled_index_law(
    rejection: ArrayLike, time: float, start: float = 0.0, direction: int = 1, scheme: str = "deo"
) -> FloatArray:
    """Exact probabilities of the places 0, 1/N, ..., 1 at `time`, without simulation.

    Examples
    --------
    >>> scaled_index_law([0.5, 0.5], time=50.0).round(6)
    array([0.333333, 0.333333, 0.333333])
    """
    acceptance = padded_acceptance(rejection)
    chances = poisson_chances(scans_per_time(acceptance.size - 1, scheme) * check_time(time))
    law = np.zeros((acceptance.size - 1, 2))
    law[_nearest_chain(start, acceptance), check_direction(direction)] = 1.0
    mixed = np.zeros(acceptance.size - 1)
    mix_laws(find_scheme(scheme).persistence, law, acceptance, np.empty_like(law), chances, mixed)
    return mixed
