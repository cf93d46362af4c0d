"""Progress: plain lines where standard error is no terminal, a live line where it is, nothing where not wanted."""

import os
import pty
import subprocess
import sys

import sterna
from sterna.run.display import _clock

SCRIPT = "import sterna; sterna.sample(sterna.models.ising(), n_rounds=12, n_chains=8, n_copies=2)"


def test_plain_lines(capsys):
    sterna.sample(sterna.models.discrete(), n_chains=4, n_rounds=6)
    text = capsys.readouterr().err
    assert text.startswith("sterna: discrete, 1 coordinate, 4 chains, slice explorer")
    for part in ("round 6", "sampling", "barrier", "restarts", "acceptance", "scans/s", "left"):
        assert part in text
    assert "\x1b" not in text


def test_silence(capsys):
    sterna.sample(sterna.models.discrete(), n_chains=4, n_rounds=6, progress=False)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_why_a_function_is_not_compiled_is_said_once(capsys):
    table = {"a": [1.0, 2.0]}

    def odd(x):
        return -(x**2) * len(table["a"])

    result = sterna.sample(odd, {"x": sterna.Normal()}, n_chains=3, n_rounds=3)
    assert capsys.readouterr().err.count("runs as Python, not compiled") == 1
    assert len(result.notes) == 1


def test_a_live_line_on_a_terminal():
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stderr=child, env={**os.environ, "TERM": "xterm-256color"}
    )
    os.close(child)
    text = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:
            break
        if not chunk:
            break
        text += chunk
    os.close(parent)
    assert process.wait() == 0
    assert b"\x1b[" in text
    assert b"sampling" in text
    assert "━".encode() in text


def test_clock():
    assert [_clock(s) for s in (0, 5.4, 754, 3723)] == ["0:00", "0:05", "12:34", "1:02:03"]
