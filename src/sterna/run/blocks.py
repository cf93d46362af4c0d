"""Scans in blocks: all copies, in threads or with teams, until the round is done or a pause is due."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from threading import Event, Lock
from typing import TypeAlias

from sterna.engine.interrupts import check_interrupts, end_compiled_code
from sterna.engine.round import Plan, end_scan, explore_some, run_scans
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.types import IntArray
from sterna.workers.point_errors import Place, errors_at_point
from sterna.workers.thread_team import ThreadTeam, wait_for

# How long a block should take: a pause waits for its end.
BLOCK_SECONDS = 0.2

# A scan that takes longer is shared among threads; waking one takes about 0.1 ms.
SHARED_SCAN_SECONDS = 0.002

# Says at the end of a block, from the number of scans that each copy has run, whether the run shall pause.
Pause: TypeAlias = Callable[[IntArray], bool]


def never(scans_done: IntArray) -> bool:
    """Do not pause."""
    return False


def run_blocks(runtime: Runtime, state: RunState, pause: Pause = never, last: int | None = None) -> bool:
    """Run the scans that are left of the round, of all copies, in place; return whether a pause was asked for.

    On a pause all copies stop at the ends of their blocks, some of which may be the end of the round. No result depends
    on where a block ends. With `last`, no copy runs later scans of the round.
    """
    turns = Turns(state, state.n_scans if last is None else last, runtime.evaluates_elsewhere)
    plan = runtime.plan(state)
    stop, paused = Event(), Event()

    def end_block() -> None:
        if pause(state.scans_done):
            paused.set()
            stop.set()

    job = partial(_run_copies, runtime, state, plan, turns, stop, end_block)
    threads = _threads_for(runtime, state)
    if threads == 1:
        job()
    else:
        _run_threads(runtime, job, threads, stop)
    return paused.is_set()


class Turns:
    """Whose block is next: the copy with the fewest scans, so that all are about equally far when a run is ended."""

    def __init__(self, state: RunState, last: int, shared: bool) -> None:
        n_copies = len(state.copies)
        self.scans_done, self.last = state.scans_done, last
        self.block, self.shared = [1] * n_copies, [shared] * n_copies
        """The scans of each copy's next block, and whether its team shares them."""
        self.idle, self.lock = set(range(n_copies)), Lock()

    def take(self) -> int | None:
        """Return a copy that no thread runs and that has scans left, if there is one."""
        with self.lock:
            left = [number for number in self.idle if self.scans_done[number] < self.last]
            if not left:
                return None
            number = min(left, key=lambda one: (self.scans_done[one], one))
            self.idle.remove(number)
            return number

    def give_back(self, number: int) -> None:
        """Let any thread run the next block of a copy."""
        with self.lock:
            self.idle.add(number)


def _threads_for(runtime: Runtime, state: RunState) -> int:
    """Return how many threads run copies."""
    n_copies = len(state.copies)
    if runtime.evaluates_elsewhere:
        # threads that wait may be many; a function of many points is called by one thread at a time
        return n_copies if any(isinstance(team, ThreadTeam) for team in runtime.teams.teams) else 1
    return 1 if runtime.one_thread else min(state.settings.workers, n_copies)


def _run_threads(runtime: Runtime, job: Callable[[], None], threads: int, stop: Event) -> None:
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(job) for _ in range(threads)]
        try:
            wait_for(futures)
        finally:
            stop.set()
            if not all(future.done() for future in futures):
                _end_teams(runtime)
                end_compiled_code()
            wait(futures)


def _end_teams(runtime: Runtime) -> None:
    """Let replicas under way fail at their next evaluation, because the run cannot go on."""
    for team in runtime.teams.teams:
        if team is not None:
            team.end()


def _run_copies(
    runtime: Runtime, state: RunState, plan: Plan, turns: Turns, stop: Event, end_block: Callable[[], None]
) -> None:
    """Run the scans that are left in one thread, in blocks of about BLOCK_SECONDS.

    A thread ends when no copy is idle that has scans left: there are at most as many threads as copies.
    """
    while not stop.is_set() and (number := turns.take()) is not None:
        try:
            _run_block(runtime, state, plan, turns, number)
        finally:
            turns.give_back(number)
        end_block()
        check_interrupts()


def _run_block(runtime: Runtime, state: RunState, plan: Plan, turns: Turns, number: int) -> None:
    """Run the next block of a copy, and choose the length of the one after it."""
    block = turns.block[number]
    first = int(state.scans_done[number]) + 1
    last = min(turns.last, first + block - 1)
    began = time.perf_counter()
    run = _run_shared_scans if turns.shared[number] else _run_scans
    run(runtime, state, plan, number, first, last)
    seconds = max(time.perf_counter() - began, 1e-9)
    state.scans_done[number] = last
    runtime.display.advance(number, last - first + 1)
    has_team = runtime.teams.teams[number] is not None
    if has_team and seconds > SHARED_SCAN_SECONDS * (last - first + 1):
        turns.shared[number] = True
    turns.block[number] = max(1, min(4 * block, int(block * BLOCK_SECONDS / seconds)))


def place_of(state: RunState, number: int) -> Place:
    """Return where the run is during the scans of a copy, for messages."""
    when = "while sampling" if state.is_sampling else f"in round {state.round_number} of tuning"
    place = Place(when, number, state.tuned.schedule, explores=True)
    if state.mixture is None:
        return place
    return replace(place, when=f"{when}, along the path from a fitted mixture", of_mixture=True)


def _run_scans(runtime: Runtime, state: RunState, plan: Plan, number: int, first: int, last: int) -> None:
    """Run scans of a copy in this thread alone."""
    copy, statistics, record = state.copies[number], state.statistics[number], state.records[number]
    with errors_at_point(runtime.target, copy, place_of(state, number)):
        run_scans(plan, number, copy, statistics, record, first, last, runtime.streams[number])


def _run_shared_scans(runtime: Runtime, state: RunState, plan: Plan, number: int, first: int, last: int) -> None:
    """Run scans of a copy whose replicas are shared among its team."""
    copy, statistics, record = state.copies[number], state.statistics[number], state.records[number]
    place = place_of(state, number)
    for scan in range(first, last + 1):
        runtime.on_replicas(number, copy, partial(explore_some, plan, statistics, scan, number), place)
        end_scan(plan, number, copy, record, scan)
