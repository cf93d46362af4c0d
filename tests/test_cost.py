"""Timing: what a call takes is divided by how often it was done, however long a stretch was."""

import pytest

from sterna import cost


def clock_of(monkeypatch, seconds):
    """Let a call of one evaluation take so many seconds, and the stretches of the numbers given another time."""
    calls = []

    def clocked(call, times):
        call(times)
        return seconds.get(times, 1e-6 * times)

    monkeypatch.setattr(cost, "clocked", clocked)
    return calls, calls.append


def test_a_cheap_call_is_done_often(monkeypatch):
    calls, call = clock_of(monkeypatch, {})
    assert cost.seconds_of(call) == pytest.approx(1e-6)
    assert calls[-1] == 256


def test_a_disturbed_stretch_does_not_make_a_call_expensive(monkeypatch):
    """However long it was: it stands for many calls."""
    _, call = clock_of(monkeypatch, {16: 1.0})
    assert cost.seconds_of(call) == pytest.approx(1.0 / 16)


def test_a_long_call_is_done_twice(monkeypatch):
    calls, call = clock_of(monkeypatch, {1: 2.0})
    assert cost.seconds_of(call) == 2.0
    assert calls == [1, 1]
