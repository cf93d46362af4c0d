"""What a signal's handler raises waits for a safe moment, is raised once, and is never lost."""

import signal
import sys
import threading

import pytest
from numba.core import event
from signals import outcomes_at_all_moments

from sterna.engine import interrupts
from sterna.engine.callback import call_python, forget, register
from sterna.engine.interrupts import (
    Interrupted,
    check_interrupts,
    holds_interrupts,
    interruptible,
    keeps_interrupts,
    uninterruptible,
)

pytestmark = pytest.mark.usefixtures("untraced_thread")


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def steps():
    """Steps that were reached; afterwards the handlers must be those of before."""
    before, hook = signal.signal(signal.SIGINT, signal.default_int_handler), sys.unraisablehook
    yield []
    assert sys.unraisablehook is hook
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def interrupted(run):
    with pytest.raises(KeyboardInterrupt) as caught:
        holds_interrupts(run)()
    # a single clean exception
    assert type(caught.value) is KeyboardInterrupt
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_an_interrupt_waits_for_the_end_of_a_step(steps):
    def run():
        press_ctrl_c()
        steps.append("done")
        check_interrupts()
        steps.append("not reached")

    interrupted(run)
    assert steps == ["done"]


def test_an_interrupt_in_the_last_step_is_raised_at_the_end(steps):
    def run():
        press_ctrl_c()
        steps.append("done")

    interrupted(run)
    assert steps == ["done"]


def test_a_users_function_is_interrupted_at_once(steps):
    def users():
        press_ctrl_c()
        steps.append("not reached")

    interrupted(lambda: interruptible(users))
    handle = register(users)
    interrupted(lambda: call_python(handle))
    forget([handle])
    assert steps == []


def test_compiled_code_called_by_a_users_function_is_not_interrupted(steps):
    def compiled():
        press_ctrl_c()
        steps.append("done")

    def users():
        uninterruptible(compiled)
        steps.append("after")

    interrupted(lambda: interruptible(users))
    assert steps == ["done", "after"]


def test_a_users_function_cannot_swallow_ctrl_c(steps):
    def users():
        try:
            press_ctrl_c()
        except BaseException:
            steps.append("swallowed")

    def run():
        interruptible(users)
        check_interrupts()
        steps.append("not reached")

    interrupted(run)
    assert steps == ["swallowed"]


@pytest.fixture
def alarm():
    """A handler that raises another exception, as of a user's timeout."""

    def handler(number, frame):
        raise TimeoutError("too slow")

    before = signal.signal(signal.SIGALRM, handler)
    yield lambda: signal.raise_signal(signal.SIGALRM)
    assert signal.signal(signal.SIGALRM, before) is handler


def test_a_users_function_may_catch_its_own_timeout(steps, alarm):
    def users():
        try:
            alarm()
        except TimeoutError:
            steps.append("caught")

    def run():
        interruptible(users)
        check_interrupts()
        steps.append("goes on")

    holds_interrupts(run)()
    assert steps == ["caught", "goes on"]


def test_other_exceptions_wait_too(steps, alarm):
    def run():
        alarm()
        steps.append("done")
        check_interrupts()

    with pytest.raises(TimeoutError, match="too slow"):
        holds_interrupts(run)()
    assert steps == ["done"]


def test_a_handler_that_does_not_raise_is_called_at_once_and_ends_nothing(steps):
    def run():
        press_ctrl_c()
        steps.append("step")
        check_interrupts()
        return "result"

    before = signal.signal(signal.SIGINT, lambda number, frame: steps.append("handler"))
    try:
        assert holds_interrupts(run)() == "result"
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps == ["handler", "step"]


def test_an_interrupt_inside_a_destructor_is_raised_later_and_not_reported(steps):
    class Object:
        def __del__(self):
            press_ctrl_c()

    def users():
        Object()
        steps.append("ignored")

    def run():
        interruptible(users)
        check_interrupts()
        steps.append("not reached")

    # pytest would report an exception that Python ignores
    interrupted(run)
    assert steps == ["ignored"]


def test_a_run_inside_a_users_function_of_another_run(steps):
    @holds_interrupts
    def inner():
        press_ctrl_c()
        steps.append("inner")
        check_interrupts()

    def users():
        inner()
        steps.append("not reached")

    interrupted(lambda: interruptible(users))
    assert steps == ["inner"]


def test_a_run_inside_a_run_that_was_interrupted_before_does_not_begin(steps):
    """Before, an endless run that was interrupted while its display started did not end."""

    def run():
        press_ctrl_c()
        holds_interrupts(lambda: steps.append("not reached"))()

    interrupted(run)
    assert steps == []


def test_a_users_function_cannot_swallow_ctrl_c_of_a_run_inside(steps):
    def users():
        try:
            holds_interrupts(press_ctrl_c)()
        except BaseException:
            steps.append("swallowed")

    def run():
        interruptible(users)
        check_interrupts()
        steps.append("not reached")

    interrupted(run)
    assert steps == ["swallowed"]


def test_every_moment_of_a_run_inside_another(steps, alarm, monkeypatch):
    """Before, an interrupt while handlers were given back left some of them in the hands of a run that was over."""
    monkeypatch.setattr(interrupts, "SIGNALS", (signal.SIGINT, signal.SIGALRM))
    handlers = [signal.getsignal(number) for number in interrupts.SIGNALS]

    @keeps_interrupts
    def build():
        check_interrupts()

    @holds_interrupts
    def run():
        interruptible(build)
        holds_interrupts(check_interrupts)()

    hook, n_moments = sys.unraisablehook, 0
    for outcome in outcomes_at_all_moments(run):
        n_moments += 1
        assert type(outcome) is KeyboardInterrupt
        assert [signal.getsignal(number) for number in interrupts.SIGNALS] == handlers
        assert sys.unraisablehook is hook
        assert interrupts._thread.interrupts is None
        assert not event._registered["numba:run_pass"]
    assert n_moments > 100


def test_building_a_target_is_interrupted_at_once_but_not_in_the_compiler(steps):
    from numba import njit

    def build():
        press_ctrl_c()
        steps.append("not reached")

    with pytest.raises(KeyboardInterrupt):
        keeps_interrupts(build)()

    def compile_function():
        uninterruptible(press_ctrl_c)
        njit(lambda x: x + 1).compile("int64(int64)")
        steps.append("not reached")

    # the first pass of the compiler looks
    with pytest.raises(KeyboardInterrupt):
        keeps_interrupts(compile_function)()
    assert steps == []


def test_what_an_interrupt_leads_to_is_not_shown(steps):
    def run():
        press_ctrl_c()
        raise ValueError("an executor is broken")

    interrupted(run)


def test_errors_without_an_interrupt_pass(steps):
    def run():
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        holds_interrupts(run)()


def test_other_threads_have_no_signals_to_hold(steps):
    before = []

    def run():
        check_interrupts()
        before.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=holds_interrupts(run))
    thread.start()
    thread.join()
    assert before == [signal.default_int_handler]


def test_the_exception_that_ends_compiled_code_is_not_one_of_a_target():
    """Errors of a target are `Exception`s, and are reported with their point."""
    assert not issubclass(Interrupted, Exception)
