"""A log-density in NumPy as a landscape for searches (`sterna.search.landscape.Landscape`)."""

import numpy as np


class FunctionLandscape:
    """`function(points)` on the real line, or in a box of the given half-width, mapped from the line."""

    def __init__(self, function, dimension, gradient=None, half=None, integers=0, reference=None, periods=0.0):
        self.function, self.gradient, self.half, self.reference = function, gradient, half, reference
        self.free = np.arange(dimension) >= integers
        self.periods = np.full(dimension, periods)
        self.limits = np.full(dimension, np.inf if half is None else 2.0)
        self.has_slopes = gradient is not None
        self.spent = 0

    def variables(self, points):
        if self.half is None:
            return points.copy(), np.zeros_like(points)
        share = 1 / (1 + np.exp(-points))
        return self.half * (2 * share - 1), np.log(2 * self.half * share * (1 - share))

    def points_of(self, states):
        if self.half is None:
            return states.copy()
        share = 0.5 * (1 + states / self.half)
        return np.log(share) - np.log1p(-share)

    def values(self, points):
        self.spent += len(points)
        states, log_jacobians = self.variables(points)
        values = self.function(states) + log_jacobians.sum(axis=1)
        return np.where(np.isnan(values), -np.inf, values)

    def references(self, points):
        return self.reference(points)

    def stencils(self, points, steps):
        around = np.zeros((*points.shape, 2))
        for i in range(points.shape[1]):
            for side, sign in enumerate((1, -1)):
                moved = points.copy()
                moved[:, i] += sign * steps[:, i]
                if steps[0, i] > 0:
                    around[:, i, side] = self.values(moved)
        return around

    def slopes(self, points):
        self.spent += 2 * len(points)
        return self.gradient(points)


def quadratic(mean, covariance):
    """Return the log-density of a normal distribution, and its gradient."""
    precision = np.linalg.inv(covariance)
    constant = -0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]

    def value(x):
        return constant - 0.5 * np.einsum("ni,ij,nj->n", x - mean, precision, x - mean)

    return value, lambda x: -(x - mean) @ precision


def covariance_of(dimension, correlation=0.9, widths=(0.01, 100.0)):
    """Return a covariance whose coordinates are correlated and of very different widths."""
    sd = np.geomspace(*widths, dimension)
    return correlation ** np.abs(np.subtract.outer(np.arange(dimension), np.arange(dimension))) * np.outer(sd, sd)
