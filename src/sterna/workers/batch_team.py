"""Evaluations of many replicas collected into one call, which serves one step of every chain.

Every replica is explored by the ordinary explorer in a greenlet, which has its own stack and switches in a microsecond,
while a thread would take tens of them. A replica that needs an evaluation leaves its point and switches to the hub.
Once all replicas that still explore are waiting, the hub evaluates their points together. So step k of a scan holds the
k-th evaluation of every replica that has so many.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from greenlet import getcurrent, greenlet

from sterna.engine import callback
from sterna.engine.interrupts import check_interrupts, interruptible, uninterrupted
from sterna.engine.round import Copy, new_at_work
from sterna.ground.streams import new_stream
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray, WordArray
from sterna.workers.point_errors import NOWHERE, Place, errors_at_point

# What a function returns for a point: a number, or a gradient.
Answer = float | FloatArray


class Batch(NamedTuple):
    """A function of many points, and the handles of the functions that its answers replace, in their order.

    It is given a row for each replica that asks, in the order of replicas, and the number of all replicas.
    """

    evaluate: Callable[[FloatArray, int], Sequence[Sequence[Answer]]]
    handles: tuple[int, ...]


class Replica(greenlet):  # type: ignore[misc]
    """The exploration of one replica during one scan; it remembers the answers of the last call at its point."""

    handle: int
    """The function that it waits for."""
    state: FloatArray
    """The point at which it asks."""
    point: bytes = b""
    """The same as bytes, to notice that a point is asked about again."""
    answers: Mapping[int, Answer]
    """What functions return at that point, by handle."""


class BatchTeam:
    """Greenlets that explore the replicas of one copy; `batches` are by the handle of the function they replace."""

    takes_every_scan = True

    def __init__(self, target: PreparedTarget, batches: Mapping[int, Batch]) -> None:
        self.target, self.batches = target, batches
        # those that answer more come first, because they also serve replicas that ask for less
        self.widest_first = sorted(dict.fromkeys(batches.values()), key=lambda batch: -len(batch.handles))
        self.streams: list[WordArray] = []

    def apply(self, copy: Copy, function: Callable[..., None], place: Place = NOWHERE) -> None:
        """Call `function(copy, first, last, stream)` on every replica."""
        size = copy.chain_of.size
        self.streams += [new_stream() for _ in range(size - len(self.streams))]
        # this greenlet is their parent: what they raise arrives here
        replicas = [Replica(partial(self._explore, copy, function, place, k)) for k in range(size)]
        with callback.override({handle: partial(ask, handle) for handle in self.batches}):
            try:
                for replica in replicas:
                    replica.switch()
                while waiting := [replica for replica in replicas if replica]:
                    self._answer(waiting, size)
            finally:
                # if one has failed, others still wait
                if any(replicas):
                    end_replicas(replicas)

    def _explore(self, copy: Copy, function: Callable[..., None], place: Place, k: int) -> None:
        part = copy._replace(at_work=new_at_work())
        with errors_at_point(self.target, part, place):
            function(part, k, k + 1, self.streams[k])

    def _answer(self, waiting: list[Replica], size: int) -> None:
        """Evaluate all points that were asked about, and let the replicas continue in their order."""
        left = waiting
        for batch in self.widest_first:
            if any(self.batches[replica.handle] is batch for replica in left):
                evaluate_batch(batch, [replica for replica in left if replica.handle in batch.handles], size)
                left = [replica for replica in left if replica.handle not in batch.handles]
        for replica in waiting:
            replica.switch()

    def end(self) -> None:
        """Do nothing: no exploration continues outside of `apply`."""


def end_replicas(replicas: list[Replica]) -> None:
    """End the replicas that still wait, also if another signal arrives."""
    with uninterrupted():
        for replica in filter(None, replicas):
            replica.throw()


def evaluate_batch(batch: Batch, asking: list[Replica], size: int) -> None:
    """Give every replica what a batch returns at its point."""
    check_interrupts()
    try:
        columns = interruptible(batch.evaluate, np.array([replica.state for replica in asking]), size)
    except Exception as error:
        # raised where the first of them waits, so that the message can name its point
        asking[0].throw(error)
        raise
    for k, replica in enumerate(asking):
        replica.answers = {handle: column[k] for handle, column in zip(batch.handles, columns, strict=True)}


def ask(handle: int, x: FloatArray, out: FloatArray | None = None) -> float | None:
    """Evaluate a function, called in a replica's greenlet, unless its answer at this point is remembered.

    A gradient is written into `out`; a number is returned.
    """
    replica = getcurrent()
    point = x.tobytes()
    if point != replica.point or handle not in replica.answers:
        replica.handle, replica.state, replica.point = handle, x.copy(), point
        replica.parent.switch()
    answer = replica.answers[handle]
    if out is None:
        return float(answer)
    out[:] = answer
    return None
