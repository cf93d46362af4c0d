"""One process at a time writes to a folder; the lock ends with its process, however that ends."""

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sterna.errors import StorageError

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


NAME = "lock"

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, or refuse if another process has it."""
    path = folder / NAME
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written to: {error.strerror or error}.") from error
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            # some file systems of clusters have no locks: a run is worth more than a guard against a second one
            if error.errno not in NO_LOCKS:
                raise StorageError(
                    f"{folder} is in use by another run ({_owner(path)}): wait until it has ended, or give another "
                    "folder."
                ) from None
        _sign(descriptor)
        yield
    finally:
        # which also ends the lock
        os.close(descriptor)


def _sign(descriptor: int) -> None:
    """Say who holds the lock, for the message of others; a full disk must not keep a run from going on."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())


def _owner(path: Path) -> str:
    try:
        return path.read_text()[:200] or "which has just begun"
    except (OSError, ValueError):
        return "of another user"
