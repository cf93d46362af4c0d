"""Interrupts like those of Ctrl-C, at chosen moments."""

import gc
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager


@contextmanager
def interrupt_after(seconds):
    """Interrupt the main thread after some time, and yield the moment at which that is due.

    JAX lets every garbage collection call a Python function. Before a run begins to hold interrupts, Python ignores
    what is raised there, so that an interrupt would be lost in a test's own code.
    """
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    due = time.perf_counter() + seconds
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield due
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        gc.callbacks[:] = callbacks


def seconds_to_interrupt(run, after):
    """Interrupt a run that would take very long; return how long it took to end."""
    try:
        with interrupt_after(after) as due:
            run()
    except KeyboardInterrupt:
        return time.perf_counter() - due
    raise AssertionError("the run ended by itself")


def seconds_to_interrupt_once(condition, run):
    """Interrupt a run that would take very long as soon as a condition holds; return how long it took to end."""
    sent, over = [], threading.Event()

    def wait_and_send():
        while not condition():
            if over.wait(0.01):
                return
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    # tests that run in the background ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=wait_and_send)
    thread.start()
    try:
        run()
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    raise AssertionError("the run ended by itself")


def child_processes():
    """Return the numbers of the processes that this one has started and not ended."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:  # it has ended in the meantime
            continue
        if parent == os.getpid():
            found.append(int(name))
    return found


def outcomes_at_all_moments(run):
    """Yield what ends a run, "nothing" or an exception, if Ctrl-C comes at its first, second, ... line of Python."""
    reached = True
    moment = 0
    while reached:
        moment += 1
        reached, outcome = _interrupt_at(moment, run)
        if reached:
            yield outcome


def _interrupt_at(moment, run):
    """Interrupt a run at its n-th line; return whether it has so many, and what ended it."""
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        lines += 1
        if lines == moment:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace

    try:
        sys.settrace(trace)
        run()
    except BaseException as error:
        return lines >= moment, error
    finally:
        sys.settrace(None)
    return lines >= moment, "nothing"


def python_calls_on_freeing(objects):
    """Empty a list; return the names of the Python functions that run when its objects are freed."""
    found = []

    def profile(frame, event, argument):
        if event == "call":
            found.append(frame.f_code.co_qualname)

    # JAX has a function that every collection calls
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    # what others have left
    gc.collect()
    sys.setprofile(profile)
    try:
        objects.clear()
        gc.collect()
    finally:
        sys.setprofile(None)
        gc.callbacks[:] = callbacks
    return found
