"""Random streams of theory's simulators: those of the engine, under keys that no run uses."""

import numpy as np

from sterna.ground.compilation import compiled
from sterna.ground.streams import Stream, new_generator, scan_key, start_stream
from sterna.theory.checks import check_whole

# In place of a round's number, which in a run stays far below.
_FIRST = 1 << 40
INDEX_PROCESS, ROUND_TRIPS, SCALED_INDEX_PROCESS, PIECEWISE_DETERMINISTIC, BROWNIAN_MOTION = range(_FIRST, _FIRST + 5)


@compiled
def _start(words: Stream, seed: int, purpose: int) -> None:
    # in one compiled piece, as a key of two unsigned words does not survive the way through Python
    start_stream(words, scan_key(seed, 0, purpose, 0), 0)


def new_stream(seed: int, purpose: int) -> tuple[Stream, np.random.Generator]:
    """Return the stream's words for compiled code, and NumPy's generator that draws from the same ones."""
    words, generator = new_generator()
    _start(words, check_whole("seed", seed, 0, "give a whole number from 0"), purpose)
    return words, generator
