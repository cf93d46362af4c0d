"""Arrays on disk that grow along their first axis: a chunk is written once it is full, and never changed after that.

They follow the Zarr format, version 2, without compression: a folder for each array, with its shape and type in JSON
and the bytes of each chunk in a file of its own. `xarray.open_zarr`, `zarr` and other tools read them. sterna itself
reads chunks alone, so that what describes them to other tools need not be durable.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.errors import StorageError
from sterna.storage.atomic import make_folder, write_file

# Bytes of a chunk, about: large enough for few files, small enough that what is not in a full chunk yet is little. A
# chunk of an array that is shorter has all of its rows.
CHUNK_BYTES, LEAST_CHUNK_BYTES = 2**21, 2**17


@dataclass(frozen=True)
class SavedRows:
    """What is known of an array of which `rows` rows were saved: full chunks on disk, and the rest elsewhere."""

    rows: int
    chunk_rows: int
    checksums: tuple[str, ...]
    """Of the full chunks."""

    @property
    def in_chunks(self) -> int:
        """The number of rows in full chunks."""
        return len(self.checksums) * self.chunk_rows


def chunk_rows_of(array: NDArray[Any]) -> int:
    """Return how many rows of an array a chunk has."""
    size = max(1, row_bytes(array))
    return max(1, min(CHUNK_BYTES // size, max(len(array), LEAST_CHUNK_BYTES // size)))


def row_bytes(array: NDArray[Any]) -> int:
    """Return the bytes of a row."""
    return math.prod(array.shape[1:]) * array.itemsize


def make_group(folder: Path, attributes: Mapping[str, Any]) -> None:
    """Make a folder for arrays, with attributes that other tools show."""
    make_folder(folder)
    if attributes:
        write_json(folder / ".zattrs", dict(attributes), durable=False)
    write_json(folder / ".zgroup", {"zarr_format": 2}, durable=False)


def append_rows(folder: Path, array: NDArray[Any], rows: int, found: SavedRows, dims: Sequence[str]) -> SavedRows:
    """Write the chunks that the first `rows` rows of an array fill and that are not on disk yet."""
    per_chunk, checksums = found.chunk_rows, [*found.checksums]
    while rows // per_chunk > len(checksums):
        number = len(checksums)
        content = bytes_of(array[number * per_chunk : (number + 1) * per_chunk])
        write_file(_chunk(folder, array, number), [content])
        checksums.append(hashlib.sha256(content).hexdigest())
    if len(checksums) > len(found.checksums):
        _describe(folder, array, len(checksums) * per_chunk, per_chunk, dims)
    return SavedRows(rows, per_chunk, tuple(checksums))


def write_last_rows(folder: Path, array: NDArray[Any], saved: SavedRows, dims: Sequence[str]) -> None:
    """Write the rows that do not fill a chunk, as other tools expect them: with zeros behind."""
    rest = bytes_of(array[saved.in_chunks : saved.rows])
    if rest.nbytes:
        missing = saved.chunk_rows * row_bytes(array) - rest.nbytes
        write_file(_chunk(folder, array, len(saved.checksums)), [rest, bytes(missing)])
    _describe(folder, array, saved.rows, saved.chunk_rows, dims)


def read_rows(folder: Path, saved: SavedRows, last: NDArray[Any]) -> NDArray[Any]:
    """Return the rows that were saved: those in full chunks, then the last ones."""
    if saved.chunk_rows < 1 or saved.rows - saved.in_chunks != len(last):
        raise StorageError(f"{folder} is damaged: its number of rows is another.")
    chunks = [
        _read_chunk(_chunk(folder, last, number), last, saved.chunk_rows, checksum)
        for number, checksum in enumerate(saved.checksums)
    ]
    return np.concatenate([*chunks, last])


def _read_chunk(path: Path, like: NDArray[Any], rows: int, checksum: str) -> NDArray[Any]:
    # the size first, because a file of others may be endless
    size = rows * row_bytes(like)
    content = _read(path, size)
    if hashlib.sha256(content).hexdigest() != checksum:
        raise StorageError(f"{path} is damaged: its checksum is another.")
    return np.frombuffer(content, dtype=like.dtype).reshape((rows, *like.shape[1:]))


def _read(path: Path, size: int) -> bytes:
    try:
        if not path.is_file() or path.stat().st_size != size:
            raise StorageError(f"{path} is damaged: it is missing, or its size is another.")
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error


def _chunk(folder: Path, array: NDArray[Any], number: int) -> Path:
    return folder / ".".join([str(number), *["0"] * (array.ndim - 1)])


def _describe(folder: Path, array: NDArray[Any], rows: int, chunk_rows: int, dims: Sequence[str]) -> None:
    """Say what the array is; the last, because readers then never see a chunk that is missing."""
    shape = array.shape[1:]
    write_json(folder / ".zattrs", {"_ARRAY_DIMENSIONS": list(dims)}, durable=False)
    description = {
        "zarr_format": 2,
        "shape": [rows, *shape],
        "chunks": [chunk_rows, *(max(1, size) for size in shape)],
        "dtype": array.dtype.str,
        "compressor": None,
        # with 0, xarray would take zeros for missing values
        "fill_value": None,
        "order": "C",
        "filters": None,
    }
    write_json(folder / ".zarray", description, durable=False)


def write_json(path: Path, content: object, durable: bool = True) -> None:
    """Write a JSON document, indented for readers."""
    write_file(path, [json.dumps(content, indent=1, allow_nan=False).encode()], durable)


def bytes_of(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array."""
    held = np.ascontiguousarray(array)
    return held.data.cast("B") if held.size else memoryview(b"")
