"""Arrays that grow on disk: chunks are written once, rows come back bit for bit, and other tools read them."""

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import sterna
from sterna.storage import growing
from sterna.storage.array_folder import ArrayFolder, Place

RNG = np.random.default_rng(5)


def rows_of(n, shape=(2,), dtype=np.float64):
    return RNG.normal(size=(n, *shape)).astype(dtype)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(growing, "CHUNK_BYTES", 64)
    monkeypatch.setattr(growing, "LEAST_CHUNK_BYTES", 64)


def saved(folder, array, rows, where="a/b"):
    place = Place(where, rows, ("draw", "coordinate"))
    return folder.take({"x": array, "other": np.ones(1)}, {"x": place})


@settings(max_examples=60)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(0, 3))
def test_rows_come_back_whatever_the_steps(tmp_path_factory, steps, width):
    root = tmp_path_factory.mktemp("grow")
    rows = np.cumsum(steps)
    array, folder = rows_of(rows[-1] + 3, (width,)), ArrayFolder(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "CHUNK_BYTES", 64)
        patch.setattr(growing, "LEAST_CHUNK_BYTES", 64)
        for n in rows:
            described, rest = saved(folder, array, int(n))
            found = ArrayFolder(root).give_back(described, rest)
            assert set(found) == {"x", "other"}
            assert found["x"].shape == array[:n].shape
            assert (found["x"] == array[:n]).all()


def test_a_chunk_is_written_once(tmp_path, small_chunks):
    array, folder = rows_of(100), ArrayFolder(tmp_path)
    saved(folder, array, 50)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "a/b").glob("[0-9]*")}
    saved(folder, array, 100)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "a/b").glob("[0-9]*")}
    assert len(after) > len(before) > 5
    assert all(after[name] == time for name, time in before.items())


def test_what_does_not_fill_a_chunk_is_small(tmp_path):
    array, folder = rows_of(200_000, (5,)), ArrayFolder(tmp_path)
    described, rest = saved(folder, array, 150_001)
    left = rest["last rows of x"]
    assert left.nbytes <= growing.CHUNK_BYTES
    assert len(described["x"]["checksums"]) == (150_001 - len(left)) // described["x"]["chunk_rows"]


@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.uint8, np.bool_])
@pytest.mark.parametrize("rows", [0, 3, 8, 21])
def test_other_tools_read_all_rows(tmp_path, small_chunks, dtype, rows):
    array, folder = rows_of(max(rows, 1), (2,), dtype)[:rows], ArrayFolder(tmp_path)
    saved(folder, array, rows)
    folder.finish({"x": array}, {"x": Place("a/b", rows, ("draw", "coordinate"))})
    found = zarr.open_group(str(tmp_path / "a"), mode="r")["b"]
    assert found.dtype == array.dtype
    assert np.array_equal(found[:], array)
    assert list(found.attrs["_ARRAY_DIMENSIONS"]) == ["draw", "coordinate"]


def test_other_tools_read_full_chunks_while_a_run_goes_on(tmp_path, small_chunks):
    array, folder = rows_of(100), ArrayFolder(tmp_path)
    saved(folder, array, 57)
    found = zarr.open_group(str(tmp_path / "a"), mode="r")["b"][:]
    assert len(found) == 56
    assert np.array_equal(found, array[:56])


@pytest.mark.parametrize("fault", ["flip", "cut", "gone"])
def test_damaged_chunks_are_noticed(tmp_path, small_chunks, fault):
    array, folder = rows_of(50), ArrayFolder(tmp_path)
    described, rest = saved(folder, array, 50)
    path = tmp_path / "a/b/3.0"
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    if fault == "gone":
        path.unlink()
    else:
        path.write_bytes(content if fault == "flip" else content[:-1])
    with pytest.raises(sterna.StorageError, match=r"b.3\.0"):
        ArrayFolder(tmp_path).give_back(described, rest)


@pytest.mark.parametrize("path", ["../secret", "/etc", "a/../../b", ""])
def test_paths_out_of_the_folder_are_refused(tmp_path, path):
    described, rest = saved(ArrayFolder(tmp_path), rows_of(5), 5)
    described["x"]["path"] = path
    with pytest.raises(sterna.StorageError, match="out of the folder"):
        ArrayFolder(tmp_path).give_back(described, rest)


def test_a_number_of_rows_that_is_another(tmp_path):
    described, rest = saved(ArrayFolder(tmp_path), rows_of(5), 5)
    described["x"]["rows"] = 6
    with pytest.raises(sterna.StorageError, match="number of rows"):
        ArrayFolder(tmp_path).give_back(described, rest)
