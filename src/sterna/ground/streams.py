"""Random numbers as a function of (seed, copy, round, scan, replica), without a state that is carried along.

A key passes through a full 64-bit mixer in two lanes and becomes the state of an SFC64 generator. NumPy's `Generator`
is made on the same memory, so that NumPy's distributions draw from the same stream.
"""

import ctypes
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numba import types
from numba.core import cgutils

from sterna.ground.compilation import WORDS, compiled, intrinsic
from sterna.types import FloatPointer, WordArray, WordPointer

# NumPy's generator in compiled code, and the part of it that draws.
GENERATOR = types.NumPyRandomGeneratorType("NumPyRandomGeneratorType")
_BITS = types.NumPyRandomBitGeneratorType("bit_generator")

# NumPy's sfc64_state: four words, then a 32-bit buffer flag and its value. In a stream of the engine, the addresses of
# the functions by which NumPy's generator draws from that state come after it.
N_STATE = 5

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LANE = np.uint64(0xD1B54A32D192ED03)
_FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
_FACTOR_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / 9007199254740992.0

# These numbers keep the keys of swap decisions and coins apart from those of replicas.
_SWAP = np.uint64(1 << 62)
_COIN = np.uint64(1 << 63)


# In compiled functions a stream is the pointer to its words.
Stream: TypeAlias = WordPointer

# The two lanes into which the numbers that key a stream are mixed.
Key: TypeAlias = tuple[np.uint64, np.uint64]


def new_stream() -> WordArray:
    """Return the words of a new stream, from which compiled code draws by itself or by NumPy's generator.

    `start_stream` must key it before use. A stream must not be shared between threads. The engine takes these words and
    not a `Generator`, which Numba would take apart in Python at every call: an exception there, such as that of Ctrl-C,
    would crash the process.
    """
    return np.array([0] * N_STATE + drawing_functions(), dtype=np.uint64)


@cache
def drawing_functions() -> list[int]:
    """Return the addresses of the functions that draw from an SFC64 state, which all generators share."""
    interface = np.random.SFC64(0).ctypes
    functions = (interface.next_uint64, interface.next_uint32, interface.next_double)
    return [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]


def new_generator() -> tuple[WordArray, np.random.Generator]:
    """Return NumPy's generator, and the words of its state, which lie in its memory.

    `start_stream` must key it before use. The words must not be used after the generator is gone.
    """
    bit_generator = np.random.SFC64(0)
    memory = (ctypes.c_uint64 * N_STATE).from_address(bit_generator.ctypes.state_address)
    return np.ctypeslib.as_array(memory), np.random.Generator(bit_generator)


class _Thread(threading.local):
    """Generators of this thread that are not in use; several functions may be running, each in a greenlet."""

    def __init__(self) -> None:
        self.free: list[tuple[WordArray, np.random.Generator]] = []


_thread = _Thread()


@contextmanager
def generator_in_python(stream: WordArray) -> Iterator[np.random.Generator]:
    """Lend Python a generator that continues a stream; afterwards the stream continues where the generator stopped.

    The stream's own memory belongs to the run, and a user may keep the generator for longer.
    """
    lent = words, generator = _thread.free.pop() if _thread.free else new_generator()
    words[:] = stream[:N_STATE]
    try:
        yield generator
        stream[:N_STATE] = words
    finally:
        _thread.free.append(lent)


@intrinsic
def generator_on(
    typing_context: object, stream: object, next_64: object, next_32: object, next_double: object
) -> object:
    """Return NumPy's generator in its compiled form, which draws from a stream and has no Python object."""

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        return _generator(context, builder, values[0], values[1:])

    return GENERATOR(*[types.int64] * 4), generate


@intrinsic
def generator_of(typing_context: object, stream: object) -> object:
    """Return NumPy's generator, in its compiled form, on a stream of the engine."""

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        words = values[0]
        places = [cgutils.gep_inbounds(builder, words, N_STATE + k) for k in range(3)]
        state = builder.ptrtoint(words, context.get_value_type(types.int64))
        return _generator(context, builder, state, [builder.load(place) for place in places])

    return GENERATOR(WORDS), generate


def _generator(context: Any, builder: Any, state: object, functions: Sequence[object]) -> object:
    """Return the LLVM value of a generator."""
    bits = cgutils.create_struct_proxy(_BITS)(context, builder)
    bits.state_address = bits.state = state
    bits.fnptr_next_uint64, bits.fnptr_next_uint32, bits.fnptr_next_double = functions
    made = cgutils.create_struct_proxy(GENERATOR)(context, builder)
    made.bit_generator = bits._getvalue()
    return made._getvalue()


@intrinsic
def state_address(typing_context: object, generator: object) -> object:
    """Return the address of the state from which a generator in its compiled form draws."""

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        made = cgutils.create_struct_proxy(GENERATOR)(context, builder, value=values[0])
        return cgutils.create_struct_proxy(_BITS)(context, builder, value=made.bit_generator).state_address

    return types.int64(GENERATOR), generate


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
