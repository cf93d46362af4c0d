"""Ctrl-C at every moment of a run: each place in Python code, with its callers, where Python looks for signals.

    python bench/interrupt_moments.py [kind] [every n-th moment]

Random moments (`bench/interrupts.py`) rarely hit the microseconds in which handlers change hands or objects are freed.
Here a run is traced; at each new moment the process forks, and the copy gets SIGINT and goes on. It must end as
KeyboardInterrupt within seconds and give the handlers back. An endless run shows that an interrupt is not forgotten,
two short ones in a row that none is lost between them. Threads do not survive a fork, so that only kinds without them
can be tried: vectorised, python, compiled, move. Linux and macOS only; all moments take up to an hour.
"""

import dis
import os
import signal
import sys
import time
from collections import Counter
from functools import cache

from interrupts import targets

SECONDS = 20
# So many moments in a row without a new one end the endless run.
ENOUGH = 20_000


@cache
def looks(code):
    """Return the places in a function before which Python has looked for signals."""
    found, before = set(), ""
    for instruction in dis.get_instructions(code):
        if before in ("RESUME", "CALL", "CALL_FUNCTION_EX", "CALL_KW"):
            found.add(instruction.offset)
        if "JUMP_BACKWARD" in instruction.opname and "NO_INTERRUPT" not in instruction.opname:
            found.add(instruction.argval)
        before = instruction.opname
    return frozenset(found)


class Moments:
    """A tracer that interrupts a copy of this process at each new moment."""

    def __init__(self, every):
        self.every, self.seen, self.number, self.old_in_a_row = every, set(), 0, 0
        self.answer, self.slowest, self.failures = None, 0.0, Counter()

    def trace(self, frame, event, argument):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and frame.f_lasti in looks(frame.f_code):
            moment = hash(tuple((one.f_code, one.f_lasti) for one in stack(frame)))
            self.old_in_a_row += 1
            if moment not in self.seen:
                self.seen.add(moment)
                self.number, self.old_in_a_row = self.number + 1, 0
                if self.number % self.every == 0:
                    self.interrupt(frame)
            elif self.old_in_a_row == ENOUGH:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return None if self.answer else self.trace

    def interrupt(self, frame):
        """Interrupt a copy here, and note what becomes of it."""
        answer, end = os.pipe()
        began, copy = time.perf_counter(), os.fork()
        if copy == 0:
            sys.settrace(None)
            self.answer = end
            sys.unraisablehook = lambda ignored: self.say(f"ignored in {ignored.object!r}")
            signal.alarm(SECONDS)
            signal.raise_signal(signal.SIGINT)
            return
        os.close(end)
        with os.fdopen(answer) as text:
            outcome = text.read()
        _, status = os.waitpid(copy, 0)
        self.slowest = max(self.slowest, time.perf_counter() - began)
        if outcome != "KeyboardInterrupt":
            where = " < ".join(f"{os.path.basename(f.f_code.co_filename)}:{f.f_lineno}" for f in stack(frame)[:6])
            self.failures[f"{outcome or f'status {status}'} at {where}"] += 1

    def say(self, outcome):
        """End a copy."""
        os.write(self.answer, outcome.encode())
        os._exit(0)


def stack(frame):
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def left_behind():
    """Return what a run has not given back."""
    from numba.core import event

    handler = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return " handler" * handler + " listener" * bool(event._registered["numba:run_pass"])


def try_all(moments, run):
    """Run, in this process and in its copies."""
    try:
        sys.settrace(moments.trace)
        run()
        sys.settrace(None)
        outcome = "no interrupt"
    except BaseException as error:
        sys.settrace(None)
        outcome = type(error).__name__ + left_behind()
    if moments.answer:
        moments.say(outcome)


def main(kind="vectorised", every=1):
    import sterna
    from sterna.engine.interrupts import Interrupts

    signal.signal(signal.SIGINT, signal.default_int_handler)
    # copies stand for this process, and threads do not survive a fork
    process, watch = os.getpid(), Interrupts.watch
    os.getpid = lambda: process
    Interrupts.watch = lambda self, stop, calls_python: watch(self, stop, calls_python=True)
    build, options = targets(kind)
    options |= {"n_chains": 3, "n_scans": 1, "seed": 1, "progress": False, "workers": 1}

    def run(n_rounds, times):
        for n_copies in range(1, 1 + times):
            sterna.sample(build(), n_rounds=n_rounds, n_copies=n_copies, **options)

    run(2, 2)
    for name, n_rounds, times in (("an endless run", 22, 1), ("two short runs", 2, 2)):
        moments = Moments(int(every))
        try_all(moments, lambda n_rounds=n_rounds, times=times: run(n_rounds, times))
        tried, failed = moments.number // moments.every, sum(moments.failures.values())
        print(f"{kind}, {name}: {tried} moments, {failed} failures, slowest {moments.slowest:.2f} s", flush=True)
        for text, count in moments.failures.most_common():
            print(f"    {count} times: {text}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
