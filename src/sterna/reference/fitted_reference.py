"""A reference for those who have none: a normal law that the tuning rounds fit to the target itself."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.engine.unconstrained import from_line, line_slope, log_jacobian, to_line
from sterna.errors import TargetError
from sterna.ground.compilation import compiled_with_memory
from sterna.ground.values import HUGE, REAL
from sterna.reference.affine import affine, affine_pullback
from sterna.reference.distributions import Distribution, Normal
from sterna.reference.space import Kind, Real, Space, bounds_inside, break_sticks, space_of
from sterna.reference.sticks import add_stick_jacobian_slope, stick_log_jacobian
from sterna.types import FloatArray

# Standard deviations of the first law, on the line, of coordinates without and with a bound.
WIDE, WIDE_IN_LOGARITHMS = 10.0, 2.0

NOTE = (
    "The reference was fitted to the target while tuning: a mode that no replica met in these rounds is missing, and "
    "nothing in the result can show it. log_evidence is the logarithm of the integral of the density given."
)


@dataclass(frozen=True)
class FittedReference:
    """A normal reference fitted while tuning, for a density without a prior that could be drawn from.

    The function given to `sterna.sample` is then the whole log-density: log-prior plus log-likelihood, or whatever it
    is. The path leads from a normal law g to it, g^(1 - beta) density^beta, and `log_evidence` is the logarithm of its
    integral. Bounded variables are normal on the line that the logarithm or the logit takes them to. After every tuning
    round but the last, g is fitted anew to mean and covariance of the target chain.

    A prior is the safer reference: where it is wide, replicas come everywhere. Here the first law g must do that, so
    give a start and a scale that cover all modes that there may be: one that no replica meets while tuning is missed.

    Parameters
    ----------
    space
        The variables, as a dict of `sterna.Real` and `sterna.Simplex`, or the number of entries of one real vector `x`.
    start
        Where g begins: a dict of values by variable, one flat vector, or many of them (walkers, say), whose mean and
        covariance are taken. By default 0, 1 above a bound, or the middle between two.
    scale
        Standard deviation of the first g, on the line, for all coordinates or for each; by default 10, and 2 for
        bounded variables, in logarithms. Not with many points, which have their own.

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

    space: Mapping[str, Kind] | int
    start: Mapping[str, Any] | ArrayLike | None = None
    scale: ArrayLike | None = None

    def read(self) -> tuple[Space, list[Distribution]]:
        """Return the space of the variables, and the standard normal law of the stored coordinates."""
        kinds = self._kinds()
        plain = space_of(kinds)
        fitted = FittedMap(plain)
        self._begin(plain, fitted)
        return Space(plain.variables, fitted), [Normal(0.0, 1.0, shape=fitted.dimension)]

    def _kinds(self) -> dict[str, Kind]:
        if isinstance(self.space, (int, np.integer)) and self.space > 0:
            return {"x": Real(shape=int(self.space))}
        if not isinstance(self.space, Mapping):
            raise TargetError(
                f"FittedReference({self.space!r}): give a dict of variables, such as "
                '{"mu": sterna.Real(), "sigma": sterna.Real(lower=0)}, or the number of entries of one vector.'
            )
        for name, kind in self.space.items():
            if not isinstance(kind, Kind):
                raise TargetError(f"FittedReference: {name!r} is {kind!r}; give sterna.Real() or sterna.Simplex(n).")
            if kind.value_type != REAL:
                raise TargetError(
                    f"FittedReference: {name!r} is not real, and a normal law cannot be fitted to it. Give all "
                    "variables distributions to draw from: sterna.DiscreteUniform, say, will do for this one."
                )
        return dict(self.space)

    def _begin(self, space: Space, fitted: "FittedMap") -> None:
        """Set the first law."""
        points = self._points(space)
        line = np.array([fitted.to_line(break_sticks(space, point)) for point in points])
        wide = np.where(fitted.bounded, WIDE_IN_LOGARITHMS, WIDE)
        if len(points) > 1:
            if self.scale is not None:
                raise TargetError("FittedReference: many starting points have their own scale; leave out scale=.")
            spread = np.atleast_2d(np.cov(line.T))
            # a few points span no more than a plane
            spread += np.diag(np.where(np.diag(spread) > 0, 1e-3 * np.diag(spread), wide**2))
            fitted.set_law(line.mean(axis=0), spread)
            return
        try:
            scale = np.broadcast_to(np.asarray(wide if self.scale is None else self.scale, dtype=float), wide.shape)
        except (TypeError, ValueError):
            scale = np.zeros(1)
        if not (np.isfinite(scale) & (scale > 0)).all():
            raise TargetError(
                f"FittedReference(scale={self.scale!r}): give one positive number, or one for each of the "
                f"{len(wide)} coordinates."
            )
        fitted.set_law(line[0], np.diag(scale**2))

    def _points(self, space: Space) -> FloatArray:
        """Return the starting points, as flat vectors that users see."""
        size = sum(v.natural_size for v in space.variables)
        given: Any = self.start
        if given is None or isinstance(given, Mapping):
            unknown = set(given or {}) - set(space.names)
            if unknown:
                raise TargetError(
                    f"FittedReference(start=...) names {', '.join(sorted(unknown))}; "
                    f"the variables are {', '.join(space.names)}."
                )
            values = [_start_of((given or {}).get(v.name), v) for v in space.variables]
            given = np.concatenate(values)
        points = np.atleast_2d(np.asarray(given, dtype=np.float64))
        lower = np.concatenate([np.full(v.natural_size, v.lower) for v in space.variables])
        upper = np.concatenate([np.full(v.natural_size, v.upper) for v in space.variables])
        if points.ndim != 2 or points.shape[1] != size:
            raise TargetError(
                f"FittedReference(start=...) has shape {np.shape(given)}; give points of {size} numbers, for "
                f"{', '.join(space.names)} in this order."
            )
        if not (np.isfinite(points) & (points >= lower) & (points <= upper)).all():
            raise TargetError("FittedReference(start=...) has points outside of the bounds of the variables.")
        return points


def _start_of(given: Any, v: Any) -> FloatArray:
    value = _value(given, v)
    try:
        return np.broadcast_to(value, v.shape).ravel()
    except ValueError:
        raise TargetError(
            f"FittedReference(start=...) has {v.name} of shape {np.shape(value)}; its shape is {v.shape}."
        ) from None


def _value(given: Any, v: Any) -> Any:
    """The start of a variable, if none is given: 0, 1 above a bound, or the middle."""
    if given is not None:
        return np.asarray(given, dtype=np.float64)
    if v.transform == "simplex":
        return 1.0 / v.natural_size
    if math.isfinite(v.lower) and math.isfinite(v.upper):
        return 0.5 * (v.lower + v.upper)
    if math.isfinite(v.lower):
        return v.lower + 1.0
    return v.upper - 1.0 if math.isfinite(v.upper) else 0.0


@compiled_with_memory
def bounded_vector(line: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the variables of a point on the line."""
    x = np.empty(line.size)
    for i in range(line.size):
        x[i] = from_line(line[i], lower[i], upper[i])
    return x


@compiled_with_memory
def log_correction(
    u: FloatArray, line: FloatArray, lower: FloatArray, upper: FloatArray, constant: FloatArray
) -> float:
    """Log of |dx/du| over the density of u: what turns a density of x into the ratio that the engine anneals."""
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
    """Turn the slopes of the log-density in x into the gradient of the ratio in u."""
    for i in range(u.size):
        slopes[i] = line_slope(slopes[i], line[i], lower[i], upper[i])
    affine_pullback(factor, slopes, gradient)
    for i in range(u.size):
        gradient[i] += u[i]


class FittedMap:
    """The state map of a fitted reference: from standard normal u to mean + factor u on the line, to the variables."""

    mixes = True
    data: Mapping[str, FloatArray]

    def __init__(self, space: Space) -> None:
        self.dimension = size = space.dimension
        self.lower, self.upper = bounds_inside(space)
        self.bounded = (self.lower > -HUGE) | (self.upper < HUGE)
        self.mean, self.factor, self.constant = np.zeros(size), np.eye(size), np.zeros(1)
        self.sticks = [(v.start, v.stop) for v in space.variables if v.transform == "simplex"]
        # changed in place when the law is fitted anew
        self.data = {
            "reference__mean": self.mean,
            "reference__factor": self.factor,
            "reference__constant": self.constant,
            "reference__lower": self.lower,
            "reference__upper": self.upper,
        }
        terms = [f"stick_log_jacobian(x[{a}:{b}])" for a, b in self.sticks]
        # in brackets, so that compiled and plain functions add in one order
        self.term = f"({' + '.join(['log_correction(u, line, lower, upper, constant)', *terms])})"
        self.pullback = [f"add_stick_jacobian_slope(x[{a}:{b}], out[{a}:{b}])" for a, b in self.sticks]
        self.pullback += ["pull_back(u, line, lower, upper, factor, out.copy(), out)"]

    def set_law(self, mean: FloatArray, covariance: FloatArray) -> None:
        """Put a normal law in place of the last."""
        factor = np.linalg.cholesky(covariance)
        self.mean[:], self.factor[:] = mean, factor
        self.constant[0] = np.log(np.diag(factor)).sum() + 0.5 * self.dimension * math.log(2 * math.pi)

    def refit(self, draws: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Fit the law to draws of the target chain, and return how states turn into those of the new law.

        The last law counts for as many draws as say little about a covariance, spread included: a law whose mean is
        still far off stays wide, and the first of all is forgotten as rounds grow longer.
        """
        from scipy.linalg import solve_triangular

        old_mean, old_factor = self.mean.copy(), self.factor.copy()
        points = old_mean + draws @ old_factor.T
        share = len(points) / (len(points) + 10 + 2 * self.dimension)
        found = points.mean(axis=0)
        mean = (1 - share) * old_mean + share * found
        covariance = (1 - share) * (old_factor @ old_factor.T + np.outer(old_mean - mean, old_mean - mean))
        covariance += share * ((points - mean).T @ (points - mean) / len(points))
        self.set_law(mean, covariance)

        def carry(states: FloatArray) -> FloatArray:
            away = old_mean + states @ old_factor.T - self.mean
            carried: FloatArray = solve_triangular(self.factor, away.T, lower=True).T
            return carried

        return carry

    def to_line(self, vector: FloatArray) -> FloatArray:
        """Return the point on the line of a vector of variables as they are stored."""
        return np.array([to_line(x, a, b) for x, a, b in zip(vector, self.lower, self.upper, strict=True)])

    def forward(self, state: FloatArray) -> FloatArray:
        """Return the variables of a state."""
        vector: FloatArray = bounded_vector(affine(state, self.mean, self.factor), self.lower, self.upper)
        return vector

    def log_term(self, state: FloatArray) -> float:
        """Return what is added to the user's log-density, in Python."""
        line = affine(state, self.mean, self.factor)
        total = log_correction(state, line, self.lower, self.upper, self.constant)
        vector = bounded_vector(line, self.lower, self.upper)
        return float(total) + sum(stick_log_jacobian(vector[a:b]) for a, b in self.sticks)

    def pull_back(self, state: FloatArray, gradient: FloatArray) -> None:
        """Turn a gradient in the variables as they are stored into one in the state, in Python."""
        line = affine(state, self.mean, self.factor)
        vector = bounded_vector(line, self.lower, self.upper)
        for a, b in self.sticks:
            add_stick_jacobian_slope(vector[a:b], gradient[a:b])
        pull_back(state, line, self.lower, self.upper, self.factor, gradient.copy(), gradient)

    def lines(self, datum: Callable[[str], str]) -> tuple[list[str], dict[str, Any]]:
        """Code that makes the variables from the state."""
        lines = [f"{name} = {datum(f'reference__{name}')}" for name in ("mean", "factor", "constant", "lower", "upper")]
        lines += ["line = affine(u, mean, factor)", "x = bounded_vector(line, lower, upper)"]
        return lines, {
            "bounded_vector": bounded_vector,
            "log_correction": log_correction,
            "pull_back": pull_back,
            "add_stick_jacobian_slope": add_stick_jacobian_slope,
        }
