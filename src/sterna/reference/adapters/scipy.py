"""Frozen distributions of `scipy.stats`: by family if sterna has it, otherwise by quantiles."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sterna.distributions import Distribution
from sterna.errors import TargetError
from sterna.reference.adapters.converters import as_numbers, converters_of
from sterna.reference.quantile import Quantile
from sterna.types import FloatArray

CONVERTERS = converters_of("scipy")


def as_distribution(part: Any, what: str) -> Distribution:
    """Return sterna's counterpart of a frozen distribution of `scipy.stats`."""
    from scipy import stats

    vector = type(part).__name__.removesuffix("_frozen")
    if vector in ("multivariate_normal", "dirichlet") and vector != type(part).__name__:
        found = CONVERTERS[vector].convert({name: getattr(part, name) for name in CONVERTERS[vector].names})
        assert found is not None
        return found
    if isinstance(part, (stats.rv_continuous, stats.rv_discrete)):
        part = _frozen(part, what)
    if not isinstance(getattr(part, "dist", None), (stats.rv_continuous, stats.rv_discrete)):
        raise TargetError(
            f"{what} is of SciPy's type {type(part).__name__}, which sterna cannot read: give a one-dimensional frozen "
            "distribution such as scipy.stats.norm(0, 1), a multivariate_normal or a dirichlet."
        )
    parameters = _parameters(part)
    shape = np.broadcast_shapes(*(np.asarray(value).shape for value in parameters.values()))
    if np.any(np.asarray(parameters.get("scale", 1.0)) <= 0):
        raise TargetError(
            f"{what}: scipy.stats.{part.dist.name} has the scale {parameters['scale']}; it must be positive."
        )
    name = part.dist.name
    found = None
    # a class that the user has derived may have any name
    if name in CONVERTERS and type(part.dist) is type(getattr(stats, name)):
        found = CONVERTERS[name].convert({key: _broadcast(value, shape) for key, value in parameters.items()})
    if found is None:
        whole = isinstance(part.dist, stats.rv_discrete) and _is_whole(part, parameters)
        found = Quantile(part, f"scipy.stats.{name}", shape, whole, what)
    return found


def _frozen(family: Any, what: str) -> Any:
    """Freeze a distribution that was given without parameters, as `scipy.stats.norm` or a histogram may be."""
    if family.shapes:
        raise TargetError(
            f"{what} is scipy.stats.{family.name} without its parameters ({family.shapes}): give them, as in "
            f"scipy.stats.{family.name}({family.shapes})."
        )
    return family()


def _parameters(part: Any) -> dict[str, object]:
    """Return all parameters by name, including those that were left out."""
    from scipy import stats

    names = [name.strip() for name in (part.dist.shapes or "").split(",") if name.strip()] + ["loc"]
    defaults = {"loc": 0.0}
    if isinstance(part.dist, stats.rv_continuous):
        names, defaults = [*names, "scale"], {"loc": 0.0, "scale": 1.0}
    return {**defaults, **dict(zip(names, part.args, strict=False)), **part.kwds}


def _is_whole(part: Any, parameters: Mapping[str, object]) -> bool:
    """Whether a discrete distribution has only integer values: a table may have others, and so may a location."""
    values = [as_numbers(parameters["loc"]), np.asarray(getattr(part.dist, "xk", 0.0))]
    return all(np.array_equal(value, np.round(value)) for value in values)


def _broadcast(value: object, shape: tuple[int, ...]) -> float | FloatArray:
    """Broadcast a parameter; a scalar becomes a float, which messages show as it was written."""
    numbers = np.broadcast_to(as_numbers(value), shape)
    return numbers if shape else float(numbers)
