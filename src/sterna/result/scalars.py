"""All scalars of a posterior, by name, some at a time: there may be many."""

from collections.abc import Iterator

import numpy as np

from sterna.reference.space import View, axis_labels
from sterna.result.sampled_target import SampledTarget, Values
from sterna.types import FloatArray

AT_ONCE = 64


def scalars_of(values: Values, target: SampledTarget) -> Iterator[tuple[list[str], FloatArray, FloatArray]]:
    """Yield names and draws, (scalars, copies, draws), from variables, (copies, draws, ...); scalars before vectors.

    With them come (first value, period) of each; the period of one that does not repeat is 0.
    """
    for name, value in sorted(values.items(), key=lambda item: item[1].ndim > 2):
        labels = _labels(name, value.shape[2:], target.view)
        circles = np.zeros((len(labels), 2))
        circles[:] = target.circles.get(name, 0.0)
        flat = value.reshape(*value.shape[:2], -1)
        for first in range(0, len(labels), AT_ONCE):
            some = flat[:, :, first : first + AT_ONCE].astype(np.float64)
            part = slice(first, first + AT_ONCE)
            yield labels[part], np.ascontiguousarray(np.moveaxis(some, 2, 0)), circles[part]


def _labels(name: str, shape: tuple[int, ...], view: View | None) -> list[str]:
    """Return the names of all scalars of a variable."""
    if not shape:
        return [name]
    axes = axis_labels(name, shape, view)
    places = np.ndindex(*shape)
    return [f"{name}[{','.join(str(axis[k]) for axis, k in zip(axes, at, strict=True))}]" for at in places]
