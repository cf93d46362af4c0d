"""A distribution known by its quantiles alone: any one-dimensional law, in Python."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.distributions import Distribution, Normal
from sterna.errors import TargetError
from sterna.user_function import CannotCompile

Numbers = NDArray[np.float64]


class Quantile(Distribution):
    """A law whose quantiles SciPy knows, stored as standard normal numbers z of the same probabilities.

    The value is the quantile at Phi(z), from below or from above, so that both tails keep all their digits.
    """

    def __init__(self, law: Any, name: str, shape: tuple[int, ...], whole: bool, what: str) -> None:
        self.law, self.name, self.whole = law, name, whole
        self._given = {"law": name}
        self.shape = shape
        self.coordinates = Normal(0.0, 1.0, shape=shape).coordinates
        self.lower, self.upper = (np.broadcast_to(end, shape).ravel() for end in law.support())
        if not np.isfinite(self.values(np.zeros(len(self.coordinates.lower)))).all():
            raise TargetError(f"{what}: {name} has no median: its parameters are not allowed.")

    def values(self, z: Numbers) -> Numbers:
        """Return the values of standard normal numbers, one for each coordinate."""
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


class QuantileMap:
    """The state map of a reference some of whose variables are known by quantiles."""

    mixes = False
    data: Mapping[str, Numbers]

    def __init__(self, distributions: list[Distribution]) -> None:
        sizes = [len(distribution.coordinates.lower) for distribution in distributions]
        ends = np.cumsum(sizes).tolist()
        self.dimension, self.data = int(ends[-1]), {}
        self.parts = [
            (slice(end - size, end), distribution)
            for end, size, distribution in zip(ends, sizes, distributions, strict=True)
            if isinstance(distribution, Quantile)
        ]

    def forward(self, state: Numbers) -> Numbers:
        """Return the state with quantiles in their places."""
        for place, distribution in self.parts:
            state[place] = distribution.values(state[place])
        return state

    def lines(self, datum: Any) -> tuple[list[str], dict[str, Any]]:
        """Say that there is no compiled form."""
        raise CannotCompile(f"the quantiles of {self.parts[0][1].name} are Python")
