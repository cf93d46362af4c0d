"""The metric of explorers that follow the gradient, and their step size, learned from one round for the next."""

import numpy as np

from sterna.engine.unconstrained import to_line
from sterna.explorers.base import Draw
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.leapfrog import DENSE, Parameters, Statistics, sizes_of_metric, triangle
from sterna.ground.compilation import compiled
from sterna.ground.rows import columns
from sterna.types import BoolArray, FloatArray, FloatPointer, IntArray

DRAWS_FOR_SPREAD = 100

# How many draws the old scales count for.
OLD_DRAWS = 5.0

# Bounds.
SCALES = (1e-100, 1e100)
STEP_SIZES = (1e-12, 1e3)


@compiled
def put_on_line(draws: FloatArray, lower: FloatPointer, upper: FloatPointer) -> None:
    """Transform draws to positions on the line, in place."""
    for row in range(draws.shape[0]):
        for k in range(draws.shape[1]):
            draws[row, k] = to_line(draws[row, k], lower[k], upper[k])


def first_metric(target: ExplorableTarget, block: IntArray, dense: bool, draw: Draw) -> dict[str, FloatArray]:
    """Return the fields of the first round's metric: median and spread of draws from the reference."""
    draws = np.ascontiguousarray(draw(DRAWS_FOR_SPREAD)[:, block])
    put_on_line(draws, target.program.lower[block], target.program.upper[block])
    centre = np.median(draws, axis=0)
    scale = 1.4826 * np.median(np.abs(draws - centre), axis=0)
    scale = np.clip(np.where(scale > 0, scale, 1.0), *SCALES)
    return {"centre": centre, "scale": scale, "factor": packed(np.diag(scale)) if dense else np.empty(0)}


def tuned_metric(parameters: FloatArray, statistics: FloatArray, count: int) -> FloatArray:
    """Return the parameters with metrics learned from the sums of a round, chain by chain.

    Scales are geometric means of old and new ones, weighted by their numbers of draws, so that a few draws cannot spoil
    them. The step size is in units of the scales, and changes inversely to them.
    """
    tuned = parameters.copy()
    dense = bool(parameters[0, Parameters.way] == DENSE)
    given = sizes_of_metric(count, dense)
    for row, sums in zip(tuned, statistics, strict=True):
        n = sums[Statistics.draws]
        if n < 2:
            continue
        centre, scale = columns(row, Parameters.centre, *given), columns(row, Parameters.scale, *given)
        mean = columns(sums, Statistics.sums, *given) / n
        second = columns(sums, Statistics.products, *given)
        products = unpacked(second, count) if dense else np.empty(0)
        squares = np.diag(products) if dense else second
        variance = (squares / n - mean**2) * n / (n - 1)
        # a coordinate that did not move carries no information
        moved = variance > 1e-20
        growth = np.zeros(count)
        growth[moved] = 0.5 * np.log(variance[moved]) * (n - 1) / (n - 1 + OLD_DRAWS)
        centre += scale * mean
        scale[:] = np.clip(scale * np.exp(growth), *SCALES)
        row[Parameters.step_size] = np.clip(row[Parameters.step_size] * np.exp(-growth.mean()), *STEP_SIZES)
        if dense:
            covariance = (products / n - np.outer(mean, mean)) * n / (n - 1)
            factor = np.linalg.cholesky(correlation(covariance, moved, n - 1))
            columns(row, Parameters.factor, *given)[:] = packed(scale[:, None] * factor)
    return tuned


def correlation(covariance: FloatArray, moved: BoolArray, n: float) -> FloatArray:
    """Return a positive definite estimate of correlations, shrunk as for normal draws (Chen and others 2010, OAS)."""
    deviation = np.sqrt(np.where(moved, np.diag(covariance), 1.0))
    found = np.where(np.outer(moved, moved), covariance / np.outer(deviation, deviation), 0.0)
    np.fill_diagonal(found, 1.0)
    d = len(found)
    off = np.sum(found**2) - d
    # the smallest weight keeps the metric invertible for a distribution that is degenerate in some direction
    weight = 1.0 if off <= 0 else ((1 - 2 / d) * (off + d) + d * d) / ((n + 1 - 2 / d) * off)
    weight = min(max(weight, 1e-6), 1.0)
    return (1.0 - weight) * found + weight * np.eye(d)


def tuned_step_size(parameters: FloatArray, statistics: FloatArray, acceptance: float, order: float) -> FloatArray:
    """Return the parameters with step sizes whose mean acceptance comes near the given one.

    If log acceptance ratios are normal, with a standard deviation proportional to size**order, the mean acceptance is
    2 Phi(-c size**order). A step so long that hardly anything is accepted is made much shorter.
    """
    from scipy.special import ndtri

    tuned = parameters.copy()
    tried, step_size = statistics[:, Statistics.tried], tuned[:, Parameters.step_size]
    rate = np.clip(statistics[:, Statistics.accepted] / np.maximum(tried, 1.0), 1e-6, 1.0 - 1e-6)
    factor = (ndtri(0.5 * acceptance) / ndtri(0.5 * rate)) ** (1.0 / order)
    factor = np.where(rate < 0.05, 0.125, np.clip(factor, 0.125, 4.0))
    step_size[:] = np.where(tried > 0, np.clip(step_size * factor, *STEP_SIZES), step_size)
    return tuned


def packed(matrix: FloatArray) -> FloatArray:
    """Return the rows of the lower triangle in one array."""
    return np.asarray(matrix[np.tril_indices(len(matrix))])


def unpacked(entries: FloatArray, count: int) -> FloatArray:
    """Return the symmetric matrix with a given lower triangle."""
    matrix = np.zeros((count, count))
    matrix[np.tril_indices(count)] = entries[: triangle(count)]
    return matrix + np.tril(matrix, -1).T
