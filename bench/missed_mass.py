"""How often the search for missed mass and the check of tails find what a run has missed, and how often they err.

`python bench/missed_mass.py sick 10` runs every sick problem with ten seeds, `python bench/missed_mass.py healthy 3`
every healthy one with three; a name after the number runs one problem. For each: runs that were wrong, runs with
a warning of mass or tails, runs that were wrong without any warning, climbs, and the share of added evaluations.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sterna


@dataclass
class Problem:
    """A target and its log evidence."""

    name: str
    function: Callable[..., float]
    reference: Any
    log_evidence: float
    data: dict[str, Any] | None = None


def normals(x, centres, sds, log_weights):
    best = -np.inf
    total = 0.0
    for k in range(len(sds)):
        r = 0.0
        for i in range(x.size):
            r += (x[i] - centres[k, i]) ** 2
        value = log_weights[k] - 0.5 * r / sds[k] ** 2 - x.size * np.log(sds[k]) - 0.5 * x.size * np.log(2 * np.pi)
        if value > best:
            total = total * np.exp(best - value) + 1.0
            best = value
        else:
            total += np.exp(value - best)
    return best + np.log(total)


def mixture(name, d, centres, sds, weights, half=10.0, log_evidence=None):
    data = {
        "centres": np.asarray(centres, dtype=float).reshape(len(sds), d),
        "sds": np.asarray(sds, dtype=float),
        "log_weights": np.log(np.asarray(weights, dtype=float)),
    }
    truth = np.log(np.sum(weights)) - d * np.log(2 * half) if log_evidence is None else log_evidence
    return Problem(name, normals, {"x": sterna.Uniform(-half, half, shape=d)}, truth, data)


def value_and_real(k, x, w, centres, sds):
    r = 0.0
    for i in range(x.size):
        r += (x[i] - centres[k]) ** 2
    return w[k] - 0.5 * r / sds[k] ** 2 - x.size * (np.log(sds[k]) + 0.5 * np.log(2 * np.pi))


def categorical(d, w, sds, p):
    centres, sds, w = np.array([-3.0, 0.0, 3.0]), np.array(sds), np.array(w)
    spread = sds**2 + 25.0
    parts = np.log(p) + w - 0.5 * d * (np.log(2 * np.pi * spread) + centres**2 / spread)
    reference = {"k": sterna.Categorical(p), "x": sterna.Normal(0, 5, shape=d)}
    truth = np.log(np.sum(np.exp(parts)))
    return Problem(
        "categorical beside reals", value_and_real, reference, truth, {"w": w, "centres": centres, "sds": sds}
    )


def cauchy(x, sd):
    total = 0.0
    for i in range(x.size):
        total += -np.log(np.pi * (1 + x[i] ** 2)) + 0.5 * (x[i] / sd) ** 2 + np.log(sd) + 0.5 * np.log(2 * np.pi)
    return total


def student(x, sd, nu, constant):
    total = 0.0
    for i in range(x.size):
        total += constant - 0.5 * (nu + 1) * np.log1p(x[i] ** 2 / nu) + 0.5 * (x[i] / sd) ** 2 + np.log(sd)
    return total + x.size * 0.5 * np.log(2 * np.pi)


def tails(name, d, sd):
    return Problem(name, cauchy, {"x": sterna.Normal(0, sd, shape=d)}, 0.0, {"sd": sd})


def sick():
    ones = np.ones(12)
    rng = np.random.default_rng(4)
    three = rng.uniform(-7, 7, (3, 12))
    ten = np.random.default_rng(5)
    ten_weights = ten.dirichlet(np.ones(10))
    return [
        mixture("spike on a slab, 20 d", 20, np.zeros((2, 20)), [0.01, 0.1], [100, 1], 0.5),
        mixture("widths 1:5, 10 d", 10, [5 * ones[:10], -5 * ones[:10]], [0.2, 1.0], [0.5, 0.5]),
        mixture("widths 1:5, 12 d", 12, [5 * ones, -5 * ones], [0.2, 1.0], [0.5, 0.5]),
        mixture("widths 1:5, 12 d, one axis", 12, np.outer([4, -4], np.eye(12)[0]), [0.2, 1.0], [0.5, 0.5]),
        mixture("widths 1:5, 2 d", 2, [[5, 5], [-5, -5]], [0.2, 1.0], [0.5, 0.5]),
        mixture("three modes, 12 d, random centres", 12, three, [0.3, 0.5, 0.2], [0.6, 0.3, 0.1]),
        mixture("three modes, 12 d, symmetric", 12, [5 * ones, -5 * ones, 0 * ones], [0.3, 0.5, 0.2], [0.6, 0.3, 0.1]),
        mixture("0.99 / 0.01, 6 d", 6, [3 * ones[:6], -3 * ones[:6]], [0.5, 0.5], [0.99, 0.01]),
        mixture("0.99 / 0.01, 6 d, narrow", 6, [3 * ones[:6], -3 * ones[:6]], [0.5, 0.2], [0.99, 0.01]),
        mixture("ten modes, 2 d", 2, ten.uniform(-9, 9, (10, 2)), 0.02 + 0.3 * ten.random(10), ten_weights),
        categorical(6, [0.0, 0.0, 1.5], [1.0, 1.0, 0.1], [0.45, 0.45, 0.1]),
        tails("Cauchy tails, reference of sd 1", 1, 1.0),
        tails("Cauchy tails, reference of sd 3", 1, 3.0),
        tails("Cauchy tails, 3 d, reference of sd 3", 3, 3.0),
        tails("Cauchy tails, 5 d, reference of sd 2", 5, 2.0),
    ]


def banana(x):
    total = 0.0
    for i in range(x.size - 1):
        total -= 5.0 * (x[i + 1] - x[i] ** 2) ** 2 + 0.5 * (1 - x[i]) ** 2
    return total


def funnel(v, x):
    return -0.5 * np.sum(x**2) * np.exp(-v) - 0.5 * x.size * v


def eggbox(x):
    return (2.0 + np.cos(0.5 * x[0]) * np.cos(0.5 * x[1])) ** 5


def quadratic(x, precision, mean):
    total = 0.0
    for i in range(x.size):
        for j in range(x.size):
            total -= 0.5 * (x[i] - mean[i]) * precision[i, j] * (x[j] - mean[j])
    return total


def skewed(x):
    return np.sum(2.0 * x - np.exp(x))


def heavy(x):
    return -2.0 * np.sum(np.log1p((x - 1.0) ** 2 / 3.0))


def at_edge(a, b):
    return -3.0 * a - 10.0 * b


def singular(x):
    return -0.7 * np.log(x[0]) - 0.5 * np.log(abs(x[1] - 0.3))


def labels(m, s, y):
    total = 0.0
    for value in y:
        total += np.log(0.5 * np.exp(-0.5 * ((value - m[0]) / s) ** 2) + 0.5 * np.exp(-0.5 * ((value - m[1]) / s) ** 2))
        total -= np.log(s)
    return total


def ridge(x):
    return -0.5 * ((x[0] + x[1] - 1.0) / 0.01) ** 2


def ring(x):
    return -0.5 * ((np.sqrt(np.sum(x**2)) - 3.0) / 0.1) ** 2


def regression(a, b, s, t, y):
    return -0.5 * np.sum((y - a - b * t) ** 2) / s**2 - y.size * np.log(s)


def counts(n, p, y):
    total = 0.0
    for value in y:
        if value > n:
            return -np.inf
        total += value * np.log(p) + (n - value) * np.log1p(-p)
        for k in range(value):
            total += np.log((n - k) / (k + 1.0))
    return total


def step(x):
    return 0.0 if np.abs(x).max() < 1.0 else -3.0


def flat(x):
    return 0.0 * x[0]


def correlated(d, rho, sd):
    covariance = sd**2 * rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return {"precision": np.linalg.inv(covariance), "mean": np.linspace(-1, 1, d)}


def healthy():
    rng = np.random.default_rng(1)
    y = np.concatenate([rng.normal(-1.5, 1, 30), rng.normal(1.5, 1, 30)])
    t = np.linspace(-1, 1, 20)
    normal, uniform = sterna.Normal, sterna.Uniform
    unknown = np.nan
    return [
        Problem("normal, 1 d", quadratic, {"x": normal(0, 5, shape=1)}, unknown, correlated(1, 0, 0.5)),
        Problem("normal, 10 d, correlated", quadratic, {"x": normal(0, 5, shape=10)}, unknown, correlated(10, 0.95, 1)),
        Problem("normal in a box, 20 d", quadratic, {"x": uniform(-4, 4, shape=20)}, unknown, correlated(20, 0.9, 0.2)),
        Problem("Rosenbrock, 2 d", banana, {"x": normal(0, 3, shape=2)}, unknown),
        Problem("Rosenbrock, 5 d", banana, {"x": normal(0, 3, shape=5)}, unknown),
        Problem("funnel, 5 d", funnel, {"v": normal(0, 3), "x": normal(0, 30, shape=4)}, unknown),
        Problem("eggbox", eggbox, {"x": uniform(0, 31.4, shape=2)}, unknown),
        Problem("skewed, 8 d", skewed, {"x": normal(0, 5, shape=8)}, unknown),
        Problem("heavy-tailed, 4 d, Cauchy prior", heavy, {"x": sterna.Cauchy(0, 2, shape=4)}, unknown),
        Problem("mode at the edges", at_edge, {"a": sterna.HalfNormal(3.0), "b": uniform(0, 1)}, unknown),
        Problem("Beta and Gamma", at_edge, {"a": sterna.Gamma(0.5, 1.0), "b": sterna.Beta(0.5, 0.5)}, unknown),
        Problem("singular", singular, {"x": uniform(0, 1, shape=2)}, unknown),
        Problem(
            "label switching", labels, {"m": normal(0, 5, shape=2), "s": sterna.HalfNormal(2.0)}, unknown, {"y": y}
        ),
        Problem("flat ridge", ridge, {"x": uniform(-2, 2, shape=2)}, unknown),
        Problem("ring", ring, {"x": uniform(-5, 5, shape=2)}, unknown),
        Problem("shell, 6 d", ring, {"x": uniform(-5, 5, shape=6)}, unknown),
        Problem(
            "regression",
            regression,
            {"a": normal(0, 10), "b": normal(0, 10), "s": sterna.HalfCauchy(1.0)},
            unknown,
            {"t": t, "y": 1 + 2 * t + 0.3 * rng.normal(size=20)},
        ),
        Problem(
            "binomial with unknown n",
            counts,
            {"n": sterna.Poisson(12.0), "p": sterna.Beta(2.0, 2.0)},
            unknown,
            {"y": np.array([4, 6, 3, 5])},
        ),
        Problem("step", step, {"x": normal(0, 2, shape=3)}, unknown),
        Problem("no information", flat, {"x": normal(0, 1, shape=3)}, 0.0),
        mixture("two equal modes, 6 d", 6, [3 * np.ones(6), -3 * np.ones(6)], [0.7, 0.7], [0.5, 0.5]),
        mixture("three modes, 2 d", 2, [[4, 4], [-4, 4], [0, -5]], [0.5, 1.0, 0.7], [0.4, 0.3, 0.3]),
        Problem("Student under a Cauchy", heavy, {"x": sterna.Cauchy(0, 5, shape=1)}, unknown),
        Problem(
            "wide normal under a narrower one", quadratic, {"x": normal(0, 1, shape=3)}, unknown, correlated(3, 0, 2)
        ),
        Problem("normal, 30 d", quadratic, {"x": normal(0, 5, shape=30)}, unknown, correlated(30, 0.5, 0.3)),
    ]


def is_mass(warning):
    return warning.startswith(("Mass was missed", "The tails", "The evidence is too large"))


def run(problem, seeds):
    lines = []
    for seed in seeds:
        began = time.process_time()
        result = sterna.sample(problem.function, problem.reference, problem.data, seed=seed, progress=False)
        error = (result.log_evidence.value - problem.log_evidence) / max(result.log_evidence.error, 1e-3)
        named = [w for w in result.warnings if is_mass(w)]
        search = result.search
        lines.append(
            (abs(error) > 4, bool(named), bool(result.warnings), search.climbs, search.optima, search.masses,
             search.evaluations / result.evaluations, error, time.process_time() - began)
        )  # fmt: skip
        for warning in named:
            print("   ", seed, warning[:230], flush=True)
        if search.skipped:
            print("   ", seed, "skipped:", search.skipped, flush=True)
    wrong, found, warned, climbs, optima, masses, added, errors, seconds = map(np.array, zip(*lines, strict=True))
    print(
        f"{problem.name:38s} runs {len(lines)}  wrong {wrong.sum():2d}  mass or tails {found.sum():2d}  "
        f"silent {(wrong & ~warned).sum():2d}  other warning only {(warned & ~found).sum():2d}  "
        f"climbs {climbs.mean():5.0f}  "
        f"optima {optima.mean():4.1f}  masses {masses.mean():3.1f}  added {added.mean():.1%}  "
        f"z {np.median(errors):.1f}  {np.mean(seconds):.1f} s",
        flush=True,
    )


def main():
    problems = {"sick": sick, "healthy": healthy}[sys.argv[1]]()
    for problem in problems:
        if len(sys.argv) <= 3 or sys.argv[3] in problem.name:
            run(problem, range(int(sys.argv[2])))


if __name__ == "__main__":
    main()
