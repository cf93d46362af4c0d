"""Periodic coordinates: the interval of the circle, and the shortest way around."""

import math

import numpy as np
import pytest

from sterna.engine.circles import is_lifted, shortest, wrap_states, wrapped

# An angle, hours, a circle far from zero, and a coordinate that does not repeat.
CIRCLES = np.array([-math.pi, 2 * math.pi, 0.0, 24.0, 1e6, 0.7, 0.0, 0.0])
FIRST, PERIOD = CIRCLES[:6:2], CIRCLES[1:6:2]


def states():
    rng = np.random.default_rng(1)
    turns = np.concatenate([rng.uniform(-3, 3, 200), np.arange(-3, 4), np.nextafter(np.arange(-3, 4), -10), [1e17]])
    return np.array([[*(FIRST + PERIOD * turn), turn] for turn in turns])


def test_values_end_in_their_interval_at_the_same_place():
    before, after = states(), wrap_states(CIRCLES, states())
    inside = after[:, :3]
    assert ((inside >= FIRST) & (inside < FIRST + PERIOD)).all()
    turns = (before[:-1, :3] - inside[:-1]) / PERIOD
    # of a million, 1e-9 of a turn is rounding
    assert np.abs(turns - np.round(turns)).max() < 2e-9
    assert (after[:, 3] == before[:, 3]).all()


def test_compiled_and_numpy_agree_and_nothing_happens_twice():
    expected = wrap_states(CIRCLES, states())
    found = np.array([[wrapped.py_func(CIRCLES, i, value) for i, value in enumerate(state)] for state in states()])
    assert (found == expected).all()
    assert (wrap_states(CIRCLES, expected) == expected).all()


def test_what_is_not_a_number_stays_so():
    assert math.isnan(wrapped.py_func(CIRCLES, 0, math.nan))
    with np.errstate(invalid="ignore"):
        assert math.isnan(wrapped.py_func(CIRCLES, 0, np.float64(math.inf)))


@pytest.mark.parametrize(("difference", "way"), [(0.1, 0.1), (6.2, 6.2 - 2 * math.pi), (-4.0, 2 * math.pi - 4.0)])
def test_the_shortest_way_around(difference, way):
    assert shortest.py_func(CIRCLES, 0, difference) == pytest.approx(way, abs=1e-14)
    assert shortest.py_func(CIRCLES, 3, difference) == difference


def test_only_a_circle_can_be_left_by_turns():
    assert [is_lifted.py_func(CIRCLES, 1, value) for value in (-0.1, 0.0, 23.9, 24.0)] == [True, False, False, True]
    assert not is_lifted.py_func(CIRCLES, 3, 1e9)
