"""Any one-dimensional distribution of SciPy, by its quantiles, in Python."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sterna.distributions import Distribution, Normal
from sterna.errors import TargetError
from sterna.ground.user_function import CannotCompile
from sterna.types import FloatArray

# If quantiles cannot be computed beyond some point, the last one stands for the rest, up to this probability.
MAX_PROBABILITY_BEYOND = 1e-5
# Standard normal numbers at which quantiles are tried, from the median outwards. From 8.3 on SciPy's quantile of 1 - q
# is often the end of the support, and beyond 37 the normal tail probability underflows.
TRIED_STEPS = (*np.arange(0.5, 8.5, 0.5).tolist(), 12.0, 20.0, 37.0)
# SciPy sums the probabilities of a discrete distribution without a distribution function; no more terms than this.
MAX_TERMS = 1e5
TRIED_STEPS_OF_SUMS = np.arange(-7.0, 7.0, 0.05)


class Quantile(Distribution):
    """A frozen distribution of SciPy, stored as standard normal numbers z of the same probabilities.

    The value is the quantile at Phi(z), computed from the nearer tail so that both tails keep SciPy's precision. If
    SciPy's quantiles are infinite or take too long, the last computable one stands for the rest, which has at most the
    probability MAX_PROBABILITY_BEYOND at each end, and about 1e-15 for most distributions.
    """

    def __init__(self, frozen: Any, name: str, shape: tuple[int, ...], whole: bool, what: str) -> None:
        self.frozen, self.name, self.whole = frozen, name, whole
        self._given = {"frozen": name}
        self.shape = shape
        self.coordinates = Normal(0.0, 1.0, shape=shape).coordinates
        self.lower, self.upper = (np.broadcast_to(end, shape).ravel() for end in frozen.support())
        with np.errstate(all="ignore"):  # SciPy warns if a quantile is infinite
            self.ends = self._summed_ends() if _is_summed(frozen) else self._ends(what)
        for beyond, end in zip(_probabilities_beyond(self.ends), ("lowest", "highest"), strict=True):
            if beyond > MAX_PROBABILITY_BEYOND:
                raise TargetError(
                    f"{what}: SciPy cannot compute the quantiles of {name} for the {end} {beyond:.1g} of draws: give a "
                    "distribution with a lighter tail or with bounds, or a sterna.Reference(draw, log_density)."
                )

    def values(self, z: FloatArray) -> FloatArray:
        """Return the values of standard normal numbers, one for each coordinate."""
        return self._quantiles(np.clip(z, *self.ends))

    def _ends(self, what: str) -> tuple[float, float]:
        """Return the lowest and highest z between which all quantiles are finite and increasing."""
        ones = np.ones(len(self.coordinates.lower))
        middle = self._tried(0.0 * ones)
        if not np.isfinite(middle).all():
            raise TargetError(f"{what}: {self.name} has no finite median: its parameters are not allowed.")
        found = []
        for side in (-1.0, 1.0):
            end, last = 0.0, middle
            for step in TRIED_STEPS:
                values = self._tried(side * step * ones)
                if not (np.isfinite(values) & (side * (values - last) >= 0)).all():
                    break
                end, last = side * step, values
            found.append(end)
        return found[0], found[1]

    def _summed_ends(self) -> tuple[float, float]:
        """Return the lowest z, and the highest for which few terms are summed.

        It is searched from below, because one step too far may exhaust the memory.
        """
        ones = np.ones(len(self.coordinates.lower))
        few = itertools.takewhile(
            lambda z: (self._tried(z * ones) - self.lower < MAX_TERMS).all(), TRIED_STEPS_OF_SUMS.tolist()
        )
        return -37.0, max(few, default=-37.0)

    def _tried(self, z: FloatArray) -> FloatArray:
        """Return quantiles, or NaN if SciPy's search for them fails."""
        try:
            return self._quantiles(z)
        except (ArithmeticError, RuntimeError):
            return np.full(len(z), np.nan)

    def _quantiles(self, z: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        tail = ndtr(-np.abs(z)).reshape(self.shape)
        above = (z > 0).reshape(self.shape)
        if above.all():
            found = self.frozen.isf(tail)
        elif not above.any():
            found = self.frozen.ppf(tail)
        else:
            found = np.where(above, self.frozen.isf(tail), self.frozen.ppf(tail))
        return np.asarray(found, dtype=np.float64).ravel()


def _is_summed(frozen: Any) -> bool:
    """Whether SciPy sums the probabilities of a distribution without an upper bound."""
    from scipy import stats

    cdf = type(frozen.dist)._cdf
    return cdf is stats.rv_discrete._cdf and bool(np.isinf(frozen.support()[1]).any())


def _probabilities_beyond(ends: tuple[float, float]) -> tuple[float, float]:
    from scipy.special import ndtr

    return float(ndtr(ends[0])), float(ndtr(-ends[1]))


class QuantileMap:
    """The state map of a reference in which the values of some variables are quantiles."""

    mixes = False
    data: Mapping[str, FloatArray]

    def __init__(self, distributions: list[Distribution]) -> None:
        sizes = [len(distribution.coordinates.lower) for distribution in distributions]
        ends = np.cumsum(sizes).tolist()
        self.dimension, self.data = int(ends[-1]), {}
        self.parts = [
            (slice(end - size, end), distribution)
            for end, size, distribution in zip(ends, sizes, distributions, strict=True)
            if isinstance(distribution, Quantile)
        ]

    def forward(self, state: FloatArray) -> FloatArray:
        """Return the state with quantiles in place of standard normal numbers."""
        for coordinates, distribution in self.parts:
            state[coordinates] = distribution.values(state[coordinates])
        return state

    def lines(self, datum: Callable[[str], str]) -> tuple[list[str], dict[str, Any]]:
        """Raise CannotCompile, because there is no compiled form."""
        raise CannotCompile(f"the quantiles of {self.parts[0][1].name} are Python")
