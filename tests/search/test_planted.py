"""Which planted modes a search would have noticed, against a count by hand and in closed form."""

import math
from dataclasses import replace

import numpy as np
import pytest

import sterna.search.planted as planted
from sterna.search.mixture import INFLATION, Mixture, weights_of
from sterna.search.planted import RATIOS, SHARE_OF_MASS, plant


def mixture_of(*widths, dimension=2):
    """Return a mixture whose components have these standard deviations in the target, far apart."""
    number = len(widths)
    centres = 100.0 * np.arange(number)[:, None] * np.ones(dimension)
    factors = np.array([width * math.sqrt(INFLATION) * np.eye(dimension) for width in widths])
    return Mixture(np.full(number, 1.0 / number), centres, factors)


def test_modes_are_noticed_where_a_draw_has_a_smaller_density():
    rng = np.random.default_rng(1)
    points, places = rng.uniform(-10, 10, (300, 2)), rng.uniform(-10, 10, (40, 2))
    log_evidence = -3.0
    values = log_evidence - 0.5 * (points**2).sum(axis=1) / 4.0 - math.log(2 * math.pi * 4.0)
    found = plant(points, values, mixture_of(2.0, 0.5), log_evidence, places)
    assert found.draws == 300
    for ratio, share in zip(RATIOS, found.shares, strict=True):
        width, noticed = 0.5 / ratio, 0
        for place in places:
            square = ((points - place) ** 2).sum(axis=1)
            density = math.log(SHARE_OF_MASS) + log_evidence - 0.5 * square / width**2
            noticed += bool((density - math.log(2 * math.pi * width**2) > values).any())
        assert share == pytest.approx(noticed / 40)


def test_the_origin_does_not_matter():
    """At a distance of 1e9 squares have no digits left for differences of 1."""
    rng = np.random.default_rng(1)
    points, places = rng.uniform(-10, 10, (300, 2)), rng.uniform(-10, 10, (40, 2))
    values = -3.0 - 0.5 * (points**2).sum(axis=1) / 4.0
    near, far = (plant(points + at, values, mixture_of(2.0, 0.5), -3.0, places + at) for at in (0.0, 1e9))
    assert far.shares == near.shares
    assert 0 < far.half_as_wide < 1


def test_an_optimum_without_draws_is_no_mode():
    """Its weight is the part that every component has; with more draws it is the narrowest mode."""
    rng = np.random.default_rng(3)
    points, places, values = rng.uniform(-10, 10, (300, 2)), rng.uniform(-10, 10, (40, 2)), rng.normal(size=300) - 6.0
    two = mixture_of(2.0, 0.001)
    shares = {
        mass: plant(points, values, replace(two, weights=weights_of(np.log([1 - mass, mass]))), -3.0, places).shares
        for mass in (0.0001, 0.02)
    }
    assert shares[0.0001] == plant(points, values, mixture_of(2.0), -3.0, places).shares
    assert shares[0.02] == plant(points, values, mixture_of(0.001), -3.0, places).shares
    assert shares[0.0001] != shares[0.02]


def test_standard_deviations_by_coordinate_give_the_same():
    rng = np.random.default_rng(2)
    points, places, values = rng.normal(size=(200, 3)), rng.normal(size=(30, 3)), rng.normal(size=200)
    full = mixture_of(1.0, 0.3, dimension=3)
    diagonal = Mixture(full.weights, full.centres, np.diagonal(full.factors, axis1=1, axis2=2).copy())
    assert plant(points, values, full, 0.0, places) == plant(points, values, diagonal, 0.0, places)


def noticed_among_whole_numbers():
    """Return the share that draws at whole numbers notice, in a flat density: from within a radius of 0.25."""
    points = np.arange(1000.0)[:, None]
    places = np.linspace(100.0, 110.0, 1001)[:, None]
    # at a distance of 0.25 the planted mode has this density
    width, log_mass = 0.1, math.log(SHARE_OF_MASS)
    level = log_mass - 0.5 * (0.25 / width) ** 2 - math.log(width) - 0.5 * math.log(2 * math.pi)
    one = Mixture(np.ones(1), np.zeros((1, 1)), np.full((1, 1, 1), width * math.sqrt(INFLATION)))
    return plant(points, np.full(1000, level), one, 0.0, places).shares[0]


def test_the_share_in_closed_form():
    """Places are noticed within 0.25 of a whole number, which half of them are."""
    assert noticed_among_whole_numbers() == pytest.approx(0.5, abs=0.01)


def test_a_forgotten_inflation_is_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planted, "INFLATION", 1.0)
    assert abs(noticed_among_whole_numbers() - 0.5) > 0.05
