"""Progress on a terminal: two lines that are redrawn in place."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from sterna.result.text import encodable
from sterna.run.display import LineDisplay


class LiveDisplay(LineDisplay):
    """Two lines on a terminal that are redrawn in place; both fit into 80 columns."""

    seconds_between = 0.1
    joint = "\n"
    bar_width = 12

    def __enter__(self) -> "LiveDisplay":
        self.console = Console(file=cast(TextIO, self.stream), highlight=False)
        self.live = Live("", console=self.console, refresh_per_second=10, transient=True)
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def say(self, text: str) -> None:
        """Print above the live lines."""
        style = "yellow" if text.startswith("sterna: warning") else None
        self.console.print(text, style=style, markup=False)

    def say_progress(self, text: str) -> None:
        """Redraw the live lines."""
        self.live.update(Text(self._bar() + " " + text, no_wrap=True, overflow="ellipsis"))

    @contextmanager
    def working(self, what: str, about_seconds: float | None = None) -> Iterator[None]:
        """Show a spinner with the seconds so far, which rich's own thread keeps moving."""
        about = "" if about_seconds is None else f" (about {max(about_seconds, 1):.0f} s the first time)"
        before = self.live.renderable
        self.live.update(_Working(f"sterna: {what}{about} ...", self.stream.encoding))
        try:
            yield
        finally:
            self.live.update(before, refresh=True)

    def _bar(self) -> str:
        full = int(self.bar_width * self.done / self.all_scans)
        return encodable("━" * full + "╌" * (self.bar_width - full), self.stream.encoding)


class _Working:
    """A spinner, a text and the seconds since it was made, computed whenever rich draws it."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text, self.began = text, time.perf_counter()
        spinner = Spinner("dots")
        plain = "".join(spinner.frames) != encodable("".join(spinner.frames), encoding)
        self.spinner = Spinner("line") if plain else spinner

    def __rich__(self) -> RenderableType:
        seconds = time.perf_counter() - self.began
        self.spinner.update(text=Text(f"{self.text} {seconds:.0f} s", no_wrap=True, overflow="ellipsis"))
        return self.spinner
