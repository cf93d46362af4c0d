"""Draws as an `xarray.Dataset`, with the names, dimensions and coordinates of the target's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sterna.reference.space import coordinates_of, dims_of
from sterna.result.sampled_target import SampledTarget, Values

if TYPE_CHECKING:
    import xarray


def dataset_of(
    target: SampledTarget, values: Values, sizes: tuple[int, ...], lead: tuple[str, ...], seed: int
) -> xarray.Dataset:
    """Return variables whose first dimensions are those of `lead`, with these sizes."""
    import xarray

    variables = {
        name: ((*lead, *dims_of(name, value.ndim - len(lead), target.view, values)), value)
        for name, value in values.items()
    }
    coordinates: dict[str, Any] = {name: np.arange(size) for name, size in zip(lead, sizes, strict=True)}
    coordinates |= coordinates_of(variables, target.view)
    attributes = {"target": target.name, "sampler": "sterna", "seed": seed}
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)
