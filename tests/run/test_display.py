"""Progress: plain lines where standard error is no terminal, a live line where it is, nothing where not wanted."""

import errno
import io
import re
import sys
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from terminal import read_terminal

import sterna
from sterna.engine.record import layout_of, new_record
from sterna.result.settings import Settings
from sterna.run.display import Display, LineDisplay, make_display
from sterna.run.live_display import LiveDisplay
from sterna.run.safe_stream import SafeStream

SCRIPT = "import sterna; sterna.sample(sterna.models.ising(), n_rounds=12, n_chains=8, n_copies=2)"


def run_discrete(**options):
    return sterna.sample(sterna.models.discrete(), n_chains=4, n_rounds=6, explorer="slice", **options)


def test_plain_lines(capsys):
    run_discrete()
    text = capsys.readouterr().err
    assert text.startswith("sterna: discrete, 1 coordinate, 4 chains, slice explorer")
    for part in ("round 6", "sampling", "barrier", "restarts", "acceptance", "scans/s", "done in "):
        assert part in text
    assert "\x1b" not in text


def test_silence(capsys):
    run_discrete(progress=False)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_why_a_function_is_not_compiled_is_said_once(capsys):
    table = {"a": [1.0, 2.0]}

    def odd(x):
        return -(x**2) * len(table["a"])

    result = sterna.sample(odd, {"x": sterna.Normal()}, n_chains=3, n_rounds=3)
    assert capsys.readouterr().err.count("runs as Python, not compiled") == 1
    assert len(result.notes) == 1


@pytest.mark.parametrize("shown", [True, False])
def test_warnings_of_a_result_are_shown_unless_something_else_shows_them(shown, capsys):
    display = make_display(True, warnings=shown)
    result = sterna.sample(sterna.models.discrete(), n_chains=4, n_rounds=2, explorer="slice", progress=display)
    assert result.warnings
    assert capsys.readouterr().err.count("sterna: warning: ") == (len(result.warnings) if shown else 0)


def test_a_live_line_on_a_terminal():
    text = read_terminal([sys.executable, "-c", SCRIPT], TERM="xterm-256color")
    assert "\x1b[" in text
    assert "sampling" in text
    assert "━" in text


# ------------------------------------------------------------------------------------------------------ two copies


def begun(display, n_scans=1000, n_chains=3, auto=False):
    """Let a display begin the sampling phase of a run with two copies; return the copies' records."""
    settings = Settings(n_chains, 0, n_scans, 2, "deo", "target", 1, 1, 2, auto_chains=auto)
    target = SimpleNamespace(name="target", dimension=1, notes=[])
    display.start(target, SimpleNamespace(name="slice"), settings)
    records = [new_record(n_scans, layout_of(n_scans), n_chains, 1, 0, 1) for _ in range(2)]
    display.begin_round(
        SimpleNamespace(
            settings=settings,
            records=records,
            copies=[None, None],
            rounds=(),
            scans_done=np.zeros(2, dtype=np.int64),
            tuned=SimpleNamespace(n_chains=n_chains, explorations=1, first_round_of_explorer=0),
            is_sampling=True,
            round_number=1,
            n_scans=n_scans,
            planned_scans=n_scans,
        )
    )
    return records


def test_a_copy_inside_a_block_does_not_distort_acceptance():
    """While one copy has finished 100 scans, the record of the other, which is in a block, is 400 scans ahead."""
    display = LineDisplay()
    records = begun(display)
    records[0].rejection[0] = 25.0
    records[1].rejection[0] = 100.0
    display.advance(0, 100)
    assert "acceptance 0.75 min 0.75 mean" in display.line()
    display.advance(1, 400)
    assert "acceptance 0.75 min 0.75 mean" in display.line()


def test_a_replaced_explorer_is_said_with_the_reason(capsys):
    display = LineDisplay()
    begun(display)
    capsys.readouterr()
    display.choose("hmc")
    display.choose("slice", "hmc")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "sterna: explorer chosen: hmc"
    assert second == "sterna: explorer chosen: slice, because trajectories of hmc diverged"


def test_a_rise_of_the_cost_of_a_scan_is_said(capsys):
    display = LineDisplay()
    begun(display, n_scans=10**6, auto=True)
    # 1000 scans per second
    display.left.advance(1000)
    display.left.began -= 1.0
    display.left.end_round(time.perf_counter())
    display.state.tuned.n_chains = 6
    display.state.tuned.explorations = 2
    capsys.readouterr()
    display.begin_round(display.state)
    line = "sterna: sampling takes longer per scan: 3 chains before, 6 chains explored 2 times now\n"
    assert capsys.readouterr().err == line


# ----------------------------------------------------------------------------------------------------- compilation


def test_compilation_is_announced_in_plain_lines(capsys):
    display = LineDisplay()
    display.seconds_before_working, display.seconds_between_working = 0.02, 0.1
    with display, display.working("compiling the log-likelihood", 2.2):
        time.sleep(0.35)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "sterna: compiling the log-likelihood (about 2 s the first time) ..."
    assert lines[1] == "sterna: compiling the log-likelihood: 0 s so far ..."
    assert 2 <= len(lines) <= 5


def test_what_is_found_on_disk_is_not_announced(capsys):
    with LineDisplay() as display, display.working("compiling the log-likelihood"):
        pass
    assert capsys.readouterr().err == ""


def test_compilation_is_silent_in_the_silent_display(capsys):
    with Display() as display, display.working("compiling the log-likelihood", 1.0):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("display", [Display(), LineDisplay()])
def test_errors_of_compilation_pass(display):
    count = threading.active_count()
    with pytest.raises(ZeroDivisionError), display, display.working("compiling the log-likelihood"):
        _ = 1 / 0
    assert threading.active_count() == count


COMPILING = """
import time
from sterna.run.display import make_display
with make_display(True) as display:
    with display.working("compiling the engine", 30):
        end = time.perf_counter() + 1.3
        while time.perf_counter() < end:  # as compilation does, holds this thread
            pass
    display.say("sterna: done")
"""


def test_a_spinner_moves_on_a_terminal():
    text = read_terminal([sys.executable, "-c", COMPILING], TERM="xterm-256color")
    assert "sterna: compiling the engine (about 30 s the first time) ... 0 s" in text
    assert "... 1 s" in text
    assert len(set(re.findall("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", text))) >= 4
    assert "compiling" not in text.partition("sterna: done")[2]


# ------------------------------------------------------------------------------------------------------- notebooks


class Handle:
    """IPython's handle of an output that can be updated."""

    made: ClassVar[list] = []

    def __init__(self):
        self.outputs = []
        Handle.made.append(self)

    def display(self, data, raw):
        assert raw
        assert self.outputs == []
        self.outputs.append(data)

    def update(self, data, raw):
        assert raw
        assert self.outputs != []
        self.outputs.append(data)


@pytest.fixture
def notebook(monkeypatch):
    """Make this process look as if IPython's kernel ran it."""
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel="here")
    display.DisplayHandle = Handle
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(Handle, "made", [])
    return Handle.made


def test_a_notebook_has_one_output_that_is_updated(notebook, capsys):
    table = {"<b>": 1.0}
    sterna.sample(
        lambda x: -x * table["<b>"], {"x": sterna.Normal()}, n_chains=3, n_rounds=6, explorer="slice", n_copies=2
    )
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    (handle,) = notebook
    lines = handle.outputs[-1]["text/plain"].splitlines()
    assert lines[0].startswith("sterna: ")
    assert lines[-1].startswith("sampling     252/252 scans")
    assert "done in" in lines[-1]
    # rounds are shown, but do not stay
    shown = [output["text/plain"] for output in handle.outputs]
    assert any("round 5" in text for text in shown)
    assert "round 5" not in shown[-1]
    assert "━" in shown[-2]


def test_text_in_a_notebook_is_escaped(notebook):
    with make_display(True) as display:
        display.say("a < b")
    assert "a &lt; b" in notebook[0].outputs[-1]["text/html"]


def test_compilation_is_shown_in_a_notebook_while_it_lasts(notebook):
    with make_display(True) as display:
        display.seconds_before_working = 0.01
        with display.working("compiling the log-likelihood", 2):
            time.sleep(0.1)
    first, last = notebook[0].outputs
    assert first["text/plain"] == "sterna: compiling the log-likelihood (about 2 s the first time) ... 0 s"
    assert last["text/plain"] == ""


def test_ipython_in_a_terminal_is_no_notebook(notebook, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert type(make_display(True)) is LineDisplay


def test_a_notebook_that_went_away_does_not_end_a_run(notebook, monkeypatch):
    def fail(self, data, raw):
        raise RuntimeError("the kernel's socket is closed")

    monkeypatch.setattr(Handle, "update", fail)
    assert run_discrete().restarts > 0


# ------------------------------------------------------------------------------------------------- broken streams


class Broken(io.StringIO):
    """A stream to which nothing can be written."""

    encoding = "utf-8"
    errors = "strict"

    def write(self, text=""):
        raise OSError(errno.ENOSPC, "No space left on device")

    flush = write


def closed():
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    stream.close()
    return stream


@pytest.mark.parametrize("display", [LineDisplay, LiveDisplay])
@pytest.mark.parametrize("stream", [Broken, closed], ids=["full", "closed"])
def test_trouble_with_standard_error_does_not_end_a_run(display, stream, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream())
        result = run_discrete(progress=display())
    assert result.restarts > 0


def test_a_standard_error_that_is_closed_from_the_start(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        result = run_discrete()
    assert result.restarts > 0


def test_signs_that_an_encoding_lacks_are_written_differently():
    raw = io.BytesIO()
    stream = SafeStream(io.TextIOWrapper(raw, "ascii"))
    stream.write("-3 ± 1 ━╌ ä\n")
    stream.flush()
    assert raw.getvalue() == b"-3 +- 1 =- \\xe4\n"


def test_a_standard_error_that_can_only_write(monkeypatch):
    """Programs put objects with nothing but `write` in its place, to copy what is shown into a file."""
    texts = []
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", SimpleNamespace(write=texts.append))
        result = run_discrete(progress=make_display(True))
    assert result.restarts > 0
    assert "discrete" in "".join(texts)
