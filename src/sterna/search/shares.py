"""Shares of the target's draws in a region, with upper bounds that know that a journey brings news only once."""

import numpy as np

from sterna.types import BoolArray, FloatArray


def upper_share(inside: BoolArray | FloatArray, size: float, level: float) -> float:
    """Return the upper bound of a share (Clopper and Pearson), as if `size` of the draws were independent."""
    from scipy.special import betaincinv

    hits = float(np.mean(inside)) * size
    if hits >= size:
        return 1.0
    return float(betaincinv(hits + 1.0, size - hits, level))


def lower_share(inside: BoolArray | FloatArray, size: float, level: float) -> float:
    """Return the lower bound of a share, as if `size` of the draws were independent."""
    return 1.0 - upper_share(1.0 - np.asarray(inside, dtype=np.float64), size, level)
