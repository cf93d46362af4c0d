"""Evaluations of many replicas gathered into one call, which serves one step of every chain.

Every replica is explored by the ordinary explorer in a greenlet, which has a stack of its own and hands over in a
microsecond where a thread would take tens. One that needs an evaluation leaves its point and hands over to the hub.
Once all that still explore wait, the hub evaluates their points together. So step k of a scan holds the k-th evaluation
of every replica that has as many.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from greenlet import getcurrent, greenlet

from sterna.engine import callback
from sterna.engine.round import Copy
from sterna.ground.streams import new_generator
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray
from sterna.workers.thread_team import errors_at_point


class Batch(NamedTuple):
    """A function of many points, and the handles of the functions that its answers replace, in their order.

    It gets a row for each replica that asks, in the order of replicas, and the number of all replicas.
    """

    evaluate: Callable[[FloatArray, int], Sequence[Any]]
    handles: tuple[int, ...]


class Replica(greenlet):  # type: ignore[misc]
    """The exploration of one replica; remembers what the last call said of its point, for the time of a scan."""

    handle: int
    """The function that it waits for."""
    state: FloatArray
    """The point at which."""
    point: bytes = b""
    known: Mapping[int, Any]
    """What functions say of that point, by their handles."""


class BatchTeam:
    """A team for one copy; `batches` are by the handle of the function that they replace."""

    waits = True

    def __init__(self, target: PreparedTarget, batches: Mapping[int, Batch]) -> None:
        self.target, self.batches = target, batches
        # those that answer more come first, as they serve replicas that ask for less
        self.widest = sorted(dict.fromkeys(batches.values()), key=lambda batch: -len(batch.handles))
        self.generators: list[tuple[Any, Any]] = []

    def each(self, copy: Copy, function: Callable[..., None]) -> None:
        """Call `function(copy, first, last, stream, generator)` on every replica."""
        size = copy.chain_of.size
        self.generators += [new_generator() for _ in range(size - len(self.generators))]
        # this greenlet is their parent: it gets what they raise
        replicas = [Replica(partial(self._explore, copy, function, k)) for k in range(size)]
        with callback.override({handle: partial(ask, handle) for handle in self.batches}):
            try:
                for replica in replicas:
                    replica.switch()
                while waiting := [replica for replica in replicas if replica]:
                    self._answer(waiting, size)
            finally:
                # where one has failed, others wait
                for replica in filter(None, replicas):
                    replica.throw()

    def _explore(self, copy: Copy, function: Callable[..., None], k: int) -> None:
        mine = copy._replace(at_work=np.zeros(1, dtype=np.int64))
        with errors_at_point(self.target, mine.states, mine.at_work):
            function(mine, k, k + 1, *self.generators[k])

    def _answer(self, waiting: list[Replica], size: int) -> None:
        """Evaluate all points that were asked for, and let their replicas go on in their order."""
        left = waiting
        for batch in self.widest:
            if any(self.batches[one.handle] is batch for one in left):
                evaluate_batch(batch, [one for one in left if one.handle in batch.handles], size)
                left = [one for one in left if one.handle not in batch.handles]
        for replica in waiting:
            replica.switch()

    def end(self) -> None:
        """Nothing goes on by itself."""


def evaluate_batch(batch: Batch, asking: list[Replica], size: int) -> None:
    """Give every replica what a batch says of its point."""
    try:
        answers = batch.evaluate(np.array([one.state for one in asking]), size)
    except Exception as error:
        # where the first of them waits, so that the message can name its point
        asking[0].throw(error)
        raise
    for k, replica in enumerate(asking):
        replica.known = {handle: part[k] for handle, part in zip(batch.handles, answers, strict=True)}


def ask(handle: int, x: FloatArray, out: FloatArray | None = None) -> Any:
    """Evaluate a function, called in a replica's greenlet, unless what it says of this point is known."""
    replica: Any = getcurrent()
    point = x.tobytes()
    if point != replica.point or handle not in replica.known:
        replica.handle, replica.state, replica.point = handle, x.copy(), point
        replica.parent.switch()
    answer = replica.known[handle]
    if out is None:
        return float(answer)
    out[:] = answer
    return None
