"""Evaluations by somebody else's executor or pool: the function is sent to every worker once, then points alone."""

import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from typing import Any
from uuid import uuid4

import cloudpickle
import numpy as np

from sterna.errors import EvaluationError, OptionError
from sterna.types import FloatArray

# What became of an evaluation.
DONE, MISSING, RAISED = range(3)

# Only in a worker: functions that have arrived, by key. The last few are enough for one run.
_functions: dict[str, Callable[..., Any]] = {}
MOST_FUNCTIONS = 8

# So often a worker is asked without the function, before it is sent along.
TRIES = 8


def evaluate(key: str, function: bytes | None, arguments: tuple[Any, ...] | None) -> tuple[int, Any]:
    """Call a function in a worker that has it by its key, or to which it is sent now; None calls nothing."""
    try:
        known = _functions.get(key)
        if known is None:
            if function is None:
                return MISSING, None
            while len(_functions) >= MOST_FUNCTIONS:
                _functions.pop(next(iter(_functions)), None)
            known = _functions[key] = cloudpickle.loads(function)
        return DONE, None if arguments is None else known(*arguments)
    except Exception as error:
        return RAISED, (f"{type(error).__name__}: {error}", traceback.format_exc())


def evaluate_job(job: tuple[str, bytes | None, tuple[Any, ...]]) -> tuple[int, Any]:
    """Call `evaluate` with one argument, for pools that have a `map` alone."""
    return evaluate(*job)


class RemoteFunction:
    """A function that lives in workers: its key, and itself as bytes for a worker that has not got it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.original = function
        self.lock = threading.Lock()
        self.renew()

    def renew(self) -> None:
        """Let workers ask for the function again, as what it captures has changed."""
        try:
            self.key, self.function = uuid4().hex, cloudpickle.dumps(self.original)
        except Exception as error:  # objects raise what they like
            raise OptionError(
                f"The target's function cannot be sent to a worker ({type(error).__name__}: {error}): make what cannot "
                "be sent, such as an open file, inside of it, or leave out workers=."
            ) from error

    def job(self, arguments: tuple[Any, ...], again: bool = False) -> tuple[str, bytes | None, tuple[Any, ...]]:
        """Return what a worker needs; the function itself only if it was missing."""
        return self.key, self.function if again else None, arguments


def value_of(answer: tuple[int, Any]) -> Any:
    """Return the value, or raise what was raised in the worker."""
    status, value = answer
    if status == RAISED:
        message, text = value
        raise EvaluationError(f"The target raised {message} in a worker.") from RemoteTracebackError(text)
    return value


class RemoteTracebackError(Exception):
    """The traceback of a worker, shown above the error that it caused."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class ExecutorEvaluator:
    """Evaluations by an executor; a replica's thread waits for its own alone."""

    def __init__(self, executor: Executor, sent: Mapping[int, RemoteFunction]) -> None:
        self.executor, self.sent = executor, sent
        self.ended = threading.Event()
        self.waiting: set[Future[Any]] = set()

    def end(self) -> None:
        """Ask for nothing more, and take back what no worker has begun."""
        self.ended.set()
        for future in list(self.waiting):
            future.cancel()

    def functions(self) -> dict[int, Callable[..., Any]]:
        """Return what a replica's thread calls instead of the target's own functions."""
        return {handle: partial(self._evaluate, sent) for handle, sent in self.sent.items()}

    def _evaluate(self, sent: RemoteFunction, x: FloatArray, *rest: Any) -> Any:
        # an array behind the point is where a gradient goes
        out = rest[0] if rest and isinstance(rest[0], np.ndarray) else None
        arguments = (x.copy(),) if out is not None else (x.copy(), *rest)
        value = value_of(self._answer(sent, arguments))
        if out is None:
            return value
        out[:] = value
        return None

    def _answer(self, sent: RemoteFunction, arguments: tuple[Any, ...]) -> tuple[int, Any]:
        """Ask, and deliver the function where it is missing: one at a time, as all chains ask at once."""
        for _ in range(TRIES):
            answer = self._submit(sent.job(arguments))
            if answer[0] != MISSING:
                return answer
            with sent.lock:
                if self._submit((sent.key, None, None))[0] == MISSING:
                    self._submit((sent.key, sent.function, None))
        return self._submit(sent.job(arguments, again=True))

    def _submit(self, job: tuple[Any, ...]) -> tuple[int, Any]:
        if self.ended.is_set():
            raise EvaluationError("The run has ended.")
        future = self._future(job)
        self.waiting.add(future)
        try:
            if self.ended.is_set():  # in the meantime, too late for `end` to see this one
                future.cancel()
            answer: tuple[int, Any] = future.result()
        except CancelledError:
            raise EvaluationError("The run has ended.") from None
        except BrokenExecutor as error:
            raise self._broken(error) from error
        finally:
            self.waiting.discard(future)
        return answer

    def _broken(self, error: BrokenExecutor) -> EvaluationError:
        return EvaluationError(
            f"workers={self.executor!r} broke down: {error} The run cannot go on with it; "
            "a number of workers instead starts processes that are replaced when they die."
        )

    def _future(self, job: tuple[Any, ...]) -> "Future[tuple[int, Any]]":
        try:
            return self.executor.submit(evaluate, *job)
        except BrokenExecutor as error:  # is a RuntimeError too, and reaches whoever asks after those who were waiting
            raise self._broken(error) from error
        except RuntimeError as error:
            raise EvaluationError(f"workers={self.executor!r} takes no more work: {error}.") from error


def mapped(pool: Any, sent: RemoteFunction, points: FloatArray, _: int) -> tuple[list[Any]]:
    """Evaluate a batch of one function by the `map` of a pool."""
    arguments = [(point,) for point in points]
    answers = list(pool.map(evaluate_job, [sent.job(one) for one in arguments]))
    missing = [k for k, answer in enumerate(answers) if answer[0] == MISSING]
    # a worker without the function may get several points again, so each brings it
    again = pool.map(evaluate_job, [sent.job(arguments[k], again=True) for k in missing]) if missing else []
    for k, answer in zip(missing, again, strict=True):
        answers[k] = answer
    return ([value_of(answer) for answer in answers],)
