"""Files that are either whole or not there: write beside, fsync, rename, fsync the folder.

All writing of sterna's folders goes through this file.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

# Files under way; what a killed process leaves behind is removed when its folder is opened again.
PART = ".part"

# Windows would otherwise write two bytes for each new line.
BINARY = getattr(os, "O_BINARY", 0)

Bytes = bytes | memoryview


def write_file(path: Path, pieces: Iterable[Bytes], durable: bool = True) -> None:
    """Write a file, or leave what was there before if anything goes wrong.

    What is not needed to go on with a run need not be `durable`: a power failure may take its newest content.
    """
    part = path.with_name(path.name + PART)
    try:
        _write(part, pieces, durable)
        os.replace(part, path)
    except BaseException:
        _remove(part)
        raise
    if durable:
        sync_folder(path.parent)


def _write(path: Path, pieces: Iterable[Bytes], durable: bool) -> None:
    """Write a file to the disk itself if it shall be durable, and not only to the cache of the system."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | BINARY, 0o666)
    try:
        for piece in pieces:
            _write_all(descriptor, memoryview(piece).cast("B"))
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, rest: memoryview) -> None:
    """Write all bytes: one call may write fewer than it was given."""
    while rest.nbytes:
        written = os.write(descriptor, rest)
        if written <= 0:
            raise OSError("no bytes could be written")
        rest = rest[written:]


def sync_folder(folder: Path) -> None:
    """Let the names of files reach the disk; Windows has no such call, and does so itself."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, and let their names reach the disk."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def remove_parts(folder: Path, within: bool = True) -> None:
    """Remove what a killed process had not finished writing to a folder and those within it, but not behind links."""
    if folder.is_symlink():
        return
    for place, folders, files in os.walk(folder, followlinks=False):
        if not within:
            folders.clear()
        for name in files:
            if name.endswith(PART):
                _remove(Path(place) / name)


def remove_file(path: Path) -> None:
    """Remove a file that nothing refers to any more; if that is not possible, it only takes room."""
    _remove(path)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def remove_folder(path: Path) -> None:
    """Remove a folder that nothing refers to any more; if that is not possible, or it is a link, it only takes room."""
    shutil.rmtree(path, ignore_errors=True)
