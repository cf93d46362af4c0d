"""Distributions of vectors, stored as independent coordinates of other families."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Adapters, Distribution
from sterna.distributions.gamma import Beta
from sterna.distributions.real_line import Normal
from sterna.errors import TargetError
from sterna.types import FloatArray

__all__ = ["Dirichlet", "MultivariateNormal"]


def _single(values: FloatArray, axes: int) -> FloatArray:
    """Take the parameter of one vector out of leading axes of length 1."""
    if values.size != np.prod(values.shape[-axes:]):
        raise TargetError("sterna does not support a batch of vectors: give each of them its own variable")
    return values.reshape(values.shape[-axes:])


def _of_shape(distribution: Distribution, shape: tuple[int, ...]) -> Distribution:
    if tuple(shape) != distribution.shape:
        raise TargetError("sterna does not support a batch of vectors: give each of them its own variable")
    return distribution


def _dirichlet(concentration: FloatArray, shape: tuple[int, ...]) -> Distribution:
    return _of_shape(Dirichlet(_single(concentration, 1)), shape)


def _normal_vector(loc: FloatArray, covariance: FloatArray, shape: tuple[int, ...]) -> Distribution:
    covariance = _single(covariance, 2)
    return _of_shape(MultivariateNormal(np.broadcast_to(_single(loc, 1), len(covariance)), covariance), shape)


class Dirichlet(Distribution):
    """Distribution on vectors of positive numbers that sum to 1, with concentrations `a`.

    It is stored as the fractions broken off a stick, which are independent Beta variables: no explorer
    can leave the simplex.

    Examples
    --------
    >>> import sterna
    >>> weights = sterna.Dirichlet([1, 1, 1])  # of a mixture of three parts, all weights equally likely
    >>> weights.shape
    (3,)
    """

    transform = "simplex"
    adapters = Adapters(
        scipy={"dirichlet": "alpha"}, numpyro={"Dirichlet": _dirichlet}, pymc={"DirichletRV": _dirichlet}
    )

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

    Examples
    --------
    >>> import sterna
    >>> effects = sterna.MultivariateNormal([0, 0], [[1.0, 0.8], [0.8, 1.0]])  # strongly correlated
    >>> effects.shape
    (2,)
    """

    transform = "affine"
    adapters = Adapters(
        scipy={"multivariate_normal": "mean cov"},
        numpyro={
            "MultivariateNormal": lambda loc, scale_tril, shape: _normal_vector(
                loc, scale_tril @ np.swapaxes(scale_tril, -1, -2), shape
            )
        },
        pymc={"MvNormalRV": lambda mu, cov, shape: _normal_vector(mu, cov, shape)},
    )

    def __init__(self, mu: ArrayLike, cov: ArrayLike) -> None:
        self._given = {"mu": mu, "cov": cov}
        mean, covariance = self._finite("mu", mu), self._finite("cov", cov)
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
