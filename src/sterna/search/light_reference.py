"""Whether the reference has lighter tails than the target, from the log-likelihoods of the target's draws.

The likelihood is the target's density over the reference's. If the reference is lighter, it grows without bound in the
tails, and its logarithm has a heavy upper tail among draws of the target: under a normal reference the logarithm is
a square of the distance, so that draws with the tails of Student's distribution with k degrees of freedom give a Pareto
distribution of shape 2 / k. A likelihood that is bounded gives a negative shape, whatever the number of dimensions.
"""

import math
from dataclasses import dataclass

import numpy as np

from sterna.search.pareto import pareto_shape
from sterna.types import FloatArray

# A larger shape is neither that of a bounded log-likelihood nor of one with an exponential tail, which is 0; it has
# a standard error of 0.1 if 100 draws tell it.
MAX_SHAPE = 0.4

# If fewer draws than FAR_OUT have a log-likelihood so far above the median, a light reference does no harm: with one
# percent beyond 10 nats (an exponential tail under a normal reference), 16 runs had errors as stated.
LEAST_NATS = 10.0

# The share of the draws that tells the shape, the share that must lie far out, and how many there must be of these.
IN_TAIL, FAR_OUT, LEAST = 0.1, 0.025, 10

# The draws of highest likelihood must be so many widths away from the median, and their distances and likelihoods have
# at least this correlation of ranks: otherwise a narrow mode of small weight would look like a tail.
LEAST_WIDTHS, LEAST_CORRELATION = 3.0, 0.7


@dataclass(frozen=True)
class UpperTail:
    """The upper tail of the log-likelihood among draws of the target."""

    shape: float = -math.inf
    """Shape of its Pareto distribution; -inf if there are too few draws."""
    nats: float = 0.0
    """By how much all of the highest exceed the median."""
    widths: float = 0.0
    """How far from the median its draws are, in standard deviations of the bulk."""
    correlation: float = 0.0
    """Rank correlation of log-likelihood and distance among them."""

    @property
    def is_heavy(self) -> bool:
        """Whether the reference is lighter than the target."""
        far = self.widths > LEAST_WIDTHS and self.correlation > LEAST_CORRELATION
        return self.shape > MAX_SHAPE and self.nats > LEAST_NATS and far


def upper_tail(log_likelihoods: FloatArray, points: FloatArray) -> UpperTail:
    """Look at the highest log-likelihoods of draws; `points` are their coordinates on the line that have no bound."""
    n_tail, n_far = int(IN_TAIL * len(log_likelihoods)), int(FAR_OUT * len(log_likelihoods))
    if n_far < LEAST or points.shape[1] == 0:
        return UpperTail()
    order = np.argsort(log_likelihoods, kind="stable")
    excesses = log_likelihoods[order[-n_tail:]] - log_likelihoods[order[-n_tail - 1]]
    low, middle, high = np.quantile(points, [0.16, 0.5, 0.84], axis=0)
    widths = np.maximum(0.5 * (high - low), 1e-300)
    far = order[-n_far:]
    distances = np.abs((points[far] - middle) / widths).max(axis=1)
    above = float(log_likelihoods[far[0]] - np.median(log_likelihoods))
    correlation = rank_correlation(log_likelihoods[far], distances)
    return UpperTail(pareto_shape(excesses), above, float(np.median(distances)), correlation)


def rank_correlation(x: FloatArray, y: FloatArray) -> float:
    """Return the correlation of ranks, without regard to ties; 0 if nothing varies."""
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0
    first, second = (np.argsort(np.argsort(z, kind="stable"), kind="stable") for z in (x, y))
    return float(np.corrcoef(first, second)[0, 1])
