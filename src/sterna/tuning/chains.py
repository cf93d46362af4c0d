"""The number of chains, N + 1 with N = ceil(2 Lambda) (paper, section on tuning N), learned from the rounds."""

import math
from typing import TYPE_CHECKING

from sterna.theory.rates import optimal_n_chains

if TYPE_CHECKING:
    from sterna.tuning.rounds import Round

# With n_chains="auto" a run starts with FIRST_N_CHAINS chains and never uses more than MAX_N_CHAINS.
FIRST_N_CHAINS, MAX_N_CHAINS = 8, 1000

# Above this mean rejection there are too few chains to estimate the barrier from rejections.
MAX_MEAN_REJECTION = 0.65

# Rounds of fewer scans do not reduce the number of chains.
MIN_SCANS_TO_SHRINK = 32

# Exploration is slow if restarts are below this share of those that the rejections predict, given that at least
# MIN_PREDICTED_RESTARTS are predicted.
SLOW_SHARE, MIN_PREDICTED_RESTARTS = 0.25, 20

# Slow exploration multiplies the number of chains by this at most.
MAX_CHAIN_BOOST = 4


def saturated(last: "Round") -> bool:
    """Whether a round had too few chains to estimate the barrier."""
    return float(last.rejection_of_possible.mean()) > MAX_MEAN_REJECTION


def explores_slowly(last: "Round") -> bool:
    """Whether restarts are significantly below what the rejections allow.

    Counts scatter about as Poisson's do: their mean is below count + 3 sqrt(count) + 3 in 99 cases of 100.
    """
    upper_bound = last.restarts + 3.0 * math.sqrt(last.restarts) + 3.0
    # travelling takes time: the round must be long enough for each replica to restart at least once
    min_predicted = max(MIN_PREDICTED_RESTARTS, 1.5 * last.n_chains * last.n_copies)
    return last.predicted_restarts >= min_predicted and upper_bound < SLOW_SHARE * last.predicted_restarts


def next_n_chains(last: "Round", barrier: float, boost: int, final: bool) -> int:
    """Number of chains for the next round; after the final tuning round it only grows, and only if there is a problem.

    `barrier` is the part that more chains can divide: without the jump at 0, which one interval rejects whatever the
    number of chains. `boost` is the multiple of the optimum used against slow exploration. No round more than doubles
    the number.
    """
    upper_bound = min(2 * last.n_chains, max(MAX_N_CHAINS, last.n_chains))
    if saturated(last):
        return upper_bound
    recommended = min(boost * (optimal_n_chains(barrier) - 1) + 1, upper_bound)
    if final:
        return max(recommended, last.n_chains) if explores_slowly(last) else last.n_chains
    if last.n_scans < MIN_SCANS_TO_SHRINK:
        return max(recommended, last.n_chains)
    return recommended
