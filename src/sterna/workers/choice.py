"""Which workers a run has: threads for a compiled target, processes or an executor for a Python one."""

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import partial
from typing import cast

import numpy as np

from sterna.engine import callback
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray
from sterna.workers.batch_team import Batch, BatchTeam
from sterna.workers.processes import Processes
from sterna.workers.remote import ExecutorEvaluator, Pool, RemoteFunction, mapped
from sterna.workers.thread_team import RemoteEvaluator, ThreadTeam

Team = ThreadTeam | BatchTeam


class Teams:
    """The team of every copy, or None if one thread explores all of its replicas; closed at the end of the run.

    `workers` is what the user gave: a number, an executor or anything with its `submit`, a pool with a `map`, or None.
    `compiled` says whether neither the target nor the explorer has to call Python.
    """

    def __init__(self, target: PreparedTarget, compiled: bool, workers: object, n_threads: int, n_copies: int) -> None:
        self.target, self.stack = target, ExitStack()
        self.processes: Processes | None = None
        self.remote_functions: dict[int, RemoteFunction] = {}
        self.notes: list[str] = []
        is_number = isinstance(workers, (int, np.integer))
        in_this_process = workers is None or (is_number and workers == 1)
        unused = target.batch_functions and not in_this_process
        if unused or not (is_number or workers is None or target.movable):
            how = "takes many points at once" if target.batch_functions else "is compiled"
            self.notes.append(f"workers={workers!r} is not used: the target {how}, and this process evaluates it.")
        self.teams: list[Team | None] = [None] * n_copies
        if target.batch_functions:
            batches = _batches(target)
            self.teams = [BatchTeam(target, batches) for _ in range(n_copies)]
        elif target.movable and not in_this_process:
            self.teams = self._remote_teams(workers, n_copies)
        elif compiled and n_threads // n_copies > 1:
            self.teams = [self._thread_team(n_threads // n_copies) for _ in range(n_copies)]

    def _thread_team(self, n_threads: int = 1, remote: RemoteEvaluator | None = None) -> ThreadTeam:
        team = ThreadTeam(self.target, n_threads, remote)
        self.stack.callback(team.close)
        return team

    def _remote_teams(self, workers: object, n_copies: int) -> list[Team | None]:
        target = self.target
        functions = {
            handle: RemoteFunction(_returning(target, handle), target.label(handle)) for handle in target.movable
        }
        self.remote_functions = functions
        if isinstance(workers, (int, np.integer)):
            self.processes = workers = self.stack.enter_context(Processes(int(workers)))
        if not hasattr(workers, "submit") and hasattr(workers, "map"):
            pool = cast(Pool, workers)
            # a local change takes more than a point, so this process evaluates it
            local = target.handles((callback.CHANGE,))
            movable = [(handle, function) for handle, function in functions.items() if handle not in local]
            batches = {handle: Batch(partial(mapped, pool, function), (handle,)) for handle, function in movable}
            return [BatchTeam(target, batches) for _ in range(n_copies)]
        executor = cast(Executor, workers)
        # copies do not wait for each other, so that all workers are kept busy
        return [self._thread_team(remote=ExecutorEvaluator(executor, functions)) for _ in range(n_copies)]

    def send_functions_again(self) -> None:
        """Send the target's functions to the workers again, because the target has changed between rounds."""
        for function in self.remote_functions.values():
            function.send_again()

    def close(self) -> None:
        """End the threads and processes that the run started."""
        self.stack.close()

    def notes_of_deaths(self) -> list[str]:
        """Return a note about worker processes that died, if any did."""
        statuses = [] if self.processes is None else self.processes.exit_statuses
        if not statuses:
            return []
        how = ", ".join(f"exit status {status}" for status in sorted(set(statuses)))
        if len(statuses) == 1:
            return [f"A worker process died ({how}) and was replaced; its evaluation was repeated."]
        return [f"{len(statuses)} worker processes died ({how}) and were replaced; their evaluations were repeated."]


def _batches(target: PreparedTarget) -> dict[int, Batch]:
    """Return what evaluates many points, by the handle of every function that would otherwise run point by point."""
    found = {function: Batch(function, target.handles(function.slots)) for function in target.batch_functions.values()}
    return {handle: found[function] for handle, function in target.batch_functions.items()}


def _returning(target: PreparedTarget, handle: int) -> Callable[..., object]:
    """Return a function that returns what it would otherwise write into its last argument."""
    function = target.movable[handle]
    if handle != target.gradient_handle:
        return function
    return partial(_with_output, function, target.dimension)


def _with_output(function: Callable[..., object], dimension: int, x: FloatArray) -> FloatArray:
    out = np.zeros(dimension)
    function(x, out)
    return out
