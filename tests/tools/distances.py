"""Distances between a law on the places 0, 1/N, ..., 1 and a law on [0, 1] of a known distribution function."""

import numpy as np


def law_of(ends, last):
    """Frequencies of the places 0, 1/N, ..., 1 among draws."""
    return np.bincount(np.rint(ends * last).astype(int), minlength=last + 1) / len(ends)


def wasserstein(law, cdf, points=20_000):
    """Wasserstein-1 distance: the area between the two distribution functions, by the midpoint rule in every cell."""
    last = len(law) - 1
    inner = max(20, points // last)
    places = (np.arange(last * inner) + 0.5) / (last * inner)
    below = np.repeat(np.cumsum(law)[:-1], inner)
    return np.abs(below - cdf(places)).mean()


def kolmogorov(law, cdf):
    """Largest distance of the two distribution functions, from either side of the places; cdf must have no atom."""
    limit = cdf(np.linspace(0.0, 1.0, len(law)))
    below = np.cumsum(law)
    return max(np.abs(below - limit).max(), np.abs(below - law - limit).max())
