"""Runs that pause at the end of a block, are taken apart into arrays and JSON, and go on elsewhere."""

import json

import numpy as np

from sterna.run.serialization import put_together, take_apart
from sterna.run.state import RunState


def pause_after(block_ends):
    """Return a pause at the end of so many blocks, counted over all copies and rounds."""
    left = [block_ends]

    def pause(scans_done):
        left[0] -= 1
        return left[0] <= 0

    return pause


def save(state, folder):
    """Write a state as JSON and arrays."""
    assert isinstance(state, RunState)
    document, arrays = take_apart(state)
    (folder / "state.json").write_text(json.dumps(document, allow_nan=False))
    np.savez(folder / "arrays.npz", **arrays)


def load(folder):
    """Read a state; nothing is unpickled."""
    with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
        return put_together(json.loads((folder / "state.json").read_text()), dict(arrays))
