"""The integral of a density of which independent draws are known, with bounds: Bennett's acceptance ratio.

With f the density, p = f/c that of the draws, and g that of a mixture fitted to other draws of p, the mean of
g / (g + f/c) over p equals that of (f/c) / (g + f/c) over g: both are the integral of p g / (p + g). Terms are between
0 and 1, so that an inequality of Bernstein's kind bounds their means, whatever the distributions are (Maurer and Pontil
2009), and with them c.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sterna.search.density_tree import density_tree
from sterna.search.mixture import Mixture
from sterna.types import BoolArray, FloatArray

# The probability that an integral is outside of its bounds.
FALSE_ALARM = 1e-6

# Logarithms of integrals are sought as far from zero as this, by so many bisections.
FARTHEST, BISECTIONS = 1e3, 60

# Tails are heavy if a draw is so many times as far out as the middle half of them is wide.
HEAVY = 10.0

LogDensity = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Integral:
    """An integral with its bounds."""

    value: float
    low: float
    high: float


def integral_of(draws: FloatArray, log_density: LogDensity, rng: np.random.Generator) -> Integral | None:
    """Return the integral of a density from independent draws of it; None if no mixture can be fitted to them.

    The density is a function of rows of points, evaluated at half of the draws and at as many points of a mixture.
    """
    half = len(draws) // 2
    scale = Scale.of(draws[:half])
    try:
        mixture = density_tree(scale.compressed(draws[:half]))
    except np.linalg.LinAlgError:
        return None
    own = scale.compressed(draws[half:])
    points = drawn(mixture, len(own), rng)
    at_draws, at_points = (
        log_density(scale.expanded(x)) + scale.log_jacobian(x) - mixture.log_components(x) for x in (own, points)
    )
    return _solved(at_draws, at_points)


@dataclass(frozen=True)
class Scale:
    """Coordinates of heavy tails as asinh((x - centre) / spread), which has a variance; all others as they are."""

    centre: FloatArray
    spread: FloatArray
    heavy: BoolArray

    @staticmethod
    def of(draws: FloatArray) -> "Scale":
        """Return the scale of draws; tails are heavy if a draw is far outside of the middle half."""
        low, centre, high = np.quantile(draws, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, high - low, 1.0)
        return Scale(centre, spread, (np.abs(draws - centre) > HEAVY * spread).any(axis=0))

    def compressed(self, points: FloatArray) -> FloatArray:
        """Return points on the scale."""
        return np.where(self.heavy, np.arcsinh((points - self.centre) / self.spread), points)

    def expanded(self, points: FloatArray) -> FloatArray:
        """Return the points of those on the scale."""
        tails = np.sinh(np.where(self.heavy, points, 0.0))
        return np.where(self.heavy, self.centre + self.spread * tails, points)

    def log_jacobian(self, points: FloatArray) -> FloatArray:
        """Return the logarithm of the Jacobian of `expanded`."""
        size = np.abs(np.where(self.heavy, points, 0.0))
        log_cosh = size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0)
        return np.asarray(np.sum(np.where(self.heavy, log_cosh + np.log(self.spread), 0.0), axis=1))


def drawn(mixture: Mixture, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw points of a mixture with full covariances."""
    component = rng.choice(len(mixture.weights), size=count, p=mixture.weights)
    white = rng.standard_normal((count, mixture.dimension))
    return np.asarray(mixture.centres[component] + np.einsum("nij,nj->ni", mixture.factors[component], white))


def _solved(at_draws: FloatArray, at_points: FloatArray) -> Integral:
    """Return the integral and its bounds from log(f/g) at draws and at points of the mixture."""

    def excess(log_integral: float) -> tuple[float, float]:
        """Return by how much the mean over the mixture exceeds that over the draws, and the bound of chance."""
        terms = _logistic(at_points - log_integral) - _logistic(log_integral - at_draws)
        log_chance, n = math.log(4.0 / FALSE_ALARM), len(terms)
        bound = math.sqrt(2.0 * float(terms.var(ddof=1)) * log_chance / n) + 14.0 * log_chance / (3.0 * (n - 1))
        return float(terms.mean()), bound

    def root(side: int) -> float:
        return _bisected(lambda log_integral: excess(log_integral)[0] + side * excess(log_integral)[1])

    value, low, high = (root(side) for side in (0, -1, 1))
    with np.errstate(over="ignore"):
        return Integral(*(float(np.exp(one)) for one in (value, low, high)))


def _bisected(falling: Callable[[float], float]) -> float:
    """Return the root of a falling function."""
    low, high = -FARTHEST, FARTHEST
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falling(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
