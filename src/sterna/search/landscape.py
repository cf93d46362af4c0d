"""A target as a search sees it: a log-density on the unconstrained line, and what its evaluations have cost."""

from typing import Protocol

from sterna.types import BoolArray, FloatArray


class Landscape(Protocol):
    """A log-density of points of shape (rows, dimension), evaluated for many rows at once.

    Integers are part of a point, and stay as they are.
    """

    free: BoolArray
    """Which coordinates are real, so that a climb may change them."""
    limits: FloatArray
    """How far each coordinate may change at once: near a bound slopes vanish, and circles go around."""
    periods: FloatArray
    """Period of each coordinate, at which densities repeat; 0 if it has none. Points may be whole turns away."""
    has_slopes: bool
    """Whether `slopes` can be called."""

    @property
    def spent(self) -> int:
        """Evaluations so far; a gradient counts as several."""

    def variables(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the states of points, and the log-Jacobian of every coordinate, 0 for integers."""

    def points_of(self, states: FloatArray) -> FloatArray:
        """Return the points of states."""

    def values(self, points: FloatArray) -> FloatArray:
        """Return the log-densities; -inf where the density is zero or not a number."""

    def references(self, points: FloatArray) -> FloatArray:
        """Return the log-densities of the reference."""

    def stencils(self, points: FloatArray, steps: FloatArray) -> FloatArray:
        """Return the log-density one step up and down each coordinate whose step is not 0: (rows, dimension, 2)."""

    def slopes(self, points: FloatArray) -> FloatArray:
        """Return the gradients of the log-density, 0 for integers."""
