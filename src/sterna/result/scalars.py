"""All scalars of a posterior, by name, some at a time: there may be many."""

from collections.abc import Iterator

import numpy as np

from sterna.reference.space import View, axis_labels
from sterna.result.sampled_target import Values
from sterna.types import FloatArray

AT_ONCE = 64


def scalars_of(values: Values, view: View | None) -> Iterator[tuple[list[str], FloatArray]]:
    """Yield names and draws, (scalars, copies, draws), from variables, (copies, draws, ...); scalars before vectors."""
    for name, value in sorted(values.items(), key=lambda item: item[1].ndim > 2):
        labels = _labels(name, value.shape[2:], view)
        flat = value.reshape(*value.shape[:2], -1)
        for first in range(0, len(labels), AT_ONCE):
            some = flat[:, :, first : first + AT_ONCE].astype(np.float64)
            yield labels[first : first + AT_ONCE], np.ascontiguousarray(np.moveaxis(some, 2, 0))


def _labels(name: str, shape: tuple[int, ...], view: View | None) -> list[str]:
    """Return the names of all scalars of a variable."""
    if not shape:
        return [name]
    axes = axis_labels(name, shape, view)
    places = np.ndindex(*shape)
    return [f"{name}[{','.join(str(axis[k]) for axis, k in zip(axes, at, strict=True))}]" for at in places]
