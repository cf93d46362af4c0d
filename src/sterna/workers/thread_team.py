"""Threads that share a copy's replicas: a few for compiled code, one per replica if evaluations are remote."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Protocol

from sterna.engine import callback
from sterna.engine.interrupts import SECONDS_BETWEEN_LOOKS, check_interrupts
from sterna.engine.round import Copy, new_at_work
from sterna.ground.streams import new_stream
from sterna.target.prepared import PreparedTarget
from sterna.workers.point_errors import NOWHERE, Place, errors_at_point

# A scan is cut into this many parts for each thread, because replicas do not all take the same time.
PARTS_PER_THREAD = 4

# More threads than any run has replicas; a thread is started only when it is needed.
MAX_WAITING_THREADS = 1 << 16

Functions = dict[int, Callable[..., object]]


class RemoteEvaluator(Protocol):
    """Evaluates for replicas that wait, each in its own thread."""

    def end(self) -> None:
        """Refuse further evaluations, because the run ends."""

    def functions(self) -> Functions:
        """Return what a replica's thread calls instead of the target's own functions, by handle."""


class ThreadTeam:
    """Threads that share the replicas of one copy; each thread has its own stream."""

    def __init__(self, target: PreparedTarget, n_threads: int, remote: RemoteEvaluator | None = None) -> None:
        self.target, self.n_threads, self.remote = target, n_threads, remote
        self.pool = ThreadPoolExecutor(n_threads if remote is None else MAX_WAITING_THREADS)
        self.thread = threading.local()
        self.takes_every_scan = remote is not None
        """Whether the team must run all scans; otherwise only those that are worth waking threads for."""

    def apply(self, copy: Copy, function: Callable[..., None], place: Place = NOWHERE) -> None:
        """Call `function(copy, first, last, stream)` on parts of the replicas, and wait for all of them."""
        size = copy.chain_of.size
        step = 1 if self.remote is not None else -(-size // (PARTS_PER_THREAD * self.n_threads))
        part = partial(self._part, copy, function, place)
        futures = [self.pool.submit(part, k, min(k + step, size)) for k in range(0, size, step)]
        try:
            wait_for(futures)
        except BaseException:
            self.end()
            for future in futures:
                future.cancel()
            wait(futures)
            raise

    def _part(self, copy: Copy, function: Callable[..., None], place: Place, first: int, last: int) -> None:
        if not hasattr(self.thread, "stream"):
            self.thread.stream = new_stream()
        part = copy._replace(at_work=new_at_work())
        with errors_at_point(self.target, part, place):
            if self.remote is None:
                function(part, first, last, self.thread.stream)
                return
            with callback.override(self.remote.functions()):
                function(part, first, last, self.thread.stream)

    def end(self) -> None:
        """Let replicas that are being explored fail at their next evaluation."""
        if self.remote is not None:
            self.remote.end()

    def close(self) -> None:
        """End the threads."""
        self.end()
        self.pool.shutdown(cancel_futures=True)


def wait_for(futures: Sequence["Future[None]"]) -> None:
    """Wait until all are done; raise what one of them has raised, or an interrupt, without waiting for the others."""
    while True:
        done, left = wait(futures, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_EXCEPTION)
        for future in futures:
            if future in done:
                future.result()
        if not left:
            return
        check_interrupts()
