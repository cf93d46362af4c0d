"""Gamma, inverse gamma and beta distributions, all drawn by way of gamma variables."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Adapters, Distribution, Family, Shape, log_gamma
from sterna.distributions.gamma_draw import log_gamma_draw
from sterna.distributions.scaled import shifted
from sterna.ground.compilation import compiled, compiled_with_memory, inlined
from sterna.ground.streams import Stream

__all__ = ["Beta", "Gamma", "InverseGamma"]


@inlined
def gamma_log_density(x: float, alpha: float, beta: float, constant: float) -> float:
    """Log-density of the gamma distribution."""
    return constant + (alpha - 1.0) * math.log(x) - beta * x


@inlined
def gamma_slope(x: float, alpha: float, beta: float) -> float:
    """Slope of the gamma log-density."""
    return (alpha - 1.0) / x - beta


@compiled
def draw_gamma(alpha: float, beta: float, stream: Stream) -> float:
    """Draw from the gamma distribution."""
    return math.exp(log_gamma_draw(alpha, stream)) / beta


@compiled_with_memory
def draw_gamma_with_numpy(alpha: float, beta: float, rng: np.random.Generator) -> float:
    """Draw from the gamma distribution."""
    return rng.standard_gamma(alpha) / beta


class Gamma(Distribution):
    """Gamma distribution with shape parameter `alpha` and rate `beta`, and so with mean alpha/beta.

    With a shape below about 0.01 draws underflow; they become the smallest normal float64.

    Examples
    --------
    >>> import sterna
    >>> sterna.Gamma(alpha=4, beta=2)  # mean 2, standard deviation sqrt(4)/2 = 1: beta is the rate
    Gamma(alpha=4, beta=2)
    """

    family = Family(
        ("alpha", "beta", "constant"),
        gamma_log_density,
        slope=gamma_slope,
        draw=draw_gamma,
        draw_with_numpy=draw_gamma_with_numpy,
        open_support=True,
    )
    adapters = Adapters(
        scipy={
            "gamma": lambda a, loc, scale: shifted(Gamma(a, 1 / scale), loc),
            "erlang": lambda a, loc, scale: shifted(Gamma(a, 1 / scale), loc),
            "chi2": lambda df, loc, scale: shifted(Gamma(df / 2, 0.5 / scale), loc),
        },
        numpyro={"Gamma": "concentration rate", "Chi2": "concentration rate"},
        pymc={"GammaRV": lambda alpha, scale, shape: Gamma(alpha, 1 / scale, shape=shape)},
    )

    def __init__(self, alpha: ArrayLike, beta: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        alpha_, beta_ = self._take(shape, alpha=alpha, beta=beta)
        self._require((alpha_ > 0) & (beta_ > 0), "alpha and beta must be positive")
        constant = alpha_ * np.log(beta_) - log_gamma(alpha_)
        self._store(0.0, math.inf, alpha=alpha_, beta=beta_, constant=constant)


@inlined
def inverse_gamma_log_density(x: float, alpha: float, beta: float, constant: float) -> float:
    """Log-density of the inverse gamma distribution."""
    return constant - (alpha + 1.0) * math.log(x) - beta / x


@inlined
def inverse_gamma_slope(x: float, alpha: float, beta: float) -> float:
    """Slope of the inverse gamma log-density."""
    return (beta / x - (alpha + 1.0)) / x


@compiled
def draw_inverse_gamma(alpha: float, beta: float, stream: Stream) -> float:
    """Draw from the inverse gamma distribution."""
    return beta * math.exp(-log_gamma_draw(alpha, stream))


@compiled_with_memory
def draw_inverse_gamma_with_numpy(alpha: float, beta: float, rng: np.random.Generator) -> float:
    """Draw from the inverse gamma distribution."""
    return beta / rng.standard_gamma(alpha)


class InverseGamma(Distribution):
    """Distribution of beta/G, where G has the Gamma(alpha, 1) distribution.

    Examples
    --------
    >>> import sterna
    >>> sterna.InverseGamma(alpha=3, beta=2)  # a variance with mean 2/(3 - 1) = 1
    InverseGamma(alpha=3, beta=2)
    """

    family = Family(
        ("alpha", "beta", "constant"),
        inverse_gamma_log_density,
        slope=inverse_gamma_slope,
        draw=draw_inverse_gamma,
        draw_with_numpy=draw_inverse_gamma_with_numpy,
        open_support=True,
    )
    adapters = Adapters(
        scipy={"invgamma": lambda a, loc, scale: shifted(InverseGamma(a, scale), loc)},
        numpyro={"InverseGamma": "concentration rate"},
        pymc={"InvGammaRV": "alpha beta"},
    )

    def __init__(self, alpha: ArrayLike, beta: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        alpha_, beta_ = self._take(shape, alpha=alpha, beta=beta)
        self._require((alpha_ > 0) & (beta_ > 0), "alpha and beta must be positive")
        constant = alpha_ * np.log(beta_) - log_gamma(alpha_)
        self._store(0.0, math.inf, alpha=alpha_, beta=beta_, constant=constant)


@inlined
def beta_log_density(x: float, alpha: float, beta: float, constant: float) -> float:
    """Log-density of the beta distribution."""
    return constant + (alpha - 1.0) * math.log(x) + (beta - 1.0) * math.log1p(-x)


@inlined
def beta_slope(x: float, alpha: float, beta: float) -> float:
    """Slope of the beta log-density."""
    return (alpha - 1.0) / x - (beta - 1.0) / (1.0 - x)


@compiled
def draw_beta(alpha: float, beta: float, stream: Stream) -> float:
    """Draw from the beta distribution."""
    return 1.0 / (1.0 + math.exp(log_gamma_draw(beta, stream) - log_gamma_draw(alpha, stream)))


@compiled_with_memory
def draw_beta_with_numpy(alpha: float, beta: float, rng: np.random.Generator) -> float:
    """Draw from the beta distribution."""
    return rng.beta(alpha, beta)


class Beta(Distribution):
    """Beta distribution on (0, 1) with mean alpha/(alpha + beta).

    With a `beta` below about 0.1 draws may round to 1; they become the largest float64 below 1.

    Examples
    --------
    >>> import sterna
    >>> sterna.Beta(2, 8, shape=5)  # five probabilities around 0.2
    Beta(alpha=2, beta=8, shape=5)
    """

    family = Family(
        ("alpha", "beta", "constant"),
        beta_log_density,
        slope=beta_slope,
        draw=draw_beta,
        draw_with_numpy=draw_beta_with_numpy,
        open_support=True,
    )
    adapters = Adapters(
        scipy={
            "beta": lambda a, b, loc, scale: shifted(Beta(a, b), loc, scale),
            "arcsine": lambda loc, scale: shifted(Beta(0.5, 0.5, shape=np.shape(loc)), loc, scale),
            "powerlaw": lambda a, loc, scale: shifted(Beta(a, 1.0), loc, scale),
        },
        numpyro={"Beta": "concentration1 concentration0"},
        pymc={"BetaRV": "alpha beta"},
    )

    def __init__(self, alpha: ArrayLike = 1.0, beta: ArrayLike = 1.0, *, shape: Shape = None) -> None:
        a, b = self._take(shape, alpha=alpha, beta=beta)
        self._require((a > 0) & (b > 0), "alpha and beta must be positive")
        constant = log_gamma(a + b) - log_gamma(a) - log_gamma(b)
        self._store(0.0, 1.0, alpha=a, beta=b, constant=constant)
