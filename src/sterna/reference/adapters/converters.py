"""The tables of all families' counterparts in one library."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sterna.distributions import DISTRIBUTIONS, Distribution
from sterna.distributions.base import Conversion
from sterna.types import FloatArray

Parameter = float | FloatArray | object


@dataclass(frozen=True)
class Converter:
    """How a distribution of another library becomes one of sterna."""

    distribution: type[Distribution]
    conversion: Conversion

    @property
    def names(self) -> list[str]:
        """Names of the library's parameters, in order."""
        if isinstance(self.conversion, str):
            return self.conversion.split()
        return [name for name in inspect.signature(self.conversion).parameters if name != "shape"]

    def convert(self, parameters: Mapping[str, Parameter], **shape: tuple[int, ...]) -> Distribution | None:
        """Make sterna's distribution from the library's parameters by name."""
        if isinstance(self.conversion, str):
            make: Callable[..., Distribution] = self.distribution
            return make(*(parameters[name] for name in self.names), **shape)
        return self.conversion(**parameters, **shape)


def converters_of(library: Literal["scipy", "numpyro", "pymc"]) -> dict[str, Converter]:
    """Return the converters of all of a library's distributions that sterna knows, by the library's name for them."""
    return {
        name: Converter(distribution, conversion)
        for distribution in DISTRIBUTIONS
        for name, conversion in getattr(distribution.adapters, library).items()
    }


def as_numbers(value: object) -> FloatArray:
    """Return a parameter in double precision."""
    return np.asarray(value, dtype=np.float64)
