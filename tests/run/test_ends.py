"""A run that ends early, by a signal or by the clock, gives what it has and says so."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from targets import conjugate

import sterna
from sterna.run.display import Display

pytestmark = pytest.mark.usefixtures("untraced_thread")

LONG = {"n_chains": 5, "n_rounds": 18, "explorer": "slice", "progress": False}
SIGNALS = ["SIGINT", "SIGTERM", "SIGUSR1"]


def run(**options):
    return sterna.sample(conjugate(), **LONG | options)


@pytest.fixture(autouse=True)
def handlers_of_python():
    """Tests that run in the background ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGINT, before)


class Sends(Display):
    """Sends a signal to this process, once a round has run so many scans in whole blocks, as often as there are delays.

    With `scans=0` that is at the end of the first block.
    """

    def __init__(self, name, at_round=8, delays=(0.0,), scans=0):
        super().__init__()
        self.name, self.at_round, self.delays = name, at_round, delays
        self.round_number, self.missing = 0, scans
        self.thread = None

    def begin_round(self, state):
        self.round_number = state.round_number

    def advance(self, copy, scans):
        if self.round_number != self.at_round:
            return
        self.missing -= scans
        if self.missing <= 0 and self.thread is None:
            self.thread = threading.Thread(target=self._send)
            self.thread.start()

    def _send(self):
        for delay in self.delays:
            time.sleep(delay)
            os.kill(os.getpid(), getattr(signal, self.name))


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("n_copies", [1, 2])
def test_a_signal_ends_a_run_in_good_order(name, n_copies):
    result = run(n_copies=n_copies, progress=Sends(name))
    assert result.ended_by == "interrupt"
    assert not result.is_sampled
    assert "was interrupted in tuning round" in result.warnings[0]
    assert result.posterior.sizes["draw"] == result.settings.n_scans == result.last.n_scans
    # at least as many draws as the round before had
    assert result.last.n_scans >= result.rounds[-2].n_scans


def test_a_signal_while_sampling():
    # fewer scans than the last tuning round had would not be the result
    result = run(n_rounds=5, n_scans=10**8, thin=10, progress=Sends("SIGINT", 6, scans=1000))
    assert (result.ended_by, result.is_sampled) == ("interrupt", True)
    assert result.warnings == []
    assert result.settings.n_scans < 10**8
    # the error is known although only a part of the scans was run
    assert 0 < result.log_evidence.error < 1
    assert "interrupted after" in str(result)
    # the draws are the first ones of a longer run
    assert (run(n_rounds=5, n_scans=1000, thin=10).states == result.states[:, :100]).all()


def test_a_second_signal_stops_at_once():
    display = Sends("SIGINT", 1, (0.0, 0.05))
    with pytest.raises(KeyboardInterrupt):
        sterna.sample(Sleeps(), {"mu": sterna.Normal()}, **LONG | {"progress": display})
    display.thread.join()


class Sleeps:
    """A likelihood that takes long."""

    def __call__(self, mu):
        time.sleep(0.25)
        return -mu * mu


def test_a_handler_of_the_user_is_called_instead():
    called = []
    signal.signal(signal.SIGINT, lambda number, frame: called.append(number))
    result = run(n_rounds=5, until={"seconds": 0.4}, progress=Sends("SIGINT", 3))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert (called, result.ended_by) == ([signal.SIGINT], "seconds")


def test_a_run_inside_of_a_run_leaves_a_signal_to_the_other():
    inner, calls = [], []

    class Nested:
        """A likelihood that samples something itself, and is interrupted then."""

        def __call__(self, mu):
            calls.append(mu)
            # not before the first scan, which nothing could be kept of
            if len(calls) > 500 and not inner:
                os.kill(os.getpid(), signal.SIGINT)
                inner.append(run(n_rounds=4, n_scans=50))
            return -mu * mu

    result = sterna.sample(Nested(), {"mu": sterna.Normal()}, **LONG)
    assert (inner[0].ended_by, result.ended_by) == ("scans", "interrupt")


def test_the_time_ends_a_run_while_it_tunes():
    began = time.perf_counter()
    result = run(max_seconds=0.6)
    assert time.perf_counter() - began < 60.0
    assert (result.ended_by, result.is_sampled) == ("seconds", False)
    assert "had no time left in tuning round" in result.warnings[0]


@pytest.mark.parametrize("given", [0, -1.0, "long", float("inf"), float("nan")])
def test_what_is_no_time_is_named(given):
    with pytest.raises(sterna.OptionError, match="max_seconds="):
        run(max_seconds=given)


def test_the_command_exits_with_130(tmp_path):
    arguments = ["run", "normal", "--rounds", "20", "--chains", "5", "--explorer", "slice", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sterna", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if "round " in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert '"ended_by": "interrupt"' in out
    assert "press Ctrl-C again" in err
