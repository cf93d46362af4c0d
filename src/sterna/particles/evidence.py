"""The log evidence from one population, with the error that the families of its particles tell."""

import math
from dataclasses import dataclass

import numpy as np

from sterna.particles.family_growth import FamilyGrowth
from sterna.particles.weights import effective_size
from sterna.search.pareto import pareto_shape
from sterna.tuning.estimate import Estimate

# With fewer effective families than this, the error is unknown: one family that was not seen could change it.
MIN_FAMILIES = 5.0

# With fewer degrees of freedom than this the error is unknown: its square is not much larger than its own noise.
MIN_FREEDOM = 2.0


@dataclass(frozen=True)
class Evidence:
    """Logarithm of the evidence, and what the weights of families say about its error."""

    log_evidence: float
    growth: FamilyGrowth

    @property
    def n_families(self) -> float:
        """How many families of equal weight would be worth the same."""
        return effective_size(self.growth.shares)

    @property
    def tail_shape(self) -> float:
        """Shape of the tail of the families' weights, as in Pareto smoothed importance sampling (Vehtari et al. 2024).

        Above 0.5 they have no variance, and those of families that were not seen may outweigh all others.
        """
        weights = np.sort(self.growth.shares)
        size = int(min(0.2 * len(weights), 3.0 * math.sqrt(len(weights))))
        return pareto_shape(weights[-size:] - weights[-size - 1])

    @property
    def estimate(self) -> Estimate:
        """Value and standard error of the log evidence; the error is unknown if few families are left."""
        freedom = min(self.n_families - 1.0, self.growth.freedom)
        known = self.n_families >= MIN_FAMILIES and freedom >= MIN_FREEDOM
        error = math.sqrt(self.growth.relative_variance) if known else math.nan
        return Estimate(self.log_evidence, error, max(freedom, 1.0))
