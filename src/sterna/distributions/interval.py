"""Distributions on an interval."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Adapters, Distribution, Family, Shape
from sterna.distributions.interval_draw import draw_in_interval
from sterna.distributions.real_line import normal_log_density, normal_slope
from sterna.distributions.scaled import shifted
from sterna.errors import TargetError
from sterna.ground.compilation import compiled, inlined
from sterna.ground.numbers import float_array
from sterna.ground.streams import Stream, uniform
from sterna.ground.values import HUGE
from sterna.types import FloatArray, FloatPointer

__all__ = ["LogUniform", "TruncatedNormal", "Uniform"]


@inlined
def uniform_log_density(constant: float) -> float:
    """Log-density of the uniform distribution."""
    return constant


@compiled
def draw_uniform(first: float, last: float, stream: Stream) -> float:
    """Draw from the uniform distribution."""
    return first + (last - first) * uniform(stream)


class Uniform(Distribution):
    """Uniform distribution on [lower, upper].

    Examples
    --------
    >>> import sterna
    >>> position = sterna.Uniform([0, 0], [3, 4])  # a point in a rectangle
    >>> position.shape
    (2,)
    """

    family = Family(("first", "last", "constant"), uniform_log_density, draw=draw_uniform)
    adapters = Adapters(
        scipy={"uniform": lambda loc, scale: Uniform(loc, loc + scale)},
        numpyro={"Uniform": "low high"},
        pymc={"UniformRV": "lower upper"},
    )

    def __init__(self, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        a, b = self._take(shape, lower=lower, upper=upper)
        self._require(a < b, "lower must be below upper")
        with np.errstate(over="ignore"):
            self._require(np.isfinite(b - a), "upper - lower must be finite")
        self._store(a, b, first=a, last=b, constant=-np.log(b - a))


@inlined
def log_uniform_log_density(x: float, constant: float) -> float:
    """Log-density of the log-uniform distribution."""
    return constant - math.log(x)


@inlined
def log_uniform_slope(x: float) -> float:
    """Slope of the log-uniform log-density."""
    return -1.0 / x


@compiled
def draw_log_uniform(log_first: float, log_last: float, stream: Stream) -> float:
    """Draw from the log-uniform distribution."""
    return math.exp(log_first + (log_last - log_first) * uniform(stream))


class LogUniform(Distribution):
    """Distribution whose logarithm is uniform between log(lower) and log(upper).

    Examples
    --------
    >>> import sterna
    >>> sterna.LogUniform(1e-3, 1e3)  # a scale of unknown order of magnitude
    LogUniform(lower=0.001, upper=1000.0)
    """

    family = Family(
        ("log_first", "log_last", "constant"), log_uniform_log_density, slope=log_uniform_slope, draw=draw_log_uniform
    )
    adapters = Adapters(
        scipy={
            "loguniform": lambda a, b, loc, scale: shifted(LogUniform(a * scale, b * scale), loc),
            "reciprocal": lambda a, b, loc, scale: shifted(LogUniform(a * scale, b * scale), loc),
        },
        numpyro={"LogUniform": "low high"},
    )

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, shape: Shape = None) -> None:
        a, b = self._take(shape, lower=lower, upper=upper)
        self._require((a > 0) & (a < b), "lower must be positive and below upper")
        log_a, log_b = np.log(a), np.log(b)
        self._store(a, b, log_first=log_a, log_last=log_b, constant=-np.log(log_b - log_a))


@compiled
def draw_truncated_normal(
    bounds: float, loc: float, inverse_scale: float, table: FloatPointer, stream: Stream
) -> float:
    """Draw from a normal distribution truncated to the standardised bounds that are in the table at `bounds`."""
    index = int(bounds)
    return loc + draw_in_interval(table[index], table[index + 1], stream) / inverse_scale


def _truncated_of_numpyro(
    base_dist: object, low: ArrayLike = -math.inf, high: ArrayLike = math.inf, *, shape: Shape
) -> TruncatedNormal:
    name = type(base_dist).__name__
    if name != "Normal":
        raise TargetError(f"sterna has no {name} distribution that is truncated; it has sterna.TruncatedNormal")
    loc, scale = (np.asarray(getattr(base_dist, part), dtype=np.float64) for part in ("loc", "scale"))
    return TruncatedNormal(loc, scale, low, high, shape=shape)


class TruncatedNormal(Distribution):
    """Normal distribution with mean `mu` and standard deviation `sigma`, then truncated to [lower, upper].

    Examples
    --------
    >>> import sterna
    >>> speed = sterna.TruncatedNormal(mu=3, sigma=2, lower=0)  # measured as 3 +- 2, and not negative
    >>> speed.upper
    array([inf])
    """

    family = Family(
        ("bounds", "loc", "inverse_scale", "constant"),
        normal_log_density,
        slope=normal_slope,
        draw=draw_truncated_normal,
    )
    adapters = Adapters(
        scipy={"truncnorm": lambda a, b, loc, scale: TruncatedNormal(loc, scale, loc + a * scale, loc + b * scale)},
        numpyro={
            "LeftTruncatedDistribution": _truncated_of_numpyro,
            "RightTruncatedDistribution": _truncated_of_numpyro,
            "TwoSidedTruncatedDistribution": _truncated_of_numpyro,
        },
        pymc={"TruncatedNormalRV": "mu sigma lower upper"},
    )

    def __init__(
        self,
        mu: ArrayLike = 0.0,
        sigma: ArrayLike = 1.0,
        lower: ArrayLike = -math.inf,
        upper: ArrayLike = math.inf,
        *,
        shape: Shape = None,
    ) -> None:
        # an infinite bound means that there is none, and all other arguments must be finite
        ends = [_without_infinity(end) for end in (lower, upper)]
        mu_, sigma_, low, high = self._take(shape, mu=mu, sigma=sigma, lower=ends[0], upper=ends[1])
        self._given = {**self._given, "lower": lower, "upper": upper}
        self._require(sigma_ > 0, "sigma must be positive")
        self._require(low < high, "lower must be below upper")
        with np.errstate(over="ignore"):
            a, b = (low - mu_) / sigma_, (high - mu_) / sigma_
        log_probability = _log_probability_between(a, b)
        self._require(
            np.isfinite(log_probability), "the probability of [lower, upper] is below the smallest float64 number"
        )
        constant = -np.log(sigma_) - 0.5 * math.log(2 * math.pi) - log_probability
        self._store(
            low,
            high,
            table=np.column_stack([a, b]).ravel(),
            bounds=2.0 * np.arange(len(a)),
            loc=mu_,
            inverse_scale=1 / sigma_,
            constant=constant,
        )
        self.lower, self.upper = np.where(low == -HUGE, -math.inf, low), np.where(high == HUGE, math.inf, high)


def _without_infinity(bound: ArrayLike) -> ArrayLike:
    """Return a bound with the largest number in place of infinity; what is no number is left for the checks."""
    given = float_array(bound)
    return bound if given is None or np.isfinite(given).all() else np.clip(given, -HUGE, HUGE)


def _log_probability_between(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the log-probability that a standard normal variable lies between a and b."""
    from scipy.special import log_ndtr

    # in the lower tail, where nothing cancels
    a_, b_ = np.where(a > 0, -b, a), np.where(a > 0, -a, b)
    log_probability: FloatArray = log_ndtr(b_) + np.log1p(-np.exp(log_ndtr(a_) - log_ndtr(b_)))
    return log_probability
