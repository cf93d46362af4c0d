"""Distributions of counts without an upper bound."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Adapters, Distribution, Family, Shape, log_gamma
from sterna.distributions.finite import probability
from sterna.distributions.integer_draw import inversion_from_mode
from sterna.errors import TargetError
from sterna.ground.compilation import compiled, compiled_with_memory, inlined
from sterna.ground.streams import Stream, exponential
from sterna.ground.values import INTEGER
from sterna.types import FloatArray

__all__ = ["Geometric", "NegativeBinomial", "Poisson"]


@inlined
def poisson_log_density(x: float, mu: float, log_mu: float) -> float:
    """Log-probability of the Poisson distribution."""
    return x * log_mu - mu - math.lgamma(x + 1.0)


draw_poisson_from_mode = inversion_from_mode(poisson_log_density)


@compiled
def draw_poisson(mu: float, log_mu: float, stream: Stream) -> float:
    """Draw from the Poisson distribution."""
    return draw_poisson_from_mode(math.floor(mu), math.inf, stream, mu, log_mu)


@compiled_with_memory
def draw_poisson_with_numpy(mu: float, rng: np.random.Generator) -> float:
    """Draw from the Poisson distribution."""
    return float(rng.poisson(mu))


class Poisson(Distribution):
    """Poisson distribution with mean `mu`.

    Examples
    --------
    >>> import sterna
    >>> sterna.Poisson(3.5, shape=12)  # hidden counts of twelve months
    Poisson(mu=3.5, shape=12)
    """

    family = Family(
        ("mu", "log_mu"),
        poisson_log_density,
        draw=draw_poisson,
        draw_with_numpy=draw_poisson_with_numpy,
        value_type=INTEGER,
    )
    adapters = Adapters(
        scipy={"poisson": lambda mu, loc: Poisson(mu) if np.all(loc == 0) else None},
        numpyro={"Poisson": "rate"},
        pymc={"PoissonRV": "mu"},
    )

    def __init__(self, mu: ArrayLike, *, shape: Shape = None) -> None:
        (mu_,) = self._take(shape, mu=mu)
        self._require((mu_ > 0) & (mu_ < 1e15), "mu must be positive, and below 1e15 for exact draws")
        self._store(0.0, math.inf, mu=mu_, log_mu=np.log(mu_))


@inlined
def geometric_log_density(x: float, first: float, log_q: float, log_p: float) -> float:
    """Log-probability of the geometric distribution."""
    return log_p + (x - first) * log_q


@compiled
def draw_geometric(first: float, log_q: float, stream: Stream) -> float:
    """Draw from the geometric distribution: the integer part of an exponential variable."""
    return first + math.floor(exponential(stream) / -log_q)


@compiled_with_memory
def draw_geometric_with_numpy(first: float, log_q: float, rng: np.random.Generator) -> float:
    """Draw from the geometric distribution."""
    return first - 1.0 + float(rng.geometric(-math.expm1(log_q)))


def _geometric_of_scipy(p: FloatArray, loc: FloatArray) -> Geometric | None:
    if np.all(loc == 0):
        return Geometric(p)
    return Geometric(p, 0) if np.all(loc == -1) else None


class Geometric(Distribution):
    """Number of trials up to the first success, from 1, with success probability `p`.

    With `start=0` it is the number of failures before the first success.

    Examples
    --------
    >>> import sterna
    >>> sterna.Geometric(0.25).lower, sterna.Geometric(0.25, start=0).lower
    (1, 0)
    """

    family = Family(
        ("first", "log_q", "log_p"),
        geometric_log_density,
        draw=draw_geometric,
        draw_with_numpy=draw_geometric_with_numpy,
        value_type=INTEGER,
    )
    adapters = Adapters(
        scipy={"geom": _geometric_of_scipy},
        numpyro={
            # NumPyro counts failures, from 0
            "GeometricProbs": lambda probs, shape: Geometric(probs, 0, shape=shape),
            "GeometricLogits": lambda logits, shape: Geometric(probability(logits), 0, shape=shape),
        },
        pymc={"GeometricRV": "p"},
    )

    def __init__(self, p: ArrayLike, start: int = 1, *, shape: Shape = None) -> None:
        (p_,) = self._take(shape, p=p)
        self._given = {**self._given, "start": start}
        self._require(start in (0, 1), "start must be 0 or 1")
        self._require((p_ > 1e-14) & (p_ < 1), "p must lie between 1e-14 and 1 for exact draws")
        self._store(start, math.inf, first=start, log_q=np.log1p(-p_), log_p=np.log(p_))


@inlined
def negative_binomial_log_density(x: float, n: float, log_q: float, constant: float) -> float:
    """Log-probability of the negative binomial distribution."""
    return constant + math.lgamma(x + n) - math.lgamma(x + 1.0) + x * log_q


draw_negative_binomial_from_mode = inversion_from_mode(negative_binomial_log_density)


@compiled
def draw_negative_binomial(n: float, log_q: float, odds: float, constant: float, stream: Stream) -> float:
    """Draw from the negative binomial distribution."""
    mode = max(math.floor((n - 1.0) * odds), 0.0)
    return draw_negative_binomial_from_mode(mode, math.inf, stream, n, log_q, constant)


@compiled_with_memory
def draw_negative_binomial_with_numpy(n: float, odds: float, rng: np.random.Generator) -> float:
    """Draw a Poisson variable whose mean is a gamma variable."""
    return float(rng.poisson(rng.standard_gamma(n) * odds))


class NegativeBinomial(Distribution):
    """Counts with mean `mu` and variance mu + mu**2 / alpha.

    With `n` and `p` instead: failures before the n-th success, each trial succeeding with probability p. Neither n nor
    alpha need be an integer.

    Examples
    --------
    >>> import sterna
    >>> sterna.NegativeBinomial(mu=5, alpha=2)  # mean 5, variance 5 + 25/2
    NegativeBinomial(mu=5, alpha=2)
    >>> sterna.NegativeBinomial(n=3, p=0.5)  # failures before the third success
    NegativeBinomial(n=3, p=0.5)
    """

    family = Family(
        ("n", "log_q", "odds", "constant"),
        negative_binomial_log_density,
        draw=draw_negative_binomial,
        draw_with_numpy=draw_negative_binomial_with_numpy,
        value_type=INTEGER,
    )
    adapters = Adapters(
        scipy={"nbinom": lambda n, p, loc: NegativeBinomial(n=n, p=p) if np.all(loc == 0) else None},
        numpyro={
            name: lambda concentration, rate, shape: NegativeBinomial(n=concentration, p=rate / (1 + rate), shape=shape)
            for name in ("GammaPoisson", "NegativeBinomialProbs", "NegativeBinomialLogits", "NegativeBinomial2")
        },
        pymc={"NegBinomialRV": lambda n, p, shape: NegativeBinomial(n=n, p=p, shape=shape)},
    )

    def __init__(
        self,
        mu: ArrayLike | None = None,
        alpha: ArrayLike | None = None,
        *,
        n: ArrayLike | None = None,
        p: ArrayLike | None = None,
        shape: Shape = None,
    ) -> None:
        if mu is not None and alpha is not None and n is None and p is None:
            mu_, n_ = self._take(shape, mu=mu, alpha=alpha)
            self._require((mu_ > 0) & (n_ > 0), "mu and alpha must be positive")
            odds, log_p, log_q = mu_ / n_, -np.log1p(mu_ / n_), -np.log1p(n_ / mu_)
        elif n is not None and p is not None and mu is None and alpha is None:
            n_, p_ = self._take(shape, n=n, p=p)
            self._require((n_ > 0) & (p_ > 0) & (p_ < 1), "n must be positive and p strictly between 0 and 1")
            odds, log_p, log_q = (1 - p_) / p_, np.log(p_), np.log1p(-p_)
        else:
            given = f"mu={mu!r}, alpha={alpha!r}, n={n!r}, p={p!r}"
            raise TargetError(f"NegativeBinomial({given}): give mu and alpha, or n and p.")
        size = "n" if mu is None else "alpha"
        self._require(n_ <= 1e8, f"{size} must be at most 1e8; for a larger one use sterna.Poisson")
        self._require(n_ * odds < 1e12, "the mean n(1-p)/p must be below 1e12 for exact draws")
        self._store(0.0, math.inf, n=n_, log_q=log_q, odds=odds, constant=n_ * log_p - log_gamma(n_))
