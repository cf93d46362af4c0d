"""Bridge of a Wright-Fisher diffusion (paper, comparison with other adaptive schemes)."""

import math

import numpy as np

from sterna.errors import OptionError
from sterna.reference import Reference
from sterna.space import Real
from sterna.target import Target


def wright_fisher(
    start: float = 0.1, end: float = 0.9, steps: int = 10, variance: float = 0.01, absorbed_variance: float = 1e-5
) -> Target:
    r"""Path of an allele's frequency between two known values, by Euler's scheme.

    .. math:: X_0 = start, \quad X_{t+1} \mid X_t \sim N(X_t, v(X_t)), \quad X_{steps} = end

    where v(x) = variance * sqrt(x (1 - x)) for 0 < x < 1 and absorbed_variance elsewhere: as in the paper's
    experiments, the root is in the variance, and a path outside of (0, 1) hardly moves. The reference is the law of
    the free path, so that only the last step is annealed, and V depends on the last point of `path` alone.
    Lambda = 3.66, of which 15 chains see 3.46 (paper: 3.42 and 3.47).

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.wright_fisher()
    >>> target.log_densities(path=np.linspace(0.18, 0.82, 9))
    (9.51064286534373, 1.029032171420747)
    """
    if steps < 2 or not (variance > 0 and absorbed_variance > 0 and math.isfinite(start) and math.isfinite(end)):
        raise OptionError(
            f"wright_fisher(start={start}, end={end}, steps={steps}, variance={variance}, "
            f"absorbed_variance={absorbed_variance}): give finite ends, at least 2 steps, and positive variances."
        )
    data = {
        "start": float(start),
        "end": float(end),
        "points": steps - 1,
        "variance": float(variance),
        "absorbed_variance": float(absorbed_variance),
    }
    reference = Reference(draw, log_density, {"path": Real(shape=steps - 1)})
    return Target(log_likelihood, reference, data, name="wright_fisher")


def variance_at(x: float, variance: float, absorbed_variance: float) -> float:
    """Return v(x)."""
    if x <= 0.0 or x >= 1.0:
        return absorbed_variance
    return variance * math.sqrt(x * (1.0 - x))


def log_step(x: float, following: float, variance: float, absorbed_variance: float) -> float:
    """Return the log-density of a step."""
    v = variance_at(x, variance, absorbed_variance)
    return -0.5 * ((following - x) ** 2 / v + math.log(2.0 * math.pi * v))


def draw(rng, start, points, variance, absorbed_variance):  # type: ignore[no-untyped-def]
    """Draw a free path."""
    path = np.empty(points)
    x = start
    for t in range(points):
        x += math.sqrt(variance_at(x, variance, absorbed_variance)) * rng.standard_normal()
        path[t] = x
    return path


def log_density(path, start, variance, absorbed_variance):  # type: ignore[no-untyped-def]
    """Sum over the steps of the free path."""
    total, x = 0.0, start
    for t in range(path.size):
        total += log_step(x, path[t], variance, absorbed_variance)
        x = path[t]
    return total


def log_likelihood(path, end, variance, absorbed_variance):  # type: ignore[no-untyped-def]
    """Return the log-density of the last step."""
    return log_step(path[path.size - 1], end, variance, absorbed_variance)
