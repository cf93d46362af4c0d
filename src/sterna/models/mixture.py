"""A mixture of two normal distributions whose indicators are sampled (paper, table of models)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.explorers.slice import Slice
from sterna.ground.rows import fields
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.parameters import checked
from sterna.reference.reference import Reference
from sterna.reference.space import Binary, Real, Simplex
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray

SIZES = {300: "mixture_data.csv", 150: "mixture_data_150.csv"}

# Mean and standard deviation of the components' means, and the upper bound of their deviations.
PRIOR_MEAN, PRIOR_DEVIATION, MAX_DEVIATION = 150.0, 100.0, 100.0


@fields
class State:
    """The state; the other indicators follow the first."""

    share = 1  # of the first component: the weights as a stick
    means = 2
    deviations = 2
    first_indicator = 1


LOG_DENSITY_OF_MEAN = -math.log(PRIOR_DEVIATION) - 0.5 * math.log(2.0 * math.pi)
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@checked
def mixture(y: ArrayLike | None = None, size: int = 300) -> Target:
    r"""Mixture of two normal distributions, with the component of every observation among the variables.

    .. math::

        w \sim \text{Dirichlet}(1, 1), \quad \mu_k \sim N(150, 100^2), \quad \sigma_k \sim U(0, 100), \quad
        z_i \sim \text{Categorical}(w), \quad y_i \sim N(\mu_{z_i}, \sigma_{z_i}^2)

    Only the terms of y are annealed; z given w belongs to the reference. The variables are `w`, `mu`, `sigma` and `z`.
    The model is symmetric in the two components, so there are two modes of equal probability: with the paper's
    300 observations a single chain stays in one of them, with the first 150 it does not.

    Explored by three passes of slice sampling and exact draws of z, as in the original, by local changes: an indicator
    only evaluates its own term, a component's mean or deviation the terms of its observations.

    Parameters
    ----------
    y
        The observations. By default the file mixture/mixture_data.csv or mixture/mixture_data_150.csv of the data
        folder; without a folder, as many observations simulated from the model.
    size
        Number of observations if y is not given: 300 or 150.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.mixture(y=np.array([100.0, 200.0]))
    >>> target.space.names, target.dimension
    (['w', 'mu', 'sigma', 'z'], 7)
    """
    simulated = False
    if y is None:
        if size not in SIZES:
            raise OptionError(f"mixture(size={size}): the paper has 300 or 150 observations; give other data as y.")
        path = data_file("mixture", SIZES[size])
        simulated = path is None
        y = simulate(np.random.default_rng(SEED), size) if path is None else np.loadtxt(path)
    seen = np.asarray(y)
    if seen.ndim != 1 or seen.size == 0 or seen.dtype.kind not in "iuf" or not np.isfinite(seen).all():
        raise OptionError("mixture(y=...): y must be a nonempty vector of finite numbers; give one.")
    space = {
        "w": Simplex(2),
        "mu": Real(shape=2),
        "sigma": Real(0, MAX_DEVIATION, shape=2),
        "z": Binary(shape=seen.size),
    }
    target = Target(
        log_likelihood,
        Reference(draw, log_reference, space, local_change=reference_change),
        {"y": seen.astype(np.float64)},
        local_change=likelihood_change,
        explorer=Slice(passes=3),
        name="mixture",
    )
    return say_simulated(target) if simulated else target


def simulate(rng: np.random.Generator, size: int) -> FloatArray:
    """Simulate observations from the model."""
    share, mu, sigma = rng.random(), rng.normal(PRIOR_MEAN, PRIOR_DEVIATION, 2), rng.uniform(0.0, MAX_DEVIATION, 2)
    z = (rng.random(size) >= share).astype(np.int64)
    return rng.normal(mu[z], sigma[z])


def draw(rng: np.random.Generator, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Draw weights, means, deviations and indicators."""
    share = rng.random()
    mu = rng.normal(PRIOR_MEAN, PRIOR_DEVIATION, 2)
    sigma = np.maximum(rng.uniform(0.0, MAX_DEVIATION, 2), 1e-300)
    z = np.zeros(y.size, dtype=np.int64)
    for k in range(y.size):
        z[k] = 0 if rng.random() < share else 1
    return np.array([share, 1.0 - share]), mu, sigma, z


def log_reference(w: FloatArray, mu: FloatArray, z: IntArray) -> float:
    """Return the log-density of weights, means, deviations and indicators."""
    second = 0
    for value in z:
        second += value
    total = 2.0 * (LOG_DENSITY_OF_MEAN - math.log(MAX_DEVIATION))
    for value in mu:
        total -= 0.5 * ((value - PRIOR_MEAN) / PRIOR_DEVIATION) ** 2
    return total + (z.size - second) * math.log(w[0]) + second * math.log(w[1])


def reference_change(x: FloatArray, i: int, new: float) -> float:
    """Return the change of the reference; given the weights, the indicators are independent."""
    if i >= State.first_indicator:
        return (new - x[i]) * (math.log1p(-x[State.share]) - math.log(x[State.share]))
    if i >= State.deviations:
        return 0.0
    if i >= State.means:
        return -0.5 * (new - x[i]) * (new + x[i] - 2.0 * PRIOR_MEAN) / PRIOR_DEVIATION**2
    second = 0.0
    for k in range(State.first_indicator, x.size):
        second += x[k]
    first = x.size - State.first_indicator - second
    return first * math.log(new / x[State.share]) + second * (math.log1p(-new) - math.log1p(-x[State.share]))


def log_likelihood(mu: FloatArray, sigma: FloatArray, z: IntArray, y: FloatArray) -> float:
    """Sum of the normal terms."""
    total = 0.0
    for k in range(y.size):
        standard = (y[k] - mu[z[k]]) / sigma[z[k]]
        total -= 0.5 * standard * standard + math.log(sigma[z[k]])
    return total - y.size * HALF_LOG_TWO_PI


def likelihood_change(x: FloatArray, i: int, new: float, y: FloatArray) -> float:
    """Return the change of the terms that depend on coordinate i."""
    if i >= State.first_indicator:
        if new == x[i]:
            return 0.0
        value, old, other = y[i - State.first_indicator], int(x[i]), int(new)
        before = (value - x[State.means + old]) / x[State.deviations + old]
        after = (value - x[State.means + other]) / x[State.deviations + other]
        return 0.5 * (before * before - after * after) + math.log(
            x[State.deviations + old] / x[State.deviations + other]
        )
    if i == State.share:
        return 0.0
    component = float((i - State.means) % 2)
    count, total, square, centre = 0.0, 0.0, 0.0, x[State.means + (i - State.means) % 2]
    for k in range(y.size):
        member = 1.0 if x[State.first_indicator + k] == component else 0.0
        away = member * (y[k] - centre)
        count += member
        total += away
        square += away * away
    if count == 0.0:
        return 0.0
    if i < State.deviations:
        step, deviation = new - x[i], x[i + 2]
        return step / deviation * ((total - 0.5 * count * step) / deviation)
    inverse, old = 1.0 / new, 1.0 / x[i]
    return 0.5 * square * (old * old - inverse * inverse) + count * math.log(x[i] / new)
