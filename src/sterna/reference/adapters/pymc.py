"""Unnamed distributions of PyMC, such as `pm.Normal.dist(0, 1)`, by the name of their random operation."""

from typing import Any

from sterna.distributions import Distribution
from sterna.errors import TargetError
from sterna.reference.adapters.converters import as_numbers, converters_of
from sterna.types import FloatArray

CONVERTERS = converters_of("pymc")


def as_distribution(part: Any, what: str) -> Distribution:
    """Return sterna's counterpart of an unnamed distribution of PyMC with constant parameters."""
    operation = getattr(part.owner, "op", None)
    name = type(operation).__name__
    if name in ("FlatRV", "HalfFlatRV"):
        raise TargetError(
            f"{what} is flat, an improper prior from which nothing can be drawn: use a proper prior, or "
            "sterna.FittedReference, which needs none."
        )
    found = None
    if operation is not None and name in CONVERTERS:
        parameters = [_constant(parameter, what) for parameter in operation.dist_params(part.owner)]
        static = part.type.shape
        shape = static if None not in static else tuple(int(n) for n in part.shape.eval(mode="FAST_COMPILE"))
        converter = CONVERTERS[name]
        try:
            found = converter.convert(dict(zip(converter.names, parameters, strict=True)), shape=shape)
        except TargetError as error:
            raise TargetError(f"{what}, PyMC's {name.removesuffix('RV')}: {error}") from None
    if found is None:
        raise TargetError(
            f"{what} is PyMC's {name}, which has no counterpart in sterna: give a frozen distribution of "
            "scipy.stats instead, or a sterna.Reference(draw, log_density)."
        )
    return found


def _constant(parameter: Any, what: str) -> FloatArray:
    """Evaluate a parameter, which must not depend on another random variable."""
    if _is_random(parameter):
        raise TargetError(
            f"{what} depends on another random variable, but the distributions of a reference are independent. Give "
            "the whole model to sterna.from_pymc, or a sterna.Reference(draw, log_density)."
        )
    return as_numbers(parameter.data if hasattr(parameter, "data") else parameter.eval(mode="FAST_COMPILE"))


def _is_random(variable: Any) -> bool:
    """Whether a variable is random, or computed from one that is."""
    from pymc.distributions.distribution import SymbolicRandomVariable
    from pytensor.tensor.random.op import RandomVariable

    if variable.owner is None:
        return False
    # PyMC builds some of its distributions, such as HalfStudentT, from others
    is_draw = isinstance(variable.owner.op, (RandomVariable, SymbolicRandomVariable))
    return is_draw or any(map(_is_random, variable.owner.inputs))
