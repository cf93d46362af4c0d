"""Distributions on the whole real line."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Adapters, Distribution, Family, Shape, log_gamma
from sterna.distributions.gamma_draw import log_gamma_draw
from sterna.distributions.scaled import Scaled
from sterna.ground.compilation import compiled, compiled_with_memory, inlined
from sterna.ground.streams import Stream, exponential, standard_normal, uniform

__all__ = ["Cauchy", "Gumbel", "Laplace", "Logistic", "Normal", "StudentT"]


@inlined
def normal_log_density(x: float, loc: float, inverse_scale: float, constant: float) -> float:
    """Log-density of the normal distribution."""
    z = (x - loc) * inverse_scale
    return constant - 0.5 * z * z


@inlined
def normal_slope(x: float, loc: float, inverse_scale: float) -> float:
    """Slope of the normal log-density."""
    return -(x - loc) * inverse_scale * inverse_scale


@compiled
def draw_normal(loc: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from the normal distribution."""
    return loc + standard_normal(stream) / inverse_scale


@compiled_with_memory
def draw_normal_with_numpy(loc: float, inverse_scale: float, rng: np.random.Generator) -> float:
    """Draw from the normal distribution."""
    return loc + rng.standard_normal() / inverse_scale


class Normal(Distribution):
    """Normal distribution with mean `mu` and standard deviation `sigma`.

    Examples
    --------
    >>> import sterna
    >>> reference = {"intercept": sterna.Normal(0, 10), "slopes": sterna.Normal(0, [1.0, 1.0, 5.0])}
    >>> reference["slopes"].shape
    (3,)
    """

    family = Family(
        ("loc", "inverse_scale", "constant"),
        normal_log_density,
        slope=normal_slope,
        draw=draw_normal,
        draw_with_numpy=draw_normal_with_numpy,
    )
    adapters = Adapters(scipy={"norm": "loc scale"}, numpyro={"Normal": "loc scale"}, pymc={"NormalRV": "mu sigma"})

    def __init__(self, mu: ArrayLike = 0.0, sigma: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        mu_, sigma_ = self._take(shape, mu=mu, sigma=sigma)
        self._require(sigma_ > 0, "sigma must be positive")
        constant = -np.log(sigma_) - 0.5 * math.log(2 * math.pi)
        self._store(-math.inf, math.inf, loc=mu_, inverse_scale=1 / sigma_, constant=constant)


@inlined
def log1p_square(z: float, nu: float) -> float:
    """Return log(1 + z^2 / nu), also if z^2 overflows."""
    return math.log1p(z * z / nu) if abs(z) < 1e150 else 2.0 * math.log(abs(z)) - math.log(nu)


@inlined
def standard_student_slope(z: float, nu: float) -> float:
    """Slope of Student's log-density in its standard coordinate, also if z^2 overflows."""
    if abs(z) < 1e150:
        return -(nu + 1.0) * z / (nu + z * z)
    return -(nu + 1.0) / z


@inlined
def cauchy_log_density(x: float, loc: float, inverse_scale: float, constant: float) -> float:
    """Log-density of the Cauchy distribution."""
    z = (x - loc) * inverse_scale
    return constant - log1p_square(z, 1.0)


@inlined
def cauchy_slope(x: float, loc: float, inverse_scale: float) -> float:
    """Slope of the Cauchy log-density."""
    return standard_student_slope((x - loc) * inverse_scale, 1.0) * inverse_scale


@compiled
def draw_cauchy(loc: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from the Cauchy distribution."""
    return loc + math.tan(math.pi * (uniform(stream) - 0.5)) / inverse_scale


@compiled_with_memory
def draw_cauchy_with_numpy(loc: float, inverse_scale: float, rng: np.random.Generator) -> float:
    """Draw from the Cauchy distribution."""
    return loc + rng.standard_cauchy() / inverse_scale


class Cauchy(Distribution):
    """Cauchy distribution with median `alpha` and scale `beta`.

    Examples
    --------
    >>> import sterna
    >>> sterna.Cauchy(0, 2.5, shape=4)  # four coefficients, any of which may be large
    Cauchy(alpha=0, beta=2.5, shape=4)
    """

    family = Family(
        ("loc", "inverse_scale", "constant"),
        cauchy_log_density,
        slope=cauchy_slope,
        draw=draw_cauchy,
        draw_with_numpy=draw_cauchy_with_numpy,
    )
    adapters = Adapters(scipy={"cauchy": "loc scale"}, numpyro={"Cauchy": "loc scale"}, pymc={"CauchyRV": "loc scale"})

    def __init__(self, alpha: ArrayLike = 0.0, beta: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        alpha_, beta_ = self._take(shape, alpha=alpha, beta=beta)
        self._require(beta_ > 0, "beta must be positive")
        constant = -math.log(math.pi) - np.log(beta_)
        self._store(-math.inf, math.inf, loc=alpha_, inverse_scale=1 / beta_, constant=constant)


@inlined
def student_log_density(x: float, nu: float, loc: float, inverse_scale: float, constant: float) -> float:
    """Log-density of Student's t distribution."""
    z = (x - loc) * inverse_scale
    return constant - 0.5 * (nu + 1.0) * log1p_square(z, nu)


@inlined
def student_slope(x: float, nu: float, loc: float, inverse_scale: float) -> float:
    """Slope of Student's log-density."""
    return standard_student_slope((x - loc) * inverse_scale, nu) * inverse_scale


@compiled
def draw_scaled_student(nu: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from Student's t distribution around 0."""
    root_precision = math.exp(0.5 * (log_gamma_draw(0.5 * nu, stream) - math.log(0.5 * nu)))
    return standard_normal(stream) / (root_precision * inverse_scale)


@compiled
def draw_student(nu: float, loc: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from Student's t distribution."""
    return loc + draw_scaled_student(nu, inverse_scale, stream)


@compiled_with_memory
def draw_student_with_numpy(nu: float, loc: float, inverse_scale: float, rng: np.random.Generator) -> float:
    """Draw from Student's t distribution."""
    return loc + rng.standard_t(nu) / inverse_scale


class StudentT(Distribution):
    """Student's t distribution with `nu` degrees of freedom, location `mu` and scale `sigma`.

    Examples
    --------
    >>> import sterna
    >>> sterna.StudentT(nu=4, mu=0, sigma=2)  # heavier tails than Normal(0, 2), lighter than Cauchy(0, 2)
    StudentT(nu=4, mu=0, sigma=2)
    """

    family = Family(
        ("nu", "loc", "inverse_scale", "constant"),
        student_log_density,
        slope=student_slope,
        draw=draw_student,
        draw_with_numpy=draw_student_with_numpy,
    )
    adapters = Adapters(
        scipy={"t": "df loc scale"}, numpyro={"StudentT": "df loc scale"}, pymc={"StudentTRV": "nu mu sigma"}
    )

    def __init__(self, nu: ArrayLike, mu: ArrayLike = 0.0, sigma: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        nu_, mu_, sigma_ = self._take(shape, nu=nu, mu=mu, sigma=sigma)
        self._require((nu_ > 0) & (sigma_ > 0), "nu and sigma must be positive")
        constant = log_gamma((nu_ + 1) / 2) - log_gamma(nu_ / 2) - 0.5 * np.log(nu_ * math.pi) - np.log(sigma_)
        self._store(-math.inf, math.inf, nu=nu_, loc=mu_, inverse_scale=1 / sigma_, constant=constant)


@inlined
def laplace_log_density(x: float, loc: float, inverse_scale: float, constant: float) -> float:
    """Log-density of the Laplace distribution."""
    return constant - abs(x - loc) * inverse_scale


@inlined
def laplace_slope(x: float, loc: float, inverse_scale: float) -> float:
    """Slope of the Laplace log-density."""
    return -math.copysign(inverse_scale, x - loc)


@compiled
def draw_laplace(loc: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from the Laplace distribution."""
    distance = exponential(stream)
    return loc + (distance if uniform(stream) < 0.5 else -distance) / inverse_scale


class Laplace(Distribution):
    """Laplace distribution with mean `mu` and scale `b`.

    Examples
    --------
    >>> import sterna
    >>> sterna.Laplace(0, b=0.5, shape=20)  # twenty coefficients, most of them near zero
    Laplace(mu=0, b=0.5, shape=20)
    """

    family = Family(("loc", "inverse_scale", "constant"), laplace_log_density, slope=laplace_slope, draw=draw_laplace)
    adapters = Adapters(scipy={"laplace": "loc scale"}, numpyro={"Laplace": "loc scale"}, pymc={"LaplaceRV": "mu b"})

    def __init__(self, mu: ArrayLike = 0.0, b: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        mu_, b_ = self._take(shape, mu=mu, b=b)
        self._require(b_ > 0, "b must be positive")
        self._store(-math.inf, math.inf, loc=mu_, inverse_scale=1 / b_, constant=-np.log(2 * b_))


@inlined
def logistic_log_density(x: float, loc: float, inverse_scale: float, constant: float) -> float:
    """Log-density of the logistic distribution."""
    z = abs(x - loc) * inverse_scale
    return constant - z - 2.0 * math.log1p(math.exp(-z))


@inlined
def logistic_slope(x: float, loc: float, inverse_scale: float) -> float:
    """Slope of the logistic log-density."""
    return -math.tanh(0.5 * (x - loc) * inverse_scale) * inverse_scale


@compiled
def draw_logistic(loc: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from the logistic distribution."""
    return loc + math.log(math.expm1(exponential(stream))) / inverse_scale


class Logistic(Distribution):
    """Logistic distribution with mean `mu` and scale `s`.

    Examples
    --------
    >>> import sterna
    >>> sterna.Logistic(mu=0, s=1)  # of the log-odds of a probability that is uniform on (0, 1)
    Logistic(mu=0, s=1)
    """

    family = Family(
        ("loc", "inverse_scale", "constant"), logistic_log_density, slope=logistic_slope, draw=draw_logistic
    )
    adapters = Adapters(scipy={"logistic": "loc scale"}, numpyro={"Logistic": "loc scale"}, pymc={"LogisticRV": "mu s"})

    def __init__(self, mu: ArrayLike = 0.0, s: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        mu_, s_ = self._take(shape, mu=mu, s=s)
        self._require(s_ > 0, "s must be positive")
        self._store(-math.inf, math.inf, loc=mu_, inverse_scale=1 / s_, constant=-np.log(s_))


@inlined
def gumbel_log_density(x: float, loc: float, inverse_scale: float, constant: float) -> float:
    """Log-density of the Gumbel distribution."""
    z = (x - loc) * inverse_scale
    return constant - z - math.exp(-z)


@inlined
def gumbel_slope(x: float, loc: float, inverse_scale: float) -> float:
    """Slope of the Gumbel log-density."""
    return math.expm1(-(x - loc) * inverse_scale) * inverse_scale


@compiled
def draw_gumbel(loc: float, inverse_scale: float, stream: Stream) -> float:
    """Draw from the Gumbel distribution."""
    return loc - math.log(exponential(stream)) / inverse_scale


class Gumbel(Distribution):
    """Gumbel distribution (of largest values) with mode `mu` and scale `beta`.

    Examples
    --------
    >>> import sterna
    >>> sterna.Gumbel(mu=30, beta=5)  # the highest temperature of a year
    Gumbel(mu=30, beta=5)
    """

    family = Family(("loc", "inverse_scale", "constant"), gumbel_log_density, slope=gumbel_slope, draw=draw_gumbel)
    adapters = Adapters(
        scipy={
            "gumbel_r": "loc scale",
            "gumbel_l": lambda loc, scale: Scaled(Gumbel(shape=np.shape(loc)), loc, -scale),
        },
        numpyro={"Gumbel": "loc scale"},
        pymc={"GumbelRV": "mu beta"},
    )

    def __init__(self, mu: ArrayLike = 0.0, beta: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        mu_, beta_ = self._take(shape, mu=mu, beta=beta)
        self._require(beta_ > 0, "beta must be positive")
        self._store(-math.inf, math.inf, loc=mu_, inverse_scale=1 / beta_, constant=-np.log(beta_))
