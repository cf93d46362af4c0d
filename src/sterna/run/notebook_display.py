"""Progress in a notebook: one output that is updated in place, instead of many lines of standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

from sterna.run.display import LineDisplay

_STYLE = "font-family:monospace;font-size:12px;white-space:pre-wrap;line-height:1.35;margin:0"


class NotebookDisplay(LineDisplay):
    """What is run and how far it is, in one output of the cell; only the line of progress changes."""

    seconds_between = 0.5
    seconds_between_working = 1.0
    bar_width = 20

    def __enter__(self) -> "NotebookDisplay":
        # imported already, since IPython runs this process
        from IPython.display import DisplayHandle

        self.lines: list[str] = []
        self.progress = ""
        self.handle: DisplayHandle | None = DisplayHandle()
        self.shown = False
        return self

    def say(self, text: str) -> None:
        """Add a line that stays, above the line of progress."""
        self.lines.append(text.strip())
        self.progress = ""
        self._show()

    def say_progress(self, text: str) -> None:
        """Replace the line of progress."""
        full = int(self.bar_width * self.done / self.all_scans)
        self.progress = "━" * full + "╌" * (self.bar_width - full) + " " + text.lstrip()
        self._show()

    def say_working(self, what: str, seconds: float, about: str) -> None:
        """Replace the line of progress."""
        self.progress = f"sterna: {what}{about} ... {seconds:.0f} s"
        self._show()

    @contextmanager
    def working(self, what: str, about_seconds: float | None = None) -> Iterator[None]:
        """Show what is done in the line of progress, and what was there before when it is done."""
        before = self.progress
        with super().working(what, about_seconds):
            yield
        if self.progress != before:
            self.progress = before
            self._show()

    def _show(self) -> None:
        text = "\n".join([*self.lines, self.progress]).rstrip()
        data = {"text/plain": text, "text/html": f'<div style="{_STYLE}">{escape(text)}</div>'}
        if self.handle is None:
            return
        try:
            if self.shown:
                self.handle.update(data, raw=True)
            else:
                self.handle.display(data, raw=True)
                self.shown = True
        except Exception:  # no run should end because its progress cannot be shown
            self.handle = None
