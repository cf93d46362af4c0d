"""Ellipsoids on the line: a centre, and the factor of a covariance of its real coordinates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sterna.search.circles import shortest_ways
from sterna.search.landscape import Landscape
from sterna.types import BoolArray, FloatArray

# Differences of points and centres that are held at once.
MAX_DIFFERENCES = 1_000_000

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
    def inverse(self) -> FloatArray:
        """The inverse of the factor."""
        return np.asarray(1.0 / self.factor if self.factor.ndim == 1 else np.linalg.inv(self.factor))

    @cached_property
    def precision(self) -> FloatArray:
        """The inverse of the covariance, or its diagonal."""
        return np.asarray(self.inverse**2 if self.factor.ndim == 1 else self.inverse.T @ self.inverse)

    def distances(self, points: FloatArray, landscape: Landscape) -> FloatArray:
        """Return squared distances from the centre, the shortest way around circles; infinite if an integer differs."""
        return np.asarray(Ellipsoids.of([self]).distances(points, landscape)[0])

    def holds(self, points: FloatArray, landscape: Landscape) -> BoolArray:
        """Return which points lie inside."""
        return np.asarray(self.distances(points, landscape) <= self.radius)

    def scaled(self, white: FloatArray) -> FloatArray:
        """Return rows of independent coordinates as displacements from the centre."""
        return np.asarray(white * self.factor if self.factor.ndim == 1 else white @ self.factor.T)


@dataclass(frozen=True)
class Ellipsoids:
    """Several ellipsoids as arrays: one call compares points with all of them."""

    centres: FloatArray
    inverses: FloatArray
    """Inverses of all factors, or of their diagonals if all are diagonal."""

    @staticmethod
    def of(ellipsoids: Sequence[Ellipsoid]) -> "Ellipsoids":
        """Return the arrays of at least one ellipsoid."""
        return Ellipsoids(np.stack([one.centre for one in ellipsoids]), stacked([one.inverse for one in ellipsoids]))

    def distances(self, points: FloatArray, landscape: Landscape) -> FloatArray:
        """Return squared distances, a row for each ellipsoid, as `Ellipsoid.distances` does."""
        free, rows = landscape.free, max(1, MAX_DIFFERENCES // self.centres.size)
        squares = np.empty((len(self.centres), len(points)))
        for begin in range(0, len(points), rows):
            some = points[begin : begin + rows]
            away = shortest_ways(landscape.periods, some - self.centres[:, None])[..., free]
            white = multiplied(away, self.inverses)
            squares[:, begin : begin + rows] = np.einsum("kij,kij->ki", white, white)
        if not free.all():
            same = (points[:, ~free] == self.centres[:, None, ~free]).all(axis=2)
            squares[~same] = math.inf
        return squares


def stacked(matrices: Sequence[FloatArray]) -> FloatArray:
    """Return matrices as one array; as diagonals if all of them are given as such."""
    if all(one.ndim == 1 for one in matrices):
        return np.stack(matrices)
    return np.stack([np.diag(one) if one.ndim == 1 else one for one in matrices])


def multiplied(rows: FloatArray, matrices: FloatArray) -> FloatArray:
    """Return matrix k, or the diagonal matrix, times each of the rows k."""
    return np.asarray(rows * matrices[:, None] if matrices.ndim == 2 else rows @ matrices.transpose(0, 2, 1))
