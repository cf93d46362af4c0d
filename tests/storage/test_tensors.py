"""One file with arrays and a document: whole, or refused in words."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import sterna
from sterna.storage.tensors import TYPES, read_tensors, write_tensors

ARRAYS = {
    "x": np.arange(6.0).reshape(2, 3),
    "flags": np.array([True, False]),
    "empty": np.zeros((0, 4)),
    "number": np.array(7, dtype=np.int64),
    "strided": np.arange(12, dtype=np.uint16)[::2],
}
METADATA = {"__metadata__": {"document": "{}", "checksum": ""}}
DOCUMENT = {"a": [1, 2.5, None], "ü": "text"}


def test_what_was_written_is_read(tmp_path):
    write_tensors(tmp_path / "file", DOCUMENT, ARRAYS)
    document, arrays = read_tensors(tmp_path / "file")
    assert document == DOCUMENT
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert (arrays[name] == array).all()
        assert arrays[name].flags.writeable


@settings(max_examples=50)
@given(
    arrays_of.arrays(
        st.sampled_from([np.dtype(name) for name in TYPES.values()]),
        arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
    )
)
def test_any_array_comes_back_bit_for_bit(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("any") / "file"
    write_tensors(path, None, {"array": array})
    found = read_tensors(path)[1]["array"]
    assert found.dtype == array.dtype
    assert (found.shape, found.tobytes()) == (array.shape, array.tobytes())


def test_the_format_is_that_of_safetensors(tmp_path):
    """A length, a header in JSON, and bytes: read here by hand, as the format is defined."""
    write_tensors(tmp_path / "file", DOCUMENT, ARRAYS)
    content = (tmp_path / "file").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    start, stop = header["x"]["data_offsets"]
    assert header["x"] == {"dtype": "F64", "shape": [2, 3], "data_offsets": [start, stop]}
    assert content[8 + length :][start:stop] == ARRAYS["x"].tobytes()
    assert all(isinstance(text, str) for text in header["__metadata__"].values())


@pytest.mark.parametrize("array", [np.array([1j]), np.array(["text"]), np.array([None])])
def test_other_arrays_are_refused(tmp_path, array):
    with pytest.raises(TypeError, match="cannot be written"):
        write_tensors(tmp_path / "file", None, {"x": array})


def test_every_bit_counts(tmp_path):
    """Any single bit that is flipped, and any shorter file, is noticed."""
    path = tmp_path / "file"
    write_tensors(path, DOCUMENT, {"x": ARRAYS["x"]})
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for bit in rng.choice(8 * len(content), 300, replace=False):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        with pytest.raises(sterna.StorageError, match=str(path)):
            read_tensors(path)
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(sterna.StorageError, match="damaged"):
            read_tensors(path)


@pytest.mark.parametrize(
    "header",
    [
        [],
        {},
        {"__metadata__": {}},
        METADATA | {"x": 3},
        METADATA | {"x": {"dtype": "F64", "shape": [2**62, 4], "data_offsets": [0, 0]}},
        METADATA | {"x": {"dtype": "O", "shape": [0], "data_offsets": [0, 0]}},
        METADATA | {"x": {"dtype": "F64", "shape": [-1], "data_offsets": [0, -8]}},
    ],
)
def test_headers_of_others(tmp_path, header):
    text = json.dumps(header).encode()
    (tmp_path / "file").write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(sterna.StorageError):
        read_tensors(tmp_path / "file")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(sterna.StorageError, match="cannot be read"):
        read_tensors(tmp_path / "none")
