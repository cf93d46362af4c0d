"""Compile the hand-written C programs and pass NumPy arrays to them."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
# Strict C99 does not fuse multiplication and addition, and neither does Numba: the sums agree to the last bit. Fused,
# the sum of d squares would be a chain of d fused operations, which take longer than additions.
FLAGS = ["-std=c99", "-O3", "-march=native", "-Wall", "-Wextra", "-pedantic", "-shared", "-fPIC"]


def build(source: str, **constants: int) -> ctypes.CDLL:
    """Compile a file of `limit/` with constants such as DIMENSION, and load it."""
    folder = HERE / "build"
    folder.mkdir(exist_ok=True)
    label = "_".join(f"{name.lower()}{value}" for name, value in constants.items())
    library = folder / f"{source}_{label}.so"
    definitions = [f"-D{name}={value}" for name, value in constants.items()]
    subprocess.run(
        ["gcc", *FLAGS, *definitions, str(HERE / "limit" / f"{source}.c"), "-o", str(library), "-lm"], check=True
    )
    return ctypes.CDLL(str(library))


def address(array: Any) -> ctypes.c_void_p:
    """Return a pointer to an array's memory, which the caller must keep alive."""
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def integer(value: int) -> ctypes.c_int64:
    """Return an integer of the type that all C programs here use."""
    return ctypes.c_int64(value)


class Round(ctypes.Structure):
    """`struct round` of limit/normal.c."""

    _NUMBERS = ("chains", "n_scans", "batches", "seed", "copy", "number")
    _ARRAYS = (
        "schedule", "widths", "doublings", "pivot", "centre", "states", "log_densities", "chain_of", "replica_of",
        "leg", "accepted", "before", "statistics", "rejection", "second_rejection", "stone_scale", "stone_sum",
        "bridge", "moments", "zeros", "trips", "positions", "draws", "log_likelihood", "energies", "within", "scale",
        "height",
    )  # fmt: skip
    _fields_ = [(name, ctypes.c_int64) for name in _NUMBERS] + [(name, ctypes.c_void_p) for name in _ARRAYS]


def ziggurat() -> dict[str, Any]:
    """NumPy's ziggurat tables of the normal distribution, from Numba."""
    from numba.np.random import _constants

    within = np.ascontiguousarray(_constants.ki_double, dtype=np.uint64)
    return {"within": within, "scale": _constants.wi_double, "height": _constants.fi_double}


def make_round(numbers: dict[str, int], arrays: dict[str, Any]) -> Round:
    """Fill `struct round`; the arrays must outlive it."""
    return Round(**numbers, **{name: address(arrays[name]) for name in Round._ARRAYS})
