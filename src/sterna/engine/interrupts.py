"""Ctrl-C ends a run soon and never crashes it: exceptions of signal handlers are raised where that is safe.

A run may also take the first signal of a kind itself, to end in good order (`asked_first`).

Python calls the handler of a signal between any two of its instructions in the main thread. An exception from there can
meet Numba while it takes an argument apart, which crashes the process, or a pool between two of its locks. During a run
handlers are still called at once, but what they raise waits for one of these moments:

- inside a user's function or another library (`call_python`, `interruptible`) it is raised at once;
- in compiled code after the evaluation under way (`sterna.engine.stop.Stop`). Because a handler cannot be called
  while the main thread is in compiled code, a thread lets that code call Python ten times a second;
- between the steps of a run, and while it waits for its threads (`check_interrupts`);
- between the passes of Numba's compiler.

The user's functions run in the thread that called sterna, and not in one that receives no signals: connections to
databases, settings of other libraries, R and Julia belong to their thread.
"""

import ctypes
import importlib
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numba.core import event
from numba.core.dispatcher import Dispatcher

from sterna.engine import callback
from sterna.engine.stop import CEILING, POLL, Stop
from sterna.ground.compilation import address_of
from sterna.types import FloatArray

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Handler = Callable[[int, FrameType | None], Any]

# Ctrl-C comes first, because from then on the others are taken without being interrupted by it; it is given back last.
SIGNALS = tuple(sorted(signal.valid_signals(), key=lambda number: number != signal.SIGINT))

# How often compiled code calls Python, and a thread that waits for others looks for interrupts.
SECONDS_BETWEEN_LOOKS = 0.1


class Interrupted(BaseException):
    """The run shall end; `held_interrupts` raises what a signal's handler has raised instead."""


def interruptible(
    function: Callable[Parameters, Returned], *arguments: Parameters.args, **keywords: Parameters.kwargs
) -> Returned:
    """Call a function that may be interrupted anywhere, like any Python code."""
    return function(*arguments, **keywords)


def uninterruptible(
    function: Callable[Parameters, Returned], *arguments: Parameters.args, **keywords: Parameters.kwargs
) -> Returned:
    """Call a function that calls compiled code; only a user's function that is called by it may be interrupted."""
    return function(*arguments, **keywords)


def keeps_interrupts(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Let a function be interrupted anywhere but in Numba's compiler, where an interrupt can be lost."""

    @wraps(function)
    def kept(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
        with held_interrupts():
            return interruptible(function, *arguments, **keywords)

    return kept


def holds_interrupts(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Let signals that arrive during a function wait for a safe moment, if the main thread calls it."""

    @wraps(function)
    def held(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
        with held_interrupts():
            return function(*arguments, **keywords)

    return held


# The innermost of these on the stack decides whether a handler's exception is raised at once; without any it waits.
RAISING = frozenset(function.__code__ for function in (callback.call_python, interruptible))
WAITING = frozenset(
    function.__code__
    for function in (
        # a run, or a target that is built, inside a user's function of another run: handlers change hands
        holds_interrupts(lambda: None),
        keeps_interrupts(lambda: None),
        uninterruptible,
        # Numba's compiler
        Dispatcher.compile,
        address_of,
        # where Numba takes a user's `Generator` apart, and does not look whether that has failed
        ctypes.cast,
        # a module that is imported by half is not imported again
        importlib._bootstrap._find_and_load,  # type: ignore[attr-defined]
    )
)


def raises_at_once(frame: FrameType | None) -> bool:
    """Return whether an exception may be raised in a frame of the main thread."""
    while frame is not None:
        if frame.f_code in RAISING:
            return True
        if frame.f_code in WAITING:
            return False
        frame = frame.f_back
    return False


class Interrupts(event.Listener):  # type: ignore[misc]
    """The signals of one run, held until they may end it."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        """What a signal's handler has raised, and the run shall raise."""
        self.ended = False
        """Whether the run shall end, for that reason or another."""
        self.all_wait = False
        """Whether even a user's function must not be interrupted."""
        self.is_holding = self.is_released = False
        self.asked: Callable[[int], bool] | None = None
        """Is told a signal before its handler, which is not called if this returns True."""
        self.notice: Callable[[], None] | None = None
        """Is called soon after that, outside of the handler."""
        self.asking: frozenset[int] = frozenset()
        self.process, self.is_main = os.getpid(), threading.current_thread() is threading.main_thread()
        self.replaced: dict[int, Handler | signal.Handlers] = {}
        self.handlers: dict[int, Handler] = {}
        self.unraisable_hook = sys.unraisablehook
        self.stop: FloatArray | None = None
        self.handle = 0
        self.done = threading.Event()
        self.ticker: threading.Thread | None = None

    def hold(self) -> None:
        """Take the place of all handlers that are written in Python."""
        if not self.is_main:
            return
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                # a run inside a user's function of another run raises there, like that function
                self.replaced[number] = handler
                outer = getattr(handler, "__self__", None)
                self.handlers[number] = outer.handlers[number] if isinstance(outer, Interrupts) else handler
                if isinstance(outer, Interrupts):
                    self.asked, self.notice, self.asking = outer.asked, outer.notice, outer.asking
                signal.signal(number, self._handle)
        event.register("numba:run_pass", self)
        sys.unraisablehook = self._hook
        self.is_holding = True

    def release(self) -> None:
        """Give the handlers back, unless the user's functions have set others; a second call completes the first.

        A handler that was given back may raise in here. Until then it waits, so that no handler is left behind.
        """
        self.done.set()
        if self.ticker is not None:
            self.ticker.join()
        if self.stop is not None:
            self.stop[CEILING] = math.inf
            callback.forget([self.handle])
        if self.is_holding:
            event.unregister("numba:run_pass", self)
            if sys.unraisablehook == self._hook:
                sys.unraisablehook = self.unraisable_hook
            self.is_holding = False
        for number in reversed(self.replaced):
            if signal.getsignal(number) == self._handle:
                signal.signal(number, self.replaced[number])
        self.is_released = True

    def watch(self, stop: FloatArray, calls_python: bool) -> None:
        """Be called by compiled code that looks at these words of `Stop`."""
        self.stop, self.handle = stop, callback.register(self._poll)
        words = stop.view(np.int64)
        words[Stop.poll], words[Stop.handle] = address_of(callback.python_poll, POLL), self.handle
        # a likelihood in Python lets handlers be called anyway, and may fork, for which a thread is a risk
        if self.is_main and not calls_python:
            self.ticker = threading.Thread(target=self._tick, args=(stop,), daemon=True)
            self.ticker.start()

    def ask_first(self, numbers: Sequence[int], asked: Callable[[int], bool], notice: Callable[[], None]) -> None:
        """Tell a function of these signals before their handlers, unless a user has set handlers for them.

        A run inside a user's function of another run leaves that to the other run.
        """
        if not self.is_holding or self.asked is not None:
            return
        for number in numbers:
            if signal.getsignal(number) is signal.SIG_DFL:
                self.replaced[number], self.handlers[number] = signal.SIG_DFL, _die
                signal.signal(number, self._handle)
        of_python = (signal.default_int_handler, _die)
        self.asked, self.notice = asked, notice
        self.asking = frozenset(number for number in numbers if self.handlers.get(number) in of_python)

    def check(self) -> None:
        """Raise if the run shall end."""
        if self.ended:
            raise Interrupted

    def end(self, error: BaseException | None = None) -> None:
        """Let compiled code end after the evaluation under way, in all threads."""
        self.error = self.error if error is None else error
        self.ended = True
        if self.stop is not None:
            self.stop[CEILING] = -math.inf

    def on_start(self, _: object) -> None:
        """Look for interrupts before a pass of Numba's compiler, in the thread of the run."""
        check_interrupts()

    def on_end(self, _: object) -> None:
        """Do nothing after a pass."""

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Call the handler of a signal, and keep what it raises."""
        is_over = self.is_released or self.process != os.getpid()
        if not is_over and number in self.asking and self.asked is not None and self.asked(number):
            if self.stop is not None:
                # for the notice
                self.stop[CEILING] = -math.inf
            return
        at_once = is_over or (not self.all_wait and raises_at_once(frame))
        try:
            self.handlers[number](number, frame)
        except BaseException as error:
            # a user's function may catch a timeout of its own, but must not swallow Ctrl-C
            if not at_once or isinstance(error, KeyboardInterrupt):
                self.end(error)
            if at_once:
                self._mark(error)
                raise

    def _mark(self, error: BaseException) -> None:
        """Let `is_of_signal` know what a handler has raised inside a user's function."""
        with suppress(Exception):  # a user's exception may refuse attributes
            error.sterna_signal = True  # type: ignore[attr-defined]

    def _hook(self, unraisable: Any) -> None:
        """Do not report that Python has ignored an interrupt inside a destructor: it is raised later."""
        if self.error is None or not isinstance(unraisable.exc_value, type(self.error)):
            self.unraisable_hook(unraisable)

    def _poll(self) -> None:
        """Let compiled code go on, or end it."""
        assert self.stop is not None
        self.stop[CEILING] = math.inf
        if self.notice is not None:
            self.notice()
        # only now, because another thread may have ended the run in the meantime
        if self.ended:
            self.stop[CEILING] = -math.inf
            raise Interrupted

    def _tick(self, stop: FloatArray) -> None:
        while not self.done.wait(SECONDS_BETWEEN_LOOKS):
            stop[CEILING] = -math.inf


def _die(number: int, frame: FrameType | None) -> None:
    """End the process as the signal does without sterna."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


class _Thread(threading.local):
    """The run of this thread."""

    def __init__(self) -> None:
        self.interrupts: Interrupts | None = None


_thread = _Thread()


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Hold the signals of this process during a run in the main thread, and raise at the end what has waited."""
    before, interrupts = _thread.interrupts, Interrupts()
    try:
        _thread.interrupts = interrupts
        interrupts.hold()
        if before is not None:
            # from here on nobody asks the outer run
            before.check()
        yield
    except BaseException:
        # after an interrupt it does not matter what else it has led to
        if interrupts.error is None:
            raise
    finally:
        _thread.interrupts = before
        try:
            interrupts.release()
        except BaseException as error:
            interrupts.error = error
            interrupts.release()
    if interrupts.error is not None:
        if before is not None and isinstance(interrupts.error, KeyboardInterrupt):
            # a user's function that has run all this must not swallow it
            before.end(interrupts.error)
        raise interrupts.error.with_traceback(None) from None


def watch_interrupts(stop: FloatArray, calls_python: bool) -> None:
    """Let the run of this thread be interrupted inside compiled code, whose likelihood may call Python."""
    if _thread.interrupts is not None:
        _thread.interrupts.watch(stop, calls_python)


@contextmanager
def asked_first(numbers: Sequence[int], asked: Callable[[int], bool], notice: Callable[[], None]) -> Iterator[None]:
    """Let the run of this thread take some signals itself as long as `asked` returns True."""
    interrupts = _thread.interrupts
    if interrupts is not None:
        interrupts.ask_first(numbers, asked, notice)
    yield
    if interrupts is not None and interrupts.notice == notice:
        interrupts.asked = interrupts.notice = None


def is_of_signal(error: BaseException) -> bool:
    """Return whether an exception, or the cause that it names, was raised by the handler of a signal during a run."""
    return any(getattr(one, "sterna_signal", False) for one in (error, error.__cause__))


def check_interrupts() -> None:
    """End the run of this thread if it was interrupted."""
    if _thread.interrupts is not None:
        _thread.interrupts.check()


def end_compiled_code() -> None:
    """Let all compiled code of this thread's run end after the evaluation under way, because the run has failed."""
    if _thread.interrupts is not None:
        _thread.interrupts.end()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let interrupts wait even inside a user's function, while the run is being ended."""
    if _thread.interrupts is not None:
        _thread.interrupts.all_wait = True
    yield
    if _thread.interrupts is not None:
        _thread.interrupts.all_wait = False
