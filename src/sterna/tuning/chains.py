"""How many chains: N = ceil(2 Lambda) for chains one above N (paper, section on tuning N), learned from the rounds."""

import math
from typing import TYPE_CHECKING

from sterna.theory.rates import optimal_n_chains

if TYPE_CHECKING:
    from sterna.tuning.rounds import Round

# A run that is to find the number by itself begins with this many chains, and never takes more than MOST.
FIRST, MOST = 8, 1000

# Above this mean rejection the barrier cannot be read from rejections: there are too few chains.
SATURATED = 0.65

# Rounds below so many scans are not trusted to say that there are too many chains.
LEAST_SCANS_TO_SHRINK = 32

# Exploration is slow where fewer than this share of the restarts come that rejections allow, if those are enough.
SLOW_SHARE, ENOUGH_RESTARTS = 0.25, 20

# Slow exploration is worth this many times the chains at most.
MAX_CHAIN_BOOST = 4


def saturated(last: "Round") -> bool:
    """Whether a round had too few chains to see the barrier."""
    return float(last.rejection_of_possible.mean()) > SATURATED


def explores_slowly(last: "Round") -> bool:
    """Whether restarts are far below what the rejections allow, and chance alone could not bring so few.

    Counts scatter about as Poisson's do: their mean is below count + 3 sqrt(count) + 3 in 99 cases of 100.
    """
    most = last.restarts + 3.0 * math.sqrt(last.restarts) + 3.0
    # journeys take their time: each replica must have had that of one and more
    enough = max(ENOUGH_RESTARTS, 1.5 * last.n_chains * last.n_copies)
    return last.predicted_restarts >= enough and most < SLOW_SHARE * last.predicted_restarts


def next_n_chains(last: "Round", barrier: float, boost: int, final: bool) -> int:
    """Number of chains for the next round; after the final tuning round it only grows, and only on alarm.

    `barrier` is what chains can divide: without the jump at 0, which is one interval's rejection whatever their number.
    `boost` is the multiple of the optimum that slow exploration has earned. No round more than doubles the number.
    """
    most = min(2 * last.n_chains, max(MOST, last.n_chains))
    if saturated(last):
        return most
    wanted = min(boost * (optimal_n_chains(barrier) - 1) + 1, most)
    if final:
        return max(wanted, last.n_chains) if explores_slowly(last) else last.n_chains
    if last.n_scans < LEAST_SCANS_TO_SHRINK:
        return max(wanted, last.n_chains)
    return wanted
