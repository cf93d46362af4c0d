"""Bridge of a Wright-Fisher diffusion (paper, comparison with other adaptive schemes)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions import Normal
from sterna.errors import OptionError
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray

VARIANCE, ABSORBED_VARIANCE = 0.01, 1e-5


@checked
def wright_fisher(
    start: float = 0.1,
    end: float = 0.9,
    steps: int = 10,
    variance: float = VARIANCE,
    absorbed_variance: float = ABSORBED_VARIANCE,
) -> Target:
    r"""Path of an allele's frequency between two known values, by Euler's scheme.

    .. math:: X_0 = start, \quad X_{t+1} = X_t + \sqrt{v(X_t)} \, z_t, \quad z_t \sim N(0, 1), \quad X_{steps} = end

    where v(x) = variance * sqrt(x (1 - x)) for 0 < x < 1 and absorbed_variance otherwise. As in the paper's
    experiments, the square root is in the variance, and a path outside (0, 1) hardly moves. The reference is the
    distribution of the free path, so only the last step is annealed, and V depends only on the point before it.
    Lambda = 3.66, of which 15 chains estimate 3.46 (paper: 3.42 and 3.47).

    The variable is the `noise` z, which is independent under the reference; the paper's software stores the points
    X_1, ..., X_{steps-1}, which have the same distribution. Elliptical slice sampling explores the noise in a seventh
    of the time that slice sampling needs for the points. `path_of` in this module turns noise into points.

    Examples
    --------
    >>> import sterna
    >>> from sterna.models.wright_fisher import path_of
    >>> result = sterna.sample(sterna.models.wright_fisher(), n_rounds=6, progress=False)
    >>> path_of(result.posterior["noise"]).shape
    (1, 126, 9)
    """
    if steps < 2 or not (variance > 0 and absorbed_variance > 0 and math.isfinite(start) and math.isfinite(end)):
        raise OptionError(
            f"wright_fisher(start={start}, end={end}, steps={steps}, variance={variance}, "
            f"absorbed_variance={absorbed_variance}): give finite ends, at least 2 steps, and positive variances."
        )
    data = {
        "start": float(start),
        "end": float(end),
        "variance": float(variance),
        "absorbed_variance": float(absorbed_variance),
    }
    return Target(log_likelihood, {"noise": Normal(0.0, 1.0, shape=steps - 1)}, data, name="wright_fisher")


def path_of(
    noise: ArrayLike,
    start: float = 0.1,
    variance: float = VARIANCE,
    absorbed_variance: float = ABSORBED_VARIANCE,
) -> FloatArray:
    """Turn the noise of a `wright_fisher` bridge into the points X_1, X_2, ... of its path, along the last axis.

    Examples
    --------
    >>> path_of([0.0, 0.0, 1.0]).round(4)
    array([0.1   , 0.1   , 0.1548])
    """
    z = np.asarray(noise, dtype=np.float64)
    path = np.empty(z.shape)
    x: float | FloatArray = start
    for t in range(z.shape[-1]):
        inside = np.clip(x, 0.0, 1.0)
        v = np.where((inside > 0.0) & (inside < 1.0), variance * np.sqrt(inside * (1.0 - inside)), absorbed_variance)
        x = x + np.sqrt(v) * z[..., t]
        path[..., t] = x
    return path


def variance_at(x: float, variance: float, absorbed_variance: float) -> float:
    """Return v(x)."""
    if x <= 0.0 or x >= 1.0:
        return absorbed_variance
    return variance * math.sqrt(x * (1.0 - x))


def log_likelihood(noise: FloatArray, start: float, end: float, variance: float, absorbed_variance: float) -> float:
    """Return the log-density of the last step."""
    x = start
    for t in range(noise.size):
        x += math.sqrt(variance_at(x, variance, absorbed_variance)) * noise[t]
    v = variance_at(x, variance, absorbed_variance)
    return -0.5 * ((end - x) ** 2 / v + math.log(2.0 * math.pi * v))
