"""The index process as a Markov chain (paper, appendix on its kernel), simulated.

Under efficient local exploration the chain and direction of one replica, (I, epsilon), are themselves a Markov chain,
which depends on the target only through the rejections.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.engine.schemes import find_scheme, next_direction
from sterna.errors import OptionError
from sterna.ground.compilation import compiled
from sterna.ground.streams import Stream, uniform
from sterna.theory.checks import check_direction, check_rejection, check_whole
from sterna.theory.rates import expected_round_trip_time
from sterna.theory.streams import INDEX_PROCESS, ROUND_TRIPS, new_stream
from sterna.types import FloatArray, IntArray

# Steps per call of compiled code, about one second, so that a long simulation can be interrupted.
STEPS_PER_CALL = 2e8


@compiled
def step(scheme: int, chain: int, up: int, acceptance: FloatArray, words: Stream) -> tuple[int, int]:
    """Advance by one scan: propose the neighbour in the direction `up` (1 or 0), then choose the next direction.

    `acceptance[chain]` belongs to the pair below the chain and `acceptance[chain + 1]` to the pair above it; it is 0
    beyond both ends.
    """
    accepted = 1 if uniform(words) < acceptance[chain + up] else 0
    chain += accepted * (2 * up - 1)
    return chain, next_direction(scheme, up, accepted, words)


@compiled
def walk(
    scheme: int,
    chain: int,
    up: int,
    acceptance: FloatArray,
    words: Stream,
    chains: NDArray[np.int32],
    directions: NDArray[np.int8],
) -> None:
    """Write the path of `chains.size - 1` steps, including its start."""
    chains[0], directions[0] = chain, 2 * up - 1
    for n in range(1, chains.size):
        chain, up = step(scheme, chain, up, acceptance, words)
        chains[n], directions[n] = chain, 2 * up - 1


@compiled
def travel(scheme: int, acceptance: FloatArray, words: Stream, restart_times: IntArray, times: IntArray) -> None:
    """Simulate `times.size` round trips, each from an arrival at the reference, via the target, to the next arrival."""
    last = acceptance.size - 2
    for trip in range(times.size):
        # a replica arrives at the reference by a swap downwards
        chain, up, clock = 0, next_direction(scheme, 0, 1, words), 0
        while chain < last:
            chain, up = step(scheme, chain, up, acceptance, words)
            clock += 1
        restart_times[trip] = clock
        while chain > 0:
            chain, up = step(scheme, chain, up, acceptance, words)
            clock += 1
        times[trip] = clock


def padded_acceptance(rejection: ArrayLike) -> FloatArray:
    """Acceptance probabilities, with a 0 beyond each end, where there is no chain to swap with."""
    return np.pad(1.0 - check_rejection(rejection), 1)


class IndexPath(NamedTuple):
    """The path of one replica: chains from 0 to N, and the direction, -1 or 1, of each next proposal.

    Examples
    --------
    >>> path = simulate_index_process([0.0, 0.0], 3)
    >>> path.chain, path.direction  # up to the last chain, where the direction changes
    (array([0, 1, 2, 2], dtype=int32), array([ 1,  1,  1, -1], dtype=int8))
    """

    chain: NDArray[np.int32]
    direction: NDArray[np.int8]


def simulate_index_process(
    rejection: ArrayLike, n_scans: int, scheme: str = "deo", start: int = 0, direction: int = 1, seed: int = 1
) -> IndexPath:
    """Simulate the path of one replica; its first entry is the chain `start`.

    Examples
    --------
    >>> simulate_index_process([0.0, 0.0], 6).chain
    array([0, 1, 2, 2, 1, 0, 0], dtype=int32)
    """
    acceptance = padded_acceptance(rejection)
    size = check_whole("n_scans", n_scans, 0, "give the number of scans, at least 0", bytes_each=5)
    chain = check_whole("start", start, 0, "give the number of a chain, from 0")
    if chain > acceptance.size - 2:
        raise OptionError(f"start={start}: there are {acceptance.size - 1} chains; give an integer below that.")
    path = IndexPath(np.empty(size + 1, dtype=np.int32), np.empty(size + 1, dtype=np.int8))
    words, _ = new_stream(seed, INDEX_PROCESS)
    walk(find_scheme(scheme).code, chain, check_direction(direction), acceptance, words, path.chain, path.direction)
    return path


@dataclass(frozen=True)
class RoundTrips:
    """Lengths of independent round trips of one replica, in scans.

    Examples
    --------
    >>> trips = simulate_round_trips([0.0, 0.0], 100)  # nothing is rejected, so all trips take the same time
    >>> trips.round_trips, trips.mean, trips.error
    (100, 6.0, 0.0)
    """

    n_chains: int
    restart_times: IntArray
    """Scans from the reference to the target, the first leg of each trip."""
    times: IntArray
    """Scans from the reference to the target and back."""

    @property
    def round_trips(self) -> int:
        """The number of round trips; each contains one restart."""
        return len(self.times)

    @property
    def scans(self) -> int:
        """The total number of scans."""
        return int(self.times.sum())

    @property
    def mean(self) -> float:
        """Estimate of E[T]; unbiased, because the number of trips was fixed, not the number of scans."""
        return float(self.times.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(self.times.std(ddof=1)) / math.sqrt(len(self.times)) if len(self.times) > 1 else math.nan

    @property
    def rate(self) -> float:
        """Round trips per scan of all N + 1 replicas together."""
        return self.n_chains / self.mean


def simulate_round_trips(rejection: ArrayLike, n_trips: int, scheme: str = "deo", seed: int = 1) -> RoundTrips:
    """Simulate round trips of one replica without keeping its path.

    Examples
    --------
    >>> trips = simulate_round_trips([0.5, 0.5, 0.5], 10_000)
    >>> abs(trips.mean - expected_round_trip_time([0.5, 0.5, 0.5])) < 5 * trips.error
    True
    """
    acceptance = padded_acceptance(rejection)
    size = check_whole("n_trips", n_trips, 1, "give the number of round trips, at least 1", bytes_each=16)
    expected = expected_round_trip_time(rejection, scheme)
    if math.isinf(expected):
        pair = int(np.argmax(np.asarray(rejection) >= 1))
        raise OptionError(f"rejection[{pair}] is 1, so no round trip ever ends; give rejections below 1.")
    restart_times, times = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    words, _ = new_stream(seed, ROUND_TRIPS)
    trips_per_call = max(1, int(STEPS_PER_CALL / expected))
    for first in range(0, size, trips_per_call):
        part = slice(first, first + trips_per_call)
        travel(find_scheme(scheme).code, acceptance, words, restart_times[part], times[part])
    return RoundTrips(acceptance.size - 1, restart_times, times)
