"""How far reweighting has spread the shares of families: the variance of the evidence, and how well it is known.

Particles that descend from one of the first draws are a family. If two particles are drawn by weight, the probability
that they belong to different families falls from step to step. What resampling takes from it is no error of the
evidence, since numbers of offspring scatter while their sum does not; what reweighting takes from it is (Chan and Lai
2013; Lee and Whiteley 2018). So only the changes between two resamplings count. Their sum survives hundreds of
resamplings, where the difference between all that was lost and what resamplings lose on average is mostly noise.
"""

import math
from dataclasses import dataclass

import numpy as np

from sterna.types import FloatArray

# A probability of different families below this is taken for it; with so few families no error is stated.
SMALLEST = 1e-300


@dataclass(frozen=True)
class FamilyGrowth:
    """Shares of all families, also of those that have died out, and what changes of weights have done to them."""

    shares: FloatArray
    """Weight of each first draw's descendants, after the last change of weights or resampling."""
    log_kept: float
    """Logarithm of what reweighting has left of the probability that two particles are of different families."""
    terms: FloatArray
    """What each family has contributed to the loss, in squares of shares."""

    @staticmethod
    def of_first_draws(n_particles: int) -> "FamilyGrowth":
        """Return what is known before the first step."""
        return FamilyGrowth(np.full(n_particles, 1.0 / n_particles), 0.0, np.zeros(n_particles))

    def reweighted(self, shares: FloatArray) -> "FamilyGrowth":
        """Count a change of weights that has led to these shares."""
        before, after = _squares(self.shares), _squares(shares)
        lost = math.log(max(1.0 - after, SMALLEST)) - math.log(max(1.0 - before, SMALLEST))
        # shares sum to one, so that a centre does not change the sum of terms; with this one they scatter least
        terms = np.square(shares - before) - np.square(self.shares - before)
        return FamilyGrowth(shares, self.log_kept + lost, self.terms + terms)

    def resampled(self, shares: FloatArray) -> "FamilyGrowth":
        """Return the same with other shares."""
        return FamilyGrowth(shares, self.log_kept, self.terms)

    @property
    def relative_variance(self) -> float:
        """Variance of the evidence relative to its square; an estimate that may be 0 by chance."""
        return -math.expm1(min(self.log_kept, 0.0))

    @property
    def noise(self) -> float:
        """Standard error of the relative variance, from the scatter of families' terms."""
        n = len(self.terms)
        return math.sqrt(_squares(self.terms - self.terms.mean()) * n / (n - 1))

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance (Satterthwaite)."""
        return 2.0 * (self.relative_variance / self.noise) ** 2 if self.noise > 0.0 else math.inf


def _squares(shares: FloatArray) -> float:
    return float(np.square(shares).sum())
