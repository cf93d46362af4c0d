"""Problems for `bench/modes.py` whose cost is compared: expensive likelihoods, and problems that need no mixture."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from modes_cases import Modes, case_of
from numba import njit

import sterna

# Seconds for which an expensive likelihood keeps the processor busy, besides its own evaluation.
BUSY = 1.5e-5


def expensive(function: Callable[..., float]) -> Callable[..., float]:
    """Return a function that runs as Python and takes longer than 10 us."""

    def log_likelihood(x: Any) -> float:
        until = time.perf_counter() + BUSY
        found = float(function(x))
        while time.perf_counter() < until:
            pass
        return found

    return log_likelihood


@njit
def log_labels(x: Any, y: Any) -> float:
    """A mixture of two normal distributions: two means, two log standard deviations, and the logit of a weight."""
    first, second = -math.log1p(math.exp(-x[4])) - x[2], -math.log1p(math.exp(x[4])) - x[3]
    total = 0.0
    for k in range(y.size):
        one = first - 0.5 * ((y[k] - x[0]) * math.exp(-x[2])) ** 2
        other = second - 0.5 * ((y[k] - x[1]) * math.exp(-x[3])) ** 2
        total += np.logaddexp(one, other)
    return total - 0.5 * y.size * math.log(2 * math.pi)


@njit
def log_three(x: Any, centres: Any, width: float) -> float:
    """Three equal modes, up to a constant."""
    top, total = -math.inf, 0.0
    for k in range(3):
        term = -0.5 * np.sum((x - centres[k]) ** 2) / width**2
        if term > top:
            total, top = total * math.exp(top - term) + 1.0, term
        else:
            total += math.exp(term - top)
    return top + math.log(total)


@njit
def log_normal(x: Any, precision: Any) -> float:
    """A correlated normal distribution around 1, up to a constant."""
    away = x - 1.0
    return -0.5 * np.sum(away * (precision @ away))


@njit
def log_shells(x: Any) -> float:
    """Two Gaussian shells of radius 2 and width 0.1."""
    first, second = 0.0, 0.0
    for i in range(x.size):
        centre = 3.5 if i == 0 else 0.0
        first += (x[i] - centre) ** 2
        second += (x[i] + centre) ** 2
    return np.logaddexp(-50.0 * (math.sqrt(first) - 2.0) ** 2, -50.0 * (math.sqrt(second) - 2.0) ** 2)


def shells_evidence(d: int = 10) -> float:
    """Return log Z of the shells in the box [-6, 6]: an integral over the radius, by the trapezoid rule."""
    r = np.linspace(0.5, 3.5, 20001)
    surface = math.log(2.0) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d)
    values = np.exp(surface + (d - 1) * np.log(r) - 50.0 * (r - 2.0) ** 2)
    return math.log(2.0 * float(np.sum(values) * (r[1] - r[0]))) - d * math.log(12.0)


def expensive_cases() -> dict[str, tuple[Callable[[], sterna.Target], float, int, float]]:
    """Return for each problem its target, its log evidence (NaN if unknown), the rounds to take, and the goal."""
    rng = np.random.default_rng(5)
    y = np.concatenate([rng.normal(-2.0, 0.7, 30), rng.normal(2.0, 1.0, 20)])
    signs = np.array([[1, 1], [1, -1], [-1, -1]]).repeat(6, axis=1)
    centres = signs * 20 * 0.3 / math.sqrt(24)
    covariance = 0.01 * (np.eye(10) + 0.5)
    precision = np.linalg.inv(covariance)
    wide = covariance + 25.0 * np.eye(10)
    normal = 0.5 * (np.linalg.slogdet(covariance)[1] - np.linalg.slogdet(wide)[1])
    normal -= 0.5 * float(np.sum(np.linalg.inv(wide)))
    three = 12 * math.log(0.3 * math.sqrt(2 * math.pi) / 20.0) + math.log(3.0)
    labels = {"x": sterna.Normal([0, 0, 0, 0, 0], [5, 5, 1, 1, 1.5])}
    box = {"x": sterna.Uniform(-10, 10, shape=12)}

    def target(function: Callable[..., float], reference: dict[str, Any]) -> Callable[[], sterna.Target]:
        return lambda: sterna.Target(expensive(function), reference)

    return {
        "labels": (target(lambda x: log_labels(x, y), labels), math.nan, 8, 50_000),
        "three": (target(lambda x: log_three(x, centres, 0.3), box), three, 8, 100_000),
        "normal": (
            target(lambda x: log_normal(x, precision), {"x": sterna.Normal(0, 5, shape=10)}),
            normal,
            8,
            20_000,
        ),
        "shells": (
            target(log_shells, {"x": sterna.Uniform(-6, 6, shape=10)}),
            shells_evidence(),
            8,
            math.inf,
        ),
    }


def log_banana(x):  # type: ignore[no-untyped-def]
    """A bent normal distribution."""
    return -0.5 * (x[0] ** 2 / 4.0 + (x[1] - 0.5 * x[0] ** 2) ** 2 / 0.25)


def log_egg_box(x):  # type: ignore[no-untyped-def]
    """Many modes on a lattice."""
    return (2.0 + math.cos(0.5 * x[0]) * math.cos(0.5 * x[1])) ** 5


def log_funnel(v, x):  # type: ignore[no-untyped-def]
    """Coordinates whose variance is exp(v)."""
    return -0.5 * np.sum(x * x) * math.exp(-v) - 0.5 * x.size * v


def easy_cases() -> dict[str, Callable[[], sterna.Target]]:
    """Return problems that the path from the prior samples well, and the paper's models whose variables are real."""
    box, disc = sterna.Uniform(-10, 10, shape=2), sterna.Uniform(0, 10 * math.pi, shape=2)
    funnel = {"v": sterna.Normal(0, 3), "x": sterna.Uniform(-30, 30, shape=4)}
    return {
        "egg box": lambda: sterna.Target(log_egg_box, {"x": disc}),
        "funnel": lambda: sterna.Target(log_funnel, funnel),
        "banana": lambda: sterna.Target(log_banana, {"x": box}),
        "shells": lambda: sterna.Target(log_shells, {"x": sterna.Uniform(-6, 6, shape=10)}),
        "normal": sterna.models.normal,
        "elliptic": sterna.models.elliptic,
        "product": sterna.models.product,
        "glm": sterna.models.glm,
        "ode": sterna.models.ode,
        "wright_fisher": sterna.models.wright_fisher,
    }


def coverage_cases() -> list[Any]:
    """Return three problems whose exact evidence is known: normal, skewed and bent, and three modes."""
    rng = np.random.default_rng(2)
    factor = np.linalg.cholesky(0.01 * (np.eye(10) + 0.5))
    normal = Modes(np.ones(1), np.ones((1, 10)), factor[None], np.zeros(1), np.zeros(1))
    two = Modes(
        np.array([0.7, 0.3]),
        np.array([[-3.0, 2.0, 1.0, -2.0], [3.0, -1.0, 0.0, 2.0]]),
        np.array([width * np.linalg.qr(rng.standard_normal((4, 4)))[0] for width in (0.4, 0.2)]),
        np.array([0.4, 0.0]),
        np.array([0.0, 0.5]),
    )
    d = 8
    centres = np.array([np.full(d, -4.0), np.where(np.arange(d) % 2, 5.0, -3.0), np.full(d, 5.0)])
    factors = np.array([width * np.eye(d) for width in (0.3, 0.5, 0.2)])
    three = Modes(np.array([0.6, 0.3, 0.1]), centres, factors, np.zeros(3), np.zeros(3))
    return [case_of("normal, d=10", normal), case_of("two shapes, d=4", two), case_of("three modes, d=8", three)]
