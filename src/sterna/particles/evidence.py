"""The standard error of the log evidence from one population, by the ancestors from which its particles descend.

Particles that descend from one of the first draws are a family, and families are independent but for resampling. The
sum of squares of the families' weights is what the variance is estimated from (Chan and Lai 2013; Lee and Whiteley
2018). Part of it does not belong to the evidence: the numbers of offspring scatter, while their sum does not. With
multinomial resampling that part is 1/N each time; with stratified resampling it is known from the weights.
"""

import math
from dataclasses import dataclass

import numpy as np

from sterna.particles.weights import effective_size
from sterna.search.pareto import pareto_shape
from sterna.tuning.estimate import Estimate
from sterna.types import FloatArray, IntArray

# With fewer effective families than this, the error is unknown: one family that was not seen could change it.
MIN_FAMILIES = 5.0


@dataclass(frozen=True)
class Evidence:
    """Logarithm of the evidence, and what the weights of families say about its error."""

    log_evidence: float
    families: FloatArray
    """Weights of the families, which sum to one."""
    n_particles: int
    resampling: float
    """Sum over all resamplings of the scatter of families that is no error of the evidence."""

    @property
    def n_families(self) -> float:
        """How many families of equal weight would be worth the same."""
        return effective_size(self.families)

    @property
    def tail_shape(self) -> float:
        """Shape of the tail of the families' weights, as in Pareto smoothed importance sampling (Vehtari et al. 2024).

        Above 0.5 they have no variance, and those of families that were not seen may outweigh all others.
        """
        weights = np.sort(np.concatenate([self.families, np.zeros(self.n_particles - len(self.families))]))
        size = int(min(0.2 * self.n_particles, 3.0 * math.sqrt(self.n_particles)))
        return pareto_shape(weights[-size:] - weights[-size - 1])

    @property
    def relative_variance(self) -> float:
        """Variance of the evidence relative to its square."""
        squares = float(np.square(self.families).sum())
        n = self.n_particles
        return max(1.0 - (1.0 - squares) * n / (n - 1) * math.exp(self.resampling), 0.0)

    @property
    def estimate(self) -> Estimate:
        """Value and standard error of the log evidence; the error is unknown if few families are left."""
        known = self.n_particles > 1 and self.n_families >= MIN_FAMILIES
        error = math.sqrt(self.relative_variance) if known else math.nan
        return Estimate(self.log_evidence, error, max(self.n_families - 1.0, 1.0))


def family_weights(weights: FloatArray, families: IntArray) -> FloatArray:
    """Return the sum of the weights of each family that has any; members of a family are neighbours."""
    first = np.flatnonzero(np.diff(families, prepend=-1))
    return np.asarray(np.add.reduceat(weights, first))


def scatter_of_offspring(families: FloatArray, n_particles: int) -> float:
    """Return the variance of the families' shares after stratified resampling, summed over families.

    A family of weight w covers an interval of n w strata, whole ones but for those at both ends. It receives one
    particle from every whole stratum, and one with probability p, its share of the stratum, from each of the others.
    """
    ends = np.minimum(np.cumsum(families) * n_particles, n_particles)
    starts = np.concatenate([[0.0], ends[:-1]])
    inside = np.floor(starts) == np.floor(ends)
    left, right = np.ceil(starts) - starts, ends - np.floor(ends)
    within = ends - starts
    variance = np.where(inside, within * (1.0 - within), left * (1.0 - left) + right * (1.0 - right))
    return float(variance.sum()) / n_particles**2
