"""Communication between neighbouring chains: swaps of the even or of the odd pairs (paper, algorithm DEO)."""

import math

from sterna.engine.program import LOG_LIKELIHOOD
from sterna.ground.compilation import compiled
from sterna.ground.streams import Key, swap_uniform
from sterna.types import FloatArray, IntArray


@compiled
def acceptance(beta: float, next_beta: float, log_likelihood: float, next_log_likelihood: float) -> float:
    """Return the probability of accepting a swap (paper, equation for alpha), with V = -log_likelihood.

    A state of likelihood zero, which only the reference chain can hold, is never swapped.
    """
    return math.exp(min(0.0, (next_beta - beta) * (log_likelihood - next_log_likelihood)))


@compiled
def measure(schedule: FloatArray, log_densities: FloatArray, replica_of: IntArray, accepted: FloatArray) -> None:
    """Write the acceptance probability of each pair of neighbours, whether or not this scan proposes its swap."""
    for pair in range(schedule.size - 1):
        accepted[pair] = acceptance(
            schedule[pair],
            schedule[pair + 1],
            log_densities[replica_of[pair], LOG_LIKELIHOOD],
            log_densities[replica_of[pair + 1], LOG_LIKELIHOOD],
        )


@compiled
def swap(chain_of: IntArray, replica_of: IntArray, accepted: FloatArray, parity: int, key: Key) -> None:
    """Swap the pairs of one parity, each with its acceptance probability.

    A swap exchanges the annealing parameters of two replicas; their states stay where they are. Pairs of one parity do
    not overlap, so the probabilities measured before the swaps remain valid.
    """
    for pair in range(parity, accepted.size, 2):
        if swap_uniform(key, pair) < accepted[pair]:
            replica, next_replica = replica_of[pair], replica_of[pair + 1]
            replica_of[pair], replica_of[pair + 1] = next_replica, replica
            chain_of[replica], chain_of[next_replica] = pair + 1, pair
