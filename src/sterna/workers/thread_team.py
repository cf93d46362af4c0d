"""Threads that share a copy's replicas: a few for compiled code, one a replica if evaluations are made elsewhere."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from sterna.engine import callback
from sterna.engine.program import ImpossibleDraw, NotANumber
from sterna.engine.round import Copy
from sterna.errors import Error, EvaluationError
from sterna.ground.streams import new_generator
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray, IntArray

# A thread takes so many parts of a scan, as replicas do not cost the same.
PARTS = 4

# More threads than any number of chains: they are started when they are needed.
ANY = 1 << 16

Functions = dict[int, Callable[..., Any]]


class RemoteEvaluator(Protocol):
    """A place where evaluations happen for replicas that wait for them, each in a thread of its own."""

    def end(self) -> None:
        """Evaluate no more, as the run ends."""

    def functions(self) -> Functions:
        """Return what a replica's thread calls instead of the target's own functions."""


class ThreadTeam:
    """Threads that share the replicas of one copy; each has its own stream and generator."""

    def __init__(self, target: PreparedTarget, n_threads: int, elsewhere: RemoteEvaluator | None = None) -> None:
        self.target, self.n_threads, self.elsewhere = target, n_threads, elsewhere
        self.pool = ThreadPoolExecutor(n_threads if elsewhere is None else ANY)
        self.own = threading.local()
        self.waits = elsewhere is not None
        """Whether threads only wait for evaluations that are made elsewhere."""

    def each(self, copy: Copy, function: Callable[..., None]) -> None:
        """Call `function(copy, first, last, stream, generator)` on parts of the replicas, and wait for all."""
        size = copy.chain_of.size
        step = 1 if self.elsewhere is not None else -(-size // (PARTS * self.n_threads))
        futures = [self.pool.submit(self._part, copy, function, k, min(k + step, size)) for k in range(0, size, step)]
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        failed = [future for future in futures if future in done and future.exception() is not None]
        if failed:
            self.end()
            wait(futures)
            failed[0].result()

    def _part(self, copy: Copy, function: Callable[..., None], first: int, last: int) -> None:
        if not hasattr(self.own, "generator"):
            self.own.generator = new_generator()
        mine = copy._replace(at_work=np.zeros(1, dtype=np.int64))
        with errors_at_point(self.target, mine.states, mine.at_work):
            if self.elsewhere is None:
                function(mine, first, last, *self.own.generator)
                return
            with callback.override(self.elsewhere.functions()):
                function(mine, first, last, *self.own.generator)

    def end(self) -> None:
        """Let replicas under way fail at their next evaluation."""
        if self.elsewhere is not None:
            self.elsewhere.end()

    def close(self) -> None:
        """Let the threads end."""
        self.end()
        self.pool.shutdown()


def _point(target: PreparedTarget, state: FloatArray) -> str:
    """Name a point by its variables, or by its coordinates if these cannot be computed."""
    try:
        return target.describe_point(state)
    except Exception:
        return f"the state {state}"


def _advice(error: Exception) -> str:
    if isinstance(error, (ArithmeticError, ValueError)):
        return "Return -inf where the likelihood is zero, and mend the function elsewhere."
    return "Mend the function: it must return a number wherever the reference has draws."


@contextmanager
def errors_at_point(target: PreparedTarget, states: FloatArray, at_work: IntArray) -> Iterator[None]:
    """Turn what a target raised, or its NaN, into an error that names the point at which it happened."""
    try:
        yield
    except Exception as error:
        where = f" at {_point(target, states[at_work[0]])}"
        if isinstance(error, ImpossibleDraw):
            raise EvaluationError(
                f"The reference drew an impossible state,{where}: draws must lie inside the declared space and have a "
                "positive density, so draw and log_density must be of one law."
            ) from None
        if isinstance(error, NotANumber):
            raise EvaluationError(
                f"The {error}{where}. A log-density must be a number below +inf: "
                f"return -inf where the likelihood is zero.{target.odd_data}"
            ) from None
        if isinstance(error, Error):
            raise type(error)(f"{error} This happened{where}.") from error.__cause__
        who = " or ".join(["The target", *target.moves])
        told = target.python_error(states[at_work[0]], error)
        raise EvaluationError(
            f"{who} raised {type(error).__name__}: {str(told).strip()}{where}. {_advice(error)}{target.odd_data}"
        ) from error
