"""Estimates of log Z(beta')/Z(beta) for every pair of neighbouring chains."""

from dataclasses import dataclass

import numpy as np

from sterna.tuning.batches import estimate
from sterna.tuning.estimate import Estimate
from sterna.types import FloatArray


@dataclass(frozen=True)
class Steps:
    """Estimates of log Z(beta')/Z(beta) for every pair, with the influence of every batch on them."""

    value: FloatArray
    influence: FloatArray
    """(copies, batches, pairs)"""
    least_variance: FloatArray
    """Variance of every pair's estimate if all draws were independent, computed from the other chain of the pair."""

    def total(self, journeys: FloatArray | None = None) -> Estimate:
        """Return their sum, which estimates log Z(1)/Z(0), given the influence of each journey on it."""
        with np.errstate(invalid="ignore"):
            value, influence = float(self.value.sum()), self.influence.sum(axis=2)
        return estimate(value, influence, least_variance=float(np.sum(self.least_variance)), journeys=journeys)

    def minus(self, other: "Steps") -> "Steps":
        """Return the differences between these estimates and others from the same draws."""
        with np.errstate(invalid="ignore"):
            least = self.least_variance + other.least_variance
            return Steps(self.value - other.value, self.influence - other.influence, least)
