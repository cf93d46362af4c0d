"""Distributions of angles and other periodic variables: an interval whose ends are the same place."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions.base import Adapters, Distribution, Family, Shape
from sterna.distributions.interval import Uniform
from sterna.ground.compilation import compiled, inlined
from sterna.ground.streams import Stream, standard_normal, uniform
from sterna.types import FloatArray

__all__ = ["CircularUniform", "VonMises"]

# From this concentration on, draws are normal ones bent onto the circle and corrected by rejection. They are at most 60
# degrees from the mode; beyond lies a probability of 1e-22.
CONCENTRATED = 100.0

# Below this concentration, where Best and Fisher's envelope would be lost by cancellation, uniform draws are rejected.
DIFFUSE = 0.1


class CircularUniform(Uniform):
    """Uniform distribution of a periodic variable, from `lower` up to `upper`, which is the same place as `lower`.

    Explorers wrap around, so that a posterior on both sides of the ends is one mode, and the summary shows circular
    means, deviations and quantiles. A likelihood receives values in [lower, upper).

    Examples
    --------
    >>> import numpy as np, sterna
    >>> phase = sterna.CircularUniform()  # from -pi to pi
    >>> hour = sterna.CircularUniform(0, 24)
    >>> def log_likelihood(hour, seen):
    ...     return np.sum(np.cos(2 * np.pi * (seen - hour) / 24))
    >>> result = sterna.sample(
    ...     log_likelihood, {"hour": hour}, {"seen": np.array([22.5, 0.0, 1.5, 3.0])}, progress=False
    ... )
    >>> abs(result.summary["hour"]["mean"] - 0.75) < 0.7
    True
    """

    periodic = True
    # no other library has it
    adapters = Adapters()

    def __init__(self, lower: ArrayLike = -math.pi, upper: ArrayLike = math.pi, *, shape: Shape = None) -> None:
        super().__init__(lower, upper, shape=shape)


@inlined
def von_mises_log_density(x: float, mu: float, kappa: float, constant: float) -> float:
    """Log-density of the von Mises distribution, without the cancellation of kappa * cos(x - mu) - kappa."""
    half = math.sin(0.5 * (x - mu))
    return constant - 2.0 * kappa * half * half


@inlined
def von_mises_slope(x: float, mu: float, kappa: float) -> float:
    """Slope of the von Mises log-density."""
    return -kappa * math.sin(x - mu)


@inlined
def wrapped_angle(x: float) -> float:
    """Return an angle that is less than a turn outside of [-pi, pi) inside of it."""
    return x - 2.0 * math.pi if x >= math.pi else x + 2.0 * math.pi if x < -math.pi else x


@compiled
def draw_von_mises(mu: float, kappa: float, ratio: float, stream: Stream) -> float:
    """Draw by rejection from a uniform, a wrapped Cauchy (Best and Fisher 1979) or a normal distribution.

    Of a concentrated distribution, 2 sin(x / 2) is nearly normal: its density has the factor 1 / cos(x / 2) besides.
    """
    if kappa < DIFFUSE:
        while True:
            turn = math.pi * (2.0 * uniform(stream) - 1.0)
            if uniform(stream) < math.exp(kappa * (math.cos(turn) - 1.0)):
                return wrapped_angle(mu + turn)
    if kappa >= CONCENTRATED:
        while True:
            chord = standard_normal(stream) / math.sqrt(kappa)
            # 1 / cos(x / 2) is at most 1 / cos(30 degrees)
            if abs(chord) < 1.0 and uniform(stream) * math.sqrt(1.0 - 0.25 * chord * chord) < math.sqrt(0.75):
                return wrapped_angle(mu + 2.0 * math.asin(0.5 * chord))
    while True:
        z = math.cos(math.pi * uniform(stream))
        cosine = (1.0 + ratio * z) / (ratio + z)
        c = kappa * (ratio - cosine)
        u = uniform(stream)
        if u < c * (2.0 - c) or (u > 0.0 and math.log(c / u) + 1.0 - c >= 0.0):
            turn = math.acos(min(max(cosine, -1.0), 1.0))
            return wrapped_angle(mu + turn if uniform(stream) < 0.5 else mu - turn)


def _ratio(kappa: FloatArray) -> FloatArray:
    """Return the constant of Best and Fisher's envelope."""
    usual = np.clip(kappa, DIFFUSE, CONCENTRATED)
    tau = 1.0 + np.sqrt(1.0 + 4.0 * usual * usual)
    rho = (tau - np.sqrt(2.0 * tau)) / (2.0 * usual)
    return (1.0 + rho * rho) / (2.0 * rho)


def _of_scipy(kappa: FloatArray, loc: FloatArray, scale: FloatArray) -> Distribution | None:
    """Return SciPy's distribution if it is one of angles in radians; its concentration may be 0."""
    if not np.all(np.asarray(scale) == 1.0):
        return None
    return CircularUniform(shape=np.shape(kappa)) if np.all(np.asarray(kappa) == 0.0) else VonMises(loc, kappa)


class VonMises(Distribution):
    """Von Mises distribution of an angle in radians, with mean `mu` and concentration `kappa`, about 1 / sigma**2.

    Angles are in [-pi, pi), and explorers wrap around; see `CircularUniform`.

    Examples
    --------
    >>> import sterna
    >>> direction = sterna.VonMises(mu=3.0, kappa=4.0)  # 3 +- 0.5 radians, which includes -3
    >>> directions = sterna.VonMises(0.0, 4.0, shape=5)
    >>> directions.shape
    (5,)
    """

    periodic = True
    family = Family(
        ("mu", "kappa", "constant", "ratio"), von_mises_log_density, slope=von_mises_slope, draw=draw_von_mises
    )
    adapters = Adapters(
        scipy={"vonmises": _of_scipy}, numpyro={"VonMises": "loc concentration"}, pymc={"VonMisesRV": "mu kappa"}
    )

    def __init__(self, mu: ArrayLike, kappa: ArrayLike, *, shape: Shape = None) -> None:
        from scipy.special import i0e

        mu_, kappa_ = self._take(shape, mu=mu, kappa=kappa)
        self._require(kappa_ > 0, "kappa must be positive; of all angles alike, sterna.CircularUniform() is the prior")
        mean = np.remainder(mu_ + math.pi, 2.0 * math.pi) - math.pi
        constant = -np.log(2.0 * math.pi * i0e(kappa_))
        self._store(-math.pi, math.pi, mu=mean, kappa=kappa_, constant=constant, ratio=_ratio(kappa_))
