"""Progress of a run on standard error: a live line on a terminal, plain lines elsewhere, nothing if not wanted."""

import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from sterna.engine.index_process import Trips
from sterna.result.text import count
from sterna.run.state import RunState
from sterna.tuning.barrier import without_saturation
from sterna.types import FloatArray

if TYPE_CHECKING:
    from sterna.explorers.base import Explorer
    from sterna.result.result import Result
    from sterna.result.settings import Settings
    from sterna.target.prepared import PreparedTarget
    from sterna.tuning.rounds import Round


class Display:
    """Silent display, and the interface of the others."""

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def start(self, target: "PreparedTarget", explorer: "Explorer", settings: "Settings") -> None:
        """Begin a run."""

    def begin_round(self, state: RunState) -> None:
        """Begin a round, whose records fill while it runs, or go on with it."""

    def choose(self, name: str) -> None:
        """Note which explorer the tuning rounds have chosen."""

    def advance(self, copy: int, scans: int) -> None:
        """Note that a block of scans is done; called from worker threads."""

    def end_round(self, last: "Round") -> None:
        """End a tuning round."""

    def finish(self, result: "Result") -> None:
        """End the run."""


class LineDisplay(Display):
    """Plain lines: one at the start, one per round from the fifth on, and one every few seconds of a long round."""

    seconds_between = 5.0
    joint = "  "

    def start(self, target: "PreparedTarget", explorer: "Explorer", settings: "Settings") -> None:
        """Say what is run."""
        self.settings = settings
        tuning = 2 ** (settings.n_rounds + 1) - 2 if settings.n_rounds else 0
        self.all_scans = (tuning + settings.n_scans) * settings.n_copies
        self.done, self.work = 0, 0
        self.began = self.said = time.perf_counter()
        self.lock = threading.Lock()
        copies = f" in {settings.n_copies} copies" if settings.n_copies > 1 else ""
        chains = "chains as needed" if settings.auto_chains else f"{settings.n_chains} chains"
        self.say(
            f"sterna: {target.name}, {count(target.dimension, 'coordinate')}, {chains}{copies}, "
            f"{explorer.name} explorer, scheme {settings.scheme}, seed {settings.seed}"
        )
        for note in target.notes:
            self.say(f"sterna: note: {note}")

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, file=sys.stderr, flush=True)

    def begin_round(self, state: RunState) -> None:
        """Remember whose progress to show."""
        if not hasattr(self, "round_began"):
            # compilation is over: the time left is estimated from scans alone
            self.began = time.perf_counter()
        self.state = state
        self.n_chains, self.explorations = state.tuned.n_chains, state.tuned.explorations
        self.round_done = self.round_done_before = int(state.scans_done.sum())
        self.done = self.round_done + sum(one.n_scans for one in state.rounds) * len(state.copies)
        self.round_began = time.perf_counter()

    def choose(self, name: str) -> None:
        """Say which explorer was chosen."""
        self.say(f"sterna: explorer chosen: {name}")

    def advance(self, copy: int, scans: int) -> None:
        """Count scans, and print a line every few seconds."""
        with self.lock:
            self.done += scans
            self.work += scans * self.n_chains * self.explorations
            self.round_done += scans
            if time.perf_counter() - self.said > self.seconds_between:
                self.say(self.line())
                self.said = time.perf_counter()

    def end_round(self, last: "Round") -> None:
        """Say how a round of some length went."""
        if last.number >= 5:
            self.say(self.line())
            self.said = time.perf_counter()

    def line(self) -> str:
        """Round, scans, barrier, restarts, acceptance, rate and time left."""
        rejection, second = self._mean("rejection"), self._mean("second_rejection")
        restarts = sum(int(record.trips[Trips.restarts]) for record in self.state.records)
        now = time.perf_counter()
        rate = (self.round_done - self.round_done_before) / max(now - self.round_began, 1e-9)
        # a scan of later rounds may explore more chains, each of which costs as much as one so far
        load = self.n_chains * self.explorations
        left = (self.all_scans - self.done) * load * (now - self.began) / max(self.work, 1)
        phase = f"round {self.state.round_number}" if not self.state.is_sampling else "sampling"
        return self.joint.join(
            (
                f"{phase:>9} {self.round_done:>7}/{self.state.n_scans * self.settings.n_copies} scans  "
                f"{self.n_chains} chains  {_clock(left)} left",
                f"barrier {without_saturation(rejection, second).sum():.2f}  restarts {restarts}  "
                f"acceptance {1 - rejection.max():.2f} min {1 - rejection.mean():.2f} mean  {rate:,.0f} scans/s",
            )
        )

    def _mean(self, name: str) -> FloatArray:
        """Return the mean over the scans so far."""
        # threads may be inside a block, whose scans are in the sums but not yet counted
        sums = sum(getattr(record, name).sum(axis=0) for record in self.state.records)
        return np.clip(np.asarray(sums) / max(self.round_done, 1), 0.0, 1.0)

    def finish(self, result: "Result") -> None:
        """Say how the run ended."""
        self.say(self.line())
        for warning in result.warnings:
            self.say(f"sterna: warning: {warning}")


class LiveDisplay(LineDisplay):
    """Two lines on a terminal that are redrawn in place; both fit into 80 columns."""

    seconds_between = 0.1
    joint = "\n"

    def __enter__(self) -> "LiveDisplay":
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True, highlight=False)
        self.live = Live("", console=self.console, refresh_per_second=10, transient=True)
        self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def say(self, text: str) -> None:
        """Print above the live line, or redraw it."""
        if text.startswith("sterna:"):
            self.console.print(text, markup=False, soft_wrap=True)
        else:
            from rich.text import Text

            self.live.update(Text(self._bar() + " " + text, no_wrap=True, overflow="ellipsis"))

    def _bar(self) -> str:
        width = 20
        full = int(width * self.done / self.all_scans)
        return "━" * full + "╌" * (width - full)

    def finish(self, result: "Result") -> None:
        """Leave a last line when the live one goes away."""
        self.console.print(self.line().replace("\n", "  "), markup=False, soft_wrap=True)
        for warning in result.warnings:
            self.console.print(f"sterna: warning: {warning}", style="yellow", markup=False, soft_wrap=True)


def _clock(seconds: float) -> str:
    """Return a time as 0:05, 12:34 or 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def make_display(wanted: bool) -> Display:
    """Return the display that suits standard error."""
    if not wanted:
        return Display()
    return LiveDisplay() if sys.stderr.isatty() else LineDisplay()
