"""The space of a PyMC model's values: unconstrained reals, angles, integers within the bounds of their priors."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.reference.space import Angle, Binary, Integer, Real, VariableType

if TYPE_CHECKING:
    from pymc import Model
    from pytensor.graph.basic import Variable


def kinds_of(model: "Model", example: list[NDArray[Any]]) -> dict[str, VariableType]:
    """Return the kind of every free variable's value, in the order and shapes of an example."""
    kinds: dict[str, VariableType] = {}
    for rv, value in zip(model.free_RVs, example, strict=True):
        name = _identifier(rv.name, kinds)
        if value.dtype.kind == "f":
            kinds[name] = (Angle if is_angle(model, rv) else Real)(shape=value.shape)
        elif name_of(rv) == "BernoulliRV" or value.dtype.kind == "b":
            kinds[name] = Binary(shape=value.shape)
        else:
            lower, upper = _bounds(rv, model)
            # larger integers would overflow in the type in which PyMC stores them
            if (limits := np.iinfo(value.dtype)).bits < 64:
                lower, upper = max(lower, limits.min), min(upper, limits.max)
            kinds[name] = Integer(lower, upper, shape=value.shape)
    return kinds


def is_angle(model: "Model", rv: "Variable") -> bool:
    """Whether a variable's value is an angle: PyMC's density of it repeats after a turn, all along the line."""
    from pymc.distributions.transforms import CircularTransform

    return isinstance(model.rvs_to_transforms[rv], CircularTransform)


def has_unbounded(model: "Model", example: list[NDArray[Any]]) -> bool:
    """Whether an integer's distribution has no known upper bound; the limit of its type does not count."""
    whole = [rv for rv, value in zip(model.free_RVs, example, strict=True) if value.dtype.kind not in "fb"]
    return any(name_of(rv) != "BernoulliRV" and np.isinf(_bounds(rv, model)[1]) for rv in whole)


def _identifier(name: str, taken: dict[str, VariableType]) -> str:
    """Return a Python identifier for a name such as `group::x`."""
    identifier = re.sub(r"\W|^(?=\d)", "_", name)
    while identifier in taken:
        identifier += "_"
    return identifier


def name_of(rv: "Variable") -> str:
    """Return the name of a random variable's operation."""
    return type(rv.owner.op).__name__


def _bounds(rv: "Variable", model: "Model") -> tuple[float, float]:
    """Return the bounds of an integer if they are known; otherwise its log-density alone says what is possible."""
    name = name_of(rv)
    parameters = rv.owner.inputs[2:]
    if name == "CategoricalRV":
        return 0, _number_of_categories(parameters[0]) - 1
    if name == "DiscreteUniformRV":
        ends = [_constant(end, model) for end in parameters[:2]]
        return (
            -np.inf if ends[0] is None else float(np.min(ends[0])),
            np.inf if ends[1] is None else float(np.max(ends[1])),
        )
    if name in ("BinomialRV", "BetaBinomialRV"):
        largest = _constant(parameters[0], model)
        return 0, np.inf if largest is None else float(np.max(largest))
    if name == "GeometricRV":
        return 1, np.inf
    if name in ("PoissonRV", "NegBinomialRV", "DiscreteWeibullRV", "HyperGeometricRV"):
        return 0, np.inf
    return -np.inf, np.inf


def _number_of_categories(probabilities: "Variable") -> float:
    from pymc.pytensorf import constant_fold

    (count,) = constant_fold([probabilities.shape[-1]], raise_not_constant=False)
    return float(count) if isinstance(count, (np.ndarray, np.number)) else np.inf


def _constant(parameter: "Variable", model: "Model") -> NDArray[Any] | None:
    """Return a parameter's value if it depends on no variable of the model."""
    from pytensor.graph.traversal import ancestors

    from sterna.bridges.pytensor_numba import array_mode

    if any(one in model.basic_RVs for one in ancestors([parameter])):
        return None
    return np.asarray(parameter.eval(mode=array_mode()))
