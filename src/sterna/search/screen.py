"""Points that no known optimum explains: the best places to look for other optima.

A narrow mode beside a wide one is seen only from near it: by a share of the reference's draws that is often smaller
than one in the number of climbs that a run can afford. A few evaluations at a draw are cheaper than a climb by a factor
of a hundred, and tell whether the draw is on a known hill. On the ray from a draw to the optimum of its hill the depth
below the optimum is about a power of the distance: of degree 2 if the hill is normal, whatever its covariance, and of
another degree if it is skewed, curved or has other tails. Slope and curvature tell the degree twice. Near an
unknown optimum the curvature is larger than the slope explains: for a normal mode by the squared ratio of the distances
to the known and to the unknown optimum, which is at least the squared ratio of their widths.
"""

from collections.abc import Sequence

import numpy as np

from sterna.search.circles import shortest_ways
from sterna.search.curvature import Optimum
from sterna.search.hill import Hills, hill_of
from sterna.search.landscape import Landscape
from sterna.types import FloatArray

# Differences are taken over this part of the way to the optimum.
STEP = 0.01

# A point is explained if its curvature differs by less than this from what the slope promises.
EXPLAINED = 0.25

# Rays lead to at most so many optima, those that predict the largest density first.
MAX_RAYS = 4

# Less deep than this, in nats, a point is at the optimum.
LEAST_DEPTH = 1.0


def unexplained(
    landscape: Landscape, points: FloatArray, values: FloatArray, optima: Sequence[Optimum], until: float = np.inf
) -> FloatArray:
    """Return how badly the optimum that explains a point best does so, for every point; the values must be finite.

    No more rays are followed once `until` evaluations are spent; what was not looked at by then is explained.
    """
    states, log_jacobians = landscape.variables(points)
    densities = values - log_jacobians.sum(axis=1)
    hills = Hills(tuple(hill_of(landscape, optimum) for optimum in optima))
    predictions = hills.predictions(landscape, points) - log_jacobians.sum(axis=1)
    order = np.argsort(-np.nan_to_num(predictions, nan=-np.inf), axis=0, kind="stable")
    peaks, heights = hills.states, hills.values
    scores = np.full(len(points), np.inf)
    for rank in range(min(MAX_RAYS, len(hills))):
        left = np.flatnonzero(scores > EXPLAINED)
        if landscape.spent + 2 * len(left) > until:
            return scores if rank else np.zeros(len(points))
        hill = order[rank, left]
        ways = shortest_ways(landscape.periods, peaks[hill] - states[left])
        # integers stay as they are
        ways[:, ~landscape.free] = 0.0
        first, second = (_densities(landscape, states[left] + part * ways) for part in (STEP, 2.0 * STEP))
        predicted = heights[hill] - predictions[hill, left]
        found = mismatch(densities[left], first, second, heights[hill], predicted)
        scores[left] = np.minimum(scores[left], found)
    return scores


def mismatch(
    start: FloatArray, first: FloatArray, second: FloatArray, height: FloatArray, predicted: FloatArray
) -> FloatArray:
    """Compare curvature and slope on rays to optima of given heights, from densities at the first steps of the way.

    A depth a t**p, with t = 1 at the first step, has the slope p a and the curvature p (p - 1) a. An unknown mode on
    the way to a known one looks like a larger power. But on a hill of larger powers the depth is larger than its
    curvature predicts (`predicted`), and near an unknown mode it is smaller.
    """
    with np.errstate(all="ignore"):
        depth = height - first
        slope = (1.0 - STEP) * (second - start) / (2.0 * STEP)
        curvature = (1.0 - STEP) ** 2 * (2.0 * first - start - second) / STEP**2
        degree = slope / depth
        found = np.abs(curvature - degree * (degree - 1.0) * depth) / (depth * np.maximum(degree, 1.0) ** 2)
        on_the_way = np.minimum(0.5 * (degree - 2.0), predicted / depth - 1.0)
        found = np.maximum(found, np.nan_to_num(on_the_way, nan=0.0, posinf=0.0, neginf=0.0))
        # what is higher than the optimum cannot be on its hill
        found = np.where(depth < LEAST_DEPTH, np.where(depth > -LEAST_DEPTH, 0.0, np.inf), found)
    return np.nan_to_num(found, nan=np.inf, posinf=np.inf)


def _densities(landscape: Landscape, states: FloatArray) -> FloatArray:
    """Return log-densities of the variables, without the Jacobian."""
    points = landscape.points_of(states)
    return np.asarray(landscape.values(points) - landscape.variables(points)[1].sum(axis=1))
