"""Frozen distributions of `scipy.stats`: by family where sterna has it, else by quantiles."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sterna.errors import TargetError
from sterna.reference import distributions as own
from sterna.reference.distributions import Distribution
from sterna.reference.quantile import Quantile

# Each takes SciPy's parameters by name, broadcast to one shape; None says that sterna has no such law.
FAMILIES: dict[str, Callable[..., Distribution | None]] = {
    "norm": lambda loc, scale: own.Normal(loc, scale),
    "halfnorm": lambda loc, scale: _moved(own.HalfNormal(scale), loc),
    "uniform": lambda loc, scale: own.Uniform(loc, loc + scale),
    "loguniform": lambda a, b, loc, scale: _moved(own.LogUniform(a * scale, b * scale), loc),
    "reciprocal": lambda a, b, loc, scale: _moved(own.LogUniform(a * scale, b * scale), loc),
    "expon": lambda loc, scale: _moved(own.Exponential(1 / scale), loc),
    "gamma": lambda a, loc, scale: _moved(own.Gamma(a, 1 / scale), loc),
    "erlang": lambda a, loc, scale: _moved(own.Gamma(a, 1 / scale), loc),
    "chi2": lambda df, loc, scale: _moved(own.Gamma(df / 2, 0.5 / scale), loc),
    "invgamma": lambda a, loc, scale: _moved(own.InverseGamma(a, scale), loc),
    "beta": lambda a, b, loc, scale: _moved(own.Beta(a, b), loc, scale),
    "arcsine": lambda loc, scale: _moved(own.Beta(0.5, 0.5, shape=np.shape(loc)), loc, scale),
    "powerlaw": lambda a, loc, scale: _moved(own.Beta(a, 1.0), loc, scale),
    "cauchy": lambda loc, scale: own.Cauchy(loc, scale),
    "halfcauchy": lambda loc, scale: _moved(own.HalfCauchy(scale), loc),
    "t": lambda df, loc, scale: own.StudentT(df, loc, scale),
    "lognorm": lambda s, loc, scale: _moved(own.LogNormal(np.log(scale), s), loc),
    "laplace": lambda loc, scale: own.Laplace(loc, scale),
    "logistic": lambda loc, scale: own.Logistic(loc, scale),
    "gumbel_r": lambda loc, scale: own.Gumbel(loc, scale),
    "gumbel_l": lambda loc, scale: own.Scaled(own.Gumbel(shape=np.shape(loc)), loc, -scale),
    "weibull_min": lambda c, loc, scale: _moved(own.Weibull(c, scale), loc),
    "rayleigh": lambda loc, scale: _moved(own.Weibull(2.0, math.sqrt(2.0) * scale), loc),
    "pareto": lambda b, loc, scale: _moved(own.Pareto(b, scale), loc),
    "truncnorm": lambda a, b, loc, scale: own.TruncatedNormal(loc, scale, loc + a * scale, loc + b * scale),
    "bernoulli": lambda p, loc: own.Bernoulli(p) if np.all(loc == 0) else None,
    "binom": lambda n, p, loc: own.Binomial(n, p) if np.all(loc == 0) else None,
    "poisson": lambda mu, loc: own.Poisson(mu) if np.all(loc == 0) else None,
    "geom": lambda p, loc: _geometric(p, loc),
    "nbinom": lambda n, p, loc: own.NegativeBinomial(n=n, p=p) if np.all(loc == 0) else None,
    "randint": lambda low, high, loc: _uniform(low + loc, high - 1 + loc),
}


def as_distribution(part: Any, what: str) -> Distribution:
    """Return sterna's distribution for a frozen one of `scipy.stats`."""
    from scipy import stats

    if type(part).__name__ == "multivariate_normal_frozen":
        return own.MultivariateNormal(part.mean, part.cov)
    if type(part).__name__ == "dirichlet_frozen":
        return own.Dirichlet(part.alpha)
    if isinstance(part, (stats.rv_continuous, stats.rv_discrete)):
        part = _frozen(part, what)
    if not isinstance(getattr(part, "dist", None), (stats.rv_continuous, stats.rv_discrete)):
        raise TargetError(
            f"{what} is of SciPy's type {type(part).__name__}, which sterna cannot read: give a one-dimensional frozen "
            "distribution such as scipy.stats.norm(0, 1), a multivariate_normal or a dirichlet."
        )
    parameters = _parameters(part)
    shape = np.broadcast_shapes(*(np.shape(value) for value in parameters.values()))
    if np.any(np.asarray(parameters.get("scale", 1.0)) <= 0):
        raise TargetError(
            f"{what}: scipy.stats.{part.dist.name} has the scale {parameters['scale']}; it must be positive."
        )
    family = part.dist.name
    found = None
    # a law of the user's own may have any name
    if family in FAMILIES and type(part.dist) is type(getattr(stats, family)):
        found = FAMILIES[family](**{name: _number(value, shape) for name, value in parameters.items()})
    if found is None:
        whole = isinstance(part.dist, stats.rv_discrete) and _is_whole(part, parameters)
        found = Quantile(part, f"scipy.stats.{part.dist.name}", shape, whole, what)
    return found


def _frozen(law: Any, what: str) -> Any:
    """Freeze a family that was given without parameters, as `scipy.stats.norm` or a histogram may be."""
    if law.shapes:
        raise TargetError(f"{what} is scipy.stats.{law.name} without its parameters: give them ({law.shapes}).")
    return law()


def _parameters(part: Any) -> dict[str, Any]:
    """Return all parameters by name, those left out included."""
    from scipy import stats

    names = [name.strip() for name in (part.dist.shapes or "").split(",") if name.strip()] + ["loc"]
    defaults = {"loc": 0.0}
    if isinstance(part.dist, stats.rv_continuous):
        names, defaults = [*names, "scale"], {"loc": 0.0, "scale": 1.0}
    return {**defaults, **dict(zip(names, part.args, strict=False)), **part.kwds}


def _is_whole(part: Any, parameters: dict[str, Any]) -> bool:
    """Whether a discrete law has whole numbers alone: a table may have others, and so may a location."""
    values = [np.asarray(parameters["loc"]), np.asarray(getattr(part.dist, "xk", 0.0))]
    return all(np.array_equal(value, np.round(value)) for value in values)


def _number(value: Any, shape: tuple[int, ...]) -> Any:
    numbers = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
    # messages show a float as the number that it is
    return numbers if shape else float(numbers)


def _geometric(p: Any, loc: Any) -> Distribution | None:
    if np.all(loc == 0):
        return own.Geometric(p)
    return own.Geometric(p, 0) if np.all(loc == -1) else None


def _uniform(low: Any, high: Any) -> Distribution | None:
    return own.DiscreteUniform(low, high) if np.array_equal(low, np.round(low)) else None


def _moved(standard: Distribution, loc: Any, scale: Any = 1.0) -> Distribution:
    """Return the law of loc + scale * z; sterna's own families of positive numbers have no location."""
    if np.all(loc == 0) and np.all(scale == 1):
        return standard
    return own.Scaled(standard, loc, scale)
