"""`sterna check`, run as a user would run it."""

import json
import subprocess
import sys

import pytest

import sterna

pytestmark = pytest.mark.usefixtures("measured_processes")

MODEL = """
import sterna

def good(x):
    return -0.5 * x**2

def bad(x):
    return 1.0 / (x - x)

print("a user's file may print")
right = sterna.Target(good, {"x": sterna.Normal(0, 3)})

def wrong(width=3):
    return sterna.Target(bad, {"x": sterna.Normal(0, width)}, compile=False)
"""


def command(*arguments, directory):
    line = [sys.executable, "-m", "sterna", "check", *arguments]
    return subprocess.run(line, capture_output=True, text=True, cwd=directory, check=False)


def test_the_exit_status_says_if_there_is_a_problem(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    done = command("model.py:right", "--max-seconds", "2", "--json", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"] is True
    done = command("model.py:wrong", "--set", "width=5", "--max-seconds", "2", directory=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "log-likelihood          problem" in done.stdout
    assert "ZeroDivisionError" in done.stdout
    for mistake in ("model.py:rigth", "nromal", "no/folder"):
        done = command(mistake, directory=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("sterna: ")
        assert len(done.stderr.splitlines()) == 1


def test_a_folder_is_checked(tmp_path):
    sterna.sample(sterna.models.normal(2), n_chains=4, n_rounds=5, folder=tmp_path / "run", progress=False)
    done = command("run", directory=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("run: no problem was found.")
    for path in (tmp_path / "run").glob("checkpoint-*"):
        path.write_bytes(b"nothing")
    assert command("run", directory=tmp_path).returncode == 1
