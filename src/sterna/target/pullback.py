"""From the gradient that a user's function returns, by variable, to one with respect to the stored coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sterna.errors import TargetError
from sterna.ground.numbers import float_array
from sterna.reference.affine import affine_pullback
from sterna.reference.space import Space, Variable
from sterna.reference.sticks import add_stick_jacobian_slope, stick_pullback
from sterna.target.code import EntryCode
from sterna.target.data import own_name
from sterna.types import FloatArray


def natural_begin(space: Space, variable: Variable) -> int:
    """Where a variable begins in the flat vector that users see."""
    return sum(v.natural_size for v in space.variables if v.start < variable.start)


def size_check(value: str, shape: tuple[int, ...], what: str) -> list[str]:
    """Return code that raises an error if an array has another shape; compiled messages are constant."""
    differs = f"len({value}) != {shape[0]}" if len(shape) == 1 else f"{value}.shape != {shape}"
    return [
        f"if {differs}:",
        f"    raise TargetError({f'{what} an array of another shape than {shape}.'!r})",
    ]


def _hint(values: object) -> str:
    """Say what to do with a wrong gradient that looks like a pair of value and gradient."""
    if not (isinstance(values, tuple) and len(values) == 2 and np.shape(values[0]) == ()):
        return ""
    return (
        " A gradient is the derivatives alone, without the log-likelihood: give jax.grad(log_likelihood) instead of "
        "jax.value_and_grad(log_likelihood), or return the second of the two. sterna.JaxTarget needs no gradient."
    )


def _as_array(value: object, label: str) -> FloatArray:
    """Return a gradient, or a part of it, as an array of numbers."""
    found = float_array(value)
    if found is None:
        raise TargetError(f"{label} returned {value!r}, which is no array of numbers.")
    return found


@dataclass(frozen=True)
class Pullback:
    """How the gradient with respect to some variables is stored.

    `flat` says that it is one vector for all variables, and not a tuple with an entry for each of `variables`.
    """

    space: Space
    variables: Sequence[Variable]
    flat: bool

    @property
    def is_alone(self) -> bool:
        """Whether a gradient is one array, and not a tuple of them."""
        return self.flat or len(self.variables) == 1

    def lines(self, code: EntryCode) -> list[str]:
        """Return code that stores a gradient, `values`, in `out`."""
        code.scope |= {
            "stick_pullback": stick_pullback,
            "affine_pullback": affine_pullback,
            "add_stick_jacobian_slope": add_stick_jacobian_slope,
        }
        return [self._line(code, index, v) for index, v in enumerate(self.variables)]

    def checks(self, code: EntryCode, label: str) -> list[str]:
        """Return code that refuses `values` of other shapes, which would be read beyond their ends, or repeated.

        A number in place of an array has no shape, so the code does not compile, and Python raises the error.
        """
        code.scope["TargetError"] = TargetError
        if self.flat:
            return size_check("values", (self.natural_size,), f"{label} returned")
        shaped = [(k, v) for k, v in enumerate(self.variables) if v.shape != ()]
        parts = [(f"values[{k}]" if len(self.variables) > 1 else "values", v) for k, v in shaped]
        return [line for part, v in parts for line in size_check(part, v.shape, f"{label} returned, for {v.name},")]

    @property
    def natural_size(self) -> int:
        """Length of the flat vector that users see."""
        return sum(v.natural_size for v in self.space.variables)

    def _line(self, code: EntryCode, index: int, v: Variable) -> str:
        begin = natural_begin(self.space, v)
        if self.flat:
            value = f"values[{begin}:{begin + v.natural_size}]"
        else:
            value = f"values[{index}]" if len(self.variables) > 1 else "values"
        out = f"out[{v.start}:{v.stop}]"
        if v.transform == "simplex":
            return f"stick_pullback(x[{v.start}:{v.stop}], {value}, {out})"
        if v.affine is not None:
            if v.shape == () and not self.flat:
                value = f"np.full(1, {value})"
            elif len(v.shape) > 1 and not self.flat:
                value = f"np.ascontiguousarray({value}).reshape({v.size})"
            return f"affine_pullback({code.datum(own_name(v.name, 'matrix'))}, {value}, {out})"
        if not self.flat and v.shape == ():
            return f"out[{v.start}] = {value}"
        if not self.flat and len(v.shape) > 1:
            return f"{out} = np.ascontiguousarray({value}).reshape({v.size})"
        return f"{out} = {value}"

    def store(self, values: object, x: FloatArray, out: FloatArray, label: str) -> None:
        """Store a gradient in Python, and check its shapes."""
        out[:] = 0.0
        try:
            parts = self._by_variable(values, label)
        except TargetError as error:
            raise TargetError(f"{error}{_hint(values)}") from None
        for v, part in zip(self.variables, parts, strict=True):
            slopes = np.ascontiguousarray(part.ravel())
            if v.transform == "simplex":
                stick_pullback(x[v.start : v.stop], slopes, out[v.start : v.stop])
            elif v.affine is not None:
                affine_pullback(v.affine[1], slopes, out[v.start : v.stop])
            else:
                out[v.start : v.stop] = slopes

    def rows(self, values: object, count: int, label: str) -> list[FloatArray]:
        """Take the gradients of a vectorised function apart: arrays with a row for each of `count` points."""
        parts = (values,) if self.is_alone else values
        names = [f"a vector of {self.natural_size}"] if self.flat else [v.name for v in self.variables]
        if not isinstance(parts, (tuple, list)) or len(parts) != len(names):
            raise TargetError(
                f"{label} must return one array for each of {', '.join(names)}, as a tuple in this order; with "
                f"vectorized=True each of them has a row for each point."
            )
        arrays = [_as_array(part, label) for part in parts]
        for name, array in zip(names, arrays, strict=True):
            if array.ndim == 0 or len(array) != count:
                raise TargetError(
                    f"{label} returned shape {array.shape} for {name} of {count} points; with vectorized=True it must "
                    "return a row for each point."
                )
        return arrays

    def _by_variable(self, values: object, label: str) -> Sequence[FloatArray]:
        """Take a gradient apart, and check its shapes."""
        if self.flat:
            size = self.natural_size
            whole = _as_array(values, label)
            if whole.shape != (size,):
                raise TargetError(f"{label} returned an array of shape {whole.shape}; it must return {size} numbers.")
            return [whole[natural_begin(self.space, v) :][: v.natural_size] for v in self.variables]
        parts = (values,) if len(self.variables) == 1 else values
        if not isinstance(parts, (tuple, list)) or len(parts) != len(self.variables):
            names = ", ".join(v.name for v in self.variables)
            raise TargetError(f"{label} must return one entry for each of {names}, as a tuple in this order.")
        arrays = [_as_array(part, label) for part in parts]
        for v, array in zip(self.variables, arrays, strict=True):
            if array.shape != v.shape:
                raise TargetError(f"{label} returned shape {array.shape} for {v.name}, whose shape is {v.shape}.")
        return arrays
