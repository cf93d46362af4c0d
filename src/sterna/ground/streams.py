"""Random numbers as a function of (seed, copy, round, scan, replica), never as a state that is carried on.

A key passes through a full 64-bit mixer in two lanes and becomes the state of an SFC64 generator. The
same memory serves NumPy's `Generator`, whose distributions draw from the same stream.
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

# What a key is for: these keep swap decisions and coins apart from the replicas' streams.
_SWAP = np.uint64(1 << 62)
_COIN = np.uint64(1 << 63)


# Compiled functions know a stream by the pointer to its words; NumPy's generator shares the memory.
Stream: TypeAlias = WordPointer

# The two lanes into which the numbers that key a stream are mixed.
Key: TypeAlias = tuple[np.uint64, np.uint64]


def new_generator() -> tuple[WordArray, np.random.Generator]:
    """Make a stream's words, and NumPy's generator on the same memory. `start_stream` must key it before use.

    One stream serves one thread.
    """
    bit_generator = np.random.SFC64(0)
    memory = (ctypes.c_uint64 * 5).from_address(bit_generator.ctypes.state_address)
    # numpy's sfc64_state: four words, then a 32-bit buffer flag and its value
    return np.ctypeslib.as_array(memory), np.random.Generator(bit_generator)


@compiled
def mix(word: np.uint64) -> np.uint64:
    """Mix 64 bits (the finaliser of SplitMix64): every input bit moves every output bit."""
    word = (word ^ (word >> np.uint64(30))) * _FACTOR_1
    word = (word ^ (word >> np.uint64(27))) * _FACTOR_2
    return word ^ (word >> np.uint64(31))


@compiled
def absorb(lanes: Key, value: int | np.uint64) -> Key:
    """Mix one more number into a key of two lanes."""
    number = np.uint64(value)
    return (
        mix(lanes[0] + _GOLDEN * (number + np.uint64(1))),
        mix(lanes[1] ^ (_LANE * (number + np.uint64(1)))) + lanes[0],
    )


@compiled
def scan_key(seed: int, copy: int, round_number: int, scan: int) -> Key:
    """Key of one scan, from which those of its replicas, swaps and coin follow."""
    lanes = (mix(np.uint64(seed) + _GOLDEN), mix(np.uint64(seed) ^ _LANE))
    lanes = absorb(lanes, copy)
    lanes = absorb(lanes, round_number)
    return absorb(lanes, scan)


@compiled
def start_stream(words: Stream, key: Key, replica: int) -> None:
    """Set the stream to its beginning for one replica of the scan `key`."""
    lanes = absorb(key, replica)
    words[0] = mix(lanes[0])
    words[1] = mix(lanes[1])
    words[2] = mix(lanes[0] ^ (lanes[1] << np.uint64(1)))
    words[3] = np.uint64(1)
    words[4] = np.uint64(0)


@compiled
def swap_uniform(key: Key, pair: int) -> float:
    """Return the number in [0, 1) that decides the swap of chains `pair` and `pair + 1` at this scan."""
    lanes = absorb(key, _SWAP + np.uint64(pair))
    return float((lanes[0] ^ lanes[1]) >> np.uint64(11)) * _TO_UNIT


@compiled
def coin(key: Key) -> int:
    """SEO's fair coin of this scan: 0 for even pairs, 1 for odd ones."""
    lanes = absorb(key, _COIN)
    return 1 if (lanes[0] ^ lanes[1]) >> np.uint64(63) else 0


@compiled
def uniform(words: Stream) -> float:
    """Draw from [0, 1): one SFC64 step, the same bits as `generator.random()` and three times as fast."""
    result = words[0] + words[1] + words[3]
    words[3] += np.uint64(1)
    words[0] = words[1] ^ (words[1] >> np.uint64(11))
    words[1] = words[2] + (words[2] << np.uint64(3))
    words[2] = ((words[2] << np.uint64(24)) | (words[2] >> np.uint64(40))) + result
    return float(result >> np.uint64(11)) * _TO_UNIT


@compiled
def exponential(stream: Stream) -> float:
    """Draw from the exponential distribution of mean 1; finite, as 1 - u is never 0."""
    return -math.log(1.0 - uniform(stream))


@compiled
def fill_normals(numbers: FloatPointer, count: int, stream: Stream) -> None:
    """Write independent standard normal numbers, two at a time (Box and Muller 1958)."""
    for k in range(0, count, 2):
        radius = math.sqrt(2.0 * exponential(stream))
        angle = 2.0 * math.pi * uniform(stream)
        numbers[k] = radius * math.cos(angle)
        if k + 1 < count:
            numbers[k + 1] = radius * math.sin(angle)


@compiled
def standard_normal(stream: Stream) -> float:
    """Draw one standard normal number."""
    return math.sqrt(2.0 * exponential(stream)) * math.cos(2.0 * math.pi * uniform(stream))
