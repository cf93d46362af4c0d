"""Peaks of a local barrier that stand out from its noise."""

import math

import numpy as np

from sterna.paper.figure import Table

# A dip separates two peaks if it is lower than both by this share, and by so many standard errors.
SHARE, ERRORS = 0.15, 4.0


def peaks(pairs: Table) -> list[float]:
    """Return the betas of the peaks of lambda, from the rejections of one round and their errors.

    lambda between two chains is their rejection divided by the difference of their betas.
    """
    width = pairs["next_beta"] - pairs["beta"]
    middle, slope, error = (
        0.5 * (pairs["beta"] + pairs["next_beta"]),
        pairs["rejection"] / width,
        pairs["error"] / width,
    )
    found: list[float] = []
    rising, extreme = True, 0
    for k in range(1, len(slope)):
        change = slope[k] - slope[extreme]
        if (change > 0) == rising:
            extreme = k
        elif _stands_out(abs(change), max(slope[k], slope[extreme]), math.hypot(error[k], error[extreme])):
            if rising:
                found.append(float(middle[extreme]))
            rising, extreme = not rising, k
    if rising:
        found.append(float(middle[extreme]))
    return found


def _stands_out(change: float, height: float, error: float) -> bool:
    return bool(np.isfinite(error) and change > SHARE * height and change > ERRORS * error)
