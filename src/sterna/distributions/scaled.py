"""Affine functions of other distributions."""

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Distribution


class Scaled(Distribution):
    """The variable loc + scale * z, where z has another distribution of one-dimensional real coordinates."""

    transform = "affine"

    def __init__(self, distribution: Distribution, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> None:
        loc_, scale_ = self._take(distribution.shape, loc=loc, scale=scale)
        self._given = {"distribution": distribution, **self._given}
        self._require(scale_ != 0, "scale must not be 0")
        self.coordinates = distribution.coordinates
        self.affine = (loc_.copy(), np.diag(scale_))
        ends = [loc_ + scale_ * np.asarray(end, dtype=np.float64) for end in (distribution.lower, distribution.upper)]
        self.lower, self.upper = np.minimum(*ends), np.maximum(*ends)


def shifted(standard: Distribution, loc: ArrayLike, scale: ArrayLike = 1.0) -> Distribution:
    """Return the distribution of loc + scale * z; sterna's families of positive numbers have no location."""
    if np.all(np.asarray(loc) == 0) and np.all(np.asarray(scale) == 1):
        return standard
    return Scaled(standard, loc, scale)
