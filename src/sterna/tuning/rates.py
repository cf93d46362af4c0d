"""Round-trip rates that theory predicts from rejections (paper, theorem on round trips and its corollary)."""

import numpy as np
from numpy.typing import NDArray


def schedule_inefficiency(rejection: NDArray[np.float64]) -> float:
    """E, the sum of r / (1 - r) over neighbouring pairs; infinite where some pair always rejects."""
    with np.errstate(divide="ignore"):
        return float(np.sum(np.asarray(rejection) / (1.0 - np.asarray(rejection))))


def predicted_round_trip_rate(rejection: NDArray[np.float64], scheme: str) -> float:
    """Round trips per scan under efficient local exploration: 1/(2 + 2E) for DEO, 1/(2N + 2E) for SEO."""
    travel = 1 if scheme == "deo" else len(rejection)
    return 1.0 / (2.0 * travel + 2.0 * schedule_inefficiency(rejection))


def optimal_round_trip_rate(barrier: float, zero_share: float = 0.0) -> float:
    """Best rate of DEO with any number of chains: 1/(2 + 2 Lambda).

    The share of the reference with likelihood zero is one step that no schedule can divide, so it counts r/(1 - r).
    """
    if zero_share >= 1:
        return 0.0
    return 1.0 / (2.0 + 2.0 * (barrier - zero_share + zero_share / (1.0 - zero_share)))
