"""A disk on which any call may fail, write less than it was asked for, or be the last one of its process."""

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


class Crash(BaseException):
    """The process ends here: nothing that it does afterwards reaches the disk."""


@dataclass
class Disk:
    """What was called, and the call that fails."""

    at: int | None
    error: BaseException | None
    lasting: bool
    """Whether all calls after it fail too, until the disk is repaired."""
    short: bool
    calls: list = field(default_factory=list)
    crashed: bool = False

    def call(self, name, function, *arguments, **keywords):
        """Call a function of the system, or fail."""
        if self.crashed and name != "close":
            raise Crash
        number = len(self.calls)
        self.calls.append(name)
        if self.at is not None and (number == self.at or (self.lasting and number > self.at)):
            self.crashed = isinstance(self.error, Crash)
            raise self.error
        return function(*arguments, **keywords)


@contextmanager
def faulty_disk(at=None, error=None, lasting=False, short=False):
    """Let the call number `at` of those that write fail with an error."""
    disk = Disk(at, error, lasting, short)
    real = {name: getattr(os, name) for name in ("open", "write", "fsync", "replace", "mkdir", "unlink")}

    def opened(path, flags, *rest, **keywords):
        # reading works also on a full disk
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return real["open"](path, flags, *rest, **keywords)
        return disk.call("open", real["open"], path, flags, *rest, **keywords)

    def written(descriptor, content):
        return disk.call("write", real["write"], descriptor, bytes(content[:1] if disk.short else content))

    def unlinked(*given, **keywords):
        if disk.crashed:
            raise Crash
        return real["unlink"](*given, **keywords)

    faulty = {
        "unlink": unlinked,
        "open": opened,
        "write": written,
        "fsync": lambda descriptor: disk.call("fsync", real["fsync"], descriptor),
        "replace": lambda *paths: disk.call("replace", real["replace"], *paths),
        "mkdir": lambda *given, **keywords: disk.call("mkdir", real["mkdir"], *given, **keywords),
    }
    try:
        for name, function in faulty.items():
            setattr(os, name, function)
        yield disk
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def contents(folder: Path):
    """Return the bytes of all files by their paths."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
