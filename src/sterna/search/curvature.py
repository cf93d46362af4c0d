"""The curvature of a log-density at an optimum, and the ellipsoid that it describes."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sterna.search.ellipsoid import Ellipsoid
from sterna.search.landscape import Landscape
from sterna.types import FloatArray

# Differences are taken over this many standard deviations of the curvature, so that they see the width of the optimum.
DIFFERENCE = 0.5
MAX_ATTEMPTS = 4

# Beyond so many real coordinates the curvature of each coordinate alone is used.
MAX_FULL = 100

# Relative to the curvature of single coordinates, no direction counts as flatter: where it is flat or not concave,
# differences do not tell the width. None counts as so steep that rounding would hide the flat ones.
LEAST_CURVATURE, MAX_CURVATURE = 0.02, 1e8


@dataclass(frozen=True)
class Optimum:
    """A local optimum of the log-density on the line, with its curvature."""

    point: FloatArray
    value: float
    factor: FloatArray
    """Cholesky factor of the inverse curvature of the real coordinates; one number per coordinate beyond MAX_FULL."""
    basin: int = 0
    """How many independent draws of the reference have led here."""

    @cached_property
    def ellipsoid(self) -> Ellipsoid:
        """The points that are near, by the curvature."""
        return Ellipsoid(self.point, self.factor)

    @property
    def log_mass(self) -> float:
        """Laplace's estimate of the integral of the density around the optimum."""
        return self.value + 0.5 * len(self.factor) * math.log(2.0 * math.pi) + self.ellipsoid.log_volume


def curvature_at(
    landscape: Landscape, point: FloatArray, value: float, steps: FloatArray, budget: int
) -> tuple[FloatArray, FloatArray] | None:
    """Return the factor of an optimum and the slopes there, or None if the density is zero next to it.

    `steps` are those over which a climb took its last differences. If the budget does not pay for all pairs of
    coordinates, the curvature is that of each coordinate alone; if not even for those, the result is None.
    """
    free = np.flatnonzero(landscape.free)
    steps, until = steps.copy(), landscape.spent + budget
    if 2 * len(free) > budget:
        return None
    for attempt in range(MAX_ATTEMPTS):
        around = landscape.stencils(point[None], steps[None])[0, free]
        if not np.isfinite(around).all():
            steps *= 0.1
            continue
        curvature = (2.0 * value - around.sum(axis=1)) / steps[free] ** 2
        wanted = DIFFERENCE / np.sqrt(np.maximum(np.abs(curvature), 1e-300))
        near = np.clip(wanted / steps[free], 0.1, 10.0)
        is_last = attempt == MAX_ATTEMPTS - 1 or landscape.spent + 2 * len(free) > until
        if is_last or ((near > 0.5) & (near < 2.0)).all():
            break
        steps[free] *= near
    if not np.isfinite(around).all():
        return None
    widths = steps[free] / np.sqrt(np.maximum(2.0 * value - around.sum(axis=1), 1e-3 * DIFFERENCE**2))
    slopes = (around[:, 0] - around[:, 1]) / (2.0 * steps[free])
    # two gradients for each coordinate, or two values for each pair
    cost = 4 * len(free) if landscape.has_slopes else len(free) * (len(free) - 1)
    if len(free) > MAX_FULL or len(free) == 1 or landscape.spent + cost > until:
        return np.asarray(widths if len(free) > 1 else widths[:, None]), slopes
    relative = cross_terms(landscape, point, value, steps, around) * np.outer(widths, widths)
    np.fill_diagonal(relative, 1.0)
    return positive_factor(relative, widths), slopes


def cross_terms(
    landscape: Landscape, point: FloatArray, value: float, steps: FloatArray, around: FloatArray
) -> FloatArray:
    """Return minus the mixed second derivatives: from gradients if there are any, otherwise from values."""
    free = np.flatnonzero(landscape.free)
    shifts = np.zeros((len(free), len(point)))
    shifts[np.arange(len(free)), free] = steps[free]
    if landscape.has_slopes:
        up, down = landscape.slopes(point + shifts)[:, free], landscape.slopes(point - shifts)[:, free]
        rows = (down - up) / (2.0 * steps[free, None])
        return np.nan_to_num(0.5 * (rows + rows.T), nan=0.0, posinf=0.0, neginf=0.0)
    first, second = np.triu_indices(len(free), 1)
    both = shifts[first] + shifts[second]
    values = landscape.values(np.concatenate([point + both, point - both])).reshape(2, -1)
    single = around[first] + around[second]
    with np.errstate(invalid="ignore"):
        mixed = values.sum(axis=0) - single.sum(axis=1) + 2.0 * value
    mixed /= 2.0 * steps[free][first] * steps[free][second]
    result = np.zeros((len(free), len(free)))
    result[first, second] = result[second, first] = -np.nan_to_num(mixed, nan=0.0, posinf=0.0, neginf=0.0)
    return result


def positive_factor(relative: FloatArray, widths: FloatArray) -> FloatArray:
    """Return the Cholesky factor of the inverse of a curvature in units of widths, with flat directions bounded."""
    eigenvalues, vectors = np.linalg.eigh(relative)
    bounded = np.clip(np.abs(eigenvalues), LEAST_CURVATURE, MAX_CURVATURE)
    covariance = (vectors / bounded) @ vectors.T
    # in units of widths, because those of different orders of magnitude would leave no positive definite numbers
    return np.asarray(widths[:, None] * np.linalg.cholesky(0.5 * (covariance + covariance.T)))
