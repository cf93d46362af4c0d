"""Distances between a distribution on 0, 1/N, ..., 1 and one on [0, 1] given by its distribution function."""

import numpy as np


def law_of(ends, last):
    """Return the frequencies of 0, 1/N, ..., 1 among draws."""
    return np.bincount(np.rint(ends * last).astype(int), minlength=last + 1) / len(ends)


def wasserstein(law, cdf, points=20_000):
    """Return the Wasserstein-1 distance: the area between the distribution functions, by the midpoint rule."""
    last = len(law) - 1
    inner = max(20, points // last)
    places = (np.arange(last * inner) + 0.5) / (last * inner)
    below = np.repeat(np.cumsum(law)[:-1], inner)
    return np.abs(below - cdf(places)).mean()


def kolmogorov(law, cdf):
    """Return the largest difference of the distribution functions, on both sides of each atom; cdf is continuous."""
    limit = cdf(np.linspace(0.0, 1.0, len(law)))
    below = np.cumsum(law)
    return max(np.abs(below - limit).max(), np.abs(below - law - limit).max())
