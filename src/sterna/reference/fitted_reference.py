"""A normal reference that the tuning rounds fit to the target, for densities without a proper prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions import Distribution, Normal
from sterna.engine.unconstrained import from_line, line_slope, log_jacobian, to_line
from sterna.errors import TargetError
from sterna.ground.compilation import compiled_with_memory
from sterna.ground.numbers import float_array, whole_number
from sterna.ground.values import HUGE, REAL
from sterna.reference.affine import affine, affine_pullback
from sterna.reference.space import (
    Real,
    Space,
    Variable,
    VariableType,
    bounds_inside,
    break_sticks,
    by_python_names,
    space_of,
)
from sterna.reference.sticks import add_stick_jacobian_slope, stick_log_jacobian
from sterna.tuning.memory import effective_size
from sterna.types import FloatArray

# Standard deviations of the first normal distribution, for coordinates without and with bounds.
SCALE_OF_UNBOUNDED, SCALE_OF_BOUNDED = 10.0, 2.0

# States of the first rounds, still on their way to the target, can be hundreds of standard deviations away, and a fit
# to a few of them would be a needle in a wrong direction. A draw counts as at most so many deviations (root mean square
# over coordinates) from the mean of the last distribution, so that a fit is at most so much wider than the last.
MAX_GROWTH = 3.0

# Draws count as at most so many times the effective number of the slowest coordinate: the spread of a chain that hardly
# moves is far below that of the target, and a reference fitted to it would keep the chain where it is.
MAX_INEFFICIENCY = 10.0

NOTE = (
    "The reference was fitted to the target while tuning: a mode that no replica visited in these rounds is missing, "
    "and no diagnostic can detect that. log_evidence is the logarithm of the integral of the given density."
)


@dataclass(frozen=True)
class FittedReference:
    """A normal reference fitted while tuning, for a density without a prior that can be drawn from.

    The function given to `sterna.sample` is then the whole log-density, for instance log-prior plus log-likelihood. The
    path of distributions g^(1 - beta) density^beta leads to it from a normal distribution g, and `log_evidence` is the
    logarithm of its integral. Bounded variables are normal after a logarithm or a logit. After every tuning round
    except the last, g is fitted again to the mean and covariance of the target chain's later draws.

    A prior is the safer reference: if it is wide, replicas visit all of its support. Here the first g must provide
    that, so give a start and a scale that cover all possible modes: one that no replica visits while tuning is missed.

    Parameters
    ----------
    space
        The variables, as a dict of `sterna.Real` and `sterna.Simplex`, or the number of entries of one real vector `x`.
        A `sterna.Angle` is a bounded variable here: its summary is circular, but explorers do not wrap around.
    start
        Mean of the first g: a dict of values by variable, one flat vector, or many of them (such as walkers), whose
        mean and covariance are used. By default 0, or 1 from a single bound, or the middle between two bounds.
    scale
        Standard deviation of the first g, for all coordinates or for each; by default 10, and for bounded variables,
        on the scale of the logarithm or logit, 2. Not allowed with many starting points, which have their own.

    Examples
    --------
    >>> import math, sterna
    >>> def log_posterior(mu, sigma):
    ...     return -0.5 * (mu - 3.0) ** 2 / sigma**2 - math.log(sigma) - sigma
    >>> reference = sterna.FittedReference({"mu": sterna.Real(), "sigma": sterna.Real(lower=0)})
    >>> result = sterna.sample(log_posterior, reference, n_chains=6, n_rounds=9, progress=False)
    >>> exact = 0.5 * math.log(2 * math.pi)
    >>> abs(result.log_evidence.value - exact) < 5 * result.log_evidence.error
    True
    """

    space: Mapping[str, VariableType] | int
    start: Mapping[str, ArrayLike] | ArrayLike | None = None
    scale: ArrayLike | None = None

    def read(self) -> tuple[Space, list[Distribution]]:
        """Return the space of the variables, and the standard normal distribution of the stored coordinates."""
        plain = space_of(self._variable_types())
        fitted = FittedMap(plain)
        self._set_first(plain, fitted)
        return Space(plain.variables, fitted), [Normal(0.0, 1.0, shape=fitted.dimension)]

    def _variable_types(self) -> dict[str, VariableType]:
        number = whole_number(self.space)
        if number is not None and number > 0:
            return {"x": Real(shape=number)}
        if not isinstance(self.space, Mapping):
            raise TargetError(
                f"FittedReference({self.space!r}): give a dict of variables, such as "
                '{"mu": sterna.Real(), "sigma": sterna.Real(lower=0)}, or the number of entries of one vector.'
            )
        for name, variable_type in self.space.items():
            if not isinstance(variable_type, VariableType):
                raise TargetError(
                    f"FittedReference: {name!r} is {variable_type!r}; give sterna.Real() or sterna.Simplex(n)."
                )
            if variable_type.value_type != REAL:
                raise TargetError(
                    f"FittedReference: {name!r} is not real, and a normal distribution cannot be fitted to it. Give "
                    "all variables distributions instead, for instance sterna.DiscreteUniform for this one."
                )
        return dict(self.space)

    def _set_first(self, space: Space, fitted: FittedMap) -> None:
        """Set the first normal distribution."""
        points = self._points(space)
        line = np.array([fitted.to_line(break_sticks(space, point)) for point in points])
        default_scale = np.where(fitted.bounded, SCALE_OF_BOUNDED, SCALE_OF_UNBOUNDED)
        if len(points) > 1:
            if self.scale is not None:
                raise TargetError("FittedReference: many starting points have their own scale: leave out scale=.")
            spread = np.atleast_2d(np.cov(line.T))
            # few points may span only a subspace
            spread += np.diag(np.where(np.diag(spread) > 0, 1e-3 * np.diag(spread), default_scale**2))
            fitted.set_moments(line.mean(axis=0), spread)
            return
        given = float_array(default_scale if self.scale is None else self.scale)
        try:
            scale = np.zeros(1) if given is None else np.broadcast_to(given, default_scale.shape)
        except ValueError:
            scale = np.zeros(1)
        if not (np.isfinite(scale) & (scale > 0)).all():
            raise TargetError(
                f"FittedReference(scale={self.scale!r}): give one positive number, or one for each of the "
                f"{len(default_scale)} coordinates."
            )
        fitted.set_moments(line[0], np.diag(scale**2))

    def _points(self, space: Space) -> FloatArray:
        """Return the starting points, as flat vectors of the variables."""
        size = sum(v.natural_size for v in space.variables)
        given = self.start
        if given is None or isinstance(given, Mapping):
            values = by_python_names(given or {}, "FittedReference(start=...)")
            unknown = set(values) - set(space.names)
            if unknown:
                raise TargetError(
                    f"FittedReference(start=...) names {', '.join(sorted(unknown))}; "
                    f"the variables are {', '.join(space.names)}."
                )
            given = np.concatenate([_start_of(values.get(v.name), v) for v in space.variables])
        points = np.atleast_2d(_numbers(given, "it"))
        lower = np.concatenate([np.full(v.natural_size, v.lower) for v in space.variables])
        upper = np.concatenate([np.full(v.natural_size, v.upper) for v in space.variables])
        if points.ndim != 2 or points.shape[1] != size:
            raise TargetError(
                f"FittedReference(start=...) has shape {np.shape(given)}; give points of {size} numbers, for "
                f"{', '.join(space.names)} in this order."
            )
        if not (np.isfinite(points) & (points >= lower) & (points <= upper)).all():
            raise TargetError("FittedReference(start=...) has points outside the bounds of the variables.")
        return points


def _numbers(given: object, what: str) -> FloatArray:
    numbers = float_array(given)
    if numbers is None:
        raise TargetError(f"FittedReference(start={given!r}): {what} must be an array of numbers.")
    return numbers


def _start_of(given: ArrayLike | None, v: Variable) -> FloatArray:
    value = _default_start(v) if given is None else _numbers(given, v.name)
    try:
        return np.broadcast_to(value, v.shape).ravel()
    except ValueError:
        raise TargetError(
            f"FittedReference(start=...) has {v.name} of shape {np.shape(value)}; its shape is {v.shape}."
        ) from None


def _default_start(v: Variable) -> float:
    """Return 0, or 1 from a single bound, or the middle between two bounds."""
    lower, upper = float(v.lower), float(v.upper)
    if v.transform == "simplex":
        return 1.0 / v.natural_size
    if math.isfinite(lower) and math.isfinite(upper):
        return 0.5 * (lower + upper)
    if math.isfinite(lower):
        return lower + 1.0
    return upper - 1.0 if math.isfinite(upper) else 0.0


@compiled_with_memory
def bounded_vector(line: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the variables of an unconstrained vector."""
    x = np.empty(line.size)
    for i in range(line.size):
        x[i] = from_line(line[i], lower[i], upper[i])
    return x


@compiled_with_memory
def log_correction(
    u: FloatArray, line: FloatArray, lower: FloatArray, upper: FloatArray, constant: FloatArray
) -> float:
    """Return log(|dx/du| / N(u)), which turns the density of x into the likelihood that the engine anneals."""
    total = float(constant[0])
    for i in range(u.size):
        total += log_jacobian(line[i], lower[i], upper[i]) + 0.5 * u[i] * u[i]
    return total


@compiled_with_memory
def pull_back(
    u: FloatArray,
    line: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    factor: FloatArray,
    slopes: FloatArray,
    gradient: FloatArray,
) -> None:
    """Write the gradient in u of that likelihood's logarithm, from the slopes of the log-density in x."""
    for i in range(u.size):
        slopes[i] = line_slope(slopes[i], line[i], lower[i], upper[i])
    affine_pullback(factor, slopes, gradient)
    for i in range(u.size):
        gradient[i] += u[i]


def near_the_last(points: FloatArray) -> FloatArray:
    """Bring points that are far from the last distribution nearer, along the ray from its mean."""
    # divided first, so that squares are finite
    largest = np.maximum(np.abs(points).max(axis=-1, keepdims=True), 1.0)
    distance = largest * np.sqrt(np.mean((points / largest) ** 2, axis=-1, keepdims=True))
    return np.asarray(points * (MAX_GROWTH / np.maximum(distance, MAX_GROWTH)))


def independent_draws(draws: FloatArray) -> float:
    """Return the effective number of draws (copies, draws, coordinates) of the slowest coordinate.

    Each copy's halves count as series of their own, so that a drift shows. Of a few draws it cannot be known: 1.
    """
    half = draws.shape[1] // 2
    if half < 4:
        return 1.0
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    return min(effective_size(halves[:, :, i]) for i in range(draws.shape[2]))


class FittedMap:
    """The state map of a fitted reference: standard normal u, unconstrained mean + factor u, variables."""

    mixes = True
    data: Mapping[str, FloatArray]

    def __init__(self, space: Space) -> None:
        self.dimension = size = space.dimension
        self.lower, self.upper = bounds_inside(space)
        self.bounded = (self.lower > -HUGE) | (self.upper < HUGE)
        self.mean, self.factor, self.constant = np.zeros(size), np.eye(size), np.zeros(1)
        self.sticks = [(v.start, v.stop) for v in space.variables if v.transform == "simplex"]
        # changed in place when the reference is fitted again
        self.data = {
            "mean": self.mean,
            "factor": self.factor,
            "constant": self.constant,
            "lower": self.lower,
            "upper": self.upper,
        }
        terms = [f"stick_log_jacobian(x[{a}:{b}])" for a, b in self.sticks]
        # in brackets, so that compiled and plain functions add in the same order
        self.term = f"({' + '.join(['log_correction(u, line, lower, upper, constant)', *terms])})"
        self.pullback = [f"add_stick_jacobian_slope(x[{a}:{b}], out[{a}:{b}])" for a, b in self.sticks]
        self.pullback += ["pull_back(u, line, lower, upper, factor, out.copy(), out)"]

    def parameters(self) -> tuple[FloatArray, FloatArray]:
        """Return copies of the mean and of the Cholesky factor of the covariance."""
        return self.mean.copy(), self.factor.copy()

    def set_parameters(self, mean: FloatArray, factor: FloatArray) -> None:
        """Set the normal distribution, in place, to one that `parameters` has returned, with the same bits."""
        self.mean[:], self.factor[:] = mean, factor
        self.constant[0] = np.log(np.diag(factor)).sum() + 0.5 * self.dimension * math.log(2 * math.pi)

    def set_moments(self, mean: FloatArray, covariance: FloatArray) -> None:
        """Set the normal distribution, in place, by its mean and covariance."""
        self.set_parameters(mean, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64))

    def refit(self, draws: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Fit the distribution to draws of the target chain, and return the map from old states to new ones.

        Draws are (copies, draws, coordinates). The last distribution, with its covariance, counts as 10 + 2 d draws,
        too few to determine a covariance: as long as the mean is far off the fit stays wide, and the first one is
        forgotten as rounds grow longer, unless the draws hardly move.
        """
        from scipy.linalg import solve_triangular

        # in coordinates of the last distribution, where it is standard normal: the new covariance is at least a share
        # of the identity and always has a factor
        n = self.dimension
        kept = near_the_last(draws[:, draws.shape[1] // 2 :])
        number = min(float(kept.shape[0] * kept.shape[1]), MAX_INEFFICIENCY * independent_draws(kept))
        points = kept.reshape(-1, n)
        share = number / (number + 10 + 2 * n)
        shift = share * points.mean(axis=0)
        covariance = (1 - share) * (np.eye(n) + np.outer(shift, shift))
        covariance += share * ((points - shift).T @ (points - shift) / len(points))
        stretch = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
        self.set_parameters(self.mean + self.factor @ shift, np.tril(self.factor @ stretch))

        def carry(states: FloatArray) -> FloatArray:
            carried: FloatArray = solve_triangular(stretch, (states - shift).T, lower=True).T
            return carried

        return carry

    def to_line(self, vector: FloatArray) -> FloatArray:
        """Return the unconstrained vector of a vector of variables as they are stored."""
        return np.array([to_line(x, a, b) for x, a, b in zip(vector, self.lower, self.upper, strict=True)])

    def forward(self, state: FloatArray) -> FloatArray:
        """Return the variables of a state."""
        vector: FloatArray = bounded_vector(affine(state, self.mean, self.factor), self.lower, self.upper)
        return vector

    def log_term(self, state: FloatArray) -> float:
        """Return the term that is added to the user's log-density, in Python."""
        line = affine(state, self.mean, self.factor)
        total = log_correction(state, line, self.lower, self.upper, self.constant)
        vector = bounded_vector(line, self.lower, self.upper)
        return float(total) + sum(stick_log_jacobian(vector[a:b]) for a, b in self.sticks)

    def pull_back(self, state: FloatArray, gradient: FloatArray) -> None:
        """Turn a gradient in the stored variables into one in the state, in place, in Python."""
        line = affine(state, self.mean, self.factor)
        vector = bounded_vector(line, self.lower, self.upper)
        for a, b in self.sticks:
            add_stick_jacobian_slope(vector[a:b], gradient[a:b])
        pull_back(state, line, self.lower, self.upper, self.factor, gradient.copy(), gradient)

    def lines(self, datum: Callable[[str], str]) -> tuple[list[str], dict[str, Any]]:
        """Return code that computes the variables from the state."""
        lines = [f"{name} = {datum(name)}" for name in ("mean", "factor", "constant", "lower", "upper")]
        lines += ["line = affine(u, mean, factor)", "x = bounded_vector(line, lower, upper)"]
        return lines, {
            "bounded_vector": bounded_vector,
            "log_correction": log_correction,
            "pull_back": pull_back,
            "add_stick_jacobian_slope": add_stick_jacobian_slope,
        }
