"""A stream to which progress can be written whatever happens to it."""

from contextlib import suppress
from typing import TextIO

from sterna.result.text import encodable


class SafeStream:
    """Standard error for displays: trouble with writing, such as a full disk or a closed terminal, is ignored.

    No run should end because its progress cannot be shown. What the stream's encoding lacks is written differently.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        # a stream of the user's own, in the place of standard error, may have nothing but write
        self.encoding = getattr(stream, "encoding", None) or "ascii"
        self.errors = getattr(stream, "errors", None)

    def write(self, text: str) -> int:
        """Write a text if that is possible."""
        # ValueError: the stream was closed
        with suppress(OSError, ValueError):
            self.stream.write(encodable(text, self.encoding))
        return len(text)

    def flush(self) -> None:
        """Write what is held back if that is possible."""
        with suppress(OSError, ValueError, AttributeError):
            self.stream.flush()

    def isatty(self) -> bool:
        """Whether this is a terminal."""
        try:
            return self.stream.isatty()
        except (OSError, ValueError, AttributeError):
            return False

    def fileno(self) -> int:
        """Return the file's number, by which the size of a terminal is found."""
        return self.stream.fileno()
