"""The next beta, as far away as a given loss of effective particles allows (Zhou et al. 2016).

The step is about the allowed length over the sample's standard deviation of the log-likelihood, which correlates with
its mean if log-likelihoods are skewed. Summed over the steps of a population of N particles that chooses its own betas,
this biases log Z by -1/(2 N) times the integral of the skewness over the length of the path, whatever the threshold.
So a pilot chooses the betas, and another population follows them.
"""

import math

import numpy as np

from sterna.particles.weights import conditional_ess
from sterna.types import FloatArray

# The loss of effective particles is met to this relative precision, and sought with at most so many evaluations.
PRECISION, MAX_TRIES = 0.01, 500
# A loss above this says little about how much shorter the step must be.
SATURATED = 0.5


def next_beta(
    beta: float, log_weights: FloatArray, log_likelihood: FloatArray, threshold: float, guess: float = 1.0
) -> float:
    """Return the beta at which the relative conditional effective sample size is `threshold`, at most 1.

    The weights are those of particles with positive likelihood, and sum to one: what is lost because the likelihood is
    zero is lost at any beta above 0. `guess` is the length of the step before.
    """
    allowed, longest = 1.0 - threshold, 1.0 - beta

    def loss(step: float) -> float:
        return 1.0 - conditional_ess(log_weights, step * log_likelihood)

    if loss(longest) <= allowed:
        return 1.0
    below, above, step = 0.0, longest, min(guess, 0.5 * longest)
    for _ in range(MAX_TRIES):
        lost = loss(step)
        if abs(lost - allowed) <= PRECISION * allowed:
            break
        below, above = (step, above) if lost < allowed else (below, step)
        step = _next_step(step, lost, allowed, below, above)
    # a step must not vanish by rounding
    return max(beta + step, float(np.nextafter(beta, 2.0)))


def _next_step(step: float, lost: float, allowed: float, below: float, above: float) -> float:
    """Return the next step to try between two bounds: short steps lose by their square, long ones nearly all."""
    if below == 0.0 and lost > SATURATED:
        return 0.1 * step
    proposal = step * math.sqrt(allowed / lost) if lost > 0.0 else math.inf
    # bounds of very different sizes are halved on a logarithmic scale
    return proposal if below < proposal < above else math.sqrt(max(below, 1e-3 * above) * above)
