"""A prior given as a map from the unit cube, as for nested samplers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import types as numba_types
from numpy.typing import ArrayLike

from sterna.distributions import Distribution, Uniform
from sterna.errors import Error, TargetError, describe
from sterna.ground.numbers import float_array, whole_number
from sterna.ground.user_function import CannotCompile, compile_user_function, short_reason
from sterna.reference.space import Real, Space, check_name, space_of
from sterna.types import FloatArray

_TINY = float(np.finfo(np.float64).tiny)
_VECTOR = numba_types.Array(numba_types.float64, 1, "C", readonly=True)


@dataclass(frozen=True)
class PriorTransform:
    """A reference given by a function that turns uniform numbers into draws of the parameters.

    Parameters
    ----------
    transform
        `transform(u)` returns the parameters, one for each number in u; these lie strictly between 0 and 1.
        Compiled if Numba can compile it; otherwise it runs as Python, and so does the likelihood.
    parameters
        The names of the parameters, or their number, for one vector `x`.

    Examples
    --------
    >>> import sterna
    >>> def prior_transform(u):
    ...     return 20.0 * u - 10.0
    >>> def log_likelihood(a, b):
    ...     return -0.5 * (a * a + (b - a) ** 2)
    >>> result = sterna.sample(
    ...     log_likelihood, sterna.PriorTransform(prior_transform, ["a", "b"]), n_chains=6, n_rounds=6, progress=False
    ... )
    >>> list(result.posterior)
    ['a', 'b']
    """

    transform: Callable[[FloatArray], ArrayLike]
    parameters: Sequence[str] | int

    def __post_init__(self) -> None:
        if not callable(self.transform):
            raise TargetError(f"PriorTransform({self.transform!r}, ...): give a function of a vector in the unit cube.")
        number = whole_number(self.parameters)
        if number is not None:
            object.__setattr__(self, "parameters", number)
        elif isinstance(self.parameters, Sequence) and not isinstance(self.parameters, str):
            number = len(self.parameters)
        if number is None or number < 1:
            raise TargetError(
                f"PriorTransform(..., {self.parameters!r}): give the names of the parameters, or their number."
            )

    def read(self) -> tuple[Space, list[Distribution]]:
        """Return the space of the parameters, and the uniform distribution on the cube."""
        if isinstance(self.parameters, int):
            size, types = self.parameters, {"x": Real(shape=self.parameters)}
        else:
            for name in self.parameters:
                check_name(name)
            size, types = len(self.parameters), {name: Real() for name in self.parameters}
            if len(types) < size:
                raise TargetError(f"PriorTransform(..., {self.parameters!r}): each parameter needs its own name.")
        cube = Uniform(0.0, 1.0, shape=size)
        # quantiles may be infinite at the ends
        inside = replace(cube.coordinates, lower=np.full(size, _TINY), upper=np.full(size, 1.0 - 2.0**-53))
        cube.coordinates = inside
        cube_map = CubeMap(self.transform, size)
        try:
            cube_map.forward(np.full(size, 0.5))
        except Error:
            raise
        except Exception as error:
            raise TargetError(f"The prior transform raised {describe(error)} for {size} numbers of 0.5.") from error
        return space_of(types, cube_map), [cube]


class CubeMap:
    """The state map of a prior transform, from the unit cube to the parameters."""

    mixes = True
    data: Mapping[str, FloatArray]

    def __init__(self, transform: Callable[[FloatArray], ArrayLike], dimension: int) -> None:
        self.transform, self.dimension, self.data = transform, dimension, {}

    def forward(self, state: FloatArray) -> FloatArray:
        """Return the parameters of a point in the cube."""
        returned = self.transform(state)
        found = float_array(returned)
        if found is None:
            raise TargetError(
                f"The prior transform returned {returned!r} for {self.dimension} uniform numbers: it must return one "
                "parameter for each."
            )
        if found.shape != (self.dimension,):
            raise TargetError(
                f"The prior transform returned an array of shape {found.shape} for {self.dimension} uniform numbers: "
                "it must return one parameter for each."
            )
        return found

    def lines(self, datum: Callable[[str], str]) -> tuple[list[str], dict[str, Any]]:
        """Return code that calls the compiled transform."""
        try:
            compiled = compile_user_function(self.transform)
            compiled.compile((_VECTOR,))
        except Exception as error:  # Numba raises many types of errors for what it does not support
            raise CannotCompile(f"so does the prior transform ({short_reason(error)})") from error
        lines = [
            "x = np.asarray(transform(frozen(u))).astype(np.float64)",
            f"if x.size != {self.dimension}:",
            "    raise ValueError('the prior transform must return one parameter for each number in u')",
        ]
        return lines, {"transform": compiled}
