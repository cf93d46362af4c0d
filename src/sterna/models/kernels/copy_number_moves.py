"""Joint moves of several parameters of `copy_number`.

At beta of about 0.0013, two kinds of states have the same probability: few copy numbers with large deviations, which do
not explain the reads, and many copy numbers with small deviations, which do. Between them all deviations, and all
numbers of states, have to change together; if they change one at a time, the correlation of the energy over one
exploration is 0.97.

Both moves are slice sampling along a curve (Neal 2003, with an interval of fixed length and shrinkage).
"""

import math
from collections.abc import Callable

import numpy as np

from sterna.models.kernels.hidden_chain import MAX_STATES
from sterna.types import FloatArray

# Length of the first interval on the logarithmic scale, and the length at which shrinking stops without a move.
FIRST_LENGTH, MIN_LENGTH = 4.0, 1e-9

# Below this, ranks of the numbers of states cannot be resolved in floating point.
MIN_P = 1e-12

# The switch rate and the three coefficients f, before the deviations.
N_BEFORE_DEVIATIONS = 4

LogDensity = Callable[[FloatArray], float]


def scale_deviations(x: FloatArray, log_density: LogDensity, rng: np.random.Generator) -> None:
    """Multiply all deviations by one factor; x holds the switch rate, f, and then the deviations."""
    here, new = x.copy(), x.copy()
    count = x.size - N_BEFORE_DEVIATIONS
    level = log_density(here) - rng.exponential()
    left, right = first_interval(rng)
    while right - left > MIN_LENGTH:
        z = left + (right - left) * rng.random()
        new[N_BEFORE_DEVIATIONS:] = here[N_BEFORE_DEVIATIONS:] * math.exp(z)
        # count * z is the log-determinant of the scaling
        if log_density(new) + count * z >= level:
            x[:] = new
            return
        left, right = shrunk(left, right, z)


def move_p_with_states(x: FloatArray, log_density: LogDensity, rng: np.random.Generator) -> None:
    """Move p on the logit scale, and with it all numbers of states, whose ranks stay the same.

    x holds p and then the numbers of states; ranks are those in the distribution of a number of states given p. Given
    the ranks, p is uniform under the reference.
    """
    if x[0] < MIN_P:
        return
    here, new = x.copy(), x.copy()
    count = x.size - 1
    ranks = draw_ranks(here[0], here[1:], rng)
    level = log_density(here) + log_volume(here[0], here[1:].sum(), count) - rng.exponential()
    logit = math.log(here[0]) - math.log1p(-here[0])
    left, right = first_interval(rng)
    while right - left > MIN_LENGTH:
        z = left + (right - left) * rng.random()
        new[0] = 1.0 / (1.0 + math.exp(-(logit + z)))
        if MIN_P <= new[0] < 1.0:
            set_from_ranks(new[0], ranks, new[1:])
            if log_density(new) + log_volume(new[0], new[1:].sum(), count) >= level:
                x[:] = new
                return
        left, right = shrunk(left, right, z)


def first_interval(rng: np.random.Generator) -> tuple[float, float]:
    """Place the first interval at random around 0, the position of the current state."""
    right = FIRST_LENGTH * rng.random()
    return right - FIRST_LENGTH, right


def shrunk(left: float, right: float, z: float) -> tuple[float, float]:
    """Shrink an interval to a rejected point, so that 0 stays inside."""
    return (z, right) if z < 0.0 else (left, z)


def draw_ranks(p: float, states: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw the rank of every number of states m: uniform between the probabilities of more than m and of at least m.

    Ranks count from above, because the probabilities of large numbers may be far below the resolution of floats near 1.
    """
    stay = math.log1p(-p)
    beyond, within = math.exp(MAX_STATES * stay), -math.expm1(MAX_STATES * stay)
    ranks = np.empty(states.size)
    for c in range(states.size):
        above, from_it_on = math.exp(states[c] * stay), math.exp((states[c] - 1.0) * stay)
        ranks[c] = (above - beyond + (from_it_on - above) * (1.0 - rng.random())) / within
    return ranks


def set_from_ranks(p: float, ranks: FloatArray, states: FloatArray) -> None:
    """Write the numbers of states that have the given ranks in their distribution given p."""
    stay = math.log1p(-p)
    beyond, within = math.exp(MAX_STATES * stay), -math.expm1(MAX_STATES * stay)
    for c in range(ranks.size):
        probability = beyond + within * ranks[c]
        below = math.floor(math.log(probability) / stay) if probability > 0.0 else MAX_STATES
        # the probability may round to more than 1
        states[c] = min(max(1.0 + below, 1.0), float(MAX_STATES))


def log_of_states(p: float, total: float, count: int) -> float:
    """Log-probability of numbers of states that sum to `total`, each geometric and at most 20."""
    stay = math.log1p(-p)
    return (total - count) * stay + count * (math.log(p) - math.log(-math.expm1(MAX_STATES * stay)))


def log_volume(p: float, total: float, count: int) -> float:
    """Log of the factor between the density of p and states and the density of the logit given the ranks."""
    return math.log(p) + math.log1p(-p) - log_of_states(p, total, count)
