"""The metric of explorers that follow the gradient, and their step size: what a round teaches the next."""

import numpy as np

from sterna.engine.unconstrained import to_line
from sterna.explorers.base import Draw
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.leapfrog import (
    ACCEPTED,
    DENSE,
    DRAWS,
    HEAD,
    STEP_SIZE,
    SUMS,
    TRIED,
    WAY,
    triangle,
)
from sterna.ground.compilation import compiled
from sterna.types import BoolArray, FloatArray, FloatPointer, IntArray

DRAWS_FOR_SPREAD = 100

# What the old scales count for, in draws.
OLD_DRAWS = 5.0

SCALES = (1e-100, 1e100)
STEP_SIZES = (1e-12, 1e3)


@compiled
def put_on_line(draws: FloatArray, lower: FloatPointer, upper: FloatPointer) -> None:
    """Turn draws into positions on the line, in place."""
    for row in range(draws.shape[0]):
        for k in range(draws.shape[1]):
            draws[row, k] = to_line(draws[row, k], lower[k], upper[k])


def first_metric(target: ExplorableTarget, block: IntArray, dense: bool, draw: Draw) -> FloatArray:
    """Return centres, scales and (dense) factor of the first round: median and spread of the reference's draws."""
    draws = np.ascontiguousarray(draw(DRAWS_FOR_SPREAD)[:, block])
    put_on_line(draws, target.program.lower[block], target.program.upper[block])
    centre = np.median(draws, axis=0)
    scale = 1.4826 * np.median(np.abs(draws - centre), axis=0)
    scale = np.clip(np.where(scale > 0, scale, 1.0), *SCALES)
    return np.concatenate([centre, scale, packed(np.diag(scale))] if dense else [centre, scale])


def tuned_metric(parameters: FloatArray, statistics: FloatArray, count: int) -> FloatArray:
    """Return the parameters with metrics learned from the sums of a round, chain by chain.

    Scales are geometric means of old and new, by their numbers of draws, so that two or four draws cannot spoil them.
    The step size is measured in scales, and changes against them.
    """
    tuned = parameters.copy()
    dense = parameters[0, WAY] == DENSE
    for row, sums in zip(tuned, statistics, strict=True):
        n = sums[DRAWS]
        if n < 2:
            continue
        centre, scale = row[HEAD : HEAD + count], row[HEAD + count : HEAD + 2 * count]
        mean = sums[SUMS : SUMS + count] / n
        products = unpacked(sums[SUMS + count :], count) if dense else np.empty(0)
        squares = np.diag(products) if dense else sums[SUMS + count :]
        variance = (squares / n - mean**2) * n / (n - 1)
        # a coordinate that did not move has nothing to tell
        moved = variance > 1e-20
        growth = np.zeros(count)
        growth[moved] = 0.5 * np.log(variance[moved]) * (n - 1) / (n - 1 + OLD_DRAWS)
        centre += scale * mean
        scale[:] = np.clip(scale * np.exp(growth), *SCALES)
        row[STEP_SIZE] = np.clip(row[STEP_SIZE] * np.exp(-growth.mean()), *STEP_SIZES)
        if dense:
            covariance = (products / n - np.outer(mean, mean)) * n / (n - 1)
            row[HEAD + 2 * count :] = packed(scale[:, None] * np.linalg.cholesky(correlation(covariance, moved, n - 1)))
    return tuned


def correlation(covariance: FloatArray, moved: BoolArray, n: float) -> FloatArray:
    """Return a positive definite estimate: correlations shrunk as for normal draws (Chen and others 2010, OAS)."""
    deviation = np.sqrt(np.where(moved, np.diag(covariance), 1.0))
    found = np.where(np.outer(moved, moved), covariance / np.outer(deviation, deviation), 0.0)
    np.fill_diagonal(found, 1.0)
    d = len(found)
    off = np.sum(found**2) - d
    # the least keeps draws of a law that has no width in some direction from a metric without inverse
    weight = 1.0 if off <= 0 else ((1 - 2 / d) * (off + d) + d * d) / ((n + 1 - 2 / d) * off)
    weight = min(max(weight, 1e-6), 1.0)
    return (1.0 - weight) * found + weight * np.eye(d)


def tuned_step_size(parameters: FloatArray, statistics: FloatArray, wanted: float, order: float) -> FloatArray:
    """Return the parameters with step sizes whose mean acceptance comes near the one wanted.

    Where log acceptance ratios are normal, with a deviation that grows like size**order, the mean acceptance is
    2 Phi(-c size**order). A step so long that nothing is accepted is made much shorter.
    """
    from scipy.special import ndtri

    tuned = parameters.copy()
    tried = statistics[:, TRIED]
    rate = np.clip(statistics[:, ACCEPTED] / np.maximum(tried, 1.0), 1e-6, 1.0 - 1e-6)
    factor = (ndtri(0.5 * wanted) / ndtri(0.5 * rate)) ** (1.0 / order)
    factor = np.where(rate < 0.05, 0.125, np.clip(factor, 0.125, 4.0))
    sizes = np.clip(tuned[:, STEP_SIZE] * factor, *STEP_SIZES)
    tuned[:, STEP_SIZE] = np.where(tried > 0, sizes, tuned[:, STEP_SIZE])
    return tuned


def packed(matrix: FloatArray) -> FloatArray:
    """Return the lower triangle, row after row."""
    return np.asarray(matrix[np.tril_indices(len(matrix))])


def unpacked(numbers: FloatArray, count: int) -> FloatArray:
    """Return the symmetric matrix of a lower triangle."""
    matrix = np.zeros((count, count))
    matrix[np.tril_indices(count)] = numbers[: triangle(count)]
    return matrix + np.tril(matrix, -1).T
