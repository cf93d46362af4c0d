"""A run's target as a landscape: who evaluates its rows."""

from types import SimpleNamespace

import numpy as np
import pytest

import sterna
from sterna.ground.streams import new_stream
from sterna.run import landscape


@pytest.mark.parametrize(("disturbed", "shared"), [((0,), 1), ((1,), 0), ((), 0), (range(20), 9)])
def test_rows_are_shared_among_threads_only_if_they_always_take_long(monkeypatch, disturbed, shared):
    """A call that something else has disturbed says nothing of the next ones; planted fault: all are slow."""
    target, team = sterna.Target(lambda x: -x * x, {"x": sterna.Normal(0, 1)}).prepare(), []

    def on_replicas(number, copy, function, place):
        team.append(number)
        function(copy, 0, len(copy.states), new_stream())

    calls = [0, 0.0]

    def perf_counter():
        calls[0] += 1
        calls[1] += 1.0 if calls[0] % 2 == 0 and calls[0] // 2 - 1 in disturbed else 1e-7
        return calls[1]

    monkeypatch.setattr(landscape, "time", SimpleNamespace(perf_counter=perf_counter))
    runtime = SimpleNamespace(target=target, evaluates_elsewhere=False, on_replicas=on_replicas, streams=[new_stream()])
    found = landscape.TargetLandscape(runtime, 5)
    points = np.linspace(-1.0, 1.0, 10)[:, None]
    for _ in range(10):
        values = found.values(points)
    assert values - values[0] == pytest.approx(1.5 - 1.5 * points[:, 0] ** 2)
    assert len(team) == shared
    assert found.evaluations == 100


def test_where_log_densities_cancel_the_density_is_zero():
    """The likelihood is relative to the reference, so that far out the sum is rounding error, on which climbs go on."""

    def ratio(x):
        return 0.5 * x * x / 900.0

    target = sterna.Target(ratio, {"x": sterna.Normal(0, 30)}).prepare()
    runtime = SimpleNamespace(target=target, evaluates_elsewhere=False, streams=[new_stream()])
    found = landscape.TargetLandscape(runtime, 5)
    # two terms of 1e43 leave rounding errors of 1e27
    far = 1e23 * (1.0 + np.arange(20) / 7.0)[:, None]
    assert (found.values(far) == -np.inf).all()
    # planted fault: the sum itself
    assert np.ptp([ratio(u) - 0.5 * (u / 30.0) ** 2 for u in far[:, 0]]) > 1e20
    # nearer points have the density that they have
    near = np.array([[-1e5], [0.0], [1e7]])
    assert np.ptp(found.values(near)) < 1.0
