"""The shape of a generalised Pareto distribution (Zhang and Stephens 2009)."""

import math

import numpy as np

from sterna.types import FloatArray


def pareto_shape(excesses: FloatArray) -> float:
    """Return the shape of positive numbers: below 0 they are bounded, 0 is exponential, 1 has no mean.

    Examples
    --------
    >>> u = (np.arange(1000) + 0.5) / 1000
    >>> round(pareto_shape(u**-0.8 - 1), 1), round(pareto_shape(-np.log(u)), 1), round(pareto_shape(u), 1)
    (0.8, 0.0, -1.0)
    """
    x = np.sort(excesses[excesses > 0.0])
    n = len(x)
    if n < 5:
        return -math.inf
    points = 30 + int(math.sqrt(n))
    theta = (1.0 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))) / (3.0 * x[int(n / 4 + 0.5) - 1]) + 1.0 / x[-1]
    shapes = np.log1p(-theta[:, None] * x).mean(axis=1)
    log_likelihood = n * (np.log(-theta / shapes) - shapes - 1.0)
    weights = np.exp(log_likelihood - log_likelihood.max())
    best = float((theta * weights).sum() / weights.sum())
    return float(np.log1p(-best * x).mean())
