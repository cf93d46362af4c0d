"""From the gradient that a user's function returns, by variable, to one with respect to the stored coordinates."""

from typing import Any

import numpy as np

from sterna.errors import TargetError
from sterna.reference.affine import affine_pullback
from sterna.reference.space import Space, Variable
from sterna.reference.sticks import add_stick_jacobian_slope, stick_pullback
from sterna.target.binding import Data, datum
from sterna.types import FloatArray


def natural_begin(space: Space, variable: Variable) -> int:
    """Where a variable begins in the flat vector that users see."""
    return sum(v.natural_size for v in space.variables if v.start < variable.start)


def gradient_lines(
    space: Space, variables: list[Variable], flat: bool, data: Data, needed: dict[str, Any]
) -> list[str]:
    """Code that stores what a user's gradient returned, `values`, in `out`."""
    needed |= {
        "stick_pullback": stick_pullback,
        "affine_pullback": affine_pullback,
        "add_stick_jacobian_slope": add_stick_jacobian_slope,
    }
    lines = []
    for place, v in enumerate(variables):
        begin = natural_begin(space, v)
        if flat:
            value = f"values[{begin}:{begin + v.natural_size}]"
        else:
            value = f"values[{place}]" if len(variables) > 1 else "values"
        out = f"out[{v.start}:{v.stop}]"
        if v.transform == "simplex":
            lines.append(f"stick_pullback(x[{v.start}:{v.stop}], {value}, {out})")
        elif v.affine is not None:
            matrix = datum(f"{v.name}__matrix", data, needed)
            if v.shape == () and not flat:
                value = f"np.full(1, {value})"
            elif len(v.shape) > 1 and not flat:
                value = f"np.ascontiguousarray({value}).reshape({v.size})"
            lines.append(f"affine_pullback({matrix}, {value}, {out})")
        elif not flat and v.shape == ():
            lines.append(f"out[{v.start}] = {value}")
        elif not flat and len(v.shape) > 1:
            lines.append(f"{out} = np.ascontiguousarray({value}).reshape({v.size})")
        else:
            lines.append(f"{out} = {value}")
    return lines


def store_gradient(
    space: Space, variables: list[Variable], flat: bool, values: Any, x: FloatArray, out: FloatArray, what: str
) -> None:
    """Do the same in Python, and check the shapes."""
    out[:] = 0.0
    if flat:
        size = sum(v.natural_size for v in space.variables)
        whole = np.asarray(values, dtype=np.float64)
        if whole.shape != (size,):
            raise TargetError(f"{what} returned an array of shape {whole.shape}; it must return {size} numbers.")
        values = [whole[natural_begin(space, v) :][: v.natural_size] for v in variables]
    elif len(variables) == 1:
        values = (values,)
    if not isinstance(values, (tuple, list)) or len(values) != len(variables):
        names = ", ".join(v.name for v in variables)
        raise TargetError(f"{what} must return one entry for each of {names}, as a tuple in this order.")
    for v, value in zip(variables, values, strict=True):
        part = np.asarray(value, dtype=np.float64)
        if not flat and part.shape != v.shape:
            raise TargetError(f"{what} returned shape {part.shape} for {v.name}, whose shape is {v.shape}.")
        own = np.ascontiguousarray(part.ravel())
        if v.transform == "simplex":
            stick_pullback(x[v.start : v.stop], own, out[v.start : v.stop])
        elif v.affine is not None:
            affine_pullback(v.affine[1], own, out[v.start : v.stop])
        else:
            out[v.start : v.stop] = own
