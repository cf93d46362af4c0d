"""Affine maps: variables offset + matrix z, stored as independent standard coordinates z."""

from typing import Any

from sterna.ground.compilation import compiled_with_memory
from sterna.types import FloatArray


@compiled_with_memory
def affine(z: FloatArray, offset: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return offset + matrix z for a lower triangular matrix."""
    result = offset.copy()
    for row in range(z.size):
        for column in range(row + 1):
            result[row] += matrix[row, column] * z[column]
    return result


def affine_of_many(z: FloatArray, offset: FloatArray, matrix: FloatArray, library: Any) -> Any:
    """Return offset + matrix z by NumPy or JAX, added in the order of `affine` so that both give the same bits."""
    total = library.broadcast_to(offset, z.shape)
    for column in range(len(offset)):
        total = total + z[..., column : column + 1] * matrix[:, column]
    return total


@compiled_with_memory
def affine_pullback(matrix: FloatArray, gradient: FloatArray, result: FloatArray) -> None:
    """Write the gradient with respect to z, from that with respect to offset + matrix z."""
    for column in range(result.size):
        total = 0.0
        for row in range(column, result.size):
            total += matrix[row, column] * gradient[row]
        result[column] = total
