"""Clusters of points, and covariances of few points."""

import numpy as np

from sterna.types import FloatArray

# The largest share of variance within clusters for which a cluster is split in two: a normal distribution cut in half
# keeps 0.36 of its variance, two modes seven standard deviations apart keep less than 0.1.
MAX_WITHIN = 0.15


def centres_of(points: FloatArray) -> FloatArray:
    """Return the means of clusters of points, which are split in two as long as they are clearly separate."""
    middle: FloatArray = np.asarray(points.mean(axis=0), dtype=np.float64)
    if len(points) < 10:
        return middle[None]
    axis = np.linalg.svd(points - middle, full_matrices=False)[2][0]
    right = (points - middle) @ axis > 0
    for _ in range(10):
        if not 2 <= right.sum() <= len(points) - 2:
            return middle[None]
        ends = points[~right].mean(axis=0), points[right].mean(axis=0)
        right = ((points - ends[0]) ** 2).sum(axis=1) > ((points - ends[1]) ** 2).sum(axis=1)
    along = points @ (ends[1] - ends[0])
    if not 2 <= right.sum() <= len(points) - 2:
        return middle[None]
    within = right.mean() * along[right].var() + (~right).mean() * along[~right].var()
    if within > MAX_WITHIN * along.var():
        return middle[None]
    return np.concatenate([centres_of(points[right]), centres_of(points[~right])])


def shrunk(covariance: FloatArray, points: int) -> FloatArray:
    """Shrink a covariance towards its diagonal, the more so the fewer points there are; no variance becomes zero."""
    variances = np.maximum(np.diag(covariance), 1e-6)
    trust = points / (points + len(variances) + 5.0)
    smaller = trust * covariance
    np.fill_diagonal(smaller, variances)
    return np.asarray(smaller)
