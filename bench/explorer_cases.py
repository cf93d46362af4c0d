"""The six targets on which explorers are compared, with gradients, so that gradient-based explorers can run on them."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import sterna


@dataclass(frozen=True)
class Case:
    """A target, its number of chains, and the variables that explorers of real variables cannot handle."""

    name: str
    target: sterna.Target
    n_chains: int
    discrete: tuple[str, ...] = ()


def normal_case() -> Case:
    """A normal distribution with 100 coordinates, from a reference with 5 times its variance."""
    return Case("normal d=100", sterna.models.normal(100), 20)


def funnel(v, x):  # type: ignore[no-untyped-def]
    """Neal's funnel: x_i is normal with variance exp(v)."""
    square = 0.0
    for i in range(x.size):
        square += x[i] * x[i]
    return -0.5 * (square * math.exp(-v) + x.size * v)


def funnel_gradient(v, x):  # type: ignore[no-untyped-def]
    """Return the gradient of the funnel."""
    precision = math.exp(-v)
    return 0.5 * precision * np.sum(x * x) - 0.5 * x.size, -x * precision


def funnel_case() -> Case:
    """Neal's funnel in 10 dimensions: scales that differ by a factor of a thousand."""
    reference = {"v": sterna.Normal(0, 3), "x": sterna.Normal(0, 10, shape=9)}
    return Case("funnel d=10", sterna.Target(funnel, reference, gradient=funnel_gradient), 10)


def banana(x, y):  # type: ignore[no-untyped-def]
    """Rosenbrock's valley."""
    return -0.05 * (1.0 - x) ** 2 - 5.0 * (y - x * x) ** 2


def banana_gradient(x, y):  # type: ignore[no-untyped-def]
    """Return the gradient of the valley."""
    return 0.1 * (1.0 - x) + 20.0 * x * (y - x * x), -10.0 * (y - x * x)


def banana_case() -> Case:
    """A narrow curved valley in two dimensions."""
    reference = {"x": sterna.Normal(0, 5), "y": sterna.Normal(0, 20)}
    return Case("banana d=2", sterna.Target(banana, reference, gradient=banana_gradient), 7)


def logistic(w, features, labels):  # type: ignore[no-untyped-def]
    """Logistic regression."""
    total = 0.0
    for k in range(labels.size):
        score = 0.0
        for i in range(w.size):
            score += features[k, i] * w[i]
        # log of the logistic function of the score or of its negative, without overflow
        signed = score if labels[k] == 1.0 else -score
        total += min(signed, 0.0) - math.log1p(math.exp(-abs(signed)))
    return total


def logistic_gradient(w, features, labels):  # type: ignore[no-untyped-def]
    """Return the sum of features times residuals."""
    slopes = np.zeros(w.size)
    for k in range(labels.size):
        score = 0.0
        for i in range(w.size):
            score += features[k, i] * w[i]
        rest = labels[k] - 1.0 / (1.0 + math.exp(-score))
        for i in range(w.size):
            slopes[i] += rest * features[k, i]
    return slopes


def logistic_case() -> Case:
    """1 000 observations of 20 correlated features, simulated."""
    rng = np.random.default_rng(1)
    features = rng.standard_normal((1000, 20)) + 0.5 * rng.standard_normal((1000, 1))
    truth = 0.5 * rng.standard_normal(20)
    labels = (rng.random(1000) < 1.0 / (1.0 + np.exp(-features @ truth))).astype(float)
    target = sterna.Target(
        logistic,
        {"w": sterna.Normal(0, 1, shape=20)},
        {"features": features, "labels": labels},
        gradient=logistic_gradient,
    )
    return Case("logistic 1000x20", target, 14)


def log_term(y, mu, sigma):  # type: ignore[no-untyped-def]
    """Return the log-density of one observation up to a constant."""
    return -0.5 * ((y - mu) / sigma) ** 2 - math.log(sigma)


def mixture(mu, sigma, share, z, y):  # type: ignore[no-untyped-def]
    """Two normal components, with an indicator for every observation."""
    total = 0.0
    for k in range(y.size):
        if z[k] == 1:
            total += math.log(share) + log_term(y[k], mu[1], sigma[1])
        else:
            total += math.log1p(-share) + log_term(y[k], mu[0], sigma[0])
    # the reference has the indicators' prior, a factor of 1/2 each
    return total + y.size * math.log(2.0)


def mixture_change(x, i, new, y):  # type: ignore[no-untyped-def]
    """Return the change when one coordinate changes: of one observation's term, or of the terms of one component."""
    share = x[4]
    if i >= 5:
        k = i - 5
        before, after = int(x[i]), int(new)
        if before == after:
            return 0.0
        weights = math.log(share) - math.log1p(-share)
        sign = 1.0 if after == 1 else -1.0
        there, here = log_term(y[k], x[after], x[2 + after]), log_term(y[k], x[before], x[2 + before])
        return sign * weights + there - here
    total = 0.0
    if i == 4:
        ones = 0.0
        for k in range(y.size):
            ones += x[5 + k]
        zeros = y.size - ones
        return ones * (math.log(new) - math.log(share)) + zeros * (math.log1p(-new) - math.log1p(-share))
    component = i % 2
    mu, sigma = x[component], x[2 + component]
    new_mu, new_sigma = (new, sigma) if i < 2 else (mu, new)
    for k in range(y.size):
        if x[5 + k] == component:
            total += log_term(y[k], new_mu, new_sigma) - log_term(y[k], mu, sigma)
    return total


def mixture_gradient(mu, sigma, share, z, y):  # type: ignore[no-untyped-def]
    """Return the gradient in the five real variables."""
    slope_mu, slope_sigma, ones = np.zeros(2), np.zeros(2), 0.0
    for k in range(y.size):
        c = int(z[k])
        ones += c
        apart = y[k] - mu[c]
        slope_mu[c] += apart / sigma[c] ** 2
        slope_sigma[c] += apart * apart / sigma[c] ** 3 - 1.0 / sigma[c]
    return slope_mu, slope_sigma, ones / share - (y.size - ones) / (1.0 - share)


def mixture_case() -> Case:
    """150 indicators and 5 real variables; its two labelings are equally likely."""
    rng = np.random.default_rng(2)
    y = np.where(rng.random(150) < 0.4, rng.normal(3.0, 1.0, 150), rng.normal(-1.0, 1.5, 150))
    reference = {
        "mu": sterna.Normal(0, 5, shape=2),
        "sigma": sterna.Uniform(0.1, 10, shape=2),
        "share": sterna.Uniform(0, 1),
        "z": sterna.Bernoulli(0.5, shape=150),
    }
    target = sterna.Target(mixture, reference, {"y": y}, local_change=mixture_change, gradient=mixture_gradient)
    return Case("mixture 155", target, 16, ("z",))


def ising_case() -> Case:
    """The Ising model at its critical coupling."""
    return Case("ising 20x20", sterna.models.ising(20), 28, ("spin",))


CASES: dict[str, Any] = {
    "normal": normal_case,
    "funnel": funnel_case,
    "banana": banana_case,
    "logistic": logistic_case,
    "mixture": mixture_case,
    "ising": ising_case,
}
