"""From the gradient that a user's function returns, by variable, to one with respect to the stored coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sterna.errors import TargetError
from sterna.reference.affine import affine_pullback
from sterna.reference.space import Space, Variable
from sterna.reference.sticks import add_stick_jacobian_slope, stick_pullback
from sterna.target.code import EntryCode
from sterna.types import FloatArray


def natural_begin(space: Space, variable: Variable) -> int:
    """Where a variable begins in the flat vector that users see."""
    return sum(v.natural_size for v in space.variables if v.start < variable.start)


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
            return f"affine_pullback({code.datum(f'{v.name}__matrix')}, {value}, {out})"
        if not self.flat and v.shape == ():
            return f"out[{v.start}] = {value}"
        if not self.flat and len(v.shape) > 1:
            return f"{out} = np.ascontiguousarray({value}).reshape({v.size})"
        return f"{out} = {value}"

    def store(self, values: object, x: FloatArray, out: FloatArray, label: str) -> None:
        """Store a gradient in Python, and check its shapes."""
        out[:] = 0.0
        for v, value in zip(self.variables, self._by_variable(values, label), strict=True):
            part = np.asarray(value, dtype=np.float64)
            if not self.flat and part.shape != v.shape:
                raise TargetError(f"{label} returned shape {part.shape} for {v.name}, whose shape is {v.shape}.")
            slopes = np.ascontiguousarray(part.ravel())
            if v.transform == "simplex":
                stick_pullback(x[v.start : v.stop], slopes, out[v.start : v.stop])
            elif v.affine is not None:
                affine_pullback(v.affine[1], slopes, out[v.start : v.stop])
            else:
                out[v.start : v.stop] = slopes

    def _by_variable(self, values: object, label: str) -> Sequence[object]:
        """Take a gradient apart."""
        if self.flat:
            size = sum(v.natural_size for v in self.space.variables)
            whole = np.asarray(values, dtype=np.float64)
            if whole.shape != (size,):
                raise TargetError(f"{label} returned an array of shape {whole.shape}; it must return {size} numbers.")
            return [whole[natural_begin(self.space, v) :][: v.natural_size] for v in self.variables]
        parts = (values,) if len(self.variables) == 1 else values
        if not isinstance(parts, (tuple, list)) or len(parts) != len(self.variables):
            names = ", ".join(v.name for v in self.variables)
            raise TargetError(f"{label} must return one entry for each of {names}, as a tuple in this order.")
        return parts
