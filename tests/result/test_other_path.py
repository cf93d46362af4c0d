"""Warnings about modes that a mixture may lack, at the numbers where they begin."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sterna.result.other_path import (
    mode_outside_the_mixture,
    modes_seen_by_few_climbs,
    narrow_modes_may_be_missing,
)
from sterna.search.curvature import Optimum
from sterna.search.mixture import Mixture
from sterna.search.modes import Unseen
from sterna.search.planted import RATIOS, Planted
from sterna.tuning.estimate import Estimate


class Modes(SimpleNamespace):
    def __len__(self):
        return self.number


def result(number=2, climbs=100, once=0, half=1.0, fitted=True, search=None, draws=1000, dimension=2):
    shares = tuple(half if ratio == 2.0 else 1.0 for ratio in RATIOS)
    modes = Modes(number=number, with_mass=number, unseen=Unseen(climbs, once), planted=Planted(shares, draws))
    settings = SimpleNamespace(n_rounds=10, n_scans=2046, search=search, until=None)
    other, states = object() if fitted else None, np.zeros((1, 1, dimension))
    return SimpleNamespace(modes=modes, other_path=other, settings=settings, states=states)


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


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({}, True),
        ({"share": 0.015}, False),
        ({"centre": 2.0}, False),
        ({"discrepancies": (object(),)}, False),
        ({"number": 50}, False),
        ({"fitted": False}, False),
    ],
)
def test_a_mode_that_has_no_component(given, warned):
    text = mode_outside_the_mixture(with_optimum(**given))
    assert (text is not None) == warned
    if warned:
        assert "holds about 3% of the mass" in text


def with_optimum(share=0.03, centre=9.0, discrepancies=(), number=1, fitted=True):
    """Return a result with a component at 0 of standard deviation 1, and an optimum with this share of the mass."""
    width = 0.1
    height = math.log(share) - 4.0 - math.log(width) - 0.5 * math.log(2 * math.pi)
    optima = number * (Optimum(np.array([centre]), height, np.array([[width]])),)
    found = result(fitted=fitted)
    found.search = SimpleNamespace(found=SimpleNamespace(optima=optima), discrepancies=discrepancies)
    found.log_evidence = Estimate(-4.0, 0.01)
    if fitted:
        found.other_path = SimpleNamespace(mixture=Mixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1))))
    return found


def test_advice_is_more_than_was_given_and_no_more_than_possible():
    assert "search=10," in narrow_modes_may_be_missing(result(half=0.0, search=2.0))
    for given in ({"search": 10.0}, {"search": 1.0, "draws": 200_000}, {"draws": 40_000, "dimension": 100}):
        text = narrow_modes_may_be_missing(result(half=0.0, **given))
        assert "No larger search= looks at more draws" in text
        assert "use search=" not in text


def test_nothing_is_said_if_nothing_was_planted():
    found = result()
    found.modes.planted = Planted()
    assert narrow_modes_may_be_missing(found) is None
    assert str(Planted()) == ""
