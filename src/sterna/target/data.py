"""A target's data: copied, typed, and laid out in a block of addresses and shapes that compiled code reads."""

import array as plain_arrays
import copy
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from sterna.engine import callback
from sterna.errors import TargetError
from sterna.ground.captured import captured_numbers
from sterna.ground.user_function import Bridged
from sterna.reference.fitted_reference import FittedMap
from sterna.reference.space import Space
from sterna.types import IntArray

NOT_NUMERIC = "not an array of numbers"
# What normal vectors are computed with from standard normal coordinates.
AFFINE = ("offset", "matrix")
# Types of data that every function receives as arrays; not their subclasses, such as named tuples.
ARRAY_LIKE = (np.ndarray, np.memmap, list, tuple, range, plain_arrays.array)


@dataclass(frozen=True, eq=False)
class Data:
    """Observed data: as given, for Python functions, and as typed arrays in memory, for compiled ones."""

    given: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    reasons: Mapping[str, str]
    """Why an entry cannot be passed to compiled code."""
    slots: Mapping[str, int]
    """Where the address and the shape of an entry begin in the block."""

    def block(self, dimension: int) -> IntArray:
        """Return a block of addresses and shapes, behind the head that `sterna.engine.callback` reads."""
        words = [0] * callback.HEAD
        words[callback.DIMENSION] = dimension
        for array in self.arrays.values():
            words += [array.ctypes.data, *array.shape]
        return np.array(words, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Inputs:
    """All that a user's functions can be called with: variables of a state, and data."""

    space: Space
    data: Data
    captured: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Numbers that functions capture and receive as data: by the function's identity, names of entries by variable."""

    @property
    def fitted(self) -> FittedMap | None:
        """The reference that a run fits to its draws, if there is one."""
        return self.space.map if isinstance(self.space.map, FittedMap) else None

    @property
    def sticks(self) -> list[tuple[int, int]]:
        """First coordinate of every simplex, and the one after its last."""
        return [(v.start, v.stop) for v in self.space.variables if v.transform == "simplex"]

    def for_one_run(self) -> "Inputs":
        """Return the same inputs, with a copy of the fitted reference, which a run changes."""
        if self.fitted is None:
            return self
        fitted = copy.deepcopy(self.fitted)
        arrays = {**self.data.arrays, **own_arrays(Space(self.space.variables, fitted))}
        return replace(self, space=Space(self.space.variables, fitted), data=replace(self.data, arrays=arrays))


def read_data(data: Mapping[str, Any] | None, space: Space) -> Data:
    """Read data, and the arrays that the space itself needs, in the order of the block."""
    given = dict(data or {})
    for name in given:
        if not isinstance(name, str) or not name.isidentifier():
            raise TargetError(f"data[{name!r}] cannot be passed by name: use a Python identifier as its key.")
    for variable in space.variables:
        if variable.name in given:
            raise TargetError(
                f"{variable.name!r} is both a variable of the reference and an entry of data: rename one."
            )
    own = own_arrays(space)
    arrays: dict[str, NDArray[Any]] = {}
    reasons: dict[str, str] = {}
    slots: dict[str, int] = {}
    next_slot = callback.HEAD
    for name, value in {**given, **own}.items():
        try:
            # a copy, so that the target does not change when the user's array does
            array = value if name in own else _array_of(value)
        except (TypeError, ValueError, NumbaError) as error:
            reason = error if type(error) is TypeError else NOT_NUMERIC
            reasons[name] = f"data[{name!r}] is {_type_of(value)}, {reason}"
            if isinstance(value, np.ndarray):
                given[name] = _read_only(value.copy())
            continue
        arrays[name] = array
        if type(value) in ARRAY_LIKE and name in given:
            # a function receives the same whether it is compiled or not
            given[name] = _read_only(array)
        slots[name] = next_slot
        next_slot += 1 + array.ndim
    return Data(given, arrays, reasons, slots)


def own_arrays(space: Space) -> dict[str, NDArray[Any]]:
    """Return the arrays that sterna itself passes to compiled code, by names that no entry of data can have."""
    found: dict[str, NDArray[Any]] = {}
    for v in space.variables:
        for end, array in zip(AFFINE, v.affine or (), strict=False):
            found[own_name(v.name, end)] = np.array(array, order="C")
    of_map = {} if space.map is None else space.map.data
    return found | {own_name("the reference", name): array for name, array in of_map.items()}


def own_name(of: str, name: str) -> str:
    """Return the name of one of sterna's own arrays, which is no identifier."""
    return f"{name} of {of}"


def with_captured(inputs: Inputs, functions: Iterable[object]) -> Inputs:
    """Return the inputs with the numbers that compiled functions capture, so that their values are not compiled in."""
    arrays, slots = dict(inputs.data.arrays), dict(inputs.data.slots)
    captured: dict[int, dict[str, str]] = {}
    next_slot = callback.HEAD + sum(1 + array.ndim for array in arrays.values())
    for function in functions:
        captured[id(function)] = {}
        for name, array in _captured_arrays(function).items():
            # functions may capture different values under one name, also if this is called again
            entry = f"the captured value {name} ({next_slot})"
            captured[id(function)][name] = entry
            arrays[entry], slots[entry] = array, next_slot
            next_slot += 1 + array.ndim
    return replace(inputs, data=replace(inputs.data, arrays=arrays, slots=slots), captured=captured)


def _captured_arrays(function: object) -> dict[str, NDArray[Any]]:
    """Return copies of the numbers that a function captures, or the addresses that one of another library needs."""
    if isinstance(function, Bridged):
        # not a copy, because they are known only when it is compiled
        return {"words": function.words}
    arrays = {}
    for name, value in captured_numbers(function).items():
        # a number that compiled code cannot hold, such as 10**30, stays where it is
        with suppress(TypeError, ValueError, OverflowError, NumbaError):
            arrays[name] = _array_of(value)
    return arrays


def _array_of(value: object) -> NDArray[Any]:
    """Return an array of numbers for compiled code, if a function cannot tell it from what was given."""
    from_jax = type(value).__module__.partition(".")[0] in ("jax", "jaxlib")
    if type(value) not in ARRAY_LIKE and not isinstance(value, (bool, int, float, np.generic)) and not from_jax:
        if hasattr(value, "__array__"):
            raise TypeError(
                "which may behave differently from an array (a Series has an index, a masked array has a mask): give "
                "numpy.asarray of it if an array will do"
            )
        raise TypeError(NOT_NUMERIC)
    array = np.array(value, order="C")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        raise TypeError(f"of {array.dtype}, which Numba does not compile: give numpy.float64 numbers")
    numba.from_dtype(array.dtype)
    if array.dtype.kind not in "biuf":
        raise TypeError(NOT_NUMERIC)
    return array


def suspicious_entries(data: Data) -> list[str]:
    """Say which data hold NaN, or are lists that hold no numbers: frequent causes of errors."""
    labels = {name: f"data[{name!r}]" if name in data.given else name for name in data.arrays}
    found = [f"{labels[name]} contains NaN" for name, array in data.arrays.items() if np.isnan(array).any()]
    return found + [reason for name, reason in data.reasons.items() if type(data.given[name]) in (list, tuple)]


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to: a function that changed its data would have no fixed distribution."""
    view = array.view()
    view.flags.writeable = False
    return view


def _type_of(value: object) -> str:
    return f"of type {type(value).__name__}"
