"""Problems with one mode or a curved one, and with data."""

import math
from functools import partial

import calibration_cases
import honesty_exact as exact
import honesty_healthy as healthy
import modes_cost
import numpy as np
from problem import FloatArray, Prior, Problem, box, normals
from scipy.special import digamma, gammaln, logsumexp

import sterna
from sterna.models.ode import log_likelihood as log_one_curve
from sterna.models.ode import simulate


def rosenbrock(d: int) -> Problem:
    """Rosenbrock's curved valley in the box from -5 to 5."""

    def log_likelihood(x, xp):
        return -xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return Problem(
        f"Rosenbrock, d={d}",
        box(-5.0, 5.0, d),
        log_likelihood,
        lambda: sterna.Target(calibration_cases.log_rosenbrock, {"x": sterna.Uniform(-5, 5, shape=d)}, name="valley"),
        exact.rosenbrock_chain(d, 5.0, 4001)[0],
    )


def product() -> Problem:
    """The paper's product of two probabilities: a thin curve."""
    trials, successes = 100_000, 50_000
    constant = float(gammaln(trials + 1) - 2 * gammaln(successes + 1))

    def log_likelihood(x, xp):
        return constant + successes * xp.log(x[0] * x[1]) + (trials - successes) * xp.log1p(-x[0] * x[1])

    log_z = -math.log(trials + 1) + math.log(digamma(trials + 2) - digamma(successes + 1))
    # the open ends: 0 log 0 is not defined everywhere
    prior = box(1e-12, 1.0 - 1e-12, 2)
    return Problem("product, d=2", prior, log_likelihood, sterna.models.product, log_z)


def log_change(x, y):
    """Normal observations whose mean changes from x[1] to x[2] at time x[0]."""
    total = -0.5 * y.size * math.log(2.0 * math.pi)
    for i in range(y.size):
        mean = x[1] if i < x[0] else x[2]
        total -= 0.5 * (y[i] - mean) ** 2
    return total


def change_point() -> Problem:
    """A mean that moves in two steps, in a model of one: either step may be the change."""
    n, sd = 60, 2.0
    rng = np.random.default_rng(11)
    y = rng.standard_normal(n) + np.where(np.arange(n) < 20, 0.0, np.where(np.arange(n) < 40, 0.75, 1.5))
    times = np.arange(n)

    def log_likelihood(x, xp):
        mean = xp.where(times < x[0], x[1], x[2])
        return -0.5 * xp.sum((y - mean) ** 2) - 0.5 * n * math.log(2.0 * math.pi)

    def log_segment(part: FloatArray) -> float:
        precision = len(part) + sd**-2
        square = part @ part - part.sum() ** 2 / precision
        return -0.5 * len(part) * math.log(2 * math.pi) - 0.5 * math.log(precision) - math.log(sd) - 0.5 * square

    # the change is uniform on (0, n): if it is in (k - 1, k], the first k observations have the first mean
    logs = np.array([log_segment(y[:k]) + log_segment(y[k:]) for k in range(1, n + 1)])
    shares = np.exp(logs - logsumexp(logs))
    border = 30
    prior = Prior(np.array([False, True, True]), np.array([0.0, 0.0, 0.0]), np.array([float(n), sd, sd]))
    reference = {"change": sterna.Uniform(0, n), "mean": sterna.Normal(0, sd, shape=2)}
    return Problem(
        "change point, d=3",
        prior,
        log_likelihood,
        lambda: sterna.Target(log_change, reference, {"y": y}, name="change point"),
        float(logsumexp(logs) - math.log(n)),
        np.array([shares[:border].sum(), shares[border:].sum()]),
        lambda x: (x[:, 0] > border).astype(int),
    )


# Importance sampling with 4 000 000 draws: `python bench/compare/references.py`
LOG_EVIDENCE = {"labels": -97.3465, "ode": 20.9198}
LABELS_MEANS, LABELS_SDS = np.zeros(5), np.array([5.0, 5.0, 1.0, 1.0, 1.5])


def label_data() -> FloatArray:
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(-2.0, 0.7, 30), rng.normal(2.0, 1.0, 20)])


def label_switching() -> Problem:
    """A mixture of two normals: means, log standard deviations, and the logit of a weight."""
    y = label_data()

    def log_likelihood(x, xp):
        one = -xp.logaddexp(0.0, -x[4]) - x[2] - 0.5 * ((y - x[0]) * xp.exp(-x[2])) ** 2
        other = -xp.logaddexp(0.0, x[4]) - x[3] - 0.5 * ((y - x[1]) * xp.exp(-x[3])) ** 2
        return xp.sum(xp.logaddexp(one, other)) - 0.5 * y.size * math.log(2 * math.pi)

    reference = {"x": sterna.Normal(LABELS_MEANS, LABELS_SDS)}
    return Problem(
        "label switching, d=5",
        normals(LABELS_MEANS, LABELS_SDS),
        log_likelihood,
        lambda: sterna.Target(modes_cost.log_labels.py_func, reference, {"y": y}, name="labels"),
        LOG_EVIDENCE["labels"],
        np.array([0.5, 0.5]),
        lambda x: (x[:, 0] > x[:, 1]).astype(int),
        exact="importance sampling",
    )


ODE_LOW, ODE_HIGH = np.array([-2.0, -5.0, -5.0, -5.0, -2.0]), np.array([1.0, 5.0, 5.0, 5.0, 2.0])


def log_ode(x, times, observations):
    """The paper's curve, in decimal logarithms of its parameters."""
    t0, km0, beta, delta, sigma = 10.0 ** x[0], 10.0 ** x[1], 10.0 ** x[2], 10.0 ** x[3], 10.0 ** x[4]
    return log_one_curve(t0, km0, beta, delta, sigma, times, observations)


def ode() -> Problem:
    """Two rates whose names may be exchanged; data are simulated."""
    times, observations = simulate()
    n = len(times)

    def log_likelihood(x, xp):
        t0, km0, beta, delta, sigma = 10.0 ** x[0], 10.0 ** x[1], 10.0 ** x[2], 10.0 ** x[3], 10.0 ** x[4]
        slow, gap = xp.minimum(beta, delta), xp.maximum(xp.abs(beta - delta), 1e-12)
        elapsed = times - t0
        # a curve that overflows has zero likelihood: exponents are cut where squares are still finite
        decay, rise = xp.clip(-slow * elapsed, -300.0, 300.0), xp.clip(-gap * elapsed, -300.0, 300.0)
        curve = -km0 * xp.exp(decay) * xp.expm1(rise) / gap
        square = xp.sum(xp.clip((observations - curve) / sigma, -1e100, 1e100) ** 2)
        return -0.5 * square - n * (xp.log(sigma) + 0.5 * math.log(2.0 * math.pi))

    def target() -> sterna.Target:
        data = {"times": times, "observations": observations}
        return sterna.Target(log_ode, {"x": sterna.Uniform(ODE_LOW, ODE_HIGH)}, data, name="ode")

    return Problem(
        "ODE, d=5",
        Prior(np.zeros(5, dtype=bool), ODE_LOW, ODE_HIGH),
        log_likelihood,
        target,
        LOG_EVIDENCE["ode"],
        np.array([0.5, 0.5]),
        lambda x: (x[:, 2] > x[:, 3]).astype(int),
        exact="importance sampling",
    )


def slow_normal() -> Problem:
    """A correlated normal distribution whose evaluation takes a millisecond."""
    d, sd = 6, 3.0
    covariance = 0.25 * (np.full((d, d), 0.8) + 0.2 * np.eye(d))
    precision, centre = np.linalg.inv(covariance), np.linspace(-1.0, 1.0, d)

    def log_likelihood(x, xp):
        return -0.5 * xp.sum((x - centre) * xp.dot(precision, x - centre))

    data = {"precision": precision, "centre": centre}
    return Problem(
        "slow: correlated, d=6",
        normals(np.zeros(d), np.full(d, sd)),
        log_likelihood,
        lambda: sterna.Target(healthy.quadratic, {"x": sterna.Normal(0, sd, shape=d)}, data, name="correlated"),
        exact.normal_evidence(precision, centre, sd)[0],
        busy=1e-3,
    )


PROBLEMS = {
    "Rosenbrock, d=2": partial(rosenbrock, 2),
    "Rosenbrock, d=10": partial(rosenbrock, 10),
    "product, d=2": product,
    "change point, d=3": change_point,
    "label switching, d=5": label_switching,
    "ODE, d=5": ode,
    "slow: correlated, d=6": slow_normal,
}
