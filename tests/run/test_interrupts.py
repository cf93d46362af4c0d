"""Ctrl-C ends any run soon, by KeyboardInterrupt alone, and leaves nothing behind; `bench/interrupts.py` tries more."""

import math
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from black_box import BlackBox
from black_box import run as run_black_box
from signals import child_processes, seconds_to_interrupt, seconds_to_interrupt_once
from ways import AsPython

import sterna
from sterna.engine.evaluation import evaluate_often
from sterna.engine.interrupts import holds_interrupts, watch_interrupts
from sterna.engine.program import N_LOG_DENSITIES
from sterna.run import blocks
from sterna.workers import processes, remote

pytestmark = pytest.mark.usefixtures("untraced_thread")

# The machine may be busy: an interrupt itself takes a tenth of this.
SOON = 5.0
ENDLESS = {"n_chains": 5, "n_rounds": 22, "n_scans": 1, "explorer": "slice", "progress": False}
REFERENCE = {"x": sterna.Normal(0, 5, shape=2)}


def log_likelihood(x):
    return -0.5 * np.sum((np.abs(x) - 3.0) ** 2)


def many_points(x):
    return -0.5 * np.sum((np.abs(x) - 3.0) ** 2, axis=1)


def jump(x, log_density, rng):
    other = x + rng.standard_normal(2)
    if math.log(rng.random()) < log_density(other) - log_density(x):
        x[:] = other


TARGETS = {
    "compiled": lambda: sterna.Target(log_likelihood, REFERENCE),
    "Python": lambda: sterna.Target(AsPython(log_likelihood), REFERENCE),
    "vectorised": lambda: sterna.Target(many_points, REFERENCE, vectorized=True),
}


def bits(target, explorer="slice"):
    result = sterna.sample(target, n_chains=5, n_rounds=4, n_copies=2, explorer=explorer, progress=False)
    return result.posterior["x"].values.tobytes()


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = threading.active_count(), child_processes()
    yield
    assert (threading.active_count(), child_processes()) == before


@pytest.mark.parametrize("name", [*TARGETS, "moves in Python"])
def test_random_moments(name):
    """Before, a vectorised target crashed after about 20 interrupts, and Python ones ended in other exceptions."""
    target = TARGETS.get(name, TARGETS["compiled"])()
    explorer = sterna.Cycle(sterna.Slice(), AsPython(jump)) if name == "moves in Python" else "slice"
    expected, rng = bits(target, explorer), np.random.default_rng()
    for number in range(30):
        options = ENDLESS | {"n_copies": 1 + number % 2, "explorer": explorer}
        delay = 0.001 * 100.0 ** rng.random()
        assert seconds_to_interrupt(lambda options=options: sterna.sample(target, **options), delay) < SOON
    assert bits(target, explorer) == expected


def slow_likelihood(x):
    total = 0.0
    for i in range(100_000):
        total += math.sin(i * x[0])
    return total


@pytest.mark.parametrize("n_copies", [1, 2])
def test_the_middle_of_an_exploration(n_copies):
    """One exploration takes minutes, and calls no Python."""
    target = sterna.Target(slow_likelihood, {"x": sterna.Normal(0, 1, shape=20_000)})
    options = ENDLESS | {"n_chains": 2, "n_copies": n_copies, "workers": 2}
    assert seconds_to_interrupt(lambda: sterna.sample(target, **options), 1.5) < SOON


def test_an_error_in_one_copy_ends_compiled_code_of_another():
    target, runtime = TARGETS["compiled"]().prepare(), SimpleNamespace(teams=SimpleNamespace(teams=[]))

    def fails():
        time.sleep(0.1)
        raise ValueError("no")

    def takes_hours():
        evaluate_often(target.block, np.zeros(2), np.zeros(N_LOG_DENSITIES), 10**13)

    @holds_interrupts
    def run():
        watch_interrupts(target.stop, calls_python=False)
        blocks._run_threads(runtime, lambda: jobs.pop()(), 2, threading.Event())

    jobs = [takes_hours, fails]
    began = time.perf_counter()
    with pytest.raises(ValueError, match="no"):
        run()
    assert time.perf_counter() - began < SOON


class Sleeps(BlackBox):
    """A function that makes a file and does not end by itself soon."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def __call__(self, mu, k, y):
        self.path.touch()
        time.sleep(60.0)
        return super().__call__(mu, k, y)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_long_evaluation(tmp_path, workers):
    path = tmp_path / "begun"
    assert seconds_to_interrupt_once(path.exists, lambda: run_black_box(Sleeps(path), workers)) < SOON


def test_an_executor_is_not_waited_for():
    """Nobody can stop what a thread of a user's executor evaluates."""
    begun, over = threading.Event(), threading.Event()

    class Waits(BlackBox):
        def __call__(self, mu, k, y):
            begun.set()
            over.wait(60.0)
            return super().__call__(mu, k, y)

        def __reduce__(self):
            return _the_same, (id(self),)

    function = Waits()
    _here[id(function)] = function
    with ThreadPoolExecutor(2) as executor:
        assert seconds_to_interrupt_once(begun.is_set, lambda: run_black_box(function, executor)) < SOON
        over.set()
        assert executor.submit(int, "7").result() == 7


_here = {}


def _the_same(number):
    return _here[number]


def test_workers_that_start_do_not_see_ctrl_c(capfd):
    """A terminal sends it to all processes of a group, and they would print tracebacks."""
    with processes.Processes(1) as workers:
        os.kill(workers.processes[0].process.pid, 2)
        assert workers.submit(remote.evaluate, "key", None, ()).result(timeout=60) == (remote.MISSING, None)
        assert workers.exit_statuses == []
    assert capfd.readouterr().err == ""


def test_the_runs_of_a_script_end_with_one_traceback(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, threading, time, sterna\n"
        "def log_likelihood(mu):\n"
        "    os.getpid()\n"
        "    return -mu * mu\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        # the first ends the run in good order, the second at once
        "for seconds in (2.0, 2.2):\n"
        "    threading.Timer(seconds, os.killpg, (0, signal.SIGINT)).start()\n"
        "options = {'n_chains': 3, 'n_rounds': 22, 'n_scans': 1, 'workers': 2, 'explorer': 'slice'}\n"
        "sterna.sample(log_likelihood, {'mu': sterna.Normal()}, **options)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, start_new_session=True)
    assert done.returncode == -2
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.endswith("KeyboardInterrupt\n")
