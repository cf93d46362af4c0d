"""Points whose density the known optima do not explain: the best places to look for other optima.

A narrow mode beside a wide one is seen only from near it: by a share of the reference's draws that is often smaller
than one in the number of climbs that a run can afford. One evaluation of a draw is cheaper than a climb by a factor of
a hundred, and draws near an unknown mode stand out: their density is larger than that of the known hills, whose shape
far from their optima the other draws tell.
"""

from collections.abc import Sequence

import numpy as np

from sterna.search.curvature import Optimum
from sterna.search.hill import hill_of
from sterna.search.landscape import Landscape
from sterna.types import FloatArray, IntArray

# Draws are assigned to hills, and the hills fitted to them, so many times.
FITS = 4

# A hill is fitted to at least and at most so many draws per term; products of coordinates are terms if there are at
# most so many.
LEAST_DRAWS, MOST_DRAWS, MAX_TERMS = 5, 20, 300

# Added to the diagonal of the equations, relative to their trace, because terms may be the same.
RIDGE = 1e-10

# Depths below the highest optimum count as at least this, in nats.
LEAST_DEPTH = 1.0


def most_surprising(
    landscape: Landscape, points: FloatArray, values: FloatArray, optima: Sequence[Optimum]
) -> IntArray:
    """Return the order of points in which those come first whose density exceeds that of known hills the most.

    An excess is relative to the depth below the highest optimum, because so are the errors of a fit.
    """
    states, log_jacobians = landscape.variables(points)
    densities = values - log_jacobians.sum(axis=1)
    hills = [hill_of(landscape, optimum) for optimum in optima]
    depths = np.maximum(max(hill.value for hill in hills) - densities, LEAST_DEPTH)
    predicted = np.array([hill.predictions(landscape, points) for hill in hills]) - log_jacobians.sum(axis=1)
    terms = terms_of(states[:, landscape.free])
    for _ in range(FITS):
        owner = np.argmax(np.nan_to_num(predicted, nan=-np.inf), axis=0)
        for k in range(len(hills)):
            mine = np.flatnonzero(owner == k)[: MOST_DRAWS * terms.shape[1]]
            if len(mine) >= LEAST_DRAWS * terms.shape[1]:
                predicted[k] = terms @ _fit(terms[mine], densities[mine], depths[mine])
    excess = (densities - predicted.max(axis=0)) / depths
    return np.argsort(-np.nan_to_num(excess, nan=-np.inf), kind="stable")


def terms_of(states: FloatArray) -> FloatArray:
    """Return the terms of a function of second degree that may differ in opposite directions."""
    away = states - states.mean(axis=0)
    spread = away.std(axis=0)
    z = away / np.where(spread > 0.0, spread, 1.0)
    radius = np.sqrt((z**2).sum(axis=1))[:, None]
    columns = [np.ones((len(z), 1)), z, z**2, radius * z]
    d = z.shape[1]
    if d * (d + 5) // 2 + 1 <= MAX_TERMS:
        first, second = np.triu_indices(d, 1)
        columns.append(z[:, first] * z[:, second])
    return np.concatenate(columns, axis=1)


def _fit(terms: FloatArray, densities: FloatArray, depths: FloatArray) -> FloatArray:
    """Return the coefficients of a fit by least squares of relative errors."""
    scaled = terms / depths[:, None]
    squares = scaled.T @ scaled
    squares[np.diag_indices_from(squares)] += RIDGE * np.trace(squares)
    return np.asarray(np.linalg.solve(squares, scaled.T @ (densities / depths)))
