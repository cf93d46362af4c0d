"""The reference: independent distributions by name, or a user's pair of functions (draw, log_density)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.distributions import Distribution
from sterna.distributions.base import N_CONSTANTS, Coordinates
from sterna.engine.densities import family_address
from sterna.errors import OptionError, TargetError, describe
from sterna.ground.values import HUGE
from sterna.reference.adapters import as_distribution
from sterna.reference.fitted_reference import FittedReference
from sterna.reference.prior_transform import PriorTransform
from sterna.reference.quantile import Quantile, QuantileMap
from sterna.reference.space import Real, Space, VariableType, bounds_inside, circles_of, space_of
from sterna.types import FloatArray


@dataclass(frozen=True)
class Reference:
    """A reference given by two functions, for variables that depend on each other.

    Parameters
    ----------
    draw
        `draw(rng)` returns one exact, independent draw: a tuple with one entry per variable, or one flat vector.
        `rng` is a `numpy.random.Generator`. Further arguments are taken from the target's data by name.
    log_density
        The normalised log-density of the same distribution; it takes variables and data by name, or one flat vector.
    space
        The variables, as a dict of `Real`, `Angle`, `Integer`, `Binary` and `Simplex`. By default one unbounded real
        vector `x` of the length that `draw` returns.
    gradient
        The gradient of `log_density`, for explorers that use gradients; see `gradient` of `sterna.Target`.
    local_change
        `local_change(x, i, new)` (and data by name) returns the change of the log-density when coordinate i of the flat
        state x becomes `new`; see `local_change` of `sterna.Target`. A simplex is stored as the fractions broken off a
        stick, and the density is then the density of the fractions.
    normalized
        Whether `log_density` integrates to one over the space: no constant is left out, and nothing restricts the
        draws that is not in the density. Then a run may also begin at a mixture of normal distributions that it fits
        to the modes (`path` of `sterna.sample`), from which the evidence is right only if this holds. It is checked
        before the first round.
    unnormalized
        Why the density may not integrate to one, for reports; models of other libraries give the reason.

    Examples
    --------
    >>> import math, numpy as np, sterna
    >>> def draw(rng):
    ...     scale = rng.exponential()
    ...     return scale, rng.normal(0.0, scale)
    >>> def log_density(scale, effect):
    ...     return -scale - math.log(scale) - 0.5 * (effect / scale) ** 2 - 0.5 * math.log(2 * math.pi)
    >>> reference = sterna.Reference(
    ...     draw, log_density, {"scale": sterna.Real(lower=0), "effect": sterna.Real()}, normalized=True
    ... )
    >>> def log_likelihood(effect):
    ...     return -0.5 * (effect - 1.0) ** 2
    >>> target = sterna.Target(log_likelihood, reference)

    If a run has missed a place, here at 3, the reference can be a mixture that knows it. A third of its draws each is
    from the prior N(0, 10), from around the draws of that run, and from around that place:

    >>> centres, widths = np.array([0.0, -4.0, 3.0]), np.array([10.0, 2.0, 0.1])
    >>> def draw(rng, centres, widths):
    ...     k = rng.integers(0, 3)
    ...     return rng.normal(centres[k], widths[k])
    >>> def log_density(mu, centres, widths):
    ...     return np.log(np.mean(np.exp(-0.5 * ((mu - centres) / widths) ** 2) / widths)) - 0.5 * np.log(2 * np.pi)
    >>> reference = sterna.Reference(draw, log_density, {"mu": sterna.Real()})

    The prior then belongs to the likelihood, and the density of the reference is divided out:

    >>> def log_likelihood(mu, centres, widths):
    ...     narrow = np.exp(-0.5 * ((mu - 3) / 0.05) ** 2) / 0.05
    ...     log_prior = -0.5 * (mu / 10) ** 2 - 0.5 * np.log(200 * np.pi)
    ...     likelihood = np.log(np.exp(-0.5 * (mu + 4) ** 2) + narrow)
    ...     return likelihood + log_prior - log_density(mu, centres, widths)
    >>> target = sterna.Target(log_likelihood, reference, {"centres": centres, "widths": widths})
    """

    draw: Callable[..., object]
    log_density: Callable[..., object]
    space: Mapping[str, VariableType] | None = field(default=None)
    gradient: Callable[..., object] | None = None
    local_change: Callable[..., object] | None = None
    normalized: bool = False
    unnormalized: str = "the reference's density is a function, which may not be normalised"

    def __post_init__(self) -> None:
        for name, value in (("draw", self.draw), ("log_density", self.log_density)):
            if not callable(value) or isinstance(value, type):
                raise TargetError(
                    f"A reference needs two functions, but {name} is {value!r}. Parallel tempering draws its first "
                    "chain from the reference in every scan: give draw(rng) and log_density, or a dict of "
                    "distributions."
                )
        if not isinstance(self.normalized, bool):
            raise TargetError(f"Reference(normalized={self.normalized!r}): give True or False.")

    @property
    def reason_unnormalized(self) -> str:
        """Say why the density may not integrate to one; empty if it does."""
        return "" if self.normalized else self.unnormalized

    def sized(self, data: Mapping[str, object] | None) -> Space:
        """Return the space; without a declared one, draw once to find the length of the vector."""
        if self.space is not None:
            if not isinstance(self.space, Mapping):
                raise TargetError(
                    f'Reference(space={self.space!r}): give a dict of variables, such as {{"x": sterna.Real()}}.'
                )
            for name, variable_type in self.space.items():
                if not isinstance(variable_type, VariableType):
                    raise TargetError(
                        f"Reference(space=...): {name!r} is {variable_type!r}; give sterna.Real(), sterna.Angle(), "
                        "sterna.Integer(), sterna.Binary() or sterna.Simplex(n)."
                    )
            return space_of(self.space)
        draw = getattr(self.draw, "py_func", self.draw)
        parameters = list(inspect.signature(draw).parameters)[1:]
        values = {k: value for k, value in (data or {}).items() if k in parameters}
        try:
            example = draw(np.random.default_rng(0), **values)
        except Exception as error:
            raise TargetError(f"The reference's draw raised {describe(error)}.") from error
        try:
            size = np.size(np.asarray(example, dtype=np.float64))
        except (TypeError, ValueError):
            size = 0
        if example is None or size == 0:
            raise TargetError(f"The reference's draw returned {example!r}; without a space it must return one vector.")
        return space_of({"x": Real(shape=size)})


def given_reference(reference: object, prior: object) -> object:
    """Return the reference, which may be given by the name `prior`, because it usually is one."""
    if reference is not None and prior is not None:
        raise OptionError("reference= and prior= are two names for the same thing: give one of them.")
    return prior if reference is None else reference


def space_and_distributions(
    reference: object, data: Mapping[str, object] | None = None
) -> tuple[Space, list[Distribution] | None]:
    """Read the reference that a user gave; the distributions are None for a pair of functions."""
    if isinstance(reference, Reference):
        return reference.sized(data), None
    if isinstance(reference, (PriorTransform, FittedReference)):
        return reference.read()
    if isinstance(reference, Mapping):
        named = {name: _distribution(name, part) for name, part in reference.items()}
        found = list(named.values())
        has_quantiles = any(isinstance(distribution, Quantile) for distribution in found)
        return space_of(named, QuantileMap(found) if has_quantiles else None), found
    if as_distribution(reference, "reference") is not None:
        return space_and_distributions({"x": reference})
    if reference is None:
        raise TargetError(
            "There is no reference, from which a run tempers; usually it is the prior. Give "
            'reference={"mu": sterna.Normal(0, 10), ...}; without a prior, see sterna.FittedReference.'
        )
    raise TargetError(
        f"reference={reference!r} is neither a dict of distributions nor a sterna.Reference(draw, log_density)."
    )


def _distribution(name: str, part: object) -> Distribution:
    """Read one variable's distribution."""
    found = as_distribution(part, f"reference[{name!r}]")
    if found is None:
        if isinstance(part, type) and issubclass(part, Distribution):
            parameters = ", ".join(name for name in inspect.signature(part).parameters if name != "shape")
            raise TargetError(
                f"reference[{name!r}] is the class {part.__name__}: give its parameters, as in "
                f"sterna.{part.__name__}({parameters})."
            )
        if isinstance(part, VariableType):
            raise TargetError(
                f"reference[{name!r}] says which values are allowed, but not how they are distributed: give a "
                "distribution such as sterna.Normal(0, 1). sterna.Real() and its like belong into the space of a "
                "sterna.Reference or sterna.FittedReference."
            )
        raise TargetError(
            f"reference[{name!r}] is {part!r}, which is no distribution of sterna, SciPy, NumPyro or PyMC; "
            f"write for instance {{{name!r}: sterna.Normal(0, 1)}}, or give a sterna.Reference(draw, log_density)."
        )
    return found


def coordinate_tables(space: Space, distributions: list[Distribution] | None) -> dict[str, NDArray[Any]]:
    """Build the engine's tables of coordinates; a joint reference has only bounds and value types."""
    if distributions is None:
        return _tables_without_families(space)
    parts = [distribution.coordinates for distribution in distributions]
    constants = [part.constants.copy() for part in parts]
    offset = 0
    for part, columns in zip(parts, constants, strict=True):
        if part.table.size:
            # the first constant is a place in the table, which holds those of all variables
            columns[:, 0] += offset
            offset += part.table.size
    return {
        "value_type": np.concatenate([np.full(len(part.lower), part.value_type) for part in parts]).astype(np.int64),
        "lower": np.concatenate([part.lower for part in parts]),
        "upper": np.concatenate([part.upper for part in parts]),
        "family": np.concatenate([np.full(len(part.lower), family_address(part.family)) for part in parts]),
        "constants": np.concatenate(constants).ravel(),
        "table": np.concatenate([*(part.table for part in parts), np.zeros(1)]),
        "circles": np.concatenate([_circles(part) for part in parts]),
    }


def _circles(part: Coordinates) -> FloatArray:
    """Return (first, period) of each coordinate; the period of one that does not repeat is 0."""
    none = np.zeros(len(part.lower))
    return np.column_stack([none, none] if part.circle is None else part.circle).ravel()


def _tables_without_families(space: Space) -> dict[str, NDArray[Any]]:
    value_type = np.concatenate([np.full(v.size, v.value_type) for v in space.variables]).astype(np.int64)
    (lower, upper), circles = bounds_inside(space), circles_of(space)
    repeats = circles[1::2] > 0.0
    return {
        "value_type": value_type,
        "lower": np.where(repeats, -HUGE, lower),
        "upper": np.where(repeats, HUGE, upper),
        "family": np.zeros(len(value_type), dtype=np.int64),
        "constants": np.zeros(N_CONSTANTS * len(value_type)),
        "table": np.zeros(1),
        "circles": circles,
    }
