"""Worker processes: the same bits, and no death, print or exception goes unnoticed."""

import os
import pickle
import subprocess
import sys

import pytest
from black_box import BlackBox, DiesAlways, run

import sterna
from sterna.workers import processes, remote


def test_processes_give_the_same_bits():
    first = run()[1]
    assert run(workers=2)[1] == first
    assert run(workers=3, n_copies=2)[1] == run(n_copies=2)[1]


class DiesOnce:
    """A function that ends its process at its first call, for which a file exists."""

    def __init__(self, path):
        self.path = path

    def __call__(self, mu, k, y):
        if os.path.exists(self.path):
            os.remove(self.path)
            os._exit(7)
        return BlackBox()(mu, k, y)


def test_a_worker_that_dies_is_replaced_and_reported(tmp_path):
    path = tmp_path / "die"
    path.touch()
    result, bits = run(DiesOnce(str(path)), workers=2)
    assert bits == run()[1]
    assert any("A worker process died (exit status 7) and was replaced" in note for note in result.notes)


@pytest.mark.laws
def test_a_point_that_kills_every_worker_is_named():
    with pytest.raises(sterna.EvaluationError, match=r"3 worker processes in a row died.* at mu="):
        run(DiesAlways(), workers=2)


def test_processes_that_cannot_start_are_an_error_at_once(monkeypatch):
    monkeypatch.setattr(processes.sys, "executable", "/nowhere/python")
    with pytest.raises(OSError, match="nowhere"):
        run(workers=2)


def test_what_breaks_in_a_serving_thread_reaches_the_caller(monkeypatch):
    """Otherwise the caller would wait forever."""
    with processes.Processes(1) as workers:
        monkeypatch.setattr(processes.Process, "call", lambda self, message: b"no pickle")
        with pytest.raises(pickle.UnpicklingError):
            workers.submit(remote.evaluate, "key", None, ()).result(timeout=20)


@pytest.mark.usefixtures("measured_processes")
def test_what_a_worker_prints_does_not_spoil_its_answers(capfd):
    class Prints:
        def __call__(self, mu, k, y):
            print("hello")
            return BlackBox()(mu, k, y)

    assert run(Prints(), workers=2)[1] == run()[1]
    assert "hello" in capfd.readouterr().err


def test_a_process_imports_what_calls_need_when_it_starts():
    with processes.Processes(1) as executor:
        assert executor.submit(eval, "'sterna.workers.remote' in __import__('sys').modules").result()


def test_a_script_needs_no_guard(tmp_path):
    """Workers do not run the user's script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sterna\n"
        "print('started')\n"
        "def log_likelihood(mu):\n"
        "    os.getpid()\n"
        "    return -mu * mu\n"
        "result = sterna.sample(log_likelihood, {'mu': sterna.Normal()}, n_chains=3, n_rounds=2, workers=2,"
        " explorer='slice', progress=False)\n"
        "print(result.evaluations > 0)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["started", "True"]


def test_processes_end_with_the_run():
    with processes.Processes(2) as workers:
        assert workers.submit(remote.evaluate, "key", None, ()).result() == (remote.MISSING, None)
        threads = workers.threads
    assert not any(thread.is_alive() for thread in threads)
