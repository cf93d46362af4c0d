"""The loop over rounds (paper, algorithm NRPT): run scans, tune, next round; then sample with everything fixed."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from sterna.engine.interrupts import check_interrupts
from sterna.run.blocks import Pause, never
from sterna.run.goals import look
from sterna.run.paths import next_round, run_both_paths
from sterna.run.runtime import Runtime
from sterna.run.state import RunState

# Is told the state at the beginning of every round, and whenever sampling goes on, and the state before that.
Watcher: TypeAlias = Callable[[RunState, RunState | None], None]


def nobody(state: RunState, before: RunState | None) -> None:
    """Do nothing."""


def run_rounds(runtime: Runtime, state: RunState, pause: Pause = never, watcher: Watcher = nobody) -> RunState:
    """Run until sampling has ended, or until a pause; either way the state returned can be continued."""
    before = None
    while not state.ended_by:
        watcher(state, before)
        began, phase = time.perf_counter(), "sampling" if state.is_sampling else "tuning"
        runtime.display.begin_round(state)
        paused = run_both_paths(runtime, state, pause)
        state = add_seconds(state, phase, time.perf_counter() - began)
        if paused:
            return state
        began, before = time.perf_counter(), state
        state = look(runtime, state) if state.is_sampling else next_round(runtime, state)
        check_interrupts()
        state = add_seconds(state, phase, time.perf_counter() - began, of_round=False)
    return state


def add_seconds(state: RunState, phase: str, seconds: float, of_round: bool = True) -> RunState:
    """Return the state with more time spent in a phase, and on the scans of the round under way."""
    spent = getattr(state.seconds, phase) + seconds
    this_round = state.seconds.this_round + (seconds if of_round else 0.0)
    return replace(state, seconds=replace(state.seconds, **{phase: spent, "this_round": this_round}))
