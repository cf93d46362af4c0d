"""Timing: what a call takes is divided by how often it was done, and what disturbs a call does not count."""

import pytest

from sterna.explorers import cost


def clock_of(monkeypatch, seconds=1e-6, disturbed=()):
    """Let one evaluation take so many seconds, and the calls of the given places ten more."""
    calls = []

    def clocked(call, times):
        call(times)
        return seconds * times + (10.0 if len(calls) - 1 in disturbed else 0.0)

    monkeypatch.setattr(cost, "clocked", clocked)
    return calls, calls.append


def test_a_cheap_call_is_done_often(monkeypatch):
    calls, call = clock_of(monkeypatch)
    assert cost.seconds_of(call) == pytest.approx(1e-6)
    assert calls[-1] == 256


@pytest.mark.parametrize("place", range(47))
def test_a_disturbed_call_does_not_count(monkeypatch, place):
    """Wherever it is: neither is an evaluation taken for expensive, nor too few of them for enough to be timed."""
    calls, call = clock_of(monkeypatch, disturbed={place})
    assert cost.seconds_of(call) == pytest.approx(1e-6)
    assert calls[-1] == 256


def test_a_long_call_is_done_twice(monkeypatch):
    calls, call = clock_of(monkeypatch, seconds=2.0, disturbed={0})
    assert cost.seconds_of(call) == 2.0
    assert calls == [1, 1]
