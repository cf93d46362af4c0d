"""Warnings about modes that a mixture may lack, at the numbers where they begin."""

from types import SimpleNamespace

import pytest

from sterna.result.other_path import modes_seen_by_few_climbs, narrow_modes_may_be_missing
from sterna.search.modes import Unseen
from sterna.search.planted import RATIOS, Planted


class Modes(SimpleNamespace):
    def __len__(self):
        return self.number


def result(number=2, climbs=100, once=0, half=1.0, fitted=True, search=None):
    shares = tuple(half if ratio == 2.0 else 1.0 for ratio in RATIOS)
    modes = Modes(number=number, with_mass=number, unseen=Unseen(climbs, once), planted=Planted(shares, 1000))
    settings = SimpleNamespace(n_rounds=10, n_scans=2046, search=search)
    return SimpleNamespace(modes=modes, other_path=object() if fitted else None, settings=settings)


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({}, False),
        ({"once": 10}, False),
        ({"once": 11}, True),
        ({"climbs": 4}, False),
        ({"climbs": 3}, True),
        ({"climbs": 0, "number": 1}, False),
        ({"once": 50, "fitted": False}, False),
    ],
)
def test_modes_that_few_climbs_found(given, warned):
    text = modes_seen_by_few_climbs(result(**given))
    assert (text is not None) == warned
    if warned:
        assert "n_rounds=12" in text


@pytest.mark.parametrize(
    ("given", "warned"), [({"half": 0.25}, False), ({"half": 0.24}, True), ({"half": 0.0, "number": 1}, False)]
)
def test_modes_that_are_too_narrow_to_be_noticed(given, warned):
    text = narrow_modes_may_be_missing(result(**given))
    assert (text is not None) == warned
    if warned:
        assert "noticed at 24% of the places" in text
        assert "search=1," in text


def test_advice_is_more_than_was_given_and_no_more_than_possible():
    assert "search=10," in narrow_modes_may_be_missing(result(half=0.0, search=2.0))


def test_nothing_is_said_if_nothing_was_planted():
    found = result()
    found.modes.planted = Planted()
    assert narrow_modes_may_be_missing(found) is None
    assert str(Planted()) == ""
