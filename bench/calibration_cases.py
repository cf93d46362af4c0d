"""Problems with exact answers for `bench/calibration.py`: targets, quantities of their draws, and the truth of each."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

import sterna

FloatArray = Any
Draws = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A problem whose evidence, means and shares are known."""

    name: str
    target: Callable[[], sterna.Target]
    log_evidence: float
    quantities: dict[str, tuple[Callable[[Draws], Any], float]]
    """Functions of the variables, arrays of shape (copies, draws, ...), with their exact means; events are booleans."""
    easy: bool = False


def log_mixture(x, centres, log_heights, widths):
    """Log-density of a mixture of isotropic normal distributions, up to the constants in `log_heights`."""
    top = -np.inf
    for k in range(centres.shape[0]):
        distance = 0.0
        for i in range(x.size):
            distance += ((x[i] - centres[k, i]) / widths[k]) ** 2
        term = log_heights[k] - 0.5 * distance
        top = term if top == -np.inf else np.logaddexp(top, term)
    return top


def mixture(name: str, weights: Any, centres: Any, widths: Any, box: float, easy: bool = False) -> Case:
    """Return a mixture under a uniform reference on [-box, box], far from its edges; all weights are asked for."""
    weights, centres, widths = (np.asarray(part, dtype=np.float64) for part in (weights, centres, widths))
    dimension = centres.shape[1]
    heights = np.log(weights) - dimension * np.log(widths * math.sqrt(2.0 * math.pi))
    data = {"centres": centres, "log_heights": heights, "widths": widths}

    def target() -> sterna.Target:
        return sterna.Target(log_mixture, {"x": sterna.Uniform(-box, box, shape=dimension)}, data, name=name)

    def in_mode(k: int) -> Callable[[Draws], Any]:
        def event(draws: Draws) -> Any:
            distance = np.square(draws["x"][..., None, :] - centres).sum(axis=-1) / widths**2
            return distance.argmin(axis=-1) == k

        return event

    shares = {f"weight {w:.3g}" + chr(97 + k): (in_mode(k), float(w)) for k, w in enumerate(weights)}
    means = {"mean": (lambda draws: draws["x"][..., 0], float(weights @ centres[:, 0]))}
    return Case(name, target, -dimension * math.log(2.0 * box), shares | means, easy)


def ten_modes() -> Case:
    rng = np.random.default_rng(10)
    angles = 2.0 * math.pi * np.arange(10) / 10.0
    centres = 6.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.uniform(-0.5, 0.5, (10, 2))
    weights = np.array([0.03, 0.05, 0.07, 0.08, 0.09, 0.1, 0.11, 0.13, 0.15, 0.19])
    return mixture("ten modes", weights, centres, np.full(10, 0.1), 10.0)


def rare_mode() -> Case:
    return mixture("0.99 and 0.01", [0.99, 0.01], [[2.0] * 6, [-2.0] * 6], [0.3, 0.3], 5.0)


def two_widths(ratio: float = 1.5) -> Case:
    """Return two modes of equal weight; of about ratio**5 journeys one finds the narrow one."""
    return mixture(f"widths 1 : {ratio:g}", [0.5, 0.5], [[3.0] * 5, [-3.0] * 5], [0.2, 0.2 * ratio], 10.0)


FIRST = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1])
SECOND = 1 - FIRST


def log_codes(z, first, second):
    """Two code words that most draws resemble: 0.3 nats apart, with other energies for each bit."""
    a, b = 0.0, -0.3
    for i in range(z.size):
        a -= (2.0 + 0.1 * i) * (z[i] != first[i])
        b -= (3.1 - 0.1 * i) * (z[i] != second[i])
    return np.logaddexp(a, b)


def codes() -> Case:
    states = np.array(list(product((0, 1), repeat=12)))
    logs = np.array([log_codes(z, FIRST, SECOND) for z in states])
    weights = np.exp(logs)

    def near_first(draws: Draws) -> Any:
        return (draws["z"] == FIRST).sum(axis=-1) > 6

    def mean(values: Any) -> float:
        return float(values @ weights / weights.sum())

    def target() -> sterna.Target:
        data = {"first": FIRST, "second": SECOND}
        return sterna.Target(log_codes, {"z": sterna.Bernoulli(0.5, shape=12)}, data, name="codes")

    return Case(
        "codes",
        target,
        math.log(weights.mean()),
        {
            "weight of a word": (near_first, mean(near_first({"z": states}))),
            "bit 0": (lambda draws: draws["z"][..., 0] == 1, mean(states[:, 0])),
            "mean sum": (lambda draws: draws["z"].sum(axis=-1), mean(states.sum(axis=1))),
        },
    )


def log_student(x):
    """Student's t with 4 degrees of freedom around 3, scale 0.5, over a Cauchy density of scale 5, by coordinate."""
    total = 0.0
    for i in range(x.size):
        total += math.log(0.75) - 2.5 * math.log1p(((x[i] - 3.0) / 0.5) ** 2 / 4.0)
        total += math.log(5.0 * math.pi) + math.log1p((x[i] / 5.0) ** 2)
    return total


def heavy_tails() -> Case:
    law = stats.t(4, loc=3.0, scale=0.5)
    return Case(
        "heavy tails",
        lambda: sterna.Target(log_student, {"x": sterna.Cauchy(0, 5, shape=4)}, name="heavy tails"),
        0.0,
        {
            "mean": (lambda draws: draws["x"][..., 0], 3.0),
            "beyond 4": (lambda draws: draws["x"][..., 1] > 4.0, float(law.sf(4.0))),
        },
    )


def log_rosenbrock(x):
    total = 0.0
    for i in range(x.size - 1):
        total -= 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return total


@cache
def rosenbrock_marginals(dimension: int, box: float) -> tuple[FloatArray, FloatArray, float]:
    """Return the grid, the marginals and log Z: neighbours interact only, so that sums go from one to the next."""
    x = np.linspace(-box, box, 4001)
    step = x[1] - x[0]
    kernel = np.exp(-100.0 * (x[None, :] - x[:, None] ** 2) ** 2 - (1.0 - x[:, None]) ** 2)
    forward, backward = [np.full(x.size, 0.5 / box)], [np.ones(x.size)]
    for _ in range(dimension - 1):
        forward.append(forward[-1] @ kernel * step * 0.5 / box)
        backward.insert(0, kernel @ (backward[0]) * step * 0.5 / box)
    marginals = np.array([a * b for a, b in zip(forward, backward, strict=True)])
    total = marginals.sum(axis=1) * step
    return x, marginals / marginals.sum(axis=1, keepdims=True), math.log(total[0])


def rosenbrock() -> Case:
    x, marginals, log_z = rosenbrock_marginals(10, 5.0)
    return Case(
        "rosenbrock",
        lambda: sterna.Target(log_rosenbrock, {"x": sterna.Uniform(-5, 5, shape=10)}, name="rosenbrock"),
        log_z,
        {
            "mean of x0": (lambda draws: draws["x"][..., 0], float(marginals[0] @ x)),
            "mean of x8": (lambda draws: draws["x"][..., 8], float(marginals[8] @ x)),
            "x0 < 0": (lambda draws: draws["x"][..., 0] < 0, float(marginals[0] @ (x < 0))),
        },
    )


def log_funnel(v, x):
    """Normal density of scale 1.5 for v; one of scale exp(v / 2), over one of scale 20, for each coordinate of x."""
    total = -0.5 * (v / 1.5) ** 2
    for i in range(x.size):
        total += -0.5 * v - 0.5 * x[i] * x[i] * math.exp(-v) + math.log(20.0) + 0.5 * (x[i] / 20.0) ** 2
    return total


def funnel() -> Case:
    law = stats.truncnorm(-5 / 1.5, 5 / 1.5, scale=1.5)
    return Case(
        "funnel",
        lambda: sterna.Target(
            log_funnel, {"v": sterna.Uniform(-5, 5), "x": sterna.Normal(0, 20, shape=9)}, name="funnel"
        ),
        math.log(1.5 * math.sqrt(2.0 * math.pi) * (2.0 * stats.norm.cdf(5 / 1.5) - 1.0) / 10.0),
        {
            "mean of v": (lambda draws: draws["v"], 0.0),
            "v < -2": (lambda draws: draws["v"] < -2.0, float(law.cdf(-2.0))),
            "mean of x": (lambda draws: draws["x"][..., 0], 0.0),
        },
    )


def normal() -> Case:
    return Case(
        "normal",
        lambda: sterna.models.normal(5, 10.0),
        -2.5 * math.log(10.0),
        {
            "mean": (lambda draws: draws["x"][..., 0], 0.0),
            "beyond 1 sd": (lambda draws: draws["x"][..., 1] > 10.0**-0.5, float(stats.norm.sf(1.0))),
        },
        easy=True,
    )


def cases() -> list[Case]:
    """Return all problems: three with modes far apart, and others."""
    return [
        ten_modes(), rare_mode(), two_widths(), codes(), heavy_tails(), rosenbrock(), funnel(), normal(),
        # too hard for default settings: must not be silently wrong
        two_widths(3.0),
    ]  # fmt: skip
