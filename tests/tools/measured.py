"""Coverage at little cost: Numba's compiler is not traced, and neither are processes that a test starts.

Tracing costs time for every line of Python, also of other libraries; the compiler of Numba alone would take twice as
long. Each further process would be traced while it imports everything again.
"""

import functools
import os
import sys

# How coverage tells a new process to measure itself.
REQUEST = "COVERAGE_PROCESS_CONFIG"


def untraced(function):
    """Return a function that suspends this thread's tracing while it runs."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return function(*arguments, **keywords)
        finally:
            sys.settrace(tracer)

    return call


def spare_compiler():
    """Suspend tracing while Numba compiles, if there is tracing."""
    if sys.gettrace() is not None:
        from numba.core.dispatcher import Dispatcher

        for name in ("compile", "_compile_for_args"):
            setattr(Dispatcher, name, untraced(getattr(Dispatcher, name)))


def withhold_request():
    """Measure no process that this one starts, unless a test asks for it; return what such a test has to restore."""
    return os.environ.pop(REQUEST, None)
