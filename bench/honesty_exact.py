"""Exact answers for the battery, none of which uses parallel tempering."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp


def normal_evidence(precision: np.ndarray, centre: np.ndarray, prior_sd: float) -> tuple[float, np.ndarray, np.ndarray]:
    """log Z, means and standard deviations of exp(-(x - m)' P (x - m) / 2) under independent N(0, prior_sd^2)."""
    total = precision + np.eye(len(centre)) / prior_sd**2
    pulled = precision @ centre
    means = np.linalg.solve(total, pulled)
    log_z = -0.5 * np.linalg.slogdet(total)[1] - len(centre) * math.log(prior_sd)
    log_z += -0.5 * (centre @ pulled - pulled @ means)
    return float(log_z), means, np.sqrt(np.diag(np.linalg.inv(total)))


def density_on_line(log_density: Callable[[float], float], low: float, high: float, *points: float):
    """log of the integral, mean and standard deviation of a density on an interval; `points` are where it is narrow."""
    inside = sorted({low, high, *points})
    grid = np.concatenate([np.linspace(a, b, 400) for a, b in itertools.pairwise(inside)])
    top = max(map(log_density, grid))
    moments = [
        sum(
            quad(lambda x, k=k: x**k * math.exp(log_density(x) - top), a, b, limit=500, epsabs=1e-13, epsrel=1e-10)[0]
            for a, b in itertools.pairwise(inside)
        )
        for k in range(3)
    ]
    mean = moments[1] / moments[0]
    return top + math.log(moments[0]), mean, math.sqrt(max(moments[2] / moments[0] - mean**2, 0.0))


def on_grid(log_density: np.ndarray, first: np.ndarray, second: np.ndarray):
    """log of the integral, and mean and standard deviation of the first coordinate, by the trapezoidal rule."""
    top = log_density.max()
    weights = np.exp(log_density - top)
    along = np.trapezoid(weights, second, axis=1)
    moments = [float(np.trapezoid(along * first**k, first)) for k in range(3)]
    mean = moments[1] / moments[0]
    return float(top + math.log(moments[0])), mean, math.sqrt(moments[2] / moments[0] - mean**2)


def two_labels_evidence(y: np.ndarray, prior_sd: float) -> tuple[float, float, float]:
    """log Z, mean and sd of one centre of a mixture of two unit normals with equal weights, summed over assignments."""
    n = len(y)
    chosen = (np.arange(2**n)[:, None] >> np.arange(n)) & 1

    def marginal(count, total, square):
        # y ~ N(mu, 1), mu ~ N(0, prior_sd^2), given count, sum and sum of squares
        precision = count + prior_sd**-2
        log_z = -0.5 * count * math.log(2 * math.pi) - math.log(prior_sd) - 0.5 * np.log(precision)
        return log_z - 0.5 * (square - total**2 / precision), total / precision, 1.0 / precision

    here, mean, variance = marginal(chosen.sum(axis=1), chosen @ y, chosen @ y**2)
    there = marginal(n - chosen.sum(axis=1), (1 - chosen) @ y, (1 - chosen) @ y**2)[0]
    logs = here + there
    weights = np.exp(logs - logsumexp(logs))
    centre = float(weights @ mean)
    spread = math.sqrt(float(weights @ (variance + mean**2)) - centre**2)
    return float(logsumexp(logs) - n * math.log(2)), centre, spread


def enumerated(values: int, sites: int, log_likelihood: Callable[[np.ndarray], float]) -> tuple[float, np.ndarray]:
    """log Z under independent uniform values, and the probabilities of the first site's values."""
    states = np.stack(np.unravel_index(np.arange(values**sites), (values,) * sites), axis=1)
    logs = np.array([log_likelihood(state) for state in states])
    weights = np.exp(logs - logsumexp(logs))
    return float(logsumexp(logs) - sites * math.log(values)), np.bincount(states[:, 0], weights, minlength=values)


def potts_evidence(width: int, height: int, values: int, coupling: float) -> float:
    """log Z of the Potts model on a free rectangle under uniform values, by Fortuin and Kasteleyn's clusters.

    Sites are added row by row; a state says which of the last `width` sites are in one cluster.
    """
    v = math.expm1(coupling)
    states: dict[tuple[int, ...], float] = {(): 1.0}
    log_scale = 0.0
    for site in range(width * height):
        row, column = divmod(site, width)
        grown: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for labels, weight in states.items():
            for linked, factor in _with_site(labels, row, column, values, v):
                grown[linked] += weight * factor
        top = max(grown.values())
        log_scale += math.log(top)
        states = {labels: weight / top for labels, weight in grown.items()}
    total = sum(weight * values ** len(set(labels)) for labels, weight in states.items())
    return log_scale + math.log(total) - width * height * math.log(values)


def _with_site(labels: tuple[int, ...], row: int, column: int, values: int, v: float):
    """Yield states after one more site, with and without bonds to the site above and to the one on the left."""
    fresh = -1
    if row == 0:
        placed = [((*labels, fresh), 1.0)]
    else:
        above = labels[column]
        # a cluster that loses its last site on the frontier is complete: it has one of `values` values
        closed = values if labels.count(above) == 1 else 1
        alone = (*labels[:column], fresh, *labels[column + 1 :])
        placed = [(alone, float(closed)), (labels, v)]
    for one, factor in placed:
        yield _renamed(one), factor
        if column > 0:
            here, left = one[column], one[column - 1]
            joined = tuple(left if label == here else label for label in one)
            yield _renamed(joined), factor * v


def _renamed(labels: tuple[int, ...]) -> tuple[int, ...]:
    """Number clusters in the order of their first sites."""
    order: dict[int, int] = {}
    return tuple(order.setdefault(label, len(order)) for label in labels)


def rosenbrock_chain(dimension: int, half_width: float, points: int = 2001):
    """log Z under a uniform box, and mean and sd of the first and of the last coordinate, by messages on a grid."""
    grid = np.linspace(-half_width, half_width, points)
    step = np.full(points, grid[1] - grid[0])
    step[[0, -1]] *= 0.5
    own = np.exp(-((1.0 - grid) ** 2))
    link = own[:, None] * np.exp(-100.0 * (grid[None, :] - grid[:, None] ** 2) ** 2) * step[None, :]
    backward = np.ones(points)
    forward = step.copy()
    for _ in range(dimension - 1):
        backward = link @ backward
        forward = forward @ link
    first, last = step * backward, forward

    def moments(weights):
        centre = float(weights @ grid / weights.sum())
        return centre, math.sqrt(float(weights @ (grid - centre) ** 2 / weights.sum()))

    return float(np.log(first.sum()) - dimension * math.log(2 * half_width)), *moments(first), *moments(last)


def shells_evidence(dimension: int, radius: float, width: float, side: float) -> float:
    """log Z of two normalised shells in a cube of the given side."""
    surface = math.log(2.0) + 0.5 * dimension * math.log(math.pi) - float(gammaln(0.5 * dimension))
    log_z, _, _ = density_on_line(
        lambda r: (dimension - 1) * math.log(r) - 0.5 * ((r - radius) / width) ** 2,
        max(radius - 12 * width, 1e-9),
        radius + 12 * width,
        radius,
    )
    return math.log(2.0) + surface + log_z - 0.5 * math.log(2 * math.pi * width**2) - dimension * math.log(side)
