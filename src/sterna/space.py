"""The space of a state: which coordinates of the flat vector are which variable."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sterna.distributions import Distribution, as_shape
from sterna.engine.program import BINARY, INTEGER, REAL
from sterna.errors import TargetError

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """Kind of a variable under a reference of the user's own: `Real`, `Integer`, `Binary` or `Simplex`."""

    sort: int
    shape: tuple[int, ...]
    lower: float
    upper: float
    transform: str = "none"


def _bounds(kind: str, lower: Any, upper: Any) -> tuple[float, float]:
    try:
        return float(lower), float(upper)
    except (TypeError, ValueError):
        raise TargetError(f"{kind}(lower={lower!r}, upper={upper!r}): bounds must be numbers.") from None


def Real(lower: float = -math.inf, upper: float = math.inf, *, shape: Any = ()) -> Kind:  # noqa: N802
    """Real numbers between two bounds, both excluded."""
    low, high = _bounds("Real", lower, upper)
    if not low < high:
        raise TargetError(f"Real(lower={lower}, upper={upper}): lower must be below upper.")
    return Kind(REAL, as_shape(shape), low, high)


def Integer(lower: float = -math.inf, upper: float = math.inf, *, shape: Any = ()) -> Kind:  # noqa: N802
    """Integers between two bounds, both included."""
    low, high = _bounds("Integer", lower, upper)
    if not low <= high:
        raise TargetError(f"Integer(lower={lower}, upper={upper}): lower must not exceed upper.")
    if any(math.isfinite(bound) and bound != math.floor(bound) for bound in (low, high)):
        raise TargetError(f"Integer(lower={lower}, upper={upper}): bounds must be integers.")
    return Kind(INTEGER, as_shape(shape), low, high)


def Binary(*, shape: Any = ()) -> Kind:  # noqa: N802
    """Zeros and ones."""
    return Kind(BINARY, as_shape(shape), 0.0, 1.0)


def Simplex(size: int) -> Kind:  # noqa: N802
    """Vectors of `size` positive numbers that sum to 1."""
    if not isinstance(size, (int, np.integer)) or size < 2:
        raise TargetError(f"Simplex({size!r}): give the number of parts, an integer from 2 up.")
    return Kind(REAL, (size,), 0.0, 1.0, "simplex")


@dataclass(frozen=True)
class Variable:
    """A named variable and the coordinates `start` to `start + size` that store it."""

    name: str
    sort: int
    shape: tuple[int, ...]
    start: int
    size: int
    lower: Any
    upper: Any
    transform: str = "none"
    affine: tuple[Numbers, Numbers] | None = None

    @property
    def natural_size(self) -> int:
        """Number of the variable's own entries, of which a simplex has one more than coordinates."""
        return math.prod(self.shape)

    @property
    def stop(self) -> int:
        """The coordinate after the last."""
        return self.start + self.size

    def value(self, states: Numbers) -> NDArray[Any]:
        """The variable, in its own shape, from states of shape (..., dimension)."""
        part = states[..., self.start : self.stop]
        if self.transform == "simplex":
            part = join_stick(part)
        elif self.affine is not None:
            part = _affine(part, *self.affine)
        if self.sort != REAL:
            part = part.astype(np.int64)
        return part.reshape(states.shape[:-1] + self.shape)


@dataclass(frozen=True)
class Space:
    """All variables, in the order of the flat vector."""

    variables: tuple[Variable, ...]

    @property
    def dimension(self) -> int:
        """Number of coordinates of a state."""
        return self.variables[-1].stop

    @property
    def names(self) -> list[str]:
        """Names of the variables."""
        return [variable.name for variable in self.variables]

    def values(self, states: Numbers) -> dict[str, NDArray[Any]]:
        """All variables by name, from states of shape (..., dimension)."""
        return {variable.name: variable.value(states) for variable in self.variables}

    def flat(self, states: Numbers) -> Numbers:
        """The variables side by side in one vector, as a likelihood of one flat vector receives them."""
        if not self.transformed:
            return states
        lead = states.shape[:-1]
        return np.concatenate([v.value(states).reshape((*lead, -1)) for v in self.variables], axis=-1)

    @property
    def transformed(self) -> bool:
        """Whether some variable is stored in other coordinates than its own."""
        return any(variable.transform != "none" for variable in self.variables)


class View(Protocol):
    """How a model of another library names what states hold, for results."""

    dims: Mapping[str, Sequence[str]]
    """Names of a variable's dimensions, where it has any."""
    coords: Mapping[str, Any]
    """Coordinates of dimensions."""

    def values(self, states: Numbers) -> dict[str, NDArray[Any]]:
        """The model's variables by name, from states of shape (..., dimension)."""

    def groups(self, states: Numbers, log_likelihood: bool) -> dict[str, dict[str, NDArray[Any]]]:
        """What ArviZ holds beside the posterior, by group and name."""


def dims_of(name: str, count: int, view: View | None) -> list[str]:
    """Name a variable's dimensions, in ArviZ's way where nobody has named them."""
    named = list(view.dims.get(name, ())) if view is not None else []
    return [
        named[axis] if axis < len(named) and named[axis] is not None else f"{name}_dim_{axis}" for axis in range(count)
    ]


def coordinates_of(variables: Mapping[str, tuple[Sequence[str], Any]], view: View | None) -> dict[str, Any]:
    """Return the coordinates of the dimensions that variables have."""
    used = {dim for dims, _ in variables.values() for dim in dims}
    return {} if view is None else {name: values for name, values in view.coords.items() if name in used}


def space_of(parts: Mapping[str, Distribution | Kind]) -> Space:
    """Lay variables out in the order in which they are given."""
    if not parts:
        raise TargetError("The reference is empty: name at least one variable.")
    variables = []
    start = 0
    for name, part in parts.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise TargetError(f"{name!r} cannot name a variable: use a Python identifier.")
        if isinstance(part, Distribution):
            sort, affine = part.coordinates.sort, part.affine
            size = len(part.coordinates.lower)
        else:
            sort, affine = part.sort, None
            size = math.prod(part.shape) - (part.transform == "simplex")
        variables.append(Variable(name, sort, part.shape, start, size, part.lower, part.upper, part.transform, affine))
        start += size
    return Space(tuple(variables))


def _affine(z: Numbers, offset: Numbers, matrix: Numbers) -> Numbers:
    """Return offset + matrix z, adding in the order of `sterna.binding.affine` so that both give the same bits."""
    total = np.broadcast_to(offset, z.shape).copy()
    for column in range(len(offset)):
        total += z[..., column : column + 1] * matrix[:, column]
    return total


def join_stick(fractions: Numbers) -> Numbers:
    """Vectors on the simplex from the fractions broken off a stick, along the last axis."""
    rest = np.cumprod(1.0 - fractions, axis=-1)
    first = np.concatenate([np.ones_like(rest[..., :1]), rest[..., :-1]], axis=-1)
    return np.concatenate([fractions * first, rest[..., -1:]], axis=-1)
