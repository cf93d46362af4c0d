"""Standard output and standard error of the command: nothing that happens to them may lose a finished result."""

import io
import os
import sys
import traceback
from contextlib import suppress
from types import ModuleType
from typing import TextIO

import click

from sterna.result.text import encodable


class OutputError(Exception):
    """Standard output cannot be written to; the message says why."""


def prepare_streams() -> bool:
    """Open streams that are closed, so that no other file takes their place; return whether standard output is open."""
    is_open = sys.stdout is not None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                # a closed stream's number is the lowest that is free
                stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 (open as long as the process)
                if stream.fileno() != number:
                    os.dup2(stream.fileno(), number)
                setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        # what a user's file prints cannot fail either; streams of tests cannot be configured
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return is_open


def write_out(text: str) -> None:
    """Write a text and a new line to standard output at once, or raise OutputError."""
    try:
        # colours are left out if this is no terminal
        click.echo(encodable(text, sys.stdout.encoding or "ascii"))
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        _give_up(sys.stdout)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OutputError(f"standard output cannot be written to ({reason})") from error


def write_error(text: str) -> None:
    """Write a text and a new line to standard error if that is possible."""
    try:
        click.echo(encodable(text, sys.stderr.encoding or "ascii"), err=True)
        sys.stderr.flush()
    except (OSError, ValueError):
        _give_up(sys.stderr)


def close_streams() -> None:
    """Write what is held back; if that fails, drop it, because Python would change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _give_up(stream)


def is_from(error: Exception, module: ModuleType) -> bool:
    """Whether an exception was raised by code of a package."""
    raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
    return raised_in.startswith(os.path.dirname(module.__file__ or "?"))


def _give_up(stream: TextIO) -> None:
    """Let what a stream holds back go nowhere, so that Python does not try again when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
