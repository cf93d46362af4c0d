"""Distributions of NumPyro, by the name of their class."""

from typing import Any

from sterna.distributions import Distribution
from sterna.errors import TargetError
from sterna.reference.adapters.converters import as_numbers, converters_of

CONVERTERS = converters_of("numpyro")

# They change only the shape, which the outermost of them knows.
WRAPPERS = ("ExpandedDistribution", "Independent")


def as_distribution(part: Any, what: str) -> Distribution:
    """Return sterna's counterpart of a distribution of NumPyro.

    Its parameters have JAX's precision, which is single by default.
    """
    shape = tuple(part.batch_shape) + tuple(part.event_shape)
    inner = part
    while type(inner).__name__ in WRAPPERS:
        inner = inner.base_dist
    name = type(inner).__name__
    found = None
    if name in CONVERTERS:
        converter = CONVERTERS[name]
        parameters = {key: _read(getattr(inner, key)) for key in converter.names if hasattr(inner, key)}
        try:
            found = converter.convert(parameters, shape=shape)
        except TargetError as error:
            raise TargetError(f"{what}, NumPyro's {name}: {error}") from None
    if found is None:
        raise TargetError(
            f"{what} is NumPyro's {name}, which has no counterpart in sterna: give a frozen distribution of "
            "scipy.stats instead, or a sterna.Reference(draw, log_density)."
        )
    return found


def _read(parameter: object) -> object:
    """Return a parameter in double precision; a truncated distribution has another one as its parameter."""
    return parameter if hasattr(parameter, "log_prob") else as_numbers(parameter)
