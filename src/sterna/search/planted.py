"""How narrow a mode may be before a search overlooks it: modes are planted among the draws that it has evaluated.

A mode is noticed if one of these draws lies where the mode's density exceeds all that is there. So the densities at the
draws tell, without a further evaluation, at how many places of the reference a mode of a given shape and mass would
have been noticed.
"""

import math
from dataclasses import dataclass

import numpy as np

from sterna.search.mixture import INFLATION, Mixture, masses_of
from sterna.search.modes import modes_of
from sterna.types import FloatArray

# How many times narrower than the narrowest known mode planted modes are.
RATIOS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)

# Their share of all mass.
SHARE_OF_MASS = 0.1

# Modes with a smaller share of the draws do not count: the neck of a funnel has optima, but no mass.
LEAST_SHARE = 0.01

# Draws that are compared with all planted modes at once.
ROWS = 10_000


@dataclass(frozen=True)
class Planted:
    """Shares of planted modes that would have been noticed, for each of RATIOS; none if nothing was planted."""

    shares: tuple[float, ...] = ()
    draws: int = 0
    """Draws of the reference, and between them, that were evaluated."""

    @property
    def half_as_wide(self) -> float:
        """The share of modes half as wide as the narrowest known one that would have been noticed."""
        return self.shares[RATIOS.index(2.0)]

    def __str__(self) -> str:
        if not self.shares:
            return ""
        return (
            f"The search has looked at {self.draws} draws: it would have noticed a mode with a tenth of the mass and "
            f"half the width of the narrowest one at {self.half_as_wide:.0%} of the places."
        )


def plant(points: FloatArray, values: FloatArray, mixture: Mixture, log_evidence: float, places: FloatArray) -> Planted:
    """Return at which share of places modes would have been noticed by points with these log-densities, on the line.

    They have the shape of the mode of the smallest volume.
    """
    factor = _narrowest(mixture) / math.sqrt(INFLATION)
    white, white_places = (_whitened(factor, some) for some in (points, places))
    log_height = math.log(SHARE_OF_MASS) + log_evidence - float(np.log(_diagonals(factor[None])).sum())
    log_height -= 0.5 * points.shape[1] * math.log(2.0 * math.pi)
    shares = tuple(_noticed(white, white_places, values, log_height, ratio) for ratio in RATIOS)
    return Planted(shares, len(points))


def _narrowest(mixture: Mixture) -> FloatArray:
    """Return the factor of the component of largest weight in the mode with mass where that has the smallest volume."""
    mode_of, log_volumes = modes_of(mixture), np.log(_diagonals(mixture.factors)).sum(axis=1)
    shares = np.bincount(mode_of, weights=masses_of(mixture.weights))
    modes = [np.flatnonzero(mode_of == k) for k in np.flatnonzero(shares >= LEAST_SHARE)]
    largest = [max(mode, key=lambda i: mixture.weights[i]) for mode in modes]
    return np.asarray(mixture.factors[min(largest, key=lambda i: log_volumes[i])])


def _noticed(white: FloatArray, places: FloatArray, values: FloatArray, log_height: float, ratio: float) -> float:
    """Return the share of places at which a point has a smaller density than a planted mode."""
    # squares of differences are expanded, which loses digits far from the origin
    centre = places.mean(axis=0)
    white, places = white - centre, places - centre
    noticed = np.zeros(len(places), dtype=bool)
    top = log_height + white.shape[1] * math.log(ratio)
    for begin in range(0, len(white), ROWS):
        some = white[begin : begin + ROWS]
        squares = (some**2).sum(axis=1)[:, None] + (places**2).sum(axis=1) - 2.0 * some @ places.T
        density = top - 0.5 * ratio**2 * squares
        noticed |= (density > values[begin : begin + ROWS, None]).any(axis=0)
    return float(noticed.mean())


def _diagonals(factors: FloatArray) -> FloatArray:
    return np.asarray(np.diagonal(factors, axis1=1, axis2=2) if factors.ndim == 3 else factors)


def _whitened(factor: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(points / factor if factor.ndim == 1 else points @ np.linalg.inv(factor).T)
