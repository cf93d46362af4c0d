"""Distributions on finitely many integers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Adapters, Distribution, Family, Shape, as_shape, log_gamma
from sterna.distributions.integer_draw import inversion_from_mode
from sterna.errors import TargetError
from sterna.ground.compilation import compiled, compiled_with_memory, inlined
from sterna.ground.streams import Stream, uniform
from sterna.ground.values import BINARY, EXACT, INTEGER
from sterna.types import FloatArray, FloatPointer

__all__ = ["Bernoulli", "Binomial", "Categorical", "DiscreteUniform", "Spin"]


def probability(logits: FloatArray) -> FloatArray:
    """Return the probabilities of log-odds."""
    from scipy.special import expit

    return np.asarray(expit(logits))


@inlined
def two_point_log_density(x: float, first: float, log_p_first: float, log_p_second: float) -> float:
    """Log-probability of one of two values."""
    return log_p_first if x == first else log_p_second


@compiled
def draw_two_point(first: float, second: float, log_p_first: float, stream: Stream) -> float:
    """Draw one of two values."""
    return first if uniform(stream) < math.exp(log_p_first) else second


class Bernoulli(Distribution):
    """1 with probability p, otherwise 0.

    Examples
    --------
    >>> import sterna
    >>> included = sterna.Bernoulli(0.1, shape=20)  # which of twenty effects are present
    >>> included.lower, included.upper
    (0.0, 1.0)
    """

    family = Family(
        ("first", "second", "log_p_first", "log_p_second"),
        two_point_log_density,
        draw=draw_two_point,
        value_type=BINARY,
    )
    adapters = Adapters(
        scipy={"bernoulli": lambda p, loc: Bernoulli(p) if np.all(loc == 0) else None},
        numpyro={
            "BernoulliProbs": "probs",
            "BernoulliLogits": lambda logits, shape: Bernoulli(probability(logits), shape=shape),
        },
        pymc={"BernoulliRV": "p"},
    )

    def __init__(self, p: ArrayLike = 0.5, *, shape: Shape = None) -> None:
        (p_,) = self._take(shape, p=p)
        self._require((p_ > 0) & (p_ < 1), "p must lie strictly between 0 and 1")
        self._store(0.0, 1.0, first=0.0, second=1.0, log_p_first=np.log1p(-p_), log_p_second=np.log(p_))


class Spin(Distribution):
    """-1 or +1 with probability proportional to exp(-field * spin).

    Examples
    --------
    >>> import sterna
    >>> sterna.Spin(shape=(20, 20))  # a lattice of independent spins, as the reference of an Ising model
    Spin(field=0.0, shape=(20, 20))
    """

    family = Bernoulli.family

    def __init__(self, field: ArrayLike = 0.0, *, shape: Shape = None) -> None:
        (field_,) = self._take(shape, field=field)
        log_norm = np.logaddexp(field_, -field_)
        self._store(-1.0, 1.0, first=-1.0, second=1.0, log_p_first=field_ - log_norm, log_p_second=-field_ - log_norm)


@inlined
def categorical_log_density(x: float, start: float, table: FloatPointer) -> float:
    """Log-probability of a category, from the table."""
    return table[int(start) + int(x)]


@compiled
def draw_category(start: float, size: float, table: FloatPointer, stream: Stream) -> float:
    """Draw the category whose cumulative probability, behind the logarithms in the table, first exceeds u."""
    u = uniform(stream)
    cumulative = int(start) + int(size)
    low, high = 0, int(size) - 1
    while low < high:
        middle = (low + high) // 2
        if table[cumulative + middle] > u:
            high = middle
        else:
            low = middle + 1
    return float(low)


def _normalised(weights: FloatArray, shape: Shape) -> Categorical:
    """Return the distribution of another library, whose numbers may be of single precision and not sum to 1."""
    if weights.size != weights.shape[-1]:
        raise TargetError(
            "sterna does not support a batch of categorical distributions: give each of them its own variable"
        )
    return Categorical(weights.ravel() / weights.sum(), shape=shape)


def _categorical_of_logits(logits: FloatArray, shape: Shape) -> Categorical:
    return _normalised(np.exp(logits - logits.max(axis=-1, keepdims=True)), shape)


class Categorical(Distribution):
    """One of 0, 1, ..., len(p) - 1 with the probabilities `p`.

    Examples
    --------
    >>> import sterna
    >>> sterna.Categorical([0.2, 0.3, 0.5], shape=60)  # to which of three groups each of 60 points belongs
    Categorical(p=[0.2, 0.3, 0.5], shape=60)
    """

    unordered = True
    family = Family(("start", "size"), categorical_log_density, draw=draw_category, value_type=INTEGER)
    adapters = Adapters(
        numpyro={
            "CategoricalProbs": lambda probs, shape: _normalised(probs, shape),
            "CategoricalLogits": _categorical_of_logits,
        },
        pymc={"CategoricalRV": lambda p, shape: _normalised(p, shape)},
    )

    def __init__(self, p: ArrayLike, *, shape: Shape = None) -> None:
        self._given = {"p": p, **({} if shape is None else {"shape": shape})}
        self.shape = () if shape is None else as_shape(shape)
        weights = self._finite("p", p)
        self._require(weights.ndim == 1 and len(weights) > 1, "p must be a list of at least two numbers")
        self._require(weights >= 0, "p must hold probabilities")
        self._require(abs(weights.sum() - 1.0) < 1e-8, f"p must sum to 1 (it sums to {weights.sum():.9g})")
        weights = weights / weights.sum()
        cumulative = np.cumsum(weights)
        cumulative[np.flatnonzero(weights)[-1] :] = 1.0
        with np.errstate(divide="ignore"):
            table = np.concatenate([np.log(weights), cumulative])
        size = len(weights)
        self._store(0.0, size - 1.0, table=table, start=0.0, size=size)


@inlined
def discrete_uniform_log_density(constant: float) -> float:
    """Log-probability of each integer."""
    return constant


@compiled
def draw_discrete_uniform(first: float, last: float, stream: Stream) -> float:
    """Draw from the discrete uniform distribution."""
    return first + math.floor(uniform(stream) * (last - first + 1.0))


def _randint_of_scipy(low: FloatArray, high: FloatArray, loc: FloatArray) -> DiscreteUniform | None:
    first, last = low + loc, high - 1 + loc
    return DiscreteUniform(first, last) if np.array_equal(first, np.round(first)) else None


class DiscreteUniform(Distribution):
    """Integers from `lower` to `upper`, both included.

    Examples
    --------
    >>> import sterna
    >>> sterna.DiscreteUniform(1851, 1962)  # the year of a change
    DiscreteUniform(lower=1851, upper=1962)
    """

    family = Family(
        ("first", "last", "constant"), discrete_uniform_log_density, draw=draw_discrete_uniform, value_type=INTEGER
    )
    adapters = Adapters(
        scipy={"randint": _randint_of_scipy},
        numpyro={"DiscreteUniform": "low high"},
        pymc={"DiscreteUniformRV": "lower upper"},
    )

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, shape: Shape = None) -> None:
        a, b = self._take(shape, lower=lower, upper=upper)
        self._require_exact(lower=lower, upper=upper)
        self._require((a == np.floor(a)) & (b == np.floor(b)), "lower and upper must be integers")
        self._require(a <= b, "lower must not exceed upper")
        self._require(b - a < EXACT, "there must be at most 2**53 integers, because a random number has 53 bits")
        self._store(a, b, first=a, last=b, constant=-np.log(b - a + 1))


@inlined
def binomial_log_density(x: float, n: float, log_p: float, log_q: float, log_factorial: float) -> float:
    """Log-probability of a number of successes."""
    return log_factorial - math.lgamma(x + 1.0) - math.lgamma(n - x + 1.0) + x * log_p + (n - x) * log_q


draw_binomial_from_mode = inversion_from_mode(binomial_log_density)


@compiled
def draw_binomial(n: float, log_p: float, log_q: float, log_factorial: float, stream: Stream) -> float:
    """Draw from the binomial distribution."""
    mode = min(math.floor((n + 1.0) * math.exp(log_p)), n)
    return draw_binomial_from_mode(mode, n, stream, n, log_p, log_q, log_factorial)


@compiled_with_memory
def draw_binomial_with_numpy(n: float, log_p: float, rng: np.random.Generator) -> float:
    """Draw from the binomial distribution."""
    return float(rng.binomial(int(n), math.exp(log_p)))


class Binomial(Distribution):
    """Number of successes in `n` trials with success probability `p`.

    Examples
    --------
    >>> import sterna
    >>> infected = sterna.Binomial(n=[10, 25], p=0.3)  # in two groups of known size
    >>> infected.upper
    array([10., 25.])
    """

    family = Family(
        ("n", "log_p", "log_q", "log_factorial"),
        binomial_log_density,
        draw=draw_binomial,
        draw_with_numpy=draw_binomial_with_numpy,
        value_type=INTEGER,
    )
    adapters = Adapters(
        scipy={"binom": lambda n, p, loc: Binomial(n, p) if np.all(loc == 0) else None},
        numpyro={
            "BinomialProbs": "total_count probs",
            "BinomialLogits": lambda total_count, logits, shape: Binomial(
                total_count, probability(logits), shape=shape
            ),
        },
        pymc={"BinomialRV": "n p"},
    )

    def __init__(self, n: ArrayLike, p: ArrayLike, *, shape: Shape = None) -> None:
        n_, p_ = self._take(shape, n=n, p=p)
        self._require_exact(n=n)
        self._require((n_ >= 0) & (n_ == np.floor(n_)), "n must be a non-negative integer")
        self._require((p_ > 0) & (p_ < 1), "p must lie strictly between 0 and 1")
        self._store(0.0, n_, n=n_, log_p=np.log(p_), log_q=np.log1p(-p_), log_factorial=log_gamma(n_ + 1))
