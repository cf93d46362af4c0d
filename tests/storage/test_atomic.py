"""Files are whole or not there, whatever goes wrong and wherever a process ends."""

import errno
import os

import pytest
from disk_faults import Crash, faulty_disk

from sterna.storage.atomic import PART, make_folder, remove_parts, write_file

PIECES = [b"new ", memoryview(b"content")]


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "file"
    for content in (b"old", b"new content"):
        write_file(path, [content])
        assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["file"]


def test_short_writes_are_completed(tmp_path):
    with faulty_disk(short=True) as disk:
        write_file(tmp_path / "file", PIECES)
    assert (tmp_path / "file").read_bytes() == b"new content"
    # every byte was a call
    assert disk.calls.count("write") == len(b"new content")


def calls_of_a_write(path):
    with faulty_disk() as disk:
        write_file(path, PIECES)
    return list(disk.calls)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_an_error_at_any_call_leaves_the_old_file_or_the_new_one(tmp_path, number):
    path = tmp_path / "file"
    calls = calls_of_a_write(path)
    assert {"open", "write", "fsync", "replace"} <= set(calls)
    for at in range(len(calls)):
        path.write_bytes(b"old")
        with faulty_disk(at=at, error=OSError(number, os.strerror(number))), pytest.raises(OSError, match=r"."):
            write_file(path, PIECES)
        assert path.read_bytes() in (b"old", b"new content")
        assert os.listdir(tmp_path) == ["file"]


def test_a_process_that_ends_at_any_call_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "file"
    calls = calls_of_a_write(path)
    for at in range(len(calls)):
        path.write_bytes(b"old")
        with faulty_disk(at=at, error=Crash()) as disk, pytest.raises(Crash):
            write_file(path, PIECES)
        assert path.read_bytes() in (b"old", b"new content")
        assert disk.crashed
        remove_parts(tmp_path)
        assert os.listdir(tmp_path) == ["file"]


def test_the_content_reaches_the_disk_before_the_name(tmp_path):
    """Otherwise a power failure could leave the new name with no content."""
    calls = calls_of_a_write(tmp_path / "file")
    assert calls.index("fsync") < calls.index("replace") < len(calls) - 1 - calls[::-1].index("fsync")


def test_parts_of_files_are_removed_in_all_folders(tmp_path):
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "a" / "b" / ("file" + PART)).touch()
    (tmp_path / "a" / "file").touch()
    remove_parts(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["file"]
