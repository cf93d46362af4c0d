"""Unnamed distributions of PyMC, `pm.Normal.dist(0, 1)`, by the name of their operation."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sterna.errors import TargetError
from sterna.reference import distributions as own
from sterna.reference.distributions import Distribution
from sterna.types import FloatArray

Family = Callable[..., Distribution]


def _half_normal(loc: FloatArray, sigma: FloatArray, shape: Any) -> Distribution:
    half = own.HalfNormal(sigma, shape=shape)
    return half if np.all(loc == 0) else own.Scaled(half, loc)


def _categorical(p: FloatArray, shape: Any) -> Distribution:
    weights = _one_row(p, 1)
    return own.Categorical(weights / weights.sum(), shape=shape)


def _one_row(values: FloatArray, axes: int) -> FloatArray:
    """Take the parameter of one vector's law from among leading axes of length 1."""
    if values.size != np.prod(values.shape[-axes:]):
        raise TargetError("a batch of vectors is not known to sterna: give each a name of its own")
    return values.reshape(values.shape[-axes:])


def _vector(distribution: Distribution, shape: Any) -> Distribution:
    if tuple(shape) != distribution.shape:
        raise TargetError("a batch of vectors is not known to sterna: give each a name of its own")
    return distribution


# The operations' own parameters, which differ from those of `.dist` where PyTensor has scales and PyMC rates.
FAMILIES: dict[str, Family] = {
    "NormalRV": own.Normal,
    "HalfNormalRV": _half_normal,
    "UniformRV": own.Uniform,
    "ExponentialRV": lambda scale, shape: own.Exponential(1 / scale, shape=shape),
    "GammaRV": lambda alpha, scale, shape: own.Gamma(alpha, 1 / scale, shape=shape),
    "InvGammaRV": own.InverseGamma,
    "BetaRV": own.Beta,
    "CauchyRV": own.Cauchy,
    "HalfCauchyRV": own.HalfCauchy,
    "StudentTRV": own.StudentT,
    "HalfStudentTRV": own.HalfStudentT,
    "LogNormalRV": own.LogNormal,
    "LaplaceRV": own.Laplace,
    "LogisticRV": own.Logistic,
    "GumbelRV": own.Gumbel,
    "WeibullBetaRV": own.Weibull,
    "ParetoRV": own.Pareto,
    "TruncatedNormalRV": own.TruncatedNormal,
    "BernoulliRV": own.Bernoulli,
    "BinomialRV": own.Binomial,
    "PoissonRV": own.Poisson,
    "GeometricRV": own.Geometric,
    "DiscreteUniformRV": own.DiscreteUniform,
    "NegBinomialRV": lambda n, p, shape: own.NegativeBinomial(n=n, p=p, shape=shape),
    "CategoricalRV": _categorical,
    "DirichletRV": lambda a, shape: _vector(own.Dirichlet(_one_row(a, 1)), shape),
    "MvNormalRV": lambda mu, cov, shape: _vector(
        own.MultivariateNormal(np.broadcast_to(_one_row(mu, 1), shape), _one_row(cov, 2)), shape
    ),
}


def as_distribution(part: Any, what: str) -> Distribution:
    """Return sterna's distribution for an unnamed one of PyMC with constant parameters."""
    operation = getattr(part.owner, "op", None)
    name = type(operation).__name__
    if name in ("FlatRV", "HalfFlatRV"):
        raise TargetError(
            f"{what} is a flat law, which cannot be drawn from: sterna.FittedReference tempers without a prior."
        )
    if operation is None or name not in FAMILIES:
        raise TargetError(
            f"{what} is PyMC's {name}, which has no counterpart in sterna: write it as a frozen distribution of "
            "scipy.stats, which sterna takes too, or give a sterna.Reference(draw, log_density)."
        )
    parameters = [_constant(parameter, what) for parameter in operation.dist_params(part.owner)]
    known = part.type.shape
    shape = known if None not in known else tuple(int(n) for n in part.shape.eval(mode="FAST_COMPILE"))
    try:
        return FAMILIES[name](*parameters, shape=shape)
    except TargetError as error:
        raise TargetError(f"{what}, PyMC's {name.removesuffix('RV')}: {error}") from None


def _constant(parameter: Any, what: str) -> FloatArray:
    """Evaluate a parameter, which must not depend on another random variable."""
    if _is_random(parameter):
        raise TargetError(
            f"{what} depends on another random variable; distributions of a reference are independent. Give the whole "
            "model, or a sterna.Reference(draw, log_density)."
        )
    value = parameter.data if hasattr(parameter, "data") else parameter.eval(mode="FAST_COMPILE")
    return np.asarray(value, dtype=np.float64)


def _is_random(variable: Any) -> bool:
    """Whether a variable is drawn, or computed from one that is."""
    from pytensor.tensor.random.op import RandomVariable

    if variable.owner is None:
        return False
    return isinstance(variable.owner.op, RandomVariable) or any(map(_is_random, variable.owner.inputs))
