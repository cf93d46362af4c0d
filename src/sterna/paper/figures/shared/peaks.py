"""Peaks of a local barrier that stand out from its noise."""

import math

from sterna.paper.figure import Table
from sterna.types import FloatArray

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
    found: list[int] = []
    # until something stands out, neither rising nor falling: a barrier without structure has no peak
    low = high = 0
    rising: bool | None = None
    for k in range(1, len(slope)):
        low = k if slope[k] < slope[low] else low
        high = k if slope[k] > slope[high] else high
        if rising is not True and _stands_out(slope, error, low, k):
            rising, high = True, k
        elif rising is not False and _stands_out(slope, error, k, high):
            found.append(high)
            rising, low = False, k
    if rising:
        found.append(high)
    return [float(middle[k]) for k in found]


def _stands_out(slope: FloatArray, error: FloatArray, low: int, high: int) -> bool:
    """Whether one place is higher than another by more than noise, and by enough to be seen."""
    rise = slope[high] - slope[low]
    return bool(rise > SHARE * slope[high] and rise > ERRORS * math.hypot(error[low], error[high]))
