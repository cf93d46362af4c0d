"""Distributions on a half line: absolute values of symmetric variables, waiting times and heavy tails."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Adapters, Distribution, Family, Shape, log_gamma
from sterna.distributions.real_line import (
    cauchy_log_density,
    cauchy_slope,
    draw_scaled_student,
    normal_log_density,
    normal_slope,
    student_log_density,
    student_slope,
)
from sterna.distributions.scaled import shifted
from sterna.ground.compilation import compiled, compiled_with_memory, inlined
from sterna.ground.streams import Stream, exponential, standard_normal, uniform

__all__ = ["Exponential", "HalfCauchy", "HalfNormal", "HalfStudentT", "LogNormal", "Pareto", "Weibull"]


@compiled
def draw_half_normal(inverse_scale: float, stream: Stream) -> float:
    """Draw from the half-normal distribution."""
    return abs(standard_normal(stream)) / inverse_scale


@compiled_with_memory
def draw_half_normal_with_numpy(inverse_scale: float, rng: np.random.Generator) -> float:
    """Draw from the half-normal distribution."""
    return abs(rng.standard_normal()) / inverse_scale


class HalfNormal(Distribution):
    """Absolute value of a normal variable with mean 0 and standard deviation `sigma`.

    Examples
    --------
    >>> import sterna
    >>> sigma = sterna.HalfNormal(3)  # a standard deviation of at most about 6
    >>> sigma.lower, sigma.upper
    (0.0, inf)
    """

    family = Family(
        ("loc", "inverse_scale", "constant"),
        normal_log_density,
        slope=normal_slope,
        draw=draw_half_normal,
        draw_with_numpy=draw_half_normal_with_numpy,
    )
    adapters = Adapters(
        scipy={"halfnorm": lambda loc, scale: shifted(HalfNormal(scale), loc)},
        numpyro={"HalfNormal": "scale"},
        pymc={"HalfNormalRV": lambda loc, sigma, shape: shifted(HalfNormal(sigma, shape=shape), loc)},
    )

    def __init__(self, sigma: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        (sigma_,) = self._take(shape, sigma=sigma)
        self._require(sigma_ > 0, "sigma must be positive")
        constant = math.log(2) - np.log(sigma_) - 0.5 * math.log(2 * math.pi)
        self._store(0.0, math.inf, loc=0.0, inverse_scale=1 / sigma_, constant=constant)


@compiled
def draw_half_cauchy(inverse_scale: float, stream: Stream) -> float:
    """Draw from the half-Cauchy distribution."""
    return abs(math.tan(math.pi * (uniform(stream) - 0.5))) / inverse_scale


@compiled_with_memory
def draw_half_cauchy_with_numpy(inverse_scale: float, rng: np.random.Generator) -> float:
    """Draw from the half-Cauchy distribution."""
    return abs(rng.standard_cauchy()) / inverse_scale


class HalfCauchy(Distribution):
    """Absolute value of a Cauchy variable with median 0 and scale `beta`.

    Examples
    --------
    >>> import sterna
    >>> sterna.HalfCauchy(2.5)  # a standard deviation that may be large
    HalfCauchy(beta=2.5)
    """

    family = Family(
        ("loc", "inverse_scale", "constant"),
        cauchy_log_density,
        slope=cauchy_slope,
        draw=draw_half_cauchy,
        draw_with_numpy=draw_half_cauchy_with_numpy,
    )
    adapters = Adapters(
        scipy={"halfcauchy": lambda loc, scale: shifted(HalfCauchy(scale), loc)},
        numpyro={"HalfCauchy": "scale"},
        pymc={"HalfCauchyRV": "beta"},
    )

    def __init__(self, beta: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        (beta_,) = self._take(shape, beta=beta)
        self._require(beta_ > 0, "beta must be positive")
        constant = math.log(2 / math.pi) - np.log(beta_)
        self._store(0.0, math.inf, loc=0.0, inverse_scale=1 / beta_, constant=constant)


@compiled
def draw_half_student(nu: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from the half-t distribution."""
    return abs(draw_scaled_student(nu, inverse_scale, stream))


@compiled_with_memory
def draw_half_student_with_numpy(nu: float, inverse_scale: float, rng: np.random.Generator) -> float:
    """Draw from the half-t distribution."""
    return abs(rng.standard_t(nu)) / inverse_scale


class HalfStudentT(Distribution):
    """Absolute value of a Student's t variable with `nu` degrees of freedom, location 0 and scale `sigma`.

    Examples
    --------
    >>> import sterna
    >>> sterna.HalfStudentT(nu=4, sigma=2)  # between HalfNormal(2) and HalfCauchy(2)
    HalfStudentT(nu=4, sigma=2)
    """

    family = Family(
        ("nu", "loc", "inverse_scale", "constant"),
        student_log_density,
        slope=student_slope,
        draw=draw_half_student,
        draw_with_numpy=draw_half_student_with_numpy,
    )
    adapters = Adapters(pymc={"HalfStudentTRV": "nu sigma"})

    def __init__(self, nu: ArrayLike, sigma: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        nu_, sigma_ = self._take(shape, nu=nu, sigma=sigma)
        self._require((nu_ > 0) & (sigma_ > 0), "nu and sigma must be positive")
        constant = log_gamma((nu_ + 1) / 2) - log_gamma(nu_ / 2) - 0.5 * np.log(nu_ * math.pi) - np.log(sigma_)
        self._store(0.0, math.inf, nu=nu_, loc=0.0, inverse_scale=1 / sigma_, constant=math.log(2) + constant)


@inlined
def exponential_log_density(x: float, rate: float, log_rate: float) -> float:
    """Log-density of the exponential distribution."""
    return log_rate - rate * x


@inlined
def exponential_slope(rate: float) -> float:
    """Slope of the exponential log-density."""
    return -rate


@compiled
def draw_exponential(rate: float, stream: Stream) -> float:
    """Draw from the exponential distribution."""
    return exponential(stream) / rate


@compiled_with_memory
def draw_exponential_with_numpy(rate: float, rng: np.random.Generator) -> float:
    """Draw from the exponential distribution."""
    return rng.standard_exponential() / rate


class Exponential(Distribution):
    """Exponential distribution with rate `lam`, and so with mean 1/lam.

    Examples
    --------
    >>> import sterna
    >>> sterna.Exponential(lam=0.1)  # a waiting time with mean 10: give the rate, not the mean
    Exponential(lam=0.1)
    """

    family = Family(
        ("rate", "log_rate"),
        exponential_log_density,
        slope=exponential_slope,
        draw=draw_exponential,
        draw_with_numpy=draw_exponential_with_numpy,
    )
    adapters = Adapters(
        scipy={"expon": lambda loc, scale: shifted(Exponential(1 / scale), loc)},
        numpyro={"Exponential": "rate"},
        pymc={"ExponentialRV": lambda scale, shape: Exponential(1 / scale, shape=shape)},
    )

    def __init__(self, lam: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        (lam_,) = self._take(shape, lam=lam)
        self._require(lam_ > 0, "lam must be positive")
        self._store(0.0, math.inf, rate=lam_, log_rate=np.log(lam_))


@inlined
def weibull_log_density(x: float, alpha: float, inverse_scale: float, constant: float) -> float:
    """Log-density of the Weibull distribution."""
    return constant + (alpha - 1.0) * math.log(x) - (x * inverse_scale) ** alpha


@inlined
def weibull_slope(x: float, alpha: float, inverse_scale: float) -> float:
    """Slope of the Weibull log-density."""
    return (alpha - 1.0 - alpha * (x * inverse_scale) ** alpha) / x


@compiled
def draw_weibull(alpha: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from the Weibull distribution."""
    return exponential(stream) ** (1.0 / alpha) / inverse_scale


class Weibull(Distribution):
    """Weibull distribution with shape parameter `alpha` and scale `beta`.

    Examples
    --------
    >>> import sterna
    >>> sterna.Weibull(alpha=1.5, beta=[100, 200])  # lifetimes of two parts that wear out
    Weibull(alpha=1.5, beta=[100, 200])
    """

    family = Family(
        ("alpha", "inverse_scale", "constant"),
        weibull_log_density,
        slope=weibull_slope,
        draw=draw_weibull,
        open_support=True,
    )
    adapters = Adapters(
        scipy={
            "weibull_min": lambda c, loc, scale: shifted(Weibull(c, scale), loc),
            "rayleigh": lambda loc, scale: shifted(Weibull(2.0, math.sqrt(2.0) * scale), loc),
        },
        numpyro={"Weibull": "concentration scale"},
        pymc={"WeibullBetaRV": "alpha beta"},
    )

    def __init__(self, alpha: ArrayLike, beta: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        alpha_, beta_ = self._take(shape, alpha=alpha, beta=beta)
        self._require((alpha_ > 0) & (beta_ > 0), "alpha and beta must be positive")
        constant = np.log(alpha_) - alpha_ * np.log(beta_)
        self._store(0.0, math.inf, alpha=alpha_, inverse_scale=1 / beta_, constant=constant)


@inlined
def pareto_log_density(x: float, alpha: float, constant: float) -> float:
    """Log-density of the Pareto distribution."""
    return constant - (alpha + 1.0) * math.log(x)


@inlined
def pareto_slope(x: float, alpha: float) -> float:
    """Slope of the Pareto log-density."""
    return -(alpha + 1.0) / x


@compiled
def draw_pareto(alpha: float, minimum: float, stream: Stream) -> float:
    """Draw from the Pareto distribution."""
    return minimum * math.exp(exponential(stream) / alpha)


class Pareto(Distribution):
    """Pareto distribution on [m, inf), whose density falls like x**-(alpha + 1).

    Examples
    --------
    >>> import sterna
    >>> income = sterna.Pareto(alpha=2, m=10_000)
    >>> income.lower
    array([10000.])
    """

    family = Family(("alpha", "minimum", "constant"), pareto_log_density, slope=pareto_slope, draw=draw_pareto)
    adapters = Adapters(
        scipy={"pareto": lambda b, loc, scale: shifted(Pareto(b, scale), loc)},
        numpyro={"Pareto": "alpha scale"},
        pymc={"ParetoRV": "alpha m"},
    )

    def __init__(self, alpha: ArrayLike, m: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        alpha_, m_ = self._take(shape, alpha=alpha, m=m)
        self._require((alpha_ > 0) & (m_ > 0), "alpha and m must be positive")
        constant = np.log(alpha_) + alpha_ * np.log(m_)
        self._store(m_, math.inf, alpha=alpha_, minimum=m_, constant=constant)


@inlined
def log_normal_log_density(x: float, loc: float, inverse_scale: float, constant: float) -> float:
    """Log-density of the log-normal distribution."""
    log_x = math.log(x)
    z = (log_x - loc) * inverse_scale
    return constant - 0.5 * z * z - log_x


@inlined
def log_normal_slope(x: float, loc: float, inverse_scale: float) -> float:
    """Slope of the log-normal log-density."""
    return -((math.log(x) - loc) * inverse_scale * inverse_scale + 1.0) / x


@compiled
def draw_log_normal(loc: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from the log-normal distribution."""
    return math.exp(loc + standard_normal(stream) / inverse_scale)


@compiled_with_memory
def draw_log_normal_with_numpy(loc: float, inverse_scale: float, rng: np.random.Generator) -> float:
    """Draw from the log-normal distribution."""
    return math.exp(loc + rng.standard_normal() / inverse_scale)


class LogNormal(Distribution):
    """Distribution whose logarithm is normal with mean `mu` and standard deviation `sigma`.

    Examples
    --------
    >>> import math, sterna
    >>> sterna.LogNormal(math.log(100), 0.5)  # a concentration with median 100, within a factor of about 2.7
    LogNormal(mu=4.605..., sigma=0.5)
    """

    family = Family(
        ("loc", "inverse_scale", "constant"),
        log_normal_log_density,
        slope=log_normal_slope,
        draw=draw_log_normal,
        draw_with_numpy=draw_log_normal_with_numpy,
        open_support=True,
    )
    adapters = Adapters(
        scipy={"lognorm": lambda s, loc, scale: shifted(LogNormal(np.log(scale), s), loc)},
        numpyro={"LogNormal": "loc scale"},
        pymc={"LogNormalRV": "mu sigma"},
    )

    def __init__(self, mu: ArrayLike = 0.0, sigma: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        mu_, sigma_ = self._take(shape, mu=mu, sigma=sigma)
        self._require(sigma_ > 0, "sigma must be positive")
        constant = -np.log(sigma_) - 0.5 * math.log(2 * math.pi)
        self._store(0.0, math.inf, loc=mu_, inverse_scale=1 / sigma_, constant=constant)
