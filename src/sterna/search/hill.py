"""The hill of an optimum: the points from which climbs lead to it, known by a density that its curvature predicts.

A likelihood is often nearly quadratic in the variables, not on the unconstrained line. So the curvature is carried to
the variables, where it also predicts the density far away, and one evaluation can tell where a climb would end.
"""

from dataclasses import dataclass

import numpy as np

from sterna.search.circles import shortest_ways
from sterna.search.curvature import Optimum
from sterna.search.landscape import Landscape
from sterna.types import BoolArray, FloatArray

# A point belongs to a hill if its log-density differs by less than this number of nats from the prediction,
ALWAYS = 0.5
# or by less than this share of its depth below the optimum,
OF_DEPTH = 0.02
# or by this share of its squared distance, if it is within twice the squared distance of typical draws.
OF_DISTANCE = 0.1

# Step of the differences that carry the curvature to the variables; the maps have a scale of 1.
STEP = 1e-3


@dataclass(frozen=True)
class Hill:
    """An optimum, and the quadratic function of the real variables that describes the density around it."""

    optimum: Optimum
    state: FloatArray
    value: float
    """Log-density of the variables, without the Jacobian."""
    slope: FloatArray
    curvature: FloatArray

    def holds(self, landscape: Landscape, points: FloatArray, values: FloatArray, far: bool) -> BoolArray:
        """Return which points belong to the hill, those far from its optimum included or not."""
        square = self.optimum.ellipsoid.distances(points, landscape)
        with np.errstate(invalid="ignore"):
            off = np.abs(values - self.optimum.value + 0.5 * square)
            near = (square < 2.0 * len(self.slope) + 2.0) & (off < ALWAYS + OF_DISTANCE * square)
        if not far:
            return np.asarray(near)
        with np.errstate(all="ignore"):
            off = np.abs(values - self.predictions(landscape, points))
        matches = off < ALWAYS + OF_DEPTH * (self.optimum.value - values)
        return np.asarray((near | matches) & np.isfinite(square))

    def predictions(self, landscape: Landscape, points: FloatArray) -> FloatArray:
        """Return the log-density on the line that the hill predicts at every point."""
        states, log_jacobians = landscape.variables(points)
        away = shortest_ways(landscape.periods, states - self.state)[:, landscape.free]
        with np.errstate(all="ignore"):
            along = away * self.curvature if self.curvature.ndim == 1 else away @ self.curvature
            predicted = self.value + away @ self.slope - 0.5 * np.einsum("ij,ij->i", along, away)
            return np.asarray(predicted + log_jacobians.sum(axis=1))


def hill_of(landscape: Landscape, optimum: Optimum) -> Hill:
    """Carry the curvature of an optimum from the line to the variables.

    With x = x(u) and j = log x', the density of u has log f(x(u)) + j. At its optimum the slope of log f is -j' / x',
    and minus its second derivative is that of u less j'**2 - j'', divided by x' twice.
    """
    free, point = landscape.free, optimum.point
    shift = np.where(free, STEP, 0.0)
    states, logs = landscape.variables(np.stack([point, point + shift, point - shift]))
    size, j = np.exp(logs[0, free]), logs[:, free]
    first, second = (j[1] - j[2]) / (2.0 * STEP), (j[1] + j[2] - 2.0 * j[0]) / STEP**2
    inverse = optimum.ellipsoid.precision
    # an optimum so near to an edge that x' is zero has no hill: nothing matches infinite numbers
    with np.errstate(all="ignore"):
        if inverse.ndim == 1:
            curvature = (inverse - (first**2 - second)) / size**2
        else:
            curvature = (inverse - np.diag(first**2 - second)) / np.outer(size, size)
        slope = -first / size
    return Hill(optimum, states[0], optimum.value - float(logs[0].sum()), slope, curvature)
