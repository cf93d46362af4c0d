"""Evaluations by an executor or a pool: the function is sent to every worker once, afterwards only points."""

import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

import cloudpickle
import numpy as np

from sterna.engine.interrupts import SECONDS_BETWEEN_LOOKS
from sterna.errors import EvaluationError, OptionError, describe
from sterna.types import FloatArray

# What became of an evaluation.
DONE, MISSING, RAISED = range(3)

Function = Callable[..., object]
Arguments = tuple[object, ...]
# What a worker is asked: the function's key, its pickle if it must be sent, its arguments if it is to be called.
Job = tuple[str, bytes | None, Arguments | None]
# What a worker answers: DONE and the value, MISSING, or RAISED, the message and the traceback.
Answer = tuple[int, Any]

# Only in a worker: functions that have arrived, by key. One run needs only the last few.
_functions: dict[str, Function] = {}
MAX_FUNCTIONS = 8

# How often a worker is asked with the function delivered apart, before point and function are sent together.
MAX_DELIVERIES = 8


class Pool(Protocol):
    """Anything with a `map`, such as `multiprocessing.Pool`."""

    def map(self, function: Callable[[Any], Any], jobs: Iterable[Any], /) -> Iterable[Any]:
        """Call a function for every job, in any worker; return the answers in the order of the jobs."""


def evaluate(key: str, function: bytes | None, arguments: Arguments | None) -> Answer:
    """Call a function in a worker, which has it by its key or is sent it now; arguments of None call nothing."""
    try:
        present = _functions.get(key)
        if present is None:
            if function is None:
                return MISSING, None
            while len(_functions) >= MAX_FUNCTIONS:
                _functions.pop(next(iter(_functions)), None)
            present = _functions[key] = cloudpickle.loads(function)
        return DONE, None if arguments is None else present(*arguments)
    except Exception as error:
        return RAISED, (describe(error), traceback.format_exc())


def evaluate_job(job: Job) -> Answer:
    """Call `evaluate` with one argument, for pools that only have a `map`."""
    return evaluate(*job)


class RemoteFunction:
    """A function that workers call: its key, and its pickle for a worker that does not have it yet."""

    def __init__(self, function: Function, label: str = "the target") -> None:
        self.function, self.label = function, label
        self.lock = threading.Lock()
        self.send_again()

    def send_again(self) -> None:
        """Pickle the function under a new key, because what it captures has changed."""
        try:
            self.key, self.pickled = uuid4().hex, cloudpickle.dumps(self.function)
        except Exception as error:  # objects may raise anything when they are pickled
            raise OptionError(
                f"The target's function cannot be sent to a worker ({describe(error)}): create what "
                "cannot be sent, such as an open file, inside the function, or leave out workers=."
            ) from error

    def job(self, arguments: Arguments, with_function: bool = False) -> Job:
        """Return what a worker needs for an evaluation; the function itself only if it was missing."""
        return self.key, self.pickled if with_function else None, arguments


def value_of(answer: Answer, label: str) -> Any:
    """Return the value, or raise what was raised in the worker, by the name of the user's function."""
    status, value = answer
    if status == RAISED:
        message, text = value
        raise EvaluationError(f"{label} raised {message} in a worker.") from RemoteTracebackError(text)
    return value


class RemoteTracebackError(Exception):
    """The traceback of a worker, shown above the error that it caused."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class ExecutorEvaluator:
    """Evaluations by an executor; a replica's thread waits for its own evaluation only."""

    def __init__(self, executor: Executor, functions: Mapping[int, RemoteFunction]) -> None:
        self.executor, self.remote_functions = executor, functions
        self.ended = threading.Event()
        self.waiting: set[Future[Answer]] = set()

    def end(self) -> None:
        """Submit nothing more, and cancel what no worker has begun."""
        self.ended.set()
        for future in list(self.waiting):
            future.cancel()

    def functions(self) -> dict[int, Function]:
        """Return what a replica's thread calls instead of the target's own functions, by handle."""
        return {handle: partial(self._evaluate, remote) for handle, remote in self.remote_functions.items()}

    def _evaluate(self, remote: RemoteFunction, x: FloatArray, *rest: object) -> Any:
        # an array after the point is where a gradient is written
        out = rest[0] if rest and isinstance(rest[0], np.ndarray) else None
        arguments = (x.copy(),) if out is not None else (x.copy(), *rest)
        value = value_of(self._answer(remote, arguments), remote.label)
        if out is None:
            return value
        out[:] = value
        return None

    def _answer(self, remote: RemoteFunction, arguments: Arguments) -> Answer:
        """Ask, and deliver the function if it is missing: one delivery at a time, because all chains ask at once."""
        for _ in range(MAX_DELIVERIES):
            answer = self._submit(remote.job(arguments))
            if answer[0] != MISSING:
                return answer
            with remote.lock:
                if self._submit((remote.key, None, None))[0] == MISSING:
                    self._submit((remote.key, remote.pickled, None))
        return self._submit(remote.job(arguments, with_function=True))

    def _submit(self, job: Job) -> Answer:
        if self.ended.is_set():
            raise EvaluationError("The run has ended.")
        future = self._future(job)
        self.waiting.add(future)
        try:
            # no executor can stop an evaluation that is under way
            while not self.ended.is_set():
                try:
                    return future.result(timeout=SECONDS_BETWEEN_LOOKS)
                except TimeoutError:
                    # the evaluation itself may have failed by a timeout
                    if future.done():
                        return future.result()
            future.cancel()
            raise EvaluationError("The run has ended.")
        except CancelledError:
            raise EvaluationError("The run has ended.") from None
        except BrokenExecutor as error:
            raise self._broken(error) from error
        finally:
            self.waiting.discard(future)

    def _broken(self, error: BrokenExecutor) -> EvaluationError:
        return EvaluationError(
            f"workers={self.executor!r} broke down: {error} The run cannot continue. With a number, such as workers=4, "
            "sterna starts processes that are replaced when they die."
        )

    def _future(self, job: Job) -> "Future[Answer]":
        try:
            return self.executor.submit(evaluate, *job)
        except BrokenExecutor as error:  # a RuntimeError too, raised for those who ask after it broke
            raise self._broken(error) from error
        except RuntimeError as error:
            raise EvaluationError(f"workers={self.executor!r} takes no more work: {error}.") from error


def mapped(pool: Pool, remote: RemoteFunction, points: FloatArray, _: int) -> tuple[Sequence[Any]]:
    """Evaluate a batch of points by the `map` of a pool."""
    arguments = [(point,) for point in points]
    answers = list(pool.map(evaluate_job, [remote.job(one) for one in arguments]))
    missing = [k for k, answer in enumerate(answers) if answer[0] == MISSING]
    # a worker without the function may be given several points again, so each point brings the function
    jobs = [remote.job(arguments[k], with_function=True) for k in missing]
    for k, answer in zip(missing, pool.map(evaluate_job, jobs) if jobs else [], strict=True):
        answers[k] = answer
    return ([value_of(answer, remote.label) for answer in answers],)
