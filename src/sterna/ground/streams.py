"""Random numbers as a function of (seed, copy, round, scan, replica), without a state that is carried along.

A key passes through a full 64-bit mixer in two lanes and becomes the state of an SFC64 generator. NumPy's `Generator`
shares its memory, so that NumPy's distributions draw from the same stream.
"""

import ctypes
import math
from typing import TypeAlias

import numpy as np

from sterna.ground.compilation import compiled
from sterna.types import FloatPointer, WordArray, WordPointer

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LANE = np.uint64(0xD1B54A32D192ED03)
_FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
_FACTOR_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / 9007199254740992.0

# These numbers keep the keys of swap decisions and coins apart from those of replicas.
_SWAP = np.uint64(1 << 62)
_COIN = np.uint64(1 << 63)


# In compiled functions a stream is the pointer to its words, which NumPy's generator shares.
Stream: TypeAlias = WordPointer

# The two lanes into which the numbers that key a stream are mixed.
Key: TypeAlias = tuple[np.uint64, np.uint64]


def new_generator() -> tuple[WordArray, np.random.Generator]:
    """Return the words of a new stream, and NumPy's generator on the same memory.

    `start_stream` must key it before use. A stream must not be shared between threads.
    """
    bit_generator = np.random.SFC64(0)
    memory = (ctypes.c_uint64 * 5).from_address(bit_generator.ctypes.state_address)
    # numpy's sfc64_state: four words, then a 32-bit buffer flag and its value
    return np.ctypeslib.as_array(memory), np.random.Generator(bit_generator)


@compiled
def mix(word: np.uint64) -> np.uint64:
    """Mix 64 bits (the finaliser of SplitMix64), so that every output bit depends on every input bit."""
    word = (word ^ (word >> np.uint64(30))) * _FACTOR_1
    word = (word ^ (word >> np.uint64(27))) * _FACTOR_2
    return word ^ (word >> np.uint64(31))


@compiled
def absorb(lanes: Key, value: int | np.uint64) -> Key:
    """Mix another number into a key."""
    number = np.uint64(value)
    return (
        mix(lanes[0] + _GOLDEN * (number + np.uint64(1))),
        mix(lanes[1] ^ (_LANE * (number + np.uint64(1)))) + lanes[0],
    )


@compiled
def scan_key(seed: int, copy: int, round_number: int, scan: int) -> Key:
    """Return the key of a scan, from which those of its replicas, swaps and coin are derived."""
    lanes = (mix(np.uint64(seed) + _GOLDEN), mix(np.uint64(seed) ^ _LANE))
    lanes = absorb(lanes, copy)
    lanes = absorb(lanes, round_number)
    return absorb(lanes, scan)


@compiled
def start_stream(words: Stream, key: Key, replica: int) -> None:
    """Set a stream to its beginning for one replica of the scan with the given key."""
    lanes = absorb(key, replica)
    words[0] = mix(lanes[0])
    words[1] = mix(lanes[1])
    words[2] = mix(lanes[0] ^ (lanes[1] << np.uint64(1)))
    words[3] = np.uint64(1)
    words[4] = np.uint64(0)


@compiled
def swap_uniform(key: Key, pair: int) -> float:
    """Return the number in [0, 1) that decides the swap of chains `pair` and `pair + 1` in this scan."""
    lanes = absorb(key, _SWAP + np.uint64(pair))
    return float((lanes[0] ^ lanes[1]) >> np.uint64(11)) * _TO_UNIT


@compiled
def coin(key: Key) -> int:
    """Return the fair coin of this scan, 0 or 1."""
    lanes = absorb(key, _COIN)
    return 1 if (lanes[0] ^ lanes[1]) >> np.uint64(63) else 0


@compiled
def uniform(words: Stream) -> float:
    """Draw from [0, 1): one SFC64 step, with the same bits as `generator.random()` but three times as fast."""
    result = words[0] + words[1] + words[3]
    words[3] += np.uint64(1)
    words[0] = words[1] ^ (words[1] >> np.uint64(11))
    words[1] = words[2] + (words[2] << np.uint64(3))
    words[2] = ((words[2] << np.uint64(24)) | (words[2] >> np.uint64(40))) + result
    return float(result >> np.uint64(11)) * _TO_UNIT


@compiled
def exponential(stream: Stream) -> float:
    """Draw from the exponential distribution with mean 1; finite, because 1 - u is never 0."""
    return -math.log(1.0 - uniform(stream))


@compiled
def fill_normals(values: FloatPointer, count: int, stream: Stream) -> None:
    """Write independent standard normal draws, two at a time (Box and Muller 1958)."""
    for k in range(0, count, 2):
        radius = math.sqrt(2.0 * exponential(stream))
        angle = 2.0 * math.pi * uniform(stream)
        values[k] = radius * math.cos(angle)
        if k + 1 < count:
            values[k + 1] = radius * math.sin(angle)


@compiled
def standard_normal(stream: Stream) -> float:
    """Draw from the standard normal distribution."""
    return math.sqrt(2.0 * exponential(stream)) * math.cos(2.0 * math.pi * uniform(stream))
