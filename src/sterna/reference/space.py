"""The space of a state: which coordinates of the flat vector are which variable."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sterna.errors import TargetError
from sterna.ground.values import BINARY, EXACT, HUGE, INTEGER, REAL
from sterna.reference.affine import affine_of_many
from sterna.reference.distributions import Distribution, as_shape
from sterna.reference.sticks import break_stick, join_stick
from sterna.types import FloatArray


@dataclass(frozen=True)
class Kind:
    """Kind of a variable under a reference of the user's own: `Real`, `Integer`, `Binary` or `Simplex`."""

    value_type: int
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
    value_type: int
    shape: tuple[int, ...]
    start: int
    size: int
    lower: Any
    upper: Any
    transform: str = "none"
    affine: tuple[FloatArray, FloatArray] | None = None

    @property
    def natural_size(self) -> int:
        """Number of the variable's own entries, of which a simplex has one more than coordinates."""
        return math.prod(self.shape)

    @property
    def stop(self) -> int:
        """The coordinate after the last."""
        return self.start + self.size

    def value(self, states: FloatArray, library: Any = np) -> NDArray[Any]:
        """The variable, in its own shape, from vectors (..., dimension) of `Space.prepared`, by NumPy or JAX."""
        part = states[..., self.start : self.stop]
        if self.transform == "simplex":
            part = join_stick(part, library)
        elif self.affine is not None:
            part = affine_of_many(part, *self.affine, library)
        if self.value_type != REAL:
            part = part.astype(library.int64)
        return part.reshape(states.shape[:-1] + self.shape)


class StateMap(Protocol):
    """How the vector in which variables lie follows from a state, where they are not stored as they are.

    A prior transform maps the unit cube, a fitted reference standard normal coordinates.
    """

    dimension: int
    """Number of coordinates of a state."""
    data: Mapping[str, FloatArray]
    """Arrays that compiled code reads by name; what changes between rounds changes in place."""

    mixes: bool
    """Whether a variable is made of more than its own coordinates."""

    def forward(self, state: FloatArray) -> FloatArray:
        """Return the vector of a state."""

    def lines(self, datum: Callable[[str], str]) -> tuple[list[str], dict[str, Any]]:
        """Code that makes the vector `x` from the coordinates `u`, and names that it uses; may raise CannotCompile."""


@dataclass(frozen=True)
class Space:
    """All variables, in the order of the flat vector."""

    variables: tuple[Variable, ...]
    map: StateMap | None = None

    @property
    def dimension(self) -> int:
        """Number of coordinates of a state."""
        return self.variables[-1].stop if self.map is None else self.map.dimension

    def prepared(self, states: FloatArray) -> FloatArray:
        """The vectors in which variables lie, from states of shape (..., dimension)."""
        if self.map is None:
            return states
        rows = [self.map.forward(state.copy()) for state in states.reshape(-1, states.shape[-1])]
        return np.array(rows).reshape((*states.shape[:-1], -1))

    @property
    def names(self) -> list[str]:
        """Names of the variables."""
        return [variable.name for variable in self.variables]

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """All variables by name, from states of shape (..., dimension)."""
        vectors = self.prepared(states)
        return {variable.name: variable.value(vectors) for variable in self.variables}

    def flat(self, states: FloatArray, library: Any = np) -> FloatArray:
        """The variables side by side in one vector, as a likelihood of one flat vector receives them."""
        if not self.transformed:
            return states
        lead = states.shape[:-1]
        parts = [v.value(states, library).reshape((*lead, -1)) for v in self.variables]
        return library.concatenate(parts, axis=-1)  # type: ignore[no-any-return]

    @property
    def transformed(self) -> bool:
        """Whether some variable is stored in other coordinates than its own."""
        return any(variable.transform != "none" for variable in self.variables)


class View(Protocol):
    """How a model of another library names what states hold, for results."""

    dims: Mapping[str, Sequence[str | None]]
    """Names of a variable's dimensions, where they have any."""
    coords: Mapping[str, Any]
    """Coordinates of dimensions."""
    shown: Sequence[str]
    """Names of all variables that results show."""

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """The model's variables by name, from states of shape (..., dimension)."""

    def groups(self, states: FloatArray, log_likelihood: bool) -> dict[str, dict[str, NDArray[Any]]]:
        """What ArviZ holds beside the posterior, by group and name."""


# Dimensions of every result.
RESERVED = ("copy", "draw", "chain")


def check_not_reserved(name: str | None, what: str) -> None:
    """Refuse a name that results need for themselves."""
    if name in RESERVED:
        raise TargetError(f"{name!r} cannot name {what}: results have a dimension of that name. Take another.")


def check_view(view: View) -> None:
    """Refuse names of another library's model that results need for themselves."""
    for name in view.shown:
        check_not_reserved(name, "a variable")
    for dims in view.dims.values():
        for dim in dims:
            check_not_reserved(dim, "a dimension")


def dims_of(name: str, count: int, view: View | None) -> list[str]:
    """Name a variable's dimensions, in ArviZ's way where nobody has named them."""
    named = list(view.dims.get(name, ())) if view is not None else []
    # a dimension that has the name of a variable would be its coordinate
    named = [None if view is not None and dim in view.shown else dim for dim in named]
    named += [None] * (count - len(named))
    return [named[axis] or f"{name}_dim_{axis}" for axis in range(count)]


def coordinates_of(variables: Mapping[str, tuple[Sequence[str], Any]], view: View | None) -> dict[str, Any]:
    """Return the coordinates of the dimensions that variables have."""
    used = {dim for dims, _ in variables.values() for dim in dims}
    return {} if view is None else {name: values for name, values in view.coords.items() if name in used}


def axis_labels(name: str, shape: tuple[int, ...], view: View | None) -> list[Sequence[Any]]:
    """Return what to call the entries along each axis of a variable: coordinates that differ, else numbers."""
    known = {} if view is None else view.coords
    labels: list[Sequence[Any]] = []
    for dim, size in zip(dims_of(name, len(shape), view), shape, strict=True):
        own = known.get(dim, ())
        labels.append(own if len(set(map(str, own))) == size else range(size))
    return labels


def space_of(parts: Mapping[str, Distribution | Kind], state_map: StateMap | None = None) -> Space:
    """Lay variables out in the order in which they are given."""
    if not parts:
        raise TargetError("The reference is empty: name at least one variable.")
    variables = []
    start = 0
    for name, part in parts.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise TargetError(f"{name!r} cannot name a variable: use a Python identifier.")
        check_not_reserved(name, "a variable")
        if isinstance(part, Distribution):
            value_type, affine = INTEGER if part.whole else part.coordinates.value_type, part.affine
            size = len(part.coordinates.lower)
        else:
            value_type, affine = part.value_type, None
            size = math.prod(part.shape) - (part.transform == "simplex")
        variables.append(
            Variable(name, value_type, part.shape, start, size, part.lower, part.upper, part.transform, affine)
        )
        start += size
    return Space(tuple(variables), state_map)


def bounds_inside(space: Space) -> tuple[FloatArray, FloatArray]:
    """The bounds of stored coordinates, real ones moved to the next number inside, where a density is finite."""
    value_type = np.concatenate([np.full(v.size, v.value_type) for v in space.variables])
    largest = np.where(value_type == REAL, HUGE, EXACT)
    lower = np.concatenate([np.full(v.size, v.lower) for v in space.variables])
    upper = np.concatenate([np.full(v.size, v.upper) for v in space.variables])
    return (
        np.maximum(np.where(value_type == REAL, _inside(lower, +1), lower), -largest),
        np.minimum(np.where(value_type == REAL, _inside(upper, -1), upper), largest),
    )


def _inside(bounds: FloatArray, side: int) -> FloatArray:
    """The number next to a finite bound inside the support, as a user's density may be infinite on the bound."""
    tiny = np.finfo(np.float64).tiny
    return np.where(bounds == 0, side * tiny, np.nextafter(bounds, side * np.inf))


def break_sticks(space: Space, flat: FloatArray) -> FloatArray:
    """Turn variables side by side, simplices whole, into the vector in which they are stored."""
    x = np.zeros(space.variables[-1].stop)
    begin = 0
    for v in space.variables:
        part = flat[begin : begin + v.natural_size]
        if v.transform == "simplex":
            break_stick(part, x[v.start : v.stop])
        else:
            x[v.start : v.stop] = part
        begin += v.natural_size
    return x
