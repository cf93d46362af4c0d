"""Evaluations of many replicas gathered into one call, which serves one step of every chain.

Every replica is explored in a thread of its own by the ordinary explorer. A thread that needs an evaluation leaves its
point and waits. Once all threads that still explore wait, the last of them evaluates the points together. So step k of
a scan holds the k-th evaluation of every replica that has as many, in whatever order threads run.
"""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

# From points, a row for each replica that asks, in the order of replicas, and the number of all replicas, to which a
# function may pad whose bits depend on the size, to values or gradients.
Batch = Callable[[Numbers, int], Any]


class Gathering:
    """The evaluations of one copy, gathered; `batches` are by the handle of the function that they replace."""

    def __init__(self, batches: Mapping[int, Batch]) -> None:
        self.batches = batches
        self.lock = threading.Lock()
        self.size = self.exploring = 0
        self.asked: dict[int, tuple[int, Numbers]] = {}
        self.answers: dict[int, Any] = {}
        self.turns: dict[int, threading.Semaphore] = {}

    def expect(self, n: int) -> None:
        """Wait for n replicas at every step."""
        self.size = self.exploring = n

    def functions(self, replica: int) -> dict[int, Callable[..., Any]]:
        """Return what a replica's thread calls instead of the target's own functions."""
        self.turns.setdefault(replica, threading.Semaphore(0))
        return {handle: partial(self._evaluate, handle, replica) for handle in self.batches}

    def leave(self) -> None:
        """Wait for one replica less."""
        with self.lock:
            self.exploring -= 1
            ready = 0 < self.exploring == len(self.asked)
        if ready:
            self._answer()

    def _evaluate(self, handle: int, replica: int, x: Numbers, out: Numbers | None = None) -> Any:
        with self.lock:
            self.asked[replica] = (handle, x.copy())
            ready = self.exploring == len(self.asked)
        if ready:
            self._answer()
        self.turns[replica].acquire()
        answer = self.answers.pop(replica)
        if isinstance(answer, BaseException):
            raise answer
        if out is None:
            return answer
        out[:] = answer
        return None

    def _answer(self) -> None:
        """Evaluate all points that were asked for; nobody else is at work."""
        asked, self.asked = self.asked, {}
        for handle, batch in self.batches.items():
            replicas = sorted(replica for replica, (wanted, _) in asked.items() if wanted == handle)
            if replicas:
                self.answers.update(self._together(batch, replicas, np.array([asked[k][1] for k in replicas])))
        for replica in asked:
            self.turns[replica].release()

    def _together(self, batch: Batch, replicas: list[int], points: Numbers) -> dict[int, Any]:
        try:
            return dict(zip(replicas, batch(points, self.size), strict=True))
        except Exception as error:
            return dict.fromkeys(replicas, error)
