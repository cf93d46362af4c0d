"""The space of a state: which coordinates of the flat vector belong to which variable."""

import keyword
import math
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.distributions.base import Distribution, Shape, as_shape, next_inside
from sterna.errors import TargetError
from sterna.ground.numbers import float_array, real_number, whole_number
from sterna.ground.values import BINARY, EXACT, HUGE, INTEGER, REAL
from sterna.reference.affine import affine_of_many
from sterna.reference.sticks import break_stick, join_stick
from sterna.types import FloatArray

Part = TypeVar("Part")


@dataclass(frozen=True)
class VariableType:
    """Type of a variable under a reference given by functions: `Real`, `Angle`, `Integer`, `Binary` or `Simplex`."""

    value_type: int
    shape: tuple[int, ...]
    lower: float
    upper: float
    transform: str = "none"
    periodic: bool = False
    unordered: bool = False


def _bounds(name: str, lower: float, upper: float) -> tuple[float, float]:
    low, high = real_number(lower), real_number(upper)
    if low is None or high is None:
        raise TargetError(f"{name}(lower={lower!r}, upper={upper!r}): bounds must be numbers.")
    return low, high


def Real(lower: float = -math.inf, upper: float = math.inf, *, shape: Shape = ()) -> VariableType:  # noqa: N802
    """Real numbers between two bounds, both excluded.

    Examples
    --------
    >>> import sterna
    >>> space = {"scale": sterna.Real(lower=0), "effects": sterna.Real(shape=8)}  # for sterna.Reference
    >>> space["effects"].shape
    (8,)
    """
    low, high = _bounds("Real", lower, upper)
    if not low < high:
        raise TargetError(f"Real(lower={lower}, upper={upper}): lower must be below upper.")
    return VariableType(REAL, as_shape(shape), low, high)


def Angle(lower: float = -math.pi, upper: float = math.pi, *, shape: Shape = ()) -> VariableType:  # noqa: N802
    """Real numbers from `lower` up to `upper`, which is the same place as `lower`: explorers wrap around.

    Examples
    --------
    >>> import sterna
    >>> space = {"phase": sterna.Angle(), "hour": sterna.Angle(0, 24)}  # for sterna.Reference
    >>> space["hour"].upper
    24.0
    """
    low, high = _bounds("Angle", lower, upper)
    if not (low < high and math.isfinite(high - low)):
        raise TargetError(f"Angle(lower={lower}, upper={upper}): lower must be below upper, and both finite.")
    return VariableType(REAL, as_shape(shape), low, high, periodic=True)


def Integer(lower: float = -math.inf, upper: float = math.inf, *, shape: Shape = ()) -> VariableType:  # noqa: N802
    """Integers between two bounds, both included.

    Examples
    --------
    >>> import sterna
    >>> space = {"n": sterna.Integer(lower=0), "month": sterna.Integer(1, 12)}  # for sterna.Reference
    >>> space["month"].upper
    12.0
    """
    low, high = _bounds("Integer", lower, upper)
    if not low <= high:
        raise TargetError(f"Integer(lower={lower}, upper={upper}): lower must not exceed upper.")
    if any(math.isfinite(bound) and bound != math.floor(bound) for bound in (low, high)):
        raise TargetError(f"Integer(lower={lower}, upper={upper}): bounds must be integers.")
    if any(abs(bound) > int(EXACT) for bound in (lower, upper) if math.isfinite(float(bound))):
        raise TargetError(
            f"Integer(lower={lower}, upper={upper}): finite bounds must lie between -2**53 and 2**53, because integers "
            "are stored as float64 numbers, which are exact up to there."
        )
    return VariableType(INTEGER, as_shape(shape), low, high)


def Binary(*, shape: Shape = ()) -> VariableType:  # noqa: N802
    """Zeros and ones.

    Examples
    --------
    >>> import sterna
    >>> space = {"rate": sterna.Real(0, 1), "included": sterna.Binary(shape=20)}  # for sterna.Reference
    >>> space["included"].shape
    (20,)
    """
    return VariableType(BINARY, as_shape(shape), 0.0, 1.0)


def Simplex(size: int) -> VariableType:  # noqa: N802
    """Vectors of `size` positive numbers that sum to 1.

    Examples
    --------
    >>> import sterna
    >>> space = {"weights": sterna.Simplex(3)}  # for sterna.Reference
    >>> space["weights"].shape
    (3,)
    """
    parts = whole_number(size)
    if parts is None or parts < 2:
        raise TargetError(f"Simplex({size!r}): give the number of parts, an integer of at least 2.")
    return VariableType(REAL, as_shape(parts), 0.0, 1.0, "simplex")


@dataclass(frozen=True)
class Variable:
    """A named variable and the coordinates from `start` to before `start + size` that store it."""

    name: str
    value_type: int
    shape: tuple[int, ...]
    start: int
    size: int
    lower: float | FloatArray
    upper: float | FloatArray
    transform: str = "none"
    affine: tuple[FloatArray, FloatArray] | None = None
    periodic: bool = False
    """Whether `lower` and `upper` are the same place."""
    unordered: bool = False
    """Whether values are names of categories, of which none lies between two others."""

    @property
    def natural_size(self) -> int:
        """Number of entries of the variable; a simplex has one more than it has coordinates."""
        return math.prod(self.shape)

    @property
    def circle(self) -> FloatArray:
        """(first value, period) of a periodic variable: a row for each entry, or one for all."""
        first = np.atleast_1d(np.asarray(self.lower, dtype=np.float64))
        return np.column_stack([first, self.upper - first])

    @property
    def stop(self) -> int:
        """The coordinate after the last."""
        return self.start + self.size

    def value(self, states: FloatArray, library: Any = np) -> NDArray[Any]:
        """Return the variable in its shape from vectors (..., dimension) of `Space.prepared`, by NumPy or JAX."""
        part = states[..., self.start : self.stop]
        if self.transform == "simplex":
            part = join_stick(part, library)
        elif self.affine is not None:
            part = affine_of_many(part, *self.affine, library)
        if self.value_type != REAL:
            part = part.astype(library.int64)
        return part.reshape(states.shape[:-1] + self.shape)


class StateMap(Protocol):
    """A map from states to vectors of variables, for variables that are not stored as they are.

    A prior transform maps the unit cube, and a fitted reference maps standard normal coordinates.
    """

    dimension: int
    """Number of coordinates of a state."""
    data: Mapping[str, FloatArray]
    """Arrays that compiled code reads by name; those that change between rounds change in place."""

    mixes: bool
    """Whether a variable depends on coordinates other than its own."""

    def forward(self, state: FloatArray) -> FloatArray:
        """Return the vector of variables of a state."""

    def lines(self, datum: Callable[[str], str]) -> tuple[list[str], dict[str, Any]]:
        """Return code that makes the vector `x` from the state `u`, and names that it uses, or raise CannotCompile."""


@dataclass(frozen=True)
class Space:
    """All variables, in the order of the flat vector."""

    variables: tuple[Variable, ...]
    map: StateMap | None = None

    @property
    def dimension(self) -> int:
        """Number of coordinates of a state."""
        return self.variables[-1].stop if self.map is None else self.map.dimension

    def checked(self, states: ArrayLike, name: str) -> FloatArray:
        """Return states of shape (..., dimension) that a user gave, or raise the error of the target `name`."""
        x = float_array(states)
        if x is None:
            raise TargetError(f"A state of {name} is a vector of numbers, not {states!r}.")
        if x.ndim == 0 or x.shape[-1] != self.dimension:
            raise TargetError(f"A state of {name} has {self.dimension} coordinates, not {x.shape}.")
        return x

    def prepared(self, states: FloatArray) -> FloatArray:
        """Return the vectors of variables of states of shape (..., dimension)."""
        if self.map is None:
            return states
        rows = [self.map.forward(state.copy()) for state in states.reshape(-1, states.shape[-1])]
        return np.array(rows).reshape((*states.shape[:-1], -1))

    @property
    def names(self) -> list[str]:
        """Names of the variables."""
        return [variable.name for variable in self.variables]

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """Return all variables by name, from states of shape (..., dimension)."""
        vectors = self.prepared(states)
        return {variable.name: variable.value(vectors) for variable in self.variables}

    def flat(self, states: FloatArray, library: Any = np) -> FloatArray:
        """Return the variables concatenated into one vector, as a likelihood of one flat vector receives them."""
        if not self.transformed:
            return states
        lead = states.shape[:-1]
        parts = [v.value(states, library).reshape((*lead, -1)) for v in self.variables]
        flat: FloatArray = library.concatenate(parts, axis=-1)
        return flat

    @property
    def transformed(self) -> bool:
        """Whether some variable is stored in transformed coordinates."""
        return any(variable.transform != "none" for variable in self.variables)


# The circle of an angle in radians.
ANGLE: FloatArray = np.array([[-math.pi, 2.0 * math.pi]])


class View(Protocol):
    """How a model of another library names its variables, for results."""

    dims: Mapping[str, Sequence[str | None]]
    """Names of each variable's dimensions; None for a dimension without a name."""
    coords: Mapping[str, Any]
    """Coordinates of named dimensions."""
    circles: Mapping[str, FloatArray]
    """(first value, period) of each periodic variable: a row for each of its entries, or one for all of them."""
    shown: Sequence[str]
    """Names of all variables that results show."""

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """Return the model's variables by name, from states of shape (..., dimension)."""

    def groups(self, states: FloatArray, log_likelihood: bool) -> dict[str, dict[str, NDArray[Any]]]:
        """Return what ArviZ holds besides the posterior, by group and name."""


# Names of dimensions that every result has.
RESERVED = ("copy", "draw", "chain")


def check_not_reserved(name: str | None, what: str) -> None:
    """Refuse a name that is reserved for results."""
    if name in RESERVED:
        raise TargetError(f"{name!r} cannot name {what}: results have a dimension of that name. Choose another.")


def check_view(view: View) -> None:
    """Refuse a model of another library whose names are reserved for results."""
    if not all(hasattr(view, part) for part in ("shown", "dims", "coords", "circles", "values", "groups")):
        raise TargetError(f"view={view!r} is not a view, which sterna.from_pymc and sterna.from_numpyro make.")
    for name in view.shown:
        check_not_reserved(name, "a variable")
    for dims in view.dims.values():
        for dim in dims:
            check_not_reserved(dim, "a dimension")


def dims_of(name: str, count: int, view: View | None, taken: Collection[str] = ()) -> list[str]:
    """Return the names of a variable's dimensions; unnamed ones are named as ArviZ does.

    A name that is `taken` by a variable gets an underscore, because xarray would take that variable for coordinates.
    """
    named = list(view.dims.get(name, ())) if view is not None else []
    # xarray would take a variable with the name of a dimension for its coordinates
    named = [None if view is not None and dim in view.shown else dim for dim in named]
    named += [None] * (count - len(named))
    return [named[axis] or _free_name(f"{name}_dim_{axis}", taken) for axis in range(count)]


def _free_name(name: str, taken: Collection[str]) -> str:
    return _free_name(f"{name}_", taken) if name in taken else name


def coordinates_of(variables: Mapping[str, tuple[Sequence[str], Any]], view: View | None) -> dict[str, Any]:
    """Return the coordinates of the dimensions of some variables."""
    used = {dim for dims, _ in variables.values() for dim in dims}
    return {} if view is None else {name: values for name, values in view.coords.items() if name in used}


def axis_labels(name: str, shape: tuple[int, ...], view: View | None) -> list[Sequence[Any]]:
    """Return labels of the entries along each axis of a variable: its coordinates if all differ, otherwise indices."""
    coords = {} if view is None else view.coords
    labels: list[Sequence[Any]] = []
    for dim, size in zip(dims_of(name, len(shape), view), shape, strict=True):
        found = coords.get(dim, ())
        labels.append(found if len(set(map(str, found))) == size else range(size))
    return labels


def by_python_names(parts: Mapping[str, Part], what: str) -> dict[str, Part]:
    """Return a mapping with its keys in the form that Python gives to names in code.

    Python changes the names of parameters: the micro sign of most keyboards, U+00B5, becomes the Greek letter U+03BC.
    """
    named: dict[str, Part] = {}
    for key, part in parts.items():
        name = unicodedata.normalize("NFKC", key) if isinstance(key, str) else key
        if name in named:
            raise TargetError(f"{what} has two keys that are the same name to Python, {name!r}: rename one.")
        named[name] = part
    return named


def check_name(name: object) -> None:
    """Refuse what cannot name a variable."""
    if not isinstance(name, str) or not name.isidentifier():
        raise TargetError(f"{name!r} cannot name a variable: use a Python identifier.")
    if keyword.iskeyword(name):
        raise TargetError(f"{name!r} cannot name a variable, because it is a keyword of Python: use {name}_ instead.")
    check_not_reserved(name, "a variable")


def space_of(parts: Mapping[str, Distribution | VariableType], state_map: StateMap | None = None) -> Space:
    """Lay out variables in the order in which they are given."""
    if not parts:
        raise TargetError("The reference is empty: name at least one variable.")
    variables = []
    start = 0
    for name, part in by_python_names(parts, "the reference").items():
        check_name(name)
        if isinstance(part, Distribution):
            value_type, affine = INTEGER if part.whole else part.coordinates.value_type, part.affine
            size = len(part.coordinates.lower)
        else:
            value_type, affine = part.value_type, None
            size = math.prod(part.shape) - (part.transform == "simplex")
        ends, flags = (part.lower, part.upper), (part.periodic, part.unordered)
        variables.append(Variable(name, value_type, part.shape, start, size, *ends, part.transform, affine, *flags))
        start += size
    return Space(tuple(variables), state_map)


def bounds_inside(space: Space) -> tuple[FloatArray, FloatArray]:
    """Return bounds of stored coordinates; real ones are the next number inside, where a density is finite."""
    value_type = np.concatenate([np.full(v.size, v.value_type) for v in space.variables])
    largest = np.where(value_type == REAL, HUGE, EXACT)
    lower = np.concatenate([np.full(v.size, v.lower) for v in space.variables])
    upper = np.concatenate([np.full(v.size, v.upper) for v in space.variables])
    return (
        np.maximum(np.where(value_type == REAL, next_inside(lower, +1), lower), -largest),
        np.minimum(np.where(value_type == REAL, next_inside(upper, -1), upper), largest),
    )


def circles_of(space: Space) -> FloatArray:
    """Return (first, period) of every stored coordinate, flat; the period of one that does not repeat is 0."""
    rows = [np.broadcast_to(v.circle if v.periodic else np.zeros((1, 2)), (v.size, 2)) for v in space.variables]
    return np.concatenate(rows).ravel()


def break_sticks(space: Space, flat: FloatArray) -> FloatArray:
    """Return the stored vector of concatenated variables, in which simplices have all of their parts."""
    x = np.zeros(space.variables[-1].stop)
    read = 0
    for v in space.variables:
        part = flat[read : read + v.natural_size]
        if v.transform == "simplex":
            break_stick(part, x[v.start : v.stop])
        else:
            x[v.start : v.stop] = part
        read += v.natural_size
    return x
