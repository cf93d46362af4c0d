"""Distributions of NumPyro, by the name of their class."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sterna.errors import TargetError
from sterna.reference import distributions as own
from sterna.reference.distributions import Distribution
from sterna.types import FloatArray

Family = Callable[[Any, tuple[int, ...]], Distribution]


def _numbers(value: Any) -> FloatArray:
    return np.asarray(value, dtype=np.float64)


def _by_parameters(make: Callable[..., Distribution], *names: str) -> Family:
    """Return a family whose parameters sterna takes in the order of the names."""
    return lambda d, shape: make(*(_numbers(getattr(d, name)) for name in names), shape=shape)


def _chance(logits: Any) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(_numbers(logits)))


def _negative_binomial(d: Any, shape: tuple[int, ...]) -> Distribution:
    rate = _numbers(d.rate)
    return own.NegativeBinomial(n=_numbers(d.concentration), p=rate / (1 + rate), shape=shape)


def _categorical(weights: FloatArray, shape: tuple[int, ...]) -> Distribution:
    if weights.ndim != 1:
        raise TargetError("a batch of categorical laws is not known to sterna: give each a name of its own")
    # single precision, in which NumPyro mostly is, does not sum to 1 well enough
    return own.Categorical(weights / weights.sum(), shape=shape)


def _logits(d: Any) -> FloatArray:
    logits = _numbers(d.logits)
    return np.asarray(np.exp(logits - logits.max(axis=-1, keepdims=True)))


def _vector(distribution: Distribution, shape: tuple[int, ...]) -> Distribution:
    if shape != distribution.shape:
        raise TargetError("a batch of vectors is not known to sterna: give each a name of its own")
    return distribution


def _dirichlet(d: Any, shape: tuple[int, ...]) -> Distribution:
    concentration = _numbers(d.concentration)
    if concentration.ndim != 1:
        raise TargetError("a batch of vectors is not known to sterna: give each a name of its own")
    return _vector(own.Dirichlet(concentration), shape)


def _normal_vector(d: Any, shape: tuple[int, ...]) -> Distribution:
    factor, mean = _numbers(d.scale_tril), _numbers(d.loc)
    if factor.ndim != 2 or mean.ndim != 1:
        raise TargetError("a batch of normal vectors is not known to sterna: give each a name of its own")
    return _vector(own.MultivariateNormal(np.broadcast_to(mean, len(factor)), factor @ factor.T), shape)


def _cut(d: Any, shape: tuple[int, ...]) -> Distribution:
    base = d.base_dist
    if type(base).__name__ != "Normal":
        raise TargetError(f"a {type(base).__name__} cut to bounds is not known to sterna")
    low, high = (_numbers(getattr(d, name, end)) for name, end in (("low", -np.inf), ("high", np.inf)))
    return own.TruncatedNormal(_numbers(base.loc), _numbers(base.scale), low, high, shape=shape)


FAMILIES: dict[str, Family] = {
    "Normal": _by_parameters(own.Normal, "loc", "scale"),
    "HalfNormal": _by_parameters(own.HalfNormal, "scale"),
    "Uniform": _by_parameters(own.Uniform, "low", "high"),
    "LogUniform": _by_parameters(own.LogUniform, "low", "high"),
    "Exponential": _by_parameters(own.Exponential, "rate"),
    "Gamma": _by_parameters(own.Gamma, "concentration", "rate"),
    "Chi2": _by_parameters(own.Gamma, "concentration", "rate"),
    "InverseGamma": _by_parameters(own.InverseGamma, "concentration", "rate"),
    "Beta": _by_parameters(own.Beta, "concentration1", "concentration0"),
    "Cauchy": _by_parameters(own.Cauchy, "loc", "scale"),
    "HalfCauchy": _by_parameters(own.HalfCauchy, "scale"),
    "StudentT": _by_parameters(own.StudentT, "df", "loc", "scale"),
    "LogNormal": _by_parameters(own.LogNormal, "loc", "scale"),
    "Laplace": _by_parameters(own.Laplace, "loc", "scale"),
    "Logistic": _by_parameters(own.Logistic, "loc", "scale"),
    "Gumbel": _by_parameters(own.Gumbel, "loc", "scale"),
    "Weibull": _by_parameters(own.Weibull, "concentration", "scale"),
    "Pareto": _by_parameters(own.Pareto, "alpha", "scale"),
    "LeftTruncatedDistribution": _cut,
    "RightTruncatedDistribution": _cut,
    "TwoSidedTruncatedDistribution": _cut,
    "BernoulliProbs": _by_parameters(own.Bernoulli, "probs"),
    "BernoulliLogits": lambda d, shape: own.Bernoulli(_chance(d.logits), shape=shape),
    "BinomialProbs": _by_parameters(own.Binomial, "total_count", "probs"),
    "BinomialLogits": lambda d, shape: own.Binomial(_numbers(d.total_count), _chance(d.logits), shape=shape),
    "CategoricalProbs": lambda d, shape: _categorical(_numbers(d.probs), shape),
    "CategoricalLogits": lambda d, shape: _categorical(_logits(d), shape),
    "DiscreteUniform": _by_parameters(own.DiscreteUniform, "low", "high"),
    "Poisson": _by_parameters(own.Poisson, "rate"),
    # NumPyro counts failures, from 0
    "GeometricProbs": lambda d, shape: own.Geometric(_numbers(d.probs), 0, shape=shape),
    "GeometricLogits": lambda d, shape: own.Geometric(_chance(d.logits), 0, shape=shape),
    "GammaPoisson": _negative_binomial,
    "NegativeBinomialProbs": _negative_binomial,
    "NegativeBinomialLogits": _negative_binomial,
    "NegativeBinomial2": _negative_binomial,
    "Dirichlet": _dirichlet,
    "MultivariateNormal": _normal_vector,
}

# They change the shape alone, which the outermost knows.
WRAPPERS = ("ExpandedDistribution", "Independent")


def as_distribution(part: Any, what: str) -> Distribution:
    """Return sterna's distribution for one of NumPyro; its numbers are of JAX's precision, single unless told."""
    shape = tuple(part.batch_shape) + tuple(part.event_shape)
    inner = part
    while type(inner).__name__ in WRAPPERS:
        inner = inner.base_dist
    name = type(inner).__name__
    if name not in FAMILIES:
        raise TargetError(
            f"{what} is NumPyro's {name}, which has no counterpart in sterna: write it as a frozen distribution of "
            "scipy.stats, which sterna takes too, or give a sterna.Reference(draw, log_density)."
        )
    try:
        return FAMILIES[name](inner, shape)
    except TargetError as error:
        raise TargetError(f"{what}, NumPyro's {name}: {error}") from None
