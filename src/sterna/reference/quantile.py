"""A distribution known by its quantiles alone: any one-dimensional law, in Python."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from sterna.errors import TargetError
from sterna.ground.user_function import CannotCompile
from sterna.reference.distributions import Distribution, Normal
from sterna.types import FloatArray

# Where the quantiles of a law end, its other values get the last of them; so much of its mass may be theirs.
MOST_BEYOND = 1e-5
# As far from the middle as standard normal numbers are tried, in steps: SciPy's quantile of 1 - q is often the end
# of the support from 8.3 on, and the last is the largest with a probability above zero.
STEPS = (*np.arange(0.5, 8.5, 0.5).tolist(), 12.0, 20.0, 37.0)
# A law without a distribution function of its own is summed term by term, up to so many.
MOST_TERMS = 1e5
FINE_STEPS = np.arange(-7.0, 7.0, 0.05)


class Quantile(Distribution):
    """A law whose quantiles SciPy knows, stored as standard normal numbers z of the same probabilities.

    The value is the quantile at Phi(z), from below or from above, so that both tails keep what digits SciPy has. Where
    SciPy's quantiles are infinite or take too long, the last one before stands for the rest: MOST_BEYOND of the law at
    each end at most, and some 1e-15 of most laws.
    """

    def __init__(self, law: Any, name: str, shape: tuple[int, ...], whole: bool, what: str) -> None:
        self.law, self.name, self.whole = law, name, whole
        self._given = {"law": name}
        self.shape = shape
        self.coordinates = Normal(0.0, 1.0, shape=shape).coordinates
        self.lower, self.upper = (np.broadcast_to(end, shape).ravel() for end in law.support())
        with np.errstate(all="ignore"):  # SciPy's, where a quantile is infinite
            self.ends = self._summed_ends() if _is_summed(law) else self._ends(what)
        for beyond, end in zip(_tails(self.ends), ("lowest", "highest"), strict=True):
            if beyond > MOST_BEYOND:
                raise TargetError(
                    f"{what}: SciPy cannot compute the quantiles of {name} for the {end} {beyond:.1g} of draws: give a "
                    "law with a lighter tail or with bounds, or a sterna.Reference with your own draws and density."
                )

    def values(self, z: FloatArray) -> FloatArray:
        """Return the values of standard normal numbers, one for each coordinate."""
        return self._quantiles(np.clip(z, *self.ends))

    def _ends(self, what: str) -> tuple[float, float]:
        """Return between which z all quantiles are finite and in order."""
        ones = np.ones(len(self.coordinates.lower))
        middle = self._tried(0.0 * ones)
        if not np.isfinite(middle).all():
            raise TargetError(f"{what}: {self.name} has no median: its parameters are not allowed.")
        found = []
        for side in (-1.0, 1.0):
            end, last = 0.0, middle
            for step in STEPS:
                values = self._tried(side * step * ones)
                if not (np.isfinite(values) & (side * (values - last) >= 0)).all():
                    break
                end, last = side * step, values
            found.append(end)
        return found[0], found[1]

    def _summed_ends(self) -> tuple[float, float]:
        """Return up to which z few terms are summed; from below, as one step too far may take all memory."""
        ones = np.ones(len(self.coordinates.lower))
        few = itertools.takewhile(
            lambda z: (self._tried(z * ones) - self.lower < MOST_TERMS).all(), FINE_STEPS.tolist()
        )
        return -37.0, max(few, default=-37.0)

    def _tried(self, z: FloatArray) -> FloatArray:
        """Return quantiles, or NaN where SciPy's search for them fails."""
        try:
            return self._quantiles(z)
        except (ArithmeticError, RuntimeError):
            return np.full(len(z), np.nan)

    def _quantiles(self, z: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        tail = ndtr(-np.abs(z)).reshape(self.shape)
        above = (z > 0).reshape(self.shape)
        if above.all():
            found = self.law.isf(tail)
        elif not above.any():
            found = self.law.ppf(tail)
        else:
            found = np.where(above, self.law.isf(tail), self.law.ppf(tail))
        return np.asarray(found, dtype=np.float64).ravel()


def _is_summed(law: Any) -> bool:
    """Whether SciPy sums the probabilities of a law without an upper end."""
    from scipy import stats

    own = type(law.dist)._cdf
    return own is stats.rv_discrete._cdf and bool(np.isinf(law.support()[1]).any())


def _tails(ends: tuple[float, float]) -> tuple[float, float]:
    from scipy.special import ndtr

    return float(ndtr(ends[0])), float(ndtr(-ends[1]))


class QuantileMap:
    """The state map of a reference some of whose variables are known by quantiles."""

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
        """Return the state with quantiles in their places."""
        for place, distribution in self.parts:
            state[place] = distribution.values(state[place])
        return state

    def lines(self, datum: Any) -> tuple[list[str], dict[str, Any]]:
        """Say that there is no compiled form."""
        raise CannotCompile(f"the quantiles of {self.parts[0][1].name} are Python")
