"""Which workers a run gets: threads for a compiled target, processes or an executor for a Python one."""

from concurrent.futures import Executor
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from sterna.engine import callback
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray
from sterna.workers.batch_team import Batch, BatchTeam
from sterna.workers.processes import Processes
from sterna.workers.remote import ExecutorEvaluator, RemoteFunction, mapped
from sterna.workers.thread_team import RemoteEvaluator, ThreadTeam


class Teams:
    """The team of every copy, or None where one thread explores all of its replicas; closed at the end of the run.

    `workers` is what the user gave: a number, an executor, a pool with a `map`, or None. `compiled` says whether
    neither the target nor the explorer has to call Python.
    """

    def __init__(self, target: PreparedTarget, compiled: bool, workers: Any, n_threads: int, n_copies: int) -> None:
        self.target, self.stack = target, ExitStack()
        self.processes: Processes | None = None
        self.sent: dict[int, RemoteFunction] = {}
        self.notes: list[str] = []
        given = workers if workers is None or isinstance(workers, (int, np.integer)) else "elsewhere"
        in_one_call = target.batch_functions and given not in (None, 1)
        if in_one_call or (given == "elsewhere" and not target.movable):
            how = "takes many points at once" if target.batch_functions else "is compiled"
            self.notes.append(f"workers={workers!r} is not used: the target {how}, and this process evaluates it.")
        self.teams: list[ThreadTeam | BatchTeam | None] = [None] * n_copies
        if target.batch_functions:
            batches = _batches(target)
            self.teams = [BatchTeam(target, batches) for _ in range(n_copies)]
        elif target.movable and given not in (None, 1):
            self.teams = self._elsewhere(workers, n_copies)
        elif compiled and n_threads // n_copies > 1:
            self.teams = [self._team(n_threads // n_copies) for _ in range(n_copies)]

    def _team(self, n_threads: int = 1, elsewhere: RemoteEvaluator | None = None) -> ThreadTeam:
        team = ThreadTeam(self.target, n_threads, elsewhere)
        self.stack.callback(team.close)
        return team

    def _elsewhere(self, workers: Any, n_copies: int) -> list[ThreadTeam | BatchTeam | None]:
        sent = self.sent = {handle: RemoteFunction(_returning(self.target, handle)) for handle in self.target.movable}
        if not isinstance(workers, Executor) and not hasattr(workers, "submit") and hasattr(workers, "map"):
            # a local change takes more than a point, and is evaluated here
            here = self.target.handles((callback.CHANGE,))
            movable = [(handle, one) for handle, one in sent.items() if handle not in here]
            batches = {handle: Batch(partial(mapped, workers, one), (handle,)) for handle, one in movable}
            return [BatchTeam(self.target, batches) for _ in range(n_copies)]
        if isinstance(workers, (int, np.integer)):
            self.processes = workers = self.stack.enter_context(Processes(int(workers)))
        # copies do not wait for each other, so that all workers are kept busy
        return [self._team(elsewhere=ExecutorEvaluator(workers, sent)) for _ in range(n_copies)]

    def renew(self) -> None:
        """Send the target's functions anew, as the target has changed between rounds."""
        for one in self.sent.values():
            one.renew()

    def close(self) -> None:
        """End threads and processes that the run began."""
        self.stack.close()

    def deaths(self) -> list[str]:
        """Return a note of the processes that died, if any did."""
        deaths = [] if self.processes is None else self.processes.deaths
        if not deaths:
            return []
        count = "A worker process" if len(deaths) == 1 else f"{len(deaths)} worker processes"
        how = ", ".join(sorted(set(deaths)))
        return [f"{count} died ({how}) and a new one took its place; what it had to evaluate was evaluated again."]


def _batches(target: PreparedTarget) -> dict[int, Batch]:
    """Return what evaluates many points, by the handle of every function that runs as Python instead."""
    found = {function: Batch(function, target.handles(function.slots)) for function in target.batch_functions.values()}
    return {handle: found[function] for handle, function in target.batch_functions.items()}


def _returning(target: PreparedTarget, handle: int) -> Any:
    """Return a function that gives back what it would write into its last argument."""
    function = target.movable[handle]
    if handle != target.gradient_handle:
        return function
    return partial(_with_output, function, target.dimension)


def _with_output(function: Any, dimension: int, x: FloatArray) -> FloatArray:
    out = np.zeros(dimension)
    function(x, out)
    return out
