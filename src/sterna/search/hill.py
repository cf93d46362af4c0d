"""The hill of an optimum: the points from which climbs lead to it, known by a density that its curvature predicts.

A likelihood is often nearly quadratic in the variables, not on the unconstrained line. So the curvature is carried to
the variables, where it also predicts the density far away, and one evaluation can tell where a climb would end.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sterna.search.circles import shortest_ways
from sterna.search.curvature import Optimum
from sterna.search.ellipsoid import MAX_DIFFERENCES, Ellipsoids, multiplied, stacked
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


@dataclass(frozen=True)
class Hills:
    """All hills that are known: one call compares points with all of them."""

    each: tuple[Hill, ...] = ()

    def __len__(self) -> int:
        return len(self.each)

    def __iter__(self) -> Iterator[Hill]:
        return iter(self.each)

    @cached_property
    def ellipsoids(self) -> Ellipsoids:
        """The ellipsoids of their optima."""
        return Ellipsoids.of([hill.optimum.ellipsoid for hill in self.each])

    @cached_property
    def states(self) -> FloatArray:
        """Where the optima are, a row each."""
        return np.stack([hill.state for hill in self.each])

    @cached_property
    def values(self) -> FloatArray:
        """Log-densities of the variables at the optima, without the Jacobian."""
        return np.array([hill.value for hill in self.each])

    @cached_property
    def _heights(self) -> FloatArray:
        return np.array([hill.optimum.value for hill in self.each])

    @cached_property
    def _slopes(self) -> FloatArray:
        return np.stack([hill.slope for hill in self.each])

    @cached_property
    def _curvatures(self) -> FloatArray:
        return stacked([hill.curvature for hill in self.each])

    def distances(self, landscape: Landscape, points: FloatArray) -> FloatArray:
        """Return squared distances from the optima, in units of their curvature: (hills, points)."""
        return self.ellipsoids.distances(points, landscape) if self.each else np.empty((0, len(points)))

    def holds(self, landscape: Landscape, points: FloatArray, values: FloatArray, far: bool) -> BoolArray:
        """Return which points belong to which hill, those far from its optimum included or not: (hills, points)."""
        if not self.each:
            return np.zeros((0, len(points)), dtype=np.bool_)
        squares = self.distances(landscape, points)
        with np.errstate(all="ignore"):
            depths = self._heights[:, None] - values
            off = np.abs(0.5 * squares - depths)
            near = (squares < 2.0 * self._slopes.shape[1] + 2.0) & (off < ALWAYS + OF_DISTANCE * squares)
            if not far:
                return np.asarray(near)
            off = np.abs(values - self.predictions(landscape, points))
            return np.asarray((near | (off < ALWAYS + OF_DEPTH * depths)) & np.isfinite(squares))

    def predictions(self, landscape: Landscape, points: FloatArray) -> FloatArray:
        """Return the log-density on the line that each hill predicts at every point: (hills, points)."""
        states, log_jacobians = landscape.variables(points)
        predicted = np.empty((len(self.each), len(points)))
        rows = max(1, MAX_DIFFERENCES // max(self.states.size, 1))
        for begin in range(0, len(points), rows):
            some = states[begin : begin + rows] - self.states[:, None]
            away = shortest_ways(landscape.periods, some)[..., landscape.free]
            with np.errstate(all="ignore"):
                along = 0.5 * multiplied(away, self._curvatures) - self._slopes[:, None]
                predicted[:, begin : begin + rows] = self.values[:, None] - np.einsum("kij,kij->ki", along, away)
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
