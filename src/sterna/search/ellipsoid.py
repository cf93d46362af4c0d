"""Ellipsoids on the line: a centre, and the factor of a covariance of its real coordinates."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sterna.search.circles import shortest_ways
from sterna.search.landscape import Landscape
from sterna.types import BoolArray, FloatArray

# An ellipsoid holds this share of the normal distribution with its centre and covariance.
INSIDE = 0.99


@dataclass(frozen=True)
class Ellipsoid:
    """The points that are near a centre, in units of a covariance, and have its integers."""

    centre: FloatArray
    factor: FloatArray
    """Cholesky factor of the covariance of the real coordinates, or their standard deviations."""

    @cached_property
    def radius(self) -> float:
        """The squared distance of its surface."""
        from scipy.special import chdtri

        return float(chdtri(len(self.factor), 1.0 - INSIDE))

    @cached_property
    def log_volume(self) -> float:
        """The log-determinant of the factor."""
        return float(np.log(self.factor if self.factor.ndim == 1 else np.diagonal(self.factor)).sum())

    @cached_property
    def _inverse(self) -> FloatArray:
        return 1.0 / self.factor if self.factor.ndim == 1 else np.asarray(np.linalg.inv(self.factor), dtype=np.float64)

    @cached_property
    def precision(self) -> FloatArray:
        """The inverse of the covariance, or its diagonal."""
        return self._inverse**2 if self.factor.ndim == 1 else self._inverse.T @ self._inverse

    def distances(self, points: FloatArray, landscape: Landscape) -> FloatArray:
        """Return squared distances from the centre, the shortest way around circles; infinite if an integer differs."""
        free = landscape.free
        away = shortest_ways(landscape.periods, points - self.centre)[:, free]
        white = away * self._inverse if self.factor.ndim == 1 else away @ self._inverse.T
        squares = np.einsum("ij,ij->i", white, white)
        if free.all():
            return np.asarray(squares)
        return np.where((points[:, ~free] == self.centre[~free]).all(axis=1), squares, math.inf)

    def holds(self, points: FloatArray, landscape: Landscape) -> BoolArray:
        """Return which points lie inside."""
        return np.asarray(self.distances(points, landscape) <= self.radius)

    def scaled(self, white: FloatArray) -> FloatArray:
        """Return rows of independent coordinates as displacements from the centre."""
        return np.asarray(white * self.factor if self.factor.ndim == 1 else white @ self.factor.T)
