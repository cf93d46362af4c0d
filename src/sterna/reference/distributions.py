"""The reference's distributions, with arguments as in PyMC: exact densities, exact independent draws.

Arguments may be arrays; together with `shape` they broadcast to the variable's shape.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.engine import densities
from sterna.errors import TargetError
from sterna.ground.values import BINARY, EXACT, HUGE, INTEGER, REAL
from sterna.types import FloatArray

_TINY = float(np.finfo(np.float64).tiny)
_BELOW_ONE = 1.0 - 2.0**-53


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of one variable as the engine stores them, all independent under the reference."""

    kind: int
    value_type: int
    numbers: FloatArray
    """(coordinates, 4), see `sterna.engine.densities`."""
    lower: FloatArray
    upper: FloatArray
    table: FloatArray = field(default_factory=lambda: np.empty(0))
    """Probability table, to which `numbers[:, 0]` is an offset."""


class Distribution:
    """A distribution of the reference: its shape, its coordinates, and how the user sees them."""

    shape: tuple[int, ...]
    """Shape of the variable that a likelihood receives."""
    coordinates: Coordinates
    transform: str = "none"
    """How coordinates become the variable: "none", "simplex" (stick-breaking) or "affine"."""
    affine: tuple[FloatArray, FloatArray] | None = None
    """Offset and matrix of an affine transform."""
    lower: Any = -math.inf
    upper: Any = math.inf
    whole: bool = False
    """Whether the variable is a whole number although its coordinates are real."""

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self._given.items())
        return f"{type(self).__name__}({given})"

    _given: dict[str, Any]

    def _take(self, shape: Any, **arguments: ArrayLike) -> list[FloatArray]:
        """Check that the arguments are finite numbers, broadcast them with the shape, and return them flat."""
        self._given = {**arguments, **({} if shape is None else {"shape": shape})}
        arrays = [self._numbers(name, value) for name, value in arguments.items()]
        wanted = None if shape is None else as_shape(shape)
        try:
            self.shape = np.broadcast_shapes(*(array.shape for array in arrays)) if wanted is None else wanted
            return [np.broadcast_to(array, self.shape).ravel() for array in arrays]
        except ValueError:
            raise TargetError(
                f"{self!r}: arguments of shapes {[array.shape for array in arrays]} do not broadcast"
                + ("." if shape is None else f" to shape {shape}.")
            ) from None

    def _numbers(self, name: str, value: ArrayLike) -> FloatArray:
        """Check that an argument is a finite number or a filled array of them."""
        try:
            if np.asarray(value).dtype.kind not in "biufO":  # NumPy reads numbers out of text
                raise TypeError
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise TargetError(f"{self!r}: {name} must be a number or an array of numbers.") from None
        self._require(np.isfinite(array), f"{name} must be finite")
        self._require(array.size > 0, f"{name} must not be empty")
        return array

    def _require(self, condition: Any, need: str) -> None:
        if not np.all(condition):
            raise TargetError(f"{self!r}: {need}.")

    def _set(
        self,
        kind: int,
        columns: list[Any],
        lower: Any,
        upper: Any,
        value_type: int = REAL,
        table: Any = (),
    ) -> None:
        size = math.prod(self.shape)
        numbers = np.zeros((size, 4))
        for column, values in enumerate(columns):
            numbers[:, column] = values
        self.lower, self.upper = lower, upper
        bounds = [np.broadcast_to(np.asarray(b, dtype=np.float64), size).copy() for b in (lower, upper)]
        bounds = [np.clip(b, -HUGE, HUGE) if value_type == REAL else np.clip(b, -EXACT, EXACT) for b in bounds]
        self.coordinates = Coordinates(
            kind, value_type, numbers, bounds[0], bounds[1], np.asarray(table, dtype=np.float64)
        )


def as_shape(shape: Any) -> tuple[int, ...]:
    """Read a shape given as a number or a tuple."""
    sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if not all(isinstance(n, (int, np.integer)) and n > 0 for n in sizes):
        raise TargetError(f"shape={shape!r}: give a positive integer or a tuple of them.")
    return tuple(int(n) for n in sizes)


def _lgamma(values: FloatArray) -> FloatArray:
    return np.array([math.lgamma(value) for value in values])


class Normal(Distribution):
    """Normal distribution with mean `mu` and standard deviation `sigma`."""

    def __init__(self, mu: ArrayLike = 0.0, sigma: ArrayLike = 1.0, *, shape: Any = None) -> None:
        mu_, sigma_ = self._take(shape, mu=mu, sigma=sigma)
        self._require(sigma_ > 0, "sigma must be positive")
        constant = -np.log(sigma_) - 0.5 * math.log(2 * math.pi)
        self._set(densities.NORMAL, [mu_, 1 / sigma_, constant], -math.inf, math.inf)


class HalfNormal(Distribution):
    """Absolute value of a normal variable with mean 0 and standard deviation `sigma`."""

    def __init__(self, sigma: ArrayLike = 1.0, *, shape: Any = None) -> None:
        (sigma_,) = self._take(shape, sigma=sigma)
        self._require(sigma_ > 0, "sigma must be positive")
        constant = math.log(2) - np.log(sigma_) - 0.5 * math.log(2 * math.pi)
        self._set(densities.HALF_NORMAL, [0.0, 1 / sigma_, constant], 0.0, math.inf)


class Uniform(Distribution):
    """Uniform distribution on [lower, upper]."""

    def __init__(self, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, *, shape: Any = None) -> None:
        a, b = self._take(shape, lower=lower, upper=upper)
        self._require(a < b, "lower must be below upper")
        self._set(densities.UNIFORM, [a, b, -np.log(b - a)], a, b)


class LogUniform(Distribution):
    """Distribution whose logarithm is uniform between log(lower) and log(upper)."""

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, shape: Any = None) -> None:
        a, b = self._take(shape, lower=lower, upper=upper)
        self._require((a > 0) & (a < b), "lower must be positive and below upper")
        log_a, log_b = np.log(a), np.log(b)
        self._set(densities.LOG_UNIFORM, [log_a, log_b, -np.log(log_b - log_a)], a, b)


class Exponential(Distribution):
    """Exponential distribution with rate `lam`, and so with mean 1/lam."""

    def __init__(self, lam: ArrayLike = 1.0, *, shape: Any = None) -> None:
        (lam_,) = self._take(shape, lam=lam)
        self._require(lam_ > 0, "lam must be positive")
        self._set(densities.EXPONENTIAL, [lam_, np.log(lam_)], 0.0, math.inf)


class Gamma(Distribution):
    """Gamma distribution with shape parameter `alpha` and rate `beta`, and so with mean alpha/beta.

    A shape below about 0.01 puts draws beyond the smallest float64; they are moved to it.
    """

    def __init__(self, alpha: ArrayLike, beta: ArrayLike = 1.0, *, shape: Any = None) -> None:
        alpha_, beta_ = self._take(shape, alpha=alpha, beta=beta)
        self._require((alpha_ > 0) & (beta_ > 0), "alpha and beta must be positive")
        constant = alpha_ * np.log(beta_) - _lgamma(alpha_)
        self._set(densities.GAMMA, [alpha_, beta_, constant], _TINY, math.inf)
        self.lower = 0.0


class InverseGamma(Distribution):
    """Distribution of beta/G, where G has the Gamma(alpha, 1) distribution."""

    def __init__(self, alpha: ArrayLike, beta: ArrayLike = 1.0, *, shape: Any = None) -> None:
        alpha_, beta_ = self._take(shape, alpha=alpha, beta=beta)
        self._require((alpha_ > 0) & (beta_ > 0), "alpha and beta must be positive")
        constant = alpha_ * np.log(beta_) - _lgamma(alpha_)
        self._set(densities.INVERSE_GAMMA, [alpha_, beta_, constant], _TINY, math.inf)
        self.lower = 0.0


class Beta(Distribution):
    """Beta distribution on (0, 1) with mean alpha/(alpha + beta).

    A `beta` below about 0.1 puts draws between 1 and the float64 next to it; they are moved to the latter.
    """

    def __init__(self, alpha: ArrayLike = 1.0, beta: ArrayLike = 1.0, *, shape: Any = None) -> None:
        a, b = self._take(shape, alpha=alpha, beta=beta)
        self._require((a > 0) & (b > 0), "alpha and beta must be positive")
        constant = _lgamma(a + b) - _lgamma(a) - _lgamma(b)
        self._set(densities.BETA, [a, b, constant], _TINY, _BELOW_ONE)
        self.lower, self.upper = 0.0, 1.0


class Cauchy(Distribution):
    """Cauchy distribution with median `alpha` and scale `beta`."""

    def __init__(self, alpha: ArrayLike = 0.0, beta: ArrayLike = 1.0, *, shape: Any = None) -> None:
        alpha_, beta_ = self._take(shape, alpha=alpha, beta=beta)
        self._require(beta_ > 0, "beta must be positive")
        constant = -math.log(math.pi) - np.log(beta_)
        self._set(densities.CAUCHY, [alpha_, 1 / beta_, constant], -math.inf, math.inf)


class HalfCauchy(Distribution):
    """Absolute value of a Cauchy variable with median 0 and scale `beta`."""

    def __init__(self, beta: ArrayLike = 1.0, *, shape: Any = None) -> None:
        (beta_,) = self._take(shape, beta=beta)
        self._require(beta_ > 0, "beta must be positive")
        constant = math.log(2 / math.pi) - np.log(beta_)
        self._set(densities.HALF_CAUCHY, [0.0, 1 / beta_, constant], 0.0, math.inf)


class StudentT(Distribution):
    """Student's t distribution with `nu` degrees of freedom, location `mu` and scale `sigma`."""

    def __init__(self, nu: ArrayLike, mu: ArrayLike = 0.0, sigma: ArrayLike = 1.0, *, shape: Any = None) -> None:
        nu_, mu_, sigma_ = self._take(shape, nu=nu, mu=mu, sigma=sigma)
        self._require((nu_ > 0) & (sigma_ > 0), "nu and sigma must be positive")
        constant = _lgamma((nu_ + 1) / 2) - _lgamma(nu_ / 2) - 0.5 * np.log(nu_ * math.pi) - np.log(sigma_)
        self._set(densities.STUDENT_T, [nu_, mu_, 1 / sigma_, constant], -math.inf, math.inf)


class HalfStudentT(Distribution):
    """Absolute value of a Student's t variable with `nu` degrees of freedom, location 0 and scale `sigma`."""

    def __init__(self, nu: ArrayLike, sigma: ArrayLike = 1.0, *, shape: Any = None) -> None:
        nu_, sigma_ = self._take(shape, nu=nu, sigma=sigma)
        self._require((nu_ > 0) & (sigma_ > 0), "nu and sigma must be positive")
        constant = _lgamma((nu_ + 1) / 2) - _lgamma(nu_ / 2) - 0.5 * np.log(nu_ * math.pi) - np.log(sigma_)
        self._set(densities.HALF_STUDENT_T, [nu_, 0.0, 1 / sigma_, math.log(2) + constant], 0.0, math.inf)


class Laplace(Distribution):
    """Laplace distribution with mean `mu` and scale `b`."""

    def __init__(self, mu: ArrayLike = 0.0, b: ArrayLike = 1.0, *, shape: Any = None) -> None:
        mu_, b_ = self._take(shape, mu=mu, b=b)
        self._require(b_ > 0, "b must be positive")
        self._set(densities.LAPLACE, [mu_, 1 / b_, -np.log(2 * b_)], -math.inf, math.inf)


class Logistic(Distribution):
    """Logistic distribution with mean `mu` and scale `s`."""

    def __init__(self, mu: ArrayLike = 0.0, s: ArrayLike = 1.0, *, shape: Any = None) -> None:
        mu_, s_ = self._take(shape, mu=mu, s=s)
        self._require(s_ > 0, "s must be positive")
        self._set(densities.LOGISTIC, [mu_, 1 / s_, -np.log(s_)], -math.inf, math.inf)


class Gumbel(Distribution):
    """Gumbel distribution (of largest values) with mode `mu` and scale `beta`."""

    def __init__(self, mu: ArrayLike = 0.0, beta: ArrayLike = 1.0, *, shape: Any = None) -> None:
        mu_, beta_ = self._take(shape, mu=mu, beta=beta)
        self._require(beta_ > 0, "beta must be positive")
        self._set(densities.GUMBEL, [mu_, 1 / beta_, -np.log(beta_)], -math.inf, math.inf)


class Weibull(Distribution):
    """Weibull distribution with shape parameter `alpha` and scale `beta`."""

    def __init__(self, alpha: ArrayLike, beta: ArrayLike = 1.0, *, shape: Any = None) -> None:
        alpha_, beta_ = self._take(shape, alpha=alpha, beta=beta)
        self._require((alpha_ > 0) & (beta_ > 0), "alpha and beta must be positive")
        constant = np.log(alpha_) - alpha_ * np.log(beta_)
        self._set(densities.WEIBULL, [alpha_, 1 / beta_, constant], _TINY, math.inf)
        self.lower = 0.0


class Pareto(Distribution):
    """Pareto distribution on [m, inf), whose density falls like x**-(alpha + 1)."""

    def __init__(self, alpha: ArrayLike, m: ArrayLike = 1.0, *, shape: Any = None) -> None:
        alpha_, m_ = self._take(shape, alpha=alpha, m=m)
        self._require((alpha_ > 0) & (m_ > 0), "alpha and m must be positive")
        self._set(densities.PARETO, [alpha_, m_, np.log(alpha_) + alpha_ * np.log(m_)], m_, math.inf)


class TruncatedNormal(Distribution):
    """Normal distribution of mean `mu` and standard deviation `sigma` before it is cut to [lower, upper]."""

    def __init__(
        self,
        mu: ArrayLike = 0.0,
        sigma: ArrayLike = 1.0,
        lower: ArrayLike = -math.inf,
        upper: ArrayLike = math.inf,
        *,
        shape: Any = None,
    ) -> None:
        from scipy.special import log_ndtr

        # infinite bounds stand for none, and everything else checks for finite numbers
        ends = [np.clip(np.asarray(end, dtype=np.float64), -HUGE, HUGE) for end in (lower, upper)]
        mu_, sigma_, low, high = self._take(shape, mu=mu, sigma=sigma, lower=ends[0], upper=ends[1])
        self._require(sigma_ > 0, "sigma must be positive")
        self._require(low < high, "lower must be below upper")
        with np.errstate(over="ignore"):
            a, b = (low - mu_) / sigma_, (high - mu_) / sigma_
        # on the side of zero where its tail is short, so that nothing cancels
        a_, b_ = np.where(a > 0, -b, a), np.where(a > 0, -a, b)
        share = log_ndtr(b_) + np.log1p(-np.exp(log_ndtr(a_) - log_ndtr(b_)))
        self._require(np.isfinite(share), "[lower, upper] holds no part of the normal law that numbers could tell")
        constant = -np.log(sigma_) - 0.5 * math.log(2 * math.pi) - share
        columns = [2.0 * np.arange(len(a)), mu_, 1 / sigma_, constant]
        self._set(densities.TRUNCATED_NORMAL, columns, low, high, table=np.column_stack([a, b]).ravel())
        self.lower, self.upper = np.where(low == -HUGE, -math.inf, low), np.where(high == HUGE, math.inf, high)


class LogNormal(Distribution):
    """Distribution whose logarithm is normal with mean `mu` and standard deviation `sigma`."""

    def __init__(self, mu: ArrayLike = 0.0, sigma: ArrayLike = 1.0, *, shape: Any = None) -> None:
        mu_, sigma_ = self._take(shape, mu=mu, sigma=sigma)
        self._require(sigma_ > 0, "sigma must be positive")
        constant = -np.log(sigma_) - 0.5 * math.log(2 * math.pi)
        self._set(densities.LOG_NORMAL, [mu_, 1 / sigma_, constant], _TINY, math.inf)
        self.lower = 0.0


class Bernoulli(Distribution):
    """1 with probability p, else 0."""

    def __init__(self, p: ArrayLike = 0.5, *, shape: Any = None) -> None:
        (p_,) = self._take(shape, p=p)
        self._require((p_ > 0) & (p_ < 1), "p must lie strictly between 0 and 1")
        self._set(densities.TWO_POINT, [0.0, 1.0, np.log1p(-p_), np.log(p_)], 0.0, 1.0, BINARY)


class Spin(Distribution):
    """-1 or +1 with probability proportional to exp(-field * spin)."""

    def __init__(self, field: ArrayLike = 0.0, *, shape: Any = None) -> None:
        (field_,) = self._take(shape, field=field)
        log_norm = np.logaddexp(field_, -field_)
        self._set(
            densities.TWO_POINT,
            [-1.0, 1.0, field_ - log_norm, -field_ - log_norm],
            -1.0,
            1.0,
            BINARY,
        )


class Categorical(Distribution):
    """One of 0, 1, ..., len(p) - 1 with the probabilities `p`."""

    def __init__(self, p: ArrayLike, *, shape: Any = None) -> None:
        self._given = {"p": p, **({} if shape is None else {"shape": shape})}
        self.shape = () if shape is None else as_shape(shape)
        weights = self._numbers("p", p)
        self._require(weights.ndim == 1 and len(weights) > 1, "p must be a list of at least two numbers")
        self._require(weights >= 0, "p must hold probabilities")
        self._require(abs(weights.sum() - 1.0) < 1e-8, f"p must sum to 1 (it sums to {weights.sum():.9g})")
        weights = weights / weights.sum()
        cumulated = np.cumsum(weights)
        cumulated[np.flatnonzero(weights)[-1] :] = 1.0
        with np.errstate(divide="ignore"):
            table = np.concatenate([np.log(weights), cumulated])
        size = len(weights)
        self._set(densities.CATEGORICAL, [0.0, size], 0.0, size - 1.0, INTEGER, table)


class DiscreteUniform(Distribution):
    """Integers from `lower` to `upper`, both included."""

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, shape: Any = None) -> None:
        a, b = self._take(shape, lower=lower, upper=upper)
        self._require((a == np.floor(a)) & (b == np.floor(b)), "lower and upper must be integers")
        self._require(a <= b, "lower must not exceed upper")
        self._set(densities.DISCRETE_UNIFORM, [a, b, -np.log(b - a + 1)], a, b, INTEGER)


class Poisson(Distribution):
    """Poisson distribution with mean `mu`."""

    def __init__(self, mu: ArrayLike, *, shape: Any = None) -> None:
        (mu_,) = self._take(shape, mu=mu)
        self._require((mu_ > 0) & (mu_ < 1e15), "mu must be positive, and below 1e15 for its draws to be exact")
        self._set(densities.POISSON, [mu_, np.log(mu_)], 0.0, math.inf, INTEGER)


class Geometric(Distribution):
    """Number of trials up to the first success, from 1, with success probability `p`.

    With `start=0` it is the number of failures before the first success.
    """

    def __init__(self, p: ArrayLike, start: int = 1, *, shape: Any = None) -> None:
        (p_,) = self._take(shape, p=p)
        self._given["start"] = start
        self._require(start in (0, 1), "start must be 0 or 1")
        self._require((p_ > 1e-14) & (p_ < 1), "p must lie between 1e-14 and 1, for its draws to be exact")
        self._set(densities.GEOMETRIC, [start, np.log1p(-p_), np.log(p_)], start, math.inf, INTEGER)


class Binomial(Distribution):
    """Number of successes in `n` trials with success probability `p`."""

    def __init__(self, n: ArrayLike, p: ArrayLike, *, shape: Any = None) -> None:
        n_, p_ = self._take(shape, n=n, p=p)
        self._require((n_ >= 0) & (n_ == np.floor(n_)), "n must be an integer from 0 up")
        self._require((p_ > 0) & (p_ < 1), "p must lie strictly between 0 and 1")
        columns = [n_, np.log(p_), np.log1p(-p_), _lgamma(n_ + 1)]
        self._set(densities.BINOMIAL, columns, 0.0, n_, INTEGER)


class NegativeBinomial(Distribution):
    """Counts with mean `mu` and variance mu + mu**2 / alpha.

    With `n` and `p` instead: failures before the n-th success, of probability p; neither n nor alpha need be whole.
    """

    def __init__(
        self,
        mu: ArrayLike | None = None,
        alpha: ArrayLike | None = None,
        *,
        n: ArrayLike | None = None,
        p: ArrayLike | None = None,
        shape: Any = None,
    ) -> None:
        if mu is not None and alpha is not None and n is None and p is None:
            mu_, n_ = self._take(shape, mu=mu, alpha=alpha)
            self._require((mu_ > 0) & (n_ > 0), "mu and alpha must be positive")
            odds, log_p, log_rest = mu_ / n_, -np.log1p(mu_ / n_), -np.log1p(n_ / mu_)
        elif n is not None and p is not None and mu is None and alpha is None:
            n_, p_ = self._take(shape, n=n, p=p)
            self._require((n_ > 0) & (p_ > 0) & (p_ < 1), "n must be positive and p strictly between 0 and 1")
            odds, log_p, log_rest = (1 - p_) / p_, np.log(p_), np.log1p(-p_)
        else:
            given = f"mu={mu!r}, alpha={alpha!r}, n={n!r}, p={p!r}"
            raise TargetError(f"NegativeBinomial({given}): give mu and alpha, or n and p.")
        self._require(n_ <= 1e8, f"{'n' if mu is None else 'alpha'} must be at most 1e8: beyond, take sterna.Poisson")
        self._require(n_ * odds < 1e12, "the mean n(1-p)/p must be below 1e12 for its draws to be exact")
        columns = [n_, log_rest, odds, n_ * log_p - _lgamma(n_)]
        self._set(densities.NEGATIVE_BINOMIAL, columns, 0.0, math.inf, INTEGER)


class Scaled(Distribution):
    """The variable loc + scale * z, where z has another distribution of one-dimensional real coordinates."""

    transform = "affine"

    def __init__(self, distribution: Distribution, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> None:
        loc_, scale_ = self._take(distribution.shape, loc=loc, scale=scale)
        self._given = {"distribution": distribution, **self._given}
        self._require(scale_ != 0, "scale must not be 0")
        self.coordinates = distribution.coordinates
        self.affine = (loc_.copy(), np.diag(scale_))
        ends = [loc_ + scale_ * np.asarray(end, dtype=np.float64) for end in (distribution.lower, distribution.upper)]
        self.lower, self.upper = np.minimum(*ends), np.maximum(*ends)


class Dirichlet(Distribution):
    """Distribution on vectors of positive numbers that sum to 1, with concentrations `a`.

    It is stored as the fractions broken off a stick, which are independent Beta variables: no explorer
    can leave the simplex.
    """

    transform = "simplex"

    def __init__(self, a: ArrayLike) -> None:
        (a_,) = self._take(None, a=a)
        self._require(len(self.shape) == 1 and len(a_) > 1, "a must be a list of at least two numbers")
        self._require(a_ > 0, "a must be positive")
        rest = np.cumsum(a_[::-1])[::-1][1:]
        fractions = Beta(a_[:-1], rest)
        self.coordinates = fractions.coordinates
        self.lower, self.upper = 0.0, 1.0


class MultivariateNormal(Distribution):
    """Normal vector with mean `mu` and covariance matrix `cov`.

    It is stored as independent standard normal coordinates z, where the variable is mu + L z and
    L is the Cholesky factor of the covariance.
    """

    transform = "affine"

    def __init__(self, mu: ArrayLike, cov: ArrayLike) -> None:
        self._given = {"mu": mu, "cov": cov}
        mean, covariance = self._numbers("mu", mu), self._numbers("cov", cov)
        self._require(mean.ndim == 1, "mu must be a vector")
        size = len(mean)
        self._require(covariance.shape == (size, size), f"cov must be a {size} x {size} matrix")
        self._require(np.allclose(covariance, covariance.T), "cov must be symmetric")
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            raise TargetError(f"{self!r}: cov must be positive definite.") from None
        self.shape = (size,)
        self.affine = (mean, np.ascontiguousarray(factor))
        self.coordinates = Normal(0.0, 1.0, shape=size).coordinates
