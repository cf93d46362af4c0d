"""The same points evaluated again: in another order, many at once, in threads, and in another process."""

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sterna.engine.callback import LIKELIHOOD
from sterna.engine.interrupts import check_interrupts
from sterna.engine.program import LOG_LIKELIHOOD
from sterna.engine.round import new_copy, refresh_some
from sterna.errors import Error, OptionError
from sterna.result.check_report import NOT_CHECKED, NOTE, OK, PROBLEM, CheckRow
from sterna.run.check.subject import Subject, evaluated
from sterna.target.checks.agreement import differ
from sterna.target.checks.repeated import HARMLESS_NOISE, check_repeated
from sterna.types import FloatArray
from sterna.workers.choice import Teams
from sterna.workers.processes import Processes
from sterna.workers.remote import DONE, RemoteFunction, evaluate

# Points that are evaluated again at most, in this thread and elsewhere, and how many at once.
MAX_REPEATED, MAX_ELSEWHERE, BATCH = 2048, 256, 64

# Threads that evaluate at the same time, how long in a worker, and how often Python switches between them there.
N_THREADS, THREAD_SECONDS, SWITCH_SECONDS = 4, 1.0, 1e-6

# A worker that does not answer for so long, with its start, is given up.
PATIENCE = 20.0


def check_order(subject: Subject) -> CheckRow:
    """Evaluate points again in another order: a function with a state of its own gives other values."""
    target, n = subject.target, subject.affordable(1, min(MAX_REPEATED, len(subject.states)))
    order = subject.rng.permutation(n)
    for k in order:
        check_interrupts()
        again, problem = evaluated(target, subject.states[k][None])
        if problem:
            raise OptionError(f"It failed at a point where it did not fail before: {problem}")
        check_repeated(target, subject.states[k][None], subject.log_densities[k][None], again)
    text = f"{n} points gave the same values again, in another order"
    if target.batch_functions:
        check_batches(subject, n)
        text += f", and {min(BATCH, n)} in one call the same as one by one"
    return CheckRow("repeated evaluations", OK, text)


def check_batches(subject: Subject, n: int) -> None:
    """Evaluate many points in one call: a point's value must not depend on the others."""
    target = subject.target
    teams = Teams(target, False, None, 1, 1)
    try:
        for first in range(0, n, BATCH):
            _evaluate_with(subject, teams, slice(first, min(first + BATCH, n)))
    finally:
        teams.close()


def _evaluate_with(subject: Subject, teams: Teams, which: slice) -> None:
    target, team = subject.target, teams.teams[0]
    assert team is not None
    states = subject.states[which][::-1]
    copy = new_copy(len(states), target.dimension)
    copy.states[:] = states
    team.apply(copy, partial(refresh_some, target.block))
    known = subject.log_densities[which][::-1]
    check_repeated(target, states, known, copy.log_densities[:, : LOG_LIKELIHOOD + 1])


def check_threads(subject: Subject) -> CheckRow:
    """Evaluate the same points in several threads at the same time."""
    target, name = subject.target, "threads"
    n = min(subject.affordable(1 + N_THREADS, MAX_ELSEWHERE * 4), len(subject.states))
    if target.batch_functions:
        return CheckRow(name, NOT_CHECKED, "one thread alone calls a function that takes many points at once")
    if not target.compiled and subject.failures:
        return CheckRow(name, NOT_CHECKED, "the log-likelihood fails at some draws")
    if not target.compiled:
        # in a process of its own, because code that must stay in one thread may not survive this
        return _check_python_threads(subject, n)
    teams = Teams(target, True, None, N_THREADS, 1)
    try:
        _evaluate_with(subject, teams, slice(0, n))
    finally:
        teams.close()
    return CheckRow(name, OK, f"{n} points gave the same values in {N_THREADS} threads at the same time")


def _check_python_threads(subject: Subject, n: int) -> CheckRow:
    name = "threads"
    answer, known, problem = _in_process(subject, min(n, MAX_ELSEWHERE), values_in_threads)
    if answer is None:
        return CheckRow(name, NOT_CHECKED, problem)
    alone, together = answer
    for values, when in ((alone, "in another thread"), *((one, "in threads at the same time") for one in together)):
        wrong = _first_difference(known, values)
        if wrong is not None:
            state = subject.target.describe_point(subject.states[wrong])
            value = values[wrong]
            what = f"returned {value!r}" if isinstance(value, float) else f"raised {value}"
            advice = (
                "It keeps something between calls, such as a buffer: several threads must not call it. sterna calls "
                "it from one thread; workers=N takes processes, but do not give a ThreadPoolExecutor as workers."
                if when != "in another thread"
                else "It must be a function of its arguments alone, whichever thread calls it."
            )
            return CheckRow(
                name,
                PROBLEM,
                f"log_likelihood {what} {when} and {float(known[wrong])!r} alone, at {state}. {advice}",
            )
    return CheckRow(name, OK, f"{len(known)} points gave the same values in {N_THREADS} threads at the same time")


def check_processes(subject: Subject) -> CheckRow:
    """Evaluate points in another process."""
    target, name = subject.target, "processes"
    if target.compiled:
        return CheckRow(name, NOT_CHECKED, "not needed: threads of this process evaluate a compiled target")
    if target.batch_functions:
        return CheckRow(name, NOT_CHECKED, "not needed: this process calls a function that takes many points at once")
    if subject.failures:
        return CheckRow(name, NOT_CHECKED, "the log-likelihood fails at some draws")
    answer, known, problem = _in_process(subject, MAX_ELSEWHERE, values_of)
    if answer is None:
        return CheckRow(name, NOTE, f"workers=N, for processes that evaluate, will not work: {problem}")
    wrong = _first_difference(known, answer)
    if wrong is None:
        return CheckRow(name, OK, f"{len(known)} points gave the same values in another process")
    value = answer[wrong]
    what = f"returned {value!r}" if isinstance(value, float) else f"raised {value}"
    return CheckRow(
        name,
        PROBLEM,
        f"log_likelihood {what} in another process and {float(known[wrong])!r} in this one, at "
        f"{target.describe_point(subject.states[wrong])}. It must be a function of its arguments alone, in every "
        "process that calls it: pass what differs as data, and draw random numbers once.",
    )


Values = list[Any]
"""A float for each point, or a text if the function failed."""


def values_of(function: Callable[[FloatArray], float], states: FloatArray) -> Values:
    """Call a function at points; what it raises becomes a text. Runs in a worker."""
    found: Values = []
    for state in states:
        try:
            found.append(float(function(state.copy())))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


def values_in_threads(function: Callable[[FloatArray], float], states: FloatArray) -> tuple[Values, list[Values]]:
    """Call a function at points in one other thread, and then in several at the same time. Runs in a worker."""
    found: list[Values] = [[] for _ in range(N_THREADS + 1)]
    alone = threading.Thread(target=lambda: found[0].extend(values_of(function, states)))
    alone.start()
    alone.join()
    end, before = time.perf_counter() + THREAD_SECONDS, sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)

    def work(k: int) -> None:
        # each begins elsewhere, so that they are at different points
        order = np.roll(np.arange(len(states)), k * max(1, len(states) // N_THREADS))
        while True:
            values = values_of(function, states[order])
            found[k + 1] = [values[place] for place in np.argsort(order)]
            if time.perf_counter() > end or _first_difference(found[0], found[k + 1]) is not None:
                return

    threads = [threading.Thread(target=work, args=(k,)) for k in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)
    return found[0], found[1:]


def _in_process(subject: Subject, most: int, job: Callable[..., Any]) -> tuple[Any, FloatArray, str]:
    """Return what a job made of the log-likelihood in another process, the values here, and why there is none."""
    target = subject.target
    handle = target.handles((LIKELIHOOD,))[0]
    if handle == 0 or handle not in target.movable:
        return None, np.zeros(0), "the log-likelihood is not evaluated elsewhere"
    n = min(subject.affordable(1, most), most, len(subject.states))
    states, known = subject.states[:n], subject.log_densities[:n, 1]
    try:
        remote = RemoteFunction(partial(job, target.movable[handle]), target.label(handle))
    except Error as error:
        return None, known, str(error)
    with Processes(1) as process:
        future = process.submit(evaluate, *remote.job((states,), with_function=True))
        end = time.perf_counter() + PATIENCE + 2 * N_THREADS * n * subject.seconds_per_evaluation
        while not future.done() and time.perf_counter() < end:
            check_interrupts()
            time.sleep(0.01)
        if not future.done():
            return None, known, "another process did not answer in time"
        try:
            status, value = future.result()
        except Exception as error:
            return None, known, str(error)
    return (value, known, "") if status == DONE else (None, known, f"it raised {value[0]} there")


def _first_difference(known: Any, values: Values) -> int | None:
    for k, (before, now) in enumerate(zip(known, values, strict=True)):
        if isinstance(before, str) or isinstance(now, str):
            if before != now:
                return k
        elif differ(float(before), float(now), negligible=HARMLESS_NOISE):
            return k
    return None
