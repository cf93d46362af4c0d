"""`sterna run --out DIR` and `sterna resume DIR`, as a user would run them."""

import json
import os
import signal
import subprocess
import sys

import pytest

import sterna
from sterna.command_line.commands import main

RUN = ["--rounds", "6", "--chains", "5", "--explorer", "slice", "--json"]
MODEL = """
import numpy as np, sterna

def log_likelihood(x):
    return -0.5 * np.sum((np.abs(x) - SHIFT) ** 2)

def target(shift=3.0):
    globals()["SHIFT"] = shift
    return sterna.Target(log_likelihood, {"x": sterna.Normal(0, 5)})
"""


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command in this process; return its exit status and what it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sterna", *map(str, arguments)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_a_built_in_model_goes_on_by_its_folder_alone(command, tmp_path):
    status, out, err = command("run", "normal", "--set", "dim=2", *RUN, "--scans", 50, "--out", tmp_path / "run")
    assert (status, json.loads(out)["n_scans"]) == (0, 50), err
    status, out, err = command("resume", tmp_path / "run", "--scans", 70, "--json")
    assert (status, json.loads(out)["n_scans"]) == (0, 120), err
    whole = command("run", "normal", "--set", "dim=2", *RUN, "--scans", 120)[1]
    assert json.loads(whole)["log_evidence"] == json.loads(out)["log_evidence"]
    assert len(sterna.load(tmp_path / "run").posterior["draw"]) == 120


def test_goals_and_rounds(command, tmp_path):
    command("run", "normal", "--set", "dim=1", *RUN, "--out", tmp_path / "run")
    status, out, _ = command("resume", tmp_path / "run", "--until", "log_evidence=0.1", "--json")
    assert status == 0
    assert json.loads(out)["log_evidence"]["error"] <= 0.1
    status, out, _ = command("resume", tmp_path / "run", "--rounds", 1, "--json")
    assert (status, json.loads(out)["n_rounds"]) == (0, 7)


def test_a_file_must_be_named_again(command, tmp_path):
    """No code is run only because a file in the folder names it."""
    (tmp_path / "model.py").write_text(MODEL)
    named = f"{tmp_path / 'model.py'}:target"
    assert command("run", named, *RUN, "--set", "shift=2.0", "--out", tmp_path / "run")[0] == 0
    status, _, err = command("resume", tmp_path / "run")
    assert status == 2
    assert f"was begun with {named}: give that again, as in sterna resume {tmp_path / 'run'} {named}" in err
    assert command("resume", tmp_path / "run", named, "--scans", 5, "--json")[0] == 0
    status, _, err = command("resume", tmp_path / "run", named, "--set", "shift=4.0")
    assert status == 2
    assert "log_likelihood has changed" in err


def test_a_run_of_python_is_named(command, tmp_path):
    target = sterna.models.normal(1)
    sterna.sample(target, n_chains=4, n_rounds=4, explorer="slice", folder=tmp_path / "run", progress=False)
    status, _, err = command("resume", tmp_path / "run")
    assert status == 2
    assert "begun in Python" in err
    assert command("resume", tmp_path / "run", "normal", "--set", "dim=1", "--json")[0] == 0
    status, _, err = command("resume", tmp_path / "run", "normal", "--set", "dim=2", "--json")
    assert status == 2
    assert "it would not be the same run" in err


def test_mistakes(command, tmp_path):
    assert command("resume", tmp_path / "none")[0] == 2
    status, _, err = command("resume", tmp_path)
    assert status == 2
    assert "holds no checkpoint" in err
    command("run", "normal", *RUN, "--out", tmp_path / "run")
    status, _, err = command("run", "normal", *RUN, "--out", tmp_path / "run")
    assert status == 2
    assert "holds a run already" in err
    status, _, err = command("resume", tmp_path / "run", "--scans", 5, "--until", "ess=10")
    assert status == 2
    assert "not both" in err


@pytest.fixture
def ctrl_c_has_its_effect():
    """Tests that run in the background ignore Ctrl-C, and so would the processes that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_has_its_effect")
def test_ctrl_c_says_how_to_go_on(tmp_path):
    arguments = ["run", "normal", "--rounds", "22", "--chains", "5", "--explorer", "slice", "--out", "the run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sterna", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    for line in process.stderr:
        if "round 9" in line:
            break
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    last = f"`sterna resume '{tmp_path / 'the run'}'` goes on with the run"
    assert err.strip().splitlines()[-1].endswith(last)
    assert sterna.load(tmp_path / "the run").ended_by == "interrupt"
