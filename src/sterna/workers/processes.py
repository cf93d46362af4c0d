"""Processes that evaluate: started by the run, called through pipes, and replaced when they die."""

import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any, ParamSpec, TypeVar

from sterna.errors import EvaluationError

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

# After so many deaths in a row on one call, the call itself is at fault.
MAX_DEATHS_PER_CALL = 3

_LENGTH = struct.Struct("<q")

# What a new process runs; it can import what this one can.
START = "import sys; sys.path[:] = {path!r}; from sterna.workers.processes import serve; serve()"


class WorkerDiedError(Exception):
    """A process ended in the middle of an evaluation."""


def write(pipe: IO[bytes], message: bytes) -> None:
    """Send a message, preceded by its length."""
    pipe.write(_LENGTH.pack(len(message)) + message)
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes | None:
    """Return the next message, or None at the end."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = pipe.read(length)
    return message if len(message) == length else None


def serve() -> None:
    """Answer calls until the pipe closes; runs in a worker."""
    # the run handles an interrupt, and then closes the pipes
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # what every call needs takes half a second to import, during which the run compiles
    import_module("sterna.workers.remote")
    answers = os.fdopen(os.dup(1), "wb")
    # what the user's function prints must not end up among the answers
    os.dup2(2, 1)
    calls = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    while (message := read(calls)) is not None:
        function, arguments = pickle.loads(message)  # noqa: S301 (a pipe to our own process)
        write(answers, pickle.dumps(function(*arguments)))


@contextmanager
def blocked_interrupts() -> Iterator[None]:
    """Block Ctrl-C in this thread, and so in a process that it starts: a terminal sends it to all of them.

    It is not lost: another thread receives it, or this one when it is unblocked.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Process:
    """One worker process and its two pipes."""

    def __init__(self) -> None:
        self.busy, self.has_answered = False, False
        code = START.format(path=[os.getcwd() if part == "" else part for part in sys.path])
        # one thread of linear algebra each, because the workers themselves use the cores
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        threads = {name: os.environ.get(name, "1") for name in names}
        with blocked_interrupts():
            self.process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | threads
            )

    def call(self, message: bytes) -> bytes:
        """Send a call and wait for its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            write(self.process.stdin, message)
            answer = read(self.process.stdout)
        except OSError as error:
            raise WorkerDiedError from error
        if answer is None:
            raise WorkerDiedError
        self.has_answered = True
        return answer

    def close(self) -> int:
        """End the process; return its exit status."""
        if not self.has_answered:
            # it may still be starting, which takes longer than a user waits
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                assert pipe is not None
                pipe.close()
            except OSError:
                pass
        try:
            return self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Processes(Executor):
    """An executor of processes, each called by its own thread.

    Unlike those of the standard library, its processes do not import the user's script again, so that a script needs no
    `if __name__ == "__main__"`. If one dies, only its current call is lost, and that call is made again.
    """

    def __init__(self, n: int) -> None:
        self.exit_statuses: list[int] = []
        """Of the processes that died."""
        self.broken, self.ended = False, False
        self.calls: queue.SimpleQueue[tuple[Future[Any], bytes] | None] = queue.SimpleQueue()
        self.processes: list[Process] = []
        self.threads = [threading.Thread(target=self._serve, args=(k,), daemon=True) for k in range(n)]
        try:
            for thread in self.threads:
                self.processes.append(Process())
                thread.start()
        except BaseException:
            self.shutdown()
            raise

    def __repr__(self) -> str:
        return "1 process" if len(self.threads) == 1 else f"{len(self.threads)} processes"

    def submit(
        self, function: Callable[Parameters, Returned], /, *arguments: Parameters.args, **keywords: Parameters.kwargs
    ) -> "Future[Returned]":
        """Call a function of an installed module in the next free process; without keywords."""
        assert not keywords
        future: Future[Returned] = Future()
        self.calls.put((future, pickle.dumps((function, arguments))))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes, at once those that are evaluating: nobody waits for them any more."""
        self.ended = True
        for process in self.processes:
            if process.busy:
                process.process.kill()
        started = [thread for thread in self.threads if thread.ident is not None]
        for _ in started:
            self.calls.put(None)
        for thread in started if wait else []:
            thread.join()
        for process in self.processes[len(started) :]:
            process.close()

    def _serve(self, k: int) -> None:
        while (call := self.calls.get()) is not None:
            future, message = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                self._answer(k, future, message)
            except BaseException as error:  # of any kind: a replica waits for the answer
                self.broken = True
                future.set_exception(error)
        self.processes[k].close()

    def _answer(self, k: int, future: "Future[Any]", message: bytes) -> None:
        """Answer a call by process k, which is replaced if it dies."""
        for _ in range(0 if self.broken else MAX_DEATHS_PER_CALL):
            process = self.processes[k]
            # before `ended` is read, so that `shutdown` sees that this process is busy if this does not see the end
            process.busy = True
            try:
                if self.ended:
                    raise EvaluationError("The run has ended.")
                answer = process.call(message)
            except WorkerDiedError:
                if self.ended:
                    raise EvaluationError("The run has ended.") from None
                self.exit_statuses.append(process.close())
                self.processes[k] = Process()
                continue
            finally:
                process.busy = False
            future.set_result(pickle.loads(answer))  # noqa: S301 (a pipe to our own process)
            return
        self.broken = True
        future.set_exception(
            EvaluationError(
                f"{MAX_DEATHS_PER_CALL} worker processes in a row died (exit status {self.exit_statuses[-1]}), while "
                "they started or evaluated the target. See standard error for their output; workers=1 evaluates in "
                "this process, where errors are easier to find."
            )
        )
