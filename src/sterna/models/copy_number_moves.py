"""Moves of several parameters of `copy_number` at once.

Where beta is about 0.0013, two kinds of states have the same weight: few copy numbers that the reads say nothing of,
and many of them with small deviations that explain the reads. In between all deviations, and all numbers of states,
have to change together; one at a time, exploration keeps 0.97 of the energy.

Both moves are slices along a curve (Neal 2003, with an interval of fixed length and shrinkage).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sterna.models.hidden_chain import MOST_STATES
from sterna.types import FloatArray

# Length of the first interval, in units of a logarithm, and that at which a slice counts as a point.
LENGTH, SHORTEST = 4.0, 1e-9

# Below this, floating point does not tell the ranks of numbers of states apart.
SMALLEST_P = 1e-12


def scale_deviations(x: FloatArray, log_density: Callable[[FloatArray], float], rng: Any) -> None:
    """Multiply all deviations by one factor; x holds the switch rate, f, and then the deviations."""
    here, new = x.copy(), x.copy()
    count = x.size - 4
    level = log_density(here) - rng.exponential()
    left, right = first_interval(rng)
    while right - left > SHORTEST:
        z = left + (right - left) * rng.random()
        new[4:] = here[4:] * math.exp(z)
        # the volume that the factor spans
        if log_density(new) + count * z >= level:
            x[:] = new
            return
        left, right = shrunk(left, right, z)


def move_p_with_states(x: FloatArray, log_density: Callable[[FloatArray], float], rng: Any) -> None:
    """Move p along its logit, and with it all numbers of states, which keep their ranks in the law that p gives them.

    x holds p and then the numbers of states. Given the ranks, p is uniform in the reference.
    """
    if x[0] < SMALLEST_P:
        return
    here, new = x.copy(), x.copy()
    count = x.size - 1
    ranks = draw_ranks(here[0], here[1:], rng)
    level = log_density(here) + log_volume(here[0], here[1:].sum(), count) - rng.exponential()
    logit = math.log(here[0]) - math.log1p(-here[0])
    left, right = first_interval(rng)
    while right - left > SHORTEST:
        z = left + (right - left) * rng.random()
        new[0] = 1.0 / (1.0 + math.exp(-(logit + z)))
        if SMALLEST_P <= new[0] < 1.0:
            place_at_ranks(new[0], ranks, new[1:])
            if log_density(new) + log_volume(new[0], new[1:].sum(), count) >= level:
                x[:] = new
                return
        left, right = shrunk(left, right, z)


def first_interval(rng: Any) -> tuple[float, float]:
    """Place the first interval at random around 0, where the state is."""
    right = LENGTH * rng.random()
    return right - LENGTH, right


def shrunk(left: float, right: float, z: float) -> tuple[float, float]:
    """Cut an interval at a point that was refused, so that 0 stays inside."""
    return (z, right) if z < 0.0 else (left, z)


def draw_ranks(p: float, states: FloatArray, rng: Any) -> FloatArray:
    """Draw the rank of every number of states: uniform between the law's shares above it and from it on.

    Counted from above, as shares of large numbers may be far below what 1 can be told apart by.
    """
    stay = math.log1p(-p)
    beyond, most = math.exp(MOST_STATES * stay), -math.expm1(MOST_STATES * stay)
    ranks = np.empty(states.size)
    for c in range(states.size):
        above, from_it_on = math.exp(states[c] * stay), math.exp((states[c] - 1.0) * stay)
        ranks[c] = (above - beyond + (from_it_on - above) * (1.0 - rng.random())) / most
    return ranks


def place_at_ranks(p: float, ranks: FloatArray, states: FloatArray) -> None:
    """Write the numbers of states that have given ranks in the law of p."""
    stay = math.log1p(-p)
    beyond, most = math.exp(MOST_STATES * stay), -math.expm1(MOST_STATES * stay)
    for c in range(ranks.size):
        share = beyond + most * ranks[c]
        place = math.floor(math.log(share) / stay) if share > 0.0 else MOST_STATES
        # a share may round to more than 1
        states[c] = min(max(1.0 + place, 1.0), float(MOST_STATES))


def log_of_states(p: float, total: float, count: int) -> float:
    """Log-probability of numbers of states that sum to `total`, each geometric and at most 20."""
    stay = math.log1p(-p)
    return (total - count) * stay + count * (math.log(p) - math.log(-math.expm1(MOST_STATES * stay)))


def log_volume(p: float, total: float, count: int) -> float:
    """Logarithm of what turns the density of p and states into that of the logit, given the ranks."""
    return math.log(p) + math.log1p(-p) - log_of_states(p, total, count)
