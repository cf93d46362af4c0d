"""What all distributions share: the record of a family, and the base class that checks arguments and stores them."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import TargetError
from sterna.ground.keywords import explains_keywords
from sterna.ground.numbers import float_array, in_bytes, machine_memory, whole_number
from sterna.ground.values import EXACT, HUGE, REAL
from sterna.types import FloatArray

# The numbers that the engine stores for each coordinate, whatever its family.
N_CONSTANTS = 4
# Bytes that the engine's tables take for each coordinate: constants, bounds, family and type.
BYTES_PER_COORDINATE = 8 * (N_CONSTANTS + 4)

Shape: TypeAlias = SupportsIndex | Iterable[SupportsIndex] | None
Given: TypeAlias = "ArrayLike | Distribution | None"


@dataclass(frozen=True, eq=False)
class Family:
    """The functions of a one-dimensional family, all compiled.

    Their arguments are found by name: constants of the coordinate, `x`, the `table` shared by all coordinates, the
    replica's random `stream` and NumPy's generator `rng` on the same stream.
    """

    constants: tuple[str, ...]
    """Names of up to four numbers per coordinate, computed once, when the distribution is made."""
    log_density: Callable[..., float]
    """Log-density at an `x` inside the support."""
    draw: Callable[..., float]
    """One draw from the `stream` alone, for explorers; it may round to the edge of an open support."""
    slope: Callable[..., float] | None = None
    """Derivative of the log-density; None if it is 0, or if x is an integer."""
    draw_with_numpy: Callable[..., float] | None = None
    """One draw by NumPy's `rng`, for the reference chain, if that is faster than `draw`."""
    value_type: int = REAL
    open_support: bool = False
    """Whether finite ends of the support are excluded, because the density may be 0 or infinite there."""
    owner: type | None = field(default=None, init=False)
    """The first class that has the family."""

    def __set_name__(self, owner: type, name: str) -> None:
        if self.owner is None:
            object.__setattr__(self, "owner", owner)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        # a copy, also in another process, is the same record, by which the engine's number is found
        return getattr, (self.owner, "family")


Conversion: TypeAlias = "str | Callable[..., Distribution | None]"


@dataclass(frozen=True)
class Adapters:
    """Distributions of other libraries that are members of a family, by the name that the library gives them.

    Each comes with the names of the library's parameters in the order of sterna's arguments ("loc scale"), or with a
    function of the library's parameters and, for NumPyro and PyMC, of the variable's `shape`. A parameter with a
    default may be missing in the library.
    """

    scipy: Mapping[str, Conversion] = field(default_factory=dict)
    """By the name in `scipy.stats`. Parameters have been broadcast. None says that sterna has no such distribution."""
    numpyro: Mapping[str, Conversion] = field(default_factory=dict)
    """By the name of the class. Parameters are attributes of the object."""
    pymc: Mapping[str, Conversion] = field(default_factory=dict)
    """By the name of the random operation, whose parameters come in their order: PyTensor's, scales and not rates."""


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of one variable as the engine stores them, all independent under the reference."""

    family: Family
    constants: FloatArray
    """(coordinates, N_CONSTANTS), in the order of `Family.constants`."""
    lower: FloatArray
    upper: FloatArray
    table: FloatArray = field(default_factory=lambda: np.empty(0))
    """Further numbers of the variable; its first constant is then the place in the table where a coordinate begins."""
    circle: tuple[FloatArray, FloatArray] | None = None
    """First value and period of each coordinate of a periodic variable, whose `lower` and `upper` are not bounds."""

    @property
    def value_type(self) -> int:
        """Whether values are real, integer or binary."""
        return self.family.value_type


# What other libraries call parameters: SciPy, NumPyro, TensorFlow Probability, Stan.
OTHER_NAMES = {
    "mu": ("loc", "mean"), "sigma": ("scale", "sd", "std", "stddev"), "lam": ("rate",), "nu": ("df",),
    "alpha": ("a", "concentration", "concentration1"), "beta": ("b", "rate", "scale", "concentration0"),
    "lower": ("low", "loc", "min", "a"), "upper": ("high", "max", "b"), "p": ("probs", "prob", "probability"),
    "n": ("total_count", "trials"), "cov": ("covariance", "covariance_matrix", "sigma"),
    "a": ("alpha", "concentration"), "kappa": ("concentration", "k"),
}  # fmt: skip


# Parameters of other libraries with another meaning than any of sterna's, by distribution: what to give instead.
OTHER_MEANINGS = {
    "Beta": {
        "mu": "give alpha=mu * nu and beta=(1 - mu) * nu", "nu": "give alpha=mu * nu and beta=(1 - mu) * nu",
    },
    "Exponential": {"scale": "lam= is a rate, so give lam=1 / scale"},
    "Gamma": {
        "scale": "beta= is a rate, so give beta=1 / scale", "theta": "beta= is a rate, so give beta=1 / theta",
        "mu": "give alpha=mu**2 / sigma**2 and beta=mu / sigma**2",
        "sigma": "give alpha=mu**2 / sigma**2 and beta=mu / sigma**2",
    },
    "Laplace": {"scale": "give b="},
    "LogNormal": {
        "s": "SciPy's s is sigma=", "scale": "SciPy's scale is exp(mu), so give mu=log(scale); NumPyro's is sigma=",
        "tau": "give sigma=1 / sqrt(tau)",
    },
    "Logistic": {"scale": "give s="},
    "Normal": {"tau": "give sigma=1 / sqrt(tau)"},
    "Pareto": {"scale": "give m="},
    "StudentT": {"lam": "give sigma=1 / sqrt(lam)"},
    "Uniform": {
        "scale": "give upper=, which is SciPy's loc + scale",
        **dict.fromkeys(("periodic", "boundary", "wrapped"), "sterna.CircularUniform(lower, upper) is periodic"),
    },
    "VonMises": {"sigma": "give kappa=1 / sigma**2"},
}  # fmt: skip


def _hints(distribution: type) -> dict[str, str]:
    """Return hints by the names that other libraries give to the parameters of a distribution."""
    own = list(inspect.signature(distribution).parameters)
    listed = ", ".join(own)
    hints = dict.fromkeys(("size", "dims", "batch_shape", "sample_shape"), "give shape=")
    for name in own:
        others = [other for other in OTHER_NAMES.get(name, ()) if other not in own]
        hints |= dict.fromkeys(others, f"give {name}=, as in PyMC; its parameters are {listed}")
    return hints | OTHER_MEANINGS.get(distribution.__name__, {})


class Distribution:
    """A distribution of the reference: its shape, its coordinates, and how the user sees them."""

    family: ClassVar[Family]
    """Of a distribution whose coordinates are stored as they are."""
    adapters: ClassVar[Adapters] = Adapters()

    shape: tuple[int, ...]
    """Shape of the variable that a likelihood receives."""
    coordinates: Coordinates
    transform: str = "none"
    """How coordinates become the variable: "none", "simplex" (stick-breaking) or "affine"."""
    affine: tuple[FloatArray, FloatArray] | None = None
    """Offset and matrix of an affine transform."""
    lower: float | FloatArray = -math.inf
    upper: float | FloatArray = math.inf
    whole: bool = False
    """Whether the variable is an integer although its coordinates are real."""
    periodic: bool = False
    """Whether `lower` and `upper` are the same place, which the variable may pass."""
    unordered: bool = False
    """Whether values are names of categories, of which none lies between two others."""

    _given: Mapping[str, object]

    def __init_subclass__(cls) -> None:
        """Let a distribution explain a parameter that other libraries have."""
        if "__init__" in vars(cls):
            explain = explains_keywords(f"sterna.{cls.__name__}", _hints(cls), "parameter")
            cls.__init__ = explain(cls.__init__)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self._given.items())
        return f"{type(self).__name__}({given})"

    def _take(self, shape: Shape, **arguments: ArrayLike) -> list[FloatArray]:
        """Check that the arguments are finite numbers, broadcast them with the shape, and return them flat."""
        self._given = {**arguments, **({} if shape is None else {"shape": shape})}
        arrays = [self._finite(name, value) for name, value in arguments.items()]
        requested = None if shape is None else as_shape(shape)
        try:
            self.shape = np.broadcast_shapes(*(array.shape for array in arrays)) if requested is None else requested
            return [np.broadcast_to(array, self.shape).ravel() for array in arrays]
        except ValueError:
            raise TargetError(
                f"{self!r}: arguments of shapes {[array.shape for array in arrays]} do not broadcast"
                + ("." if shape is None else f" to shape {shape}.")
            ) from None

    def _finite(self, name: str, value: ArrayLike) -> FloatArray:
        """Check that an argument is a finite number or a non-empty array of them."""
        array = float_array(value)
        if array is None:
            raise TargetError(f"{self!r}: {name} must be a number or an array of numbers.")
        self._require(np.isfinite(array), f"{name} must be finite")
        self._require(array.size > 0, f"{name} must not be empty")
        return array

    def _require_exact(self, **arguments: ArrayLike) -> None:
        """Check that integers are exact as float64, which they are up to 2**53; larger ones may already be rounded."""
        for name, value in arguments.items():
            given = np.asarray(value)
            self._require(
                (given <= int(EXACT)) & (given >= -int(EXACT)),
                f"{name} must lie between -2**53 and 2**53, because integers are stored as float64 numbers, which are "
                "exact up to there",
            )

    def _require(self, condition: ArrayLike, requirement: str) -> None:
        if not np.all(condition):
            raise TargetError(f"{self!r}: {requirement}.")

    def _store(
        self, lower: float | FloatArray, upper: float | FloatArray, table: ArrayLike = (), **constants: ArrayLike
    ) -> None:
        """Set the support and the family's constants, all by name."""
        if tuple(constants) != self.family.constants:
            raise TypeError(f"{type(self).__name__} stores {tuple(constants)}; its family has {self.family.constants}")
        size = math.prod(self.shape)
        columns = np.zeros((size, N_CONSTANTS))
        for column, values in enumerate(constants.values()):
            columns[:, column] = values
        self.lower, self.upper = lower, upper
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), size).copy() for end in (lower, upper))
        if self.family.open_support:
            low, high = next_inside(low, +1), next_inside(high, -1)
        circle = (low, high - low) if self.periodic else None
        if self.periodic:
            low, high = np.full(size, -math.inf), np.full(size, math.inf)
        limit = HUGE if self.family.value_type == REAL else EXACT
        self.coordinates = Coordinates(
            self.family,
            columns,
            np.clip(low, -limit, limit),
            np.clip(high, -limit, limit),
            np.asarray(table, dtype=np.float64),
            circle,
        )


def as_shape(shape: object) -> tuple[int, ...]:
    """Read a shape given as an integer or a tuple."""
    is_number = isinstance(shape, str) or getattr(shape, "shape", None) == ()
    given = tuple(shape) if isinstance(shape, Iterable) and not is_number else (shape,)
    sizes = tuple(n for n in map(whole_number, given) if n is not None and n > 0)
    if len(sizes) < len(given):
        raise TargetError(f"shape={shape!r}: give a positive integer or a tuple of them.")
    needed = BYTES_PER_COORDINATE * math.prod(sizes)
    if needed > machine_memory():
        raise TargetError(
            f"shape={shape!r} has {math.prod(sizes)} entries, for which alone {in_bytes(needed)} of memory would be "
            f"needed; there are {in_bytes(machine_memory())}. Give a smaller shape."
        )
    return sizes


def next_inside(bounds: FloatArray, side: int) -> FloatArray:
    """Return the next number inside an excluded bound; `side` is +1 for lower bounds and -1 for upper ones."""
    tiny = np.finfo(np.float64).tiny
    return np.where(bounds == 0, side * tiny, np.nextafter(bounds, side * np.inf))


def log_gamma(values: FloatArray) -> FloatArray:
    """Return the logarithm of the gamma function."""
    return np.array([math.lgamma(value) for value in values])
