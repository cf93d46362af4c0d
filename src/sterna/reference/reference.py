"""The reference: independent named distributions, or the user's own pair (draw, log density)."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.errors import TargetError
from sterna.reference.adapters import as_distribution
from sterna.reference.distributions import Distribution
from sterna.reference.fitted_reference import FittedReference
from sterna.reference.prior_transform import PriorTransform
from sterna.reference.quantile import Quantile, QuantileMap
from sterna.reference.space import Kind, Real, Space, bounds_inside, space_of
from sterna.types import FloatArray


@dataclass(frozen=True)
class Reference:
    """A reference given by two functions of the user's own, for variables that depend on each other.

    Parameters
    ----------
    draw
        `draw(rng)` returns one exact, independent draw: a tuple with one entry per variable, or one flat vector.
        `rng` is a `numpy.random.Generator`. Further arguments are taken from the target's data by name.
    log_density
        The log-density of the same law, normalised; it takes variables and data by name, or one flat vector.
    space
        The variables, as a dict of `Real`, `Integer`, `Binary` and `Simplex`. By default one unbounded real
        vector `x` of the length that `draw` returns.
    gradient
        The gradient of `log_density`, for explorers that follow it; as `gradient` of `sterna.Target`.
    local_change
        `local_change(x, i, new)` (and data by name) returns the change of the log-density when coordinate i of the flat
        state x becomes `new`; as `local_change` of `sterna.Target`. A simplex is stored as the fractions broken off a
        stick, and the density is then that of the fractions.

    Examples
    --------
    >>> import math, sterna
    >>> def draw(rng):
    ...     scale = rng.exponential()
    ...     return scale, rng.normal(0.0, scale)
    >>> def log_density(scale, effect):
    ...     return -scale - math.log(scale) - 0.5 * (effect / scale) ** 2 - 0.5 * math.log(2 * math.pi)
    >>> reference = sterna.Reference(
    ...     draw, log_density, {"scale": sterna.Real(lower=0), "effect": sterna.Real()}
    ... )
    >>> def log_likelihood(effect):
    ...     return -0.5 * (effect - 1.0) ** 2
    >>> target = sterna.Target(log_likelihood, reference)
    """

    draw: Callable[..., Any]
    log_density: Callable[..., Any]
    space: Mapping[str, Kind] | None = field(default=None)
    gradient: Callable[..., Any] | None = None
    local_change: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        for name, value in (("draw", self.draw), ("log_density", self.log_density)):
            if not callable(value):
                raise TargetError(
                    f"A reference needs two functions, and {name} is {value!r}. Parallel tempering draws its first "
                    "chain from the reference at every scan: give draw(rng) and log_density, or a dict."
                )

    def sized(self, data: Mapping[str, Any] | None) -> Space:
        """Return the space, with the length of an undeclared vector found by drawing once."""
        if self.space is not None:
            if not isinstance(self.space, Mapping):
                raise TargetError(
                    f'Reference(space={self.space!r}): give a dict of variables, such as {{"x": sterna.Real()}}.'
                )
            for name, kind in self.space.items():
                if not isinstance(kind, Kind):
                    raise TargetError(
                        f"Reference(space=...): {name!r} is {kind!r}; give sterna.Real(), sterna.Integer(), "
                        "sterna.Binary() or sterna.Simplex(n)."
                    )
            return space_of(self.space)
        named = list(inspect.signature(getattr(self.draw, "py_func", self.draw)).parameters)[1:]
        known = {name: value for name, value in (data or {}).items() if name in named}
        example = getattr(self.draw, "py_func", self.draw)(np.random.default_rng(0), **known)
        try:
            size = np.size(np.asarray(example, dtype=np.float64))
        except (TypeError, ValueError):
            size = 0
        if example is None or size == 0:
            raise TargetError(f"The reference's draw returned {example!r}; without a space it must return one vector.")
        return space_of({"x": Real(shape=size)})


def space_and_distributions(
    reference: Any, data: Mapping[str, Any] | None = None
) -> tuple[Space, list[Distribution] | None]:
    """Read what a user gave as the reference; the distributions are None for a pair of functions."""
    if isinstance(reference, Reference):
        return reference.sized(data), None
    if isinstance(reference, (PriorTransform, FittedReference)):
        return reference.read()
    if isinstance(reference, Mapping):
        named = {name: _distribution(name, part) for name, part in reference.items()}
        found = list(named.values())
        by_quantiles = any(isinstance(distribution, Quantile) for distribution in found)
        return space_of(named, QuantileMap(found) if by_quantiles else None), found
    if as_distribution(reference, "reference") is not None:
        return space_and_distributions({"x": reference})
    raise TargetError(
        f"reference={reference!r} is neither a dict of distributions nor a sterna.Reference(draw, log_density)."
    )


def _distribution(name: str, part: Any) -> Distribution:
    """Read one variable's distribution."""
    found = as_distribution(part, f"reference[{name!r}]")
    if found is None:
        raise TargetError(
            f"reference[{name!r}] is {part!r}, which is no distribution of sterna's, nor of SciPy, NumPyro or PyMC; "
            f"write for instance {{{name!r}: sterna.Normal(0, 1)}}, or give a sterna.Reference(draw, log_density)."
        )
    return found


def coordinate_tables(space: Space, distributions: list[Distribution] | None) -> dict[str, NDArray[Any]]:
    """Build the engine's tables of coordinates; a joint reference has bounds and value types only."""
    if distributions is None:
        return _tables_of_kinds(space)
    tables: list[FloatArray] = []
    numbers, kinds, value_types = [], [], []
    offset = 0
    for distribution in distributions:
        part = distribution.coordinates
        own = part.numbers.copy()
        if part.table.size:
            own[:, 0] += offset
            tables.append(part.table)
            offset += part.table.size
        numbers.append(own)
        kinds.append(np.full(len(own), part.kind))
        value_types.append(np.full(len(own), part.value_type))
    return {
        "value_type": np.concatenate(value_types).astype(np.int64),
        "lower": np.concatenate([d.coordinates.lower for d in distributions]),
        "upper": np.concatenate([d.coordinates.upper for d in distributions]),
        "family": np.concatenate(kinds).astype(np.int64),
        "constants": np.concatenate(numbers).ravel(),
        "table": np.concatenate([*tables, np.zeros(1)]),
    }


def _tables_of_kinds(space: Space) -> dict[str, NDArray[Any]]:
    value_type = np.concatenate([np.full(v.size, v.value_type) for v in space.variables]).astype(np.int64)
    lower, upper = bounds_inside(space)
    return {
        "value_type": value_type,
        "lower": lower,
        "upper": upper,
        "family": np.zeros(len(value_type), dtype=np.int64),
        "constants": np.zeros(4 * len(value_type)),
        "table": np.zeros(1),
    }
