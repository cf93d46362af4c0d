"""Arrays and a JSON document in one file of the safetensors format, with a checksum.

The format is a length, a header in JSON, and the bytes of the arrays one after another: readable by other tools, and
without anything that could be run. One file, because one rename then makes it whole.
"""

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.errors import StorageError
from sterna.storage.atomic import write_file
from sterna.storage.growing import bytes_of

Arrays = Mapping[str, NDArray[Any]]

# The names of types in this format.
TYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_NAMES = {np.dtype(numpy_name): name for name, numpy_name in TYPES.items()}

# Axes of an array at most; NumPy has no more.
MAX_AXES = 32


def write_tensors(path: Path, document: object, arrays: Arrays) -> str:
    """Write a document and arrays to a file, and return the checksum of both."""
    held = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    for name, array in held.items():
        if array.dtype not in _NAMES:
            raise TypeError(f"{name} has elements of type {array.dtype}, which cannot be written.")
    text = json.dumps(document, allow_nan=False)
    index, start = {}, 0
    for name, array in held.items():
        index[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape)}
        index[name]["data_offsets"] = [start, start + array.nbytes]
        start += array.nbytes
    checksum = _checksum(text, index, [bytes_of(array) for array in held.values()])
    header = json.dumps({"__metadata__": {"document": text, "checksum": checksum}, **index}).encode()
    header += b" " * (-len(header) % 8)
    write_file(path, [struct.pack("<Q", len(header)), header, *map(bytes_of, held.values())])
    return checksum


def read_tensors(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the document and the arrays of a file, which must be whole."""
    try:
        content = path.read_bytes()
        return _parsed(content)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise StorageError(f"{path} is damaged: {error}") from error


def _parsed(content: bytes) -> tuple[Any, dict[str, NDArray[Any]]]:
    if len(content) < 8:
        raise ValueError("it is shorter than its header.")
    (length,) = struct.unpack("<Q", content[:8])
    if length > len(content) - 8:
        raise ValueError("it is shorter than its header.")
    index = json.loads(content[8 : 8 + length])
    metadata, data = index.pop("__metadata__"), memoryview(content)[8 + length :]
    pieces = {name: _piece(name, entry, data) for name, entry in index.items()}
    if sum(piece.nbytes for piece in pieces.values()) != data.nbytes:
        raise ValueError("its arrays are not as long as it says.")
    if _checksum(metadata["document"], index, list(pieces.values())) != metadata["checksum"]:
        raise ValueError("its checksum is another.")
    arrays = {name: _array(index[name], piece) for name, piece in pieces.items()}
    return json.loads(metadata["document"]), arrays


def _piece(name: str, entry: Mapping[str, Any], data: memoryview) -> memoryview:
    """Return the bytes of an array, whose place must fit its shape."""
    start, stop = entry["data_offsets"]
    shape = entry["shape"]
    sizes_are_numbers = all(type(number) is int and number >= 0 for number in (*shape, start, stop))
    if not sizes_are_numbers or len(shape) > MAX_AXES or not start <= stop <= data.nbytes:
        raise ValueError(f"the place of {name} is impossible.")
    if math.prod(shape) * np.dtype(TYPES[entry["dtype"]]).itemsize != stop - start:
        raise ValueError(f"the length of {name} is not that of its shape.")
    return data[start:stop]


def _array(entry: Mapping[str, Any], piece: memoryview) -> NDArray[Any]:
    # a copy, because a run writes into its arrays
    return np.frombuffer(piece, dtype=TYPES[entry["dtype"]]).reshape(entry["shape"]).copy()


def _checksum(document: str, index: Mapping[str, Any], pieces: list[memoryview]) -> str:
    found = hashlib.sha256(document.encode())
    found.update(json.dumps(index, sort_keys=True).encode())
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()
