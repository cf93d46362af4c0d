"""The mass of the density around an optimum, by importance sampling from a Student distribution.

The mass is that of an ellipsoid, inside of which all proposals lie. So it can be compared with the share of draws in
the same ellipsoid, whatever the shape of the target: nothing needs to be a mode.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sterna.search.curvature import Optimum
from sterna.search.ellipsoid import Ellipsoid
from sterna.search.landscape import Landscape
from sterna.tuning.estimate import student_quantile
from sterna.types import BoolArray, FloatArray

# Degrees of freedom of the Student distribution.
FREEDOM = 5.0

# How many times the mean of the first quarter of the weights a weight counts at most: fewer heavy weights can only
# lower the mass, of which a lower bound is wanted.
CLIP = 5.0

# There is no upper bound if the largest weight is more than this share of the sum of all.
LARGEST = 0.03

# At most so many times the number of proposals that an estimate needs are made.
MOST_DRAWS = 5

# Proposals are made in parts with so many coordinates.
MAX_COORDINATES = 1_000_000


@dataclass(frozen=True)
class Mass:
    """The integral of the density over an ellipsoid."""

    region: Ellipsoid
    log_mean: float
    log_lower: float
    log_upper: float
    """Confidence bounds."""


def draws_needed(n_free: int) -> int:
    """Return how many proposals an estimate takes."""
    return 200 + 10 * n_free


def cost_of_mass(n_free: int) -> int:
    """Return how many evaluations an estimate takes at least, with those that fit its ellipsoid."""
    return 3 * draws_needed(n_free) // 2


def mass_around(
    landscape: Landscape, optimum: Optimum, level: float, rng: np.random.Generator, budget: int = 0
) -> Mass:
    """Estimate the mass around an optimum, with bounds each of which holds with probability `level`.

    A first set of proposals, half as many, fits the ellipsoid to the density around the optimum. If the budget pays for
    it, there are more proposals than `draws_needed`.
    """
    least = draws_needed(len(optimum.factor))
    count = min(max(least, budget // 2), MOST_DRAWS * least)
    region = optimum.ellipsoid
    if region.factor.ndim == 2:
        parts = list(weighted_draws(landscape, region, count // 2, rng))
        points, log_weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        region = refitted(region, points, log_weights, landscape.free)
    log_weights = np.concatenate([part for _, part in weighted_draws(landscape, region, count, rng)])
    return Mass(region, *bounds(log_weights, level))


def weighted_draws(
    landscape: Landscape, region: Ellipsoid, count: int, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Draw from the Student distribution inside an ellipsoid: parts of all draws, and the logarithms of their weights.

    In a high dimension all draws together take more memory than the run.
    """
    from scipy.special import fdtr, fdtri, gammaln

    n = len(region.factor)
    inside = float(fdtr(n, FREEDOM, region.radius / n))
    every = n * fdtri(n, FREEDOM, inside * rng.random(count))
    constant = gammaln(0.5 * (FREEDOM + n)) - gammaln(0.5 * FREEDOM) - 0.5 * n * math.log(FREEDOM * math.pi)
    size = max(1, MAX_COORDINATES // n)
    for squares in (every[k : k + size] for k in range(0, count, size)):
        normals = rng.standard_normal((len(squares), n))
        white = normals * np.sqrt(squares / (normals * normals).sum(axis=1))[:, None]
        points = np.tile(region.centre, (len(squares), 1))
        points[:, landscape.free] += region.scaled(white)
        log_student = constant - 0.5 * (FREEDOM + n) * np.log1p(squares / FREEDOM) - region.log_volume
        log_densities = np.where(_nearest(landscape, region, points), landscape.values(points), -math.inf)
        yield points, log_densities - (log_student - math.log(inside))


def _nearest(landscape: Landscape, region: Ellipsoid, points: FloatArray) -> BoolArray:
    """Return which points are at most half a turn from the centre: an ellipsoid longer than a circle counts it once."""
    return np.asarray((np.abs(points - region.centre) <= _half_turns(landscape.periods)).all(axis=1))


def _half_turns(periods: FloatArray) -> FloatArray:
    return np.where(periods > 0.0, 0.5 * periods, math.inf)


def refitted(region: Ellipsoid, points: FloatArray, log_weights: FloatArray, free: BoolArray) -> Ellipsoid:
    """Return the ellipsoid of the mean and covariance of weighted draws, if there are enough of them."""
    if not np.isfinite(log_weights).any() or region.factor.ndim == 1:
        return region
    weights = np.exp(log_weights - log_weights.max())
    # no draw counts for more than a twentieth
    weights = np.minimum(weights, 0.05 * weights.sum())
    size = weights.sum() ** 2 / (weights * weights).sum()
    n = len(region.factor)
    weights /= weights.sum()
    if size < 2.0 * n + 10.0:
        return region
    centre = region.centre.copy()
    centre[free] = weights @ points[:, free]
    away = points[:, free] - centre[free]
    # as if the old covariance had been found from some draws
    old, few = region.factor @ region.factor.T, n / (n + size)
    covariance = (1.0 - few) * (away.T * weights) @ away + few * old
    return Ellipsoid(centre, np.linalg.cholesky(covariance))


def bounds(log_weights: FloatArray, level: float) -> tuple[float, float, float]:
    """Return the logarithms of the weights' mean, of its lower bound and of its upper bound.

    Heavy weights can only lower the lower bound. The upper bound is infinite if a few weights make up the mean, since
    larger ones may be missing then.
    """
    largest = float(log_weights.max())
    if not math.isfinite(largest):
        return -math.inf, -math.inf, math.inf
    weights = np.exp(log_weights - largest)
    mean, quarter = float(weights.mean()), len(weights) // 4
    clipped = np.minimum(weights[quarter:], CLIP * weights[:quarter].mean())
    lower = float(clipped.mean()) - _margin(clipped, level)
    upper = mean + _margin(weights, level) if LARGEST * weights.sum() > 1.0 else math.inf
    return largest + math.log(mean), largest + math.log(lower) if lower > 0.0 else -math.inf, largest + math.log(upper)


def _margin(weights: FloatArray, level: float) -> float:
    """Return what lies between the mean of weights and its bound."""
    error = weights.std(ddof=1) / math.sqrt(len(weights))
    return float(student_quantile(level, len(weights) - 1.0) * error)
