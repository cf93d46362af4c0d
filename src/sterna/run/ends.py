"""What ends a run before its last scan: the time is up, or a signal asks for it."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sterna.engine.interrupts import asked_first
from sterna.engine.record import cut
from sterna.result.ending import INTERRUPT, SECONDS
from sterna.run.blocks import run_blocks
from sterna.run.display import Display
from sterna.run.fitted_runtime import along
from sterna.run.paths import run_beside
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.types import IntArray

# Ctrl-C, and what schedulers of clusters send before they end a job.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1") if hasattr(signal, name))

# Of the time that a user gives, this share is left for the end of the block under way and for the search at the end.
SHARE_FOR_RESULT = 0.06


class Ends:
    """Whether a run shall end; a `Pause` of its blocks."""

    def __init__(self, display: Display, max_seconds: float | None = None, began: float | None = None) -> None:
        began = time.perf_counter() if began is None else began
        self.display = display
        self.deadline = None if max_seconds is None else began + (1.0 - SHARE_FOR_RESULT) * max_seconds
        self.sampling_deadline: float | None = None
        self.signal = 0
        """The signal that asked for the end."""
        self.is_noticed = False
        self.round_before: RunState | None = None
        """The run at the end of the round before, whose draws are the result if there are more of them."""

    def begin(self, state: RunState, before: RunState | None) -> None:
        """Note that a round begins or goes on: sampling may have a time of its own."""
        if before is not None and before.round_number < state.round_number:
            self.round_before = before
        goal = state.settings.until
        if state.is_sampling and goal is not None and goal.seconds is not None:
            self.sampling_deadline = time.perf_counter() + goal.seconds - state.seconds.sampling

    @property
    def reason(self) -> str:
        """What ends the run; empty if nothing does."""
        if self.signal:
            return INTERRUPT
        now = time.perf_counter()
        return SECONDS if any(d is not None and now >= d for d in (self.deadline, self.sampling_deadline)) else ""

    def __call__(self, scans_done: IntArray) -> bool:
        """Return whether the scans shall pause."""
        self.notice()
        return bool(self.reason)

    def ask(self, number: int) -> bool:
        """Take a signal, in its handler; return whether it is the first, after which the run ends in good order."""
        if self.signal:
            return False
        self.signal = number
        return True

    def notice(self) -> None:
        """Say once that a signal came."""
        if self.signal and not self.is_noticed:
            self.is_noticed = True
            self.display.note_signal(signal.Signals(self.signal).name)

    @contextmanager
    def taking_signals(self) -> Iterator[None]:
        """Take the first of these signals, if the user has not decided otherwise about them."""
        with asked_first(SIGNALS, self.ask, self.notice):
            yield


def ended_early(runtime: Runtime, state: RunState, ends: Ends) -> RunState:
    """Return the state as if the scans so far were all of its round, or that of the round before if it has more.

    Copies that are behind catch up first. The state that was given can be continued.
    """
    beside, before = state.beside, ends.round_before
    if before is not None and state.scans_done.max() < before.n_scans:
        runtime.restore_fitted(before.fitted)
        return replace(before, seconds=state.seconds, ended_by=ends.reason)
    last = max(int(state.scans_done.max()), state.thin)
    run_blocks(along(runtime, state.mixture), state, last=last)
    if beside is not None:
        run_beside(runtime, state, beside)
        last_beside = int(beside.scans_done.max())
        run_blocks(runtime.quiet(), beside, last=last_beside)
        beside = _cut(beside, last_beside)
    return replace(_cut(state, last), beside=beside, ended_by=ends.reason)


def _cut(state: RunState, n_scans: int) -> RunState:
    records = tuple(cut(record, n_scans, state.layout, state.thin) for record in state.records)
    return replace(state, records=records, n_scans=n_scans)
