"""Random streams of theory's simulators: the engine's streams, with keys that no run uses."""

import numpy as np

from sterna.ground.compilation import compiled
from sterna.ground.streams import Stream, new_generator, scan_key, start_stream
from sterna.theory.checks import check_whole

# The purpose of a stream takes the place of a round's number, which in a run stays far below.
_FIRST_PURPOSE = 1 << 40
INDEX_PROCESS = _FIRST_PURPOSE
ROUND_TRIPS = _FIRST_PURPOSE + 1
SCALED_INDEX_PROCESS = _FIRST_PURPOSE + 2
PIECEWISE_DETERMINISTIC = _FIRST_PURPOSE + 3
BROWNIAN_MOTION = _FIRST_PURPOSE + 4


@compiled
def _start(words: Stream, seed: int, purpose: int) -> None:
    # in one compiled function, because a key of two unsigned words cannot be passed through Python
    start_stream(words, scan_key(seed, 0, purpose, 0), 0)


def new_stream(seed: int, purpose: int) -> tuple[Stream, np.random.Generator]:
    """Return the stream's words for compiled code, and a NumPy generator that draws from the same stream."""
    words, generator = new_generator()
    _start(words, check_whole("seed", seed, 0, "give an integer of at least 0"), purpose)
    return words, generator
