"""The loop over rounds (paper, algorithm NRPT): run scans, tune, next round; then sample with everything fixed."""

import time
from dataclasses import replace

from sterna.engine.interrupts import check_interrupts
from sterna.run.blocks import Pause, never
from sterna.run.paths import next_round, run_both_paths
from sterna.run.runtime import Runtime
from sterna.run.state import RunState


def run_rounds(runtime: Runtime, state: RunState, pause: Pause = never) -> RunState:
    """Run until the sampling phase is done, or until a pause; either way the state returned can be continued."""
    while True:
        began, phase = time.perf_counter(), "sampling" if state.is_sampling else "tuning"
        runtime.display.begin_round(state)
        paused = run_both_paths(runtime, state, pause)
        finished = state.round_is_done and state.is_sampling
        if state.round_is_done and not finished:
            state = next_round(runtime, state)
            check_interrupts()
        state = add_seconds(state, phase, time.perf_counter() - began)
        if paused or finished:
            return state


def add_seconds(state: RunState, phase: str, seconds: float) -> RunState:
    """Return the state with more time spent in a phase."""
    spent = getattr(state.seconds, phase) + seconds
    return replace(state, seconds=replace(state.seconds, **{phase: spent}))
