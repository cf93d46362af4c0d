"""Progress of a run: nothing if not wanted, a live line on a terminal or in a notebook, and plain lines elsewhere."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from sterna.engine.index_process import Trips
from sterna.explorers.best import Best
from sterna.result.text import count
from sterna.run.safe_stream import SafeStream
from sterna.run.state import RunState
from sterna.run.time_left import TimeLeft, clock
from sterna.tuning.barrier import without_saturation
from sterna.types import FloatArray

if TYPE_CHECKING:
    from sterna.explorers.base import Explorer
    from sterna.result.result import Result
    from sterna.result.settings import Settings
    from sterna.target.prepared import PreparedTarget
    from sterna.tuning.rounds import Round

# A rise of a scan's cost by this factor is said, if the run takes longer than so many seconds.
DEARER, LONG = 1.5, 30.0


class Display:
    """Silent display, and the interface of the others."""

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def working(self, what: str, about_seconds: float | None = None) -> AbstractContextManager[None]:
        """Announce, for the duration of a `with` block, what is done, such as "compiling the log-likelihood".

        `about_seconds` is what it takes the first time, if that is known. May be called before `start`, from one thread
        at a time.
        """
        return nullcontext()

    def start(self, target: "PreparedTarget", explorer: "Explorer", settings: "Settings") -> None:
        """Begin a run."""

    def begin_round(self, state: RunState) -> None:
        """Begin a round, whose records fill while it runs, or go on with it."""

    def choose(self, name: str, before: str | None = None) -> None:
        """Note which explorer the tuning rounds have chosen, instead of one whose trajectories diverged."""

    def advance(self, copy: int, scans: int) -> None:
        """Note that a block of scans is done; called from worker threads."""

    def end_round(self, last: "Round") -> None:
        """End a tuning round."""

    def go_on(self, n_scans: int, missing: list[str]) -> None:
        """Note up to how many scans sampling goes on, and for which goals."""

    def note_signal(self, name: str) -> None:
        """Note that a signal ends the run; called from any thread."""

    def warn(self, text: str) -> None:
        """Tell at once what cannot wait for the result, such as a disk that is full."""

    def finish(self, result: "Result") -> None:
        """End the run."""


class LineDisplay(Display):
    """Plain lines on standard error: one at the start, one per round from the fifth on, one every few seconds."""

    seconds_between = 5.0
    # Code that is found on disk is loaded sooner, and not worth a line.
    seconds_before_working = 0.4
    seconds_between_working = 2.5
    joint = "  "

    def __init__(self, warnings: bool = True) -> None:
        self.warnings = warnings
        """Whether to show the warnings of the result."""
        self.lock = threading.Lock()
        self.stream = SafeStream(sys.stderr)
        self.done = 0
        self.all_scans = 1

    # ------------------------------------------------------------------------------------------------------ output

    def say(self, text: str) -> None:
        """Show a line that stays."""
        print(text, file=self.stream, flush=True)

    def say_progress(self, text: str) -> None:
        """Show a line that the next one may replace."""
        self.say(text)

    def say_working(self, what: str, seconds: float, about: str) -> None:
        """Show that something has been done for so many seconds, which the next such line may replace."""
        so_far = f": {seconds:.0f} s so far" if seconds > self.seconds_between_working else about
        self.say(f"sterna: {what}{so_far} ...")

    # -------------------------------------------------------------------------------------------------------- work

    @contextmanager
    def working(self, what: str, about_seconds: float | None = None) -> Iterator[None]:
        """Show what is done, and for how long, from a thread of its own because compilation holds this one."""
        about = "" if about_seconds is None else f" (about {max(about_seconds, 1):.0f} s the first time)"
        stop, began = threading.Event(), time.perf_counter()

        def announce() -> None:
            pause = self.seconds_before_working
            while not stop.wait(pause):
                self.say_working(what, time.perf_counter() - began, about)
                pause = self.seconds_between_working

        thread = threading.Thread(target=announce, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    # ------------------------------------------------------------------------------------------------------ events

    def start(self, target: "PreparedTarget", explorer: "Explorer", settings: "Settings") -> None:
        """Say what is run."""
        self.settings = settings
        tuning = 2 ** (settings.n_rounds + 1) - 2 if settings.n_rounds else 0
        self.all_scans = (tuning + settings.n_scans) * settings.n_copies
        self.began = self.said = time.perf_counter()
        self.left = TimeLeft(settings, isinstance(explorer, Best) and len(explorer.explorers) > 1)
        self.n_chains = 0
        copies = f" in {settings.n_copies} copies" if settings.n_copies > 1 else ""
        chains = "chains as needed" if settings.auto_chains else f"{settings.n_chains} chains"
        self.say(
            f"sterna: {target.name}, {count(target.dimension, 'coordinate')}, {chains}{copies}, "
            f"{explorer.name} explorer, scheme {settings.scheme}, seed {settings.seed}"
        )
        for note in target.notes:
            self.say(f"sterna: note: {note}")

    def begin_round(self, state: RunState) -> None:
        """Remember whose progress to show."""
        self.state = state
        before = self.n_chains, self.left.load
        self.n_chains = state.tuned.n_chains
        tuning = sum(2**r for r in range(1, state.settings.n_rounds + 1))
        sampling = state.planned_scans if state.is_sampling else state.settings.n_scans
        self.all_scans = (tuning + sampling) * len(state.copies)
        self.round_done = self.round_done_before = int(state.scans_done.sum())
        self.done = self.round_done + sum(one.n_scans for one in state.rounds) * len(state.copies)
        self.round_began = time.perf_counter()
        self.left.begin_round(state, self.round_began)
        # sums over the scans that are counted, of each copy; in a block, a copy's record is ahead of its count
        self.sums = [_sums_of(state, copy) for copy in range(len(state.copies))]
        dearer = before[0] and self.left.load > DEARER * before[1]
        if dearer and self.left.known(self.round_began) and self.left.seconds(self.round_began)[1] > LONG:
            self.say(f"sterna: {_phase(state)} takes longer per scan: {before[0]} chains before, {self._load()} now")

    def choose(self, name: str, before: str | None = None) -> None:
        """Say which explorer was chosen, and why if another one was chosen before."""
        self.left.choose()
        why = "" if before is None else f", because trajectories of {before} diverged"
        self.say(f"sterna: explorer chosen: {name}{why}")

    def advance(self, copy: int, scans: int) -> None:
        """Count scans, and show a line every few seconds."""
        sums = _sums_of(self.state, copy)
        with self.lock:
            self.sums[copy] = sums
            self.done += scans
            self.round_done += scans
            self.left.advance(scans)
            if time.perf_counter() - self.said > self.seconds_between:
                self._progress()

    def end_round(self, last: "Round") -> None:
        """Show how a round of some length went."""
        self.left.end_round(time.perf_counter())
        if last.number >= 5:
            self._progress()

    def go_on(self, n_scans: int, missing: list[str]) -> None:
        """Say why sampling takes longer."""
        if missing and time.perf_counter() - self.began > self.seconds_between:
            self.say(f"sterna: sampling goes on to {n_scans} scans: {missing[0]} so far")

    def note_signal(self, name: str) -> None:
        """Say what comes next, and how to stop at once."""
        what, again = ("Ctrl-C", "press Ctrl-C again") if name == "SIGINT" else (name, "send it again")
        self.say(f"sterna: {what}: the run ends after the block of scans under way; {again} to stop at once")

    def warn(self, text: str) -> None:
        """Say it."""
        self.say(text)

    def finish(self, result: "Result") -> None:
        """Say how the run ended."""
        self.say(self.line(finished=True).replace("\n", "  "))
        if self.warnings:
            for warning in result.warnings:
                self.say(f"sterna: warning: {warning}")

    # -------------------------------------------------------------------------------------------------------- text

    def _progress(self) -> None:
        self.left.compare_explorers(self.state)
        self.say_progress(self.line())
        self.said = time.perf_counter()

    def line(self, finished: bool = False) -> str:
        """Round, scans, barrier, restarts, acceptance, rate and time left."""
        rejection, second = (sum(parts) / max(self.round_done, 1) for parts in zip(*self.sums, strict=True))
        restarts = sum(int(record.trips[Trips.restarts]) for record in self.state.records)
        now = time.perf_counter()
        rate = (self.round_done - self.round_done_before) / max(now - self.round_began, 1e-9)
        left = f"done in {clock(now - self.began)}" if finished else self.left.text(now)
        if left and self.left.on_trial and not finished:
            left += ", explorers on trial"
        planned = self.state.planned_scans * len(self.state.copies)
        return self.joint.join(
            (
                f"{_phase(self.state):>9} {self.round_done:>7}/{planned} scans  {self._load()}"
                + (f"  {left}" if left else ""),
                f"barrier {without_saturation(rejection, second).sum():.2f}  restarts {restarts}  "
                f"acceptance {1 - rejection.max():.2f} min {1 - rejection.mean():.2f} mean  {rate:,.0f} scans/s",
            )
        )

    def _load(self) -> str:
        explorations = self.state.tuned.explorations
        return f"{self.n_chains} chains" + (f" explored {explorations} times" if explorations > 1 else "")


def _phase(state: RunState) -> str:
    return "sampling" if state.is_sampling else f"round {state.round_number}"


def _sums_of(state: RunState, copy: int) -> tuple[FloatArray, FloatArray]:
    """Return a copy's sums of rejections, of neighbours and of chains two apart, over its scans so far."""
    record = state.records[copy]
    return record.rejection.sum(axis=0), record.second_rejection.sum(axis=0)


def make_display(wanted: bool, warnings: bool = True) -> Display:
    """Return the display that suits this process; `warnings` says whether it shows those of the result."""
    if not wanted:
        return Display()
    if in_notebook():
        from sterna.run.notebook_display import NotebookDisplay

        return NotebookDisplay(warnings)
    if sys.stderr is None:
        # a closed standard error
        return Display()
    if SafeStream(sys.stderr).isatty():
        from sterna.run.live_display import LiveDisplay

        return LiveDisplay(warnings)
    return LineDisplay(warnings)


def in_notebook() -> bool:
    """Whether IPython's kernel runs this process; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
