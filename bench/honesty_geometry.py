"""Sick problems of difficult shape: heavy tails, singularities, curved valleys, funnels, starts that run away."""

import math

import honesty_exact as exact
import numpy as np
from honesty_outcome import MIXING, DefaultRun, Problem, Truth, mean, share
from scipy.special import gammaln
from scipy.stats import t as student

import sterna

SHAPE = MIXING | {"slow", "diverged"}


def heavy_likelihood(x, freedom, sd, log_norm):
    """Student's density over the reference's normal one."""
    total = 0.0
    for i in range(x.size):
        total += log_norm - 0.5 * (freedom + 1.0) * math.log1p(x[i] * x[i] / freedom)
        total += 0.5 * (x[i] / sd) ** 2 + math.log(sd) + 0.5 * math.log(2.0 * math.pi)
    return total


def heavy_tails():
    """Student's distributions under a normal reference."""
    problems = []
    for dimension, freedom, sd, far in (
        (1, 1.0, 1.0, 10.0),
        (1, 1.0, 3.0, 10.0),
        (2, 1.0, 2.0, 10.0),
        (5, 1.0, 2.0, 10.0),
    ):
        problems.append(heavy_tail(dimension, freedom, sd, far))
    return [*problems, heavy_tail(2, 2.0, 1.0, 5.0), heavy_tail(8, 3.0, 1.0, 4.0)]


def heavy_tail(dimension, freedom, sd, far):
    """Return one problem, which asks for the share of draws that are far out."""
    log_norm = float(gammaln(0.5 * freedom + 0.5) - gammaln(0.5 * freedom) - 0.5 * math.log(freedom * math.pi))
    beyond = share(
        f"|x| > {far:g}", float(2.0 * student.sf(far, freedom)), lambda values: abs(values["x"][..., 0]) > far
    )
    data = {"freedom": freedom, "sd": sd, "log_norm": log_norm}
    run = DefaultRun(lambda: sterna.Target(heavy_likelihood, {"x": sterna.Normal(0, sd, shape=dimension)}, data))
    name = f"{'Cauchy' if freedom == 1 else f'Student {freedom:g}'}, reference sd {sd:g}, d={dimension}"
    return Problem(name, run, 0.0, (beyond,), frozenset({"tails"}))


def singular_likelihood(x, power, where):
    """An integrable singularity in each coordinate."""
    total = 0.0
    for i in range(x.size):
        distance = abs(x[i] - where)
        if distance == 0.0:
            return math.inf
        total -= power * math.log(distance)
    return total


def singularities():
    """Densities |x - a|^-p at an edge and inside of the unit interval."""
    problems = []
    for dimension, power, where in ((1, 0.9, 0.0), (1, 0.9, 0.3), (2, 0.9, 0.0), (2, 0.8, 0.5)):
        left, right = (where ** (1 - power), (1 - where) ** (1 - power))
        log_z = dimension * math.log((left + right) / (1 - power))
        # within this distance of the singularity is a tenth of the mass
        near = (0.1 * (left + right) / (2.0 if where > 0 else 1.0)) ** (1 / (1 - power))
        truth = share(
            f"|x - {where:g}| < {near:.0e}", 0.1, lambda values, a=where, n=near: abs(values["x"][..., 0] - a) < n
        )
        run = DefaultRun(
            lambda d=dimension, p=power, a=where: sterna.Target(
                singular_likelihood, {"x": sterna.Uniform(0, 1, shape=d)}, {"power": p, "where": a}
            )
        )
        name = f"power {power:g} at {where:g}, d={dimension}"
        problems.append(Problem(name, run, log_z, (truth,), MIXING | {"tails", "slow", "infinite"}))
    return problems


def rosenbrock_likelihood(x):
    """Rosenbrock's valley."""
    total = 0.0
    for i in range(x.size - 1):
        total -= 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return total


def rosenbrock():
    """Rosenbrock's valley, in which the last coordinate has the widest distribution."""
    problems = []
    for dimension in (3, 5, 10, 14):
        log_z, first, first_sd, last, last_sd = exact.rosenbrock_chain(dimension, 5.0)
        truths = (mean("x", first, first_sd, 0), mean("x", last, last_sd, dimension - 1))
        run = DefaultRun(
            lambda d=dimension: sterna.Target(rosenbrock_likelihood, {"x": sterna.Uniform(-5, 5, shape=d)})
        )
        problems.append(Problem(f"d={dimension}", run, log_z, truths, SHAPE))
    return problems


def funnel_likelihood(v, x):
    """Neal's funnel: x is normal with variance exp(v)."""
    square = 0.0
    for i in range(x.size):
        square += x[i] * x[i]
    return -0.5 * (square * math.exp(-v) + x.size * v)


def funnels():
    """A funnel under independent normal distributions: scales that differ by a factor of a thousand."""
    problems = []
    for number in (9, 19):
        log_z, centre, spread = exact.density_on_line(
            lambda v, n=number: (
                -v * v / 18 - 0.5 * n * math.log(100 + math.exp(v)) - math.log(3 * math.sqrt(2 * math.pi))
            ),
            -30.0,
            30.0,
            0.0,
        )
        reference = {"v": sterna.Normal(0, 3), "x": sterna.Normal(0, 10, shape=number)}
        run = DefaultRun(lambda r=reference: sterna.Target(funnel_likelihood, r))
        low = share("v < -5", low_share(number), lambda values: values["v"] < -5.0)
        problems.append(Problem(f"d={number + 1}", run, log_z, (mean("v", centre, spread), low), SHAPE))
    return problems


def low_share(number):
    """P(v < -5) in the funnel."""

    def log_density(v):
        return -v * v / 18 - 0.5 * number * math.log(100 + math.exp(v))

    below = exact.density_on_line(log_density, -30.0, -5.0)[0]
    return math.exp(below - exact.density_on_line(log_density, -30.0, 30.0, 0.0)[0])


def whole_funnel_likelihood(x, sd):
    """The density of Neal's funnel over that of the normal reference; x[0] is v."""
    v = x[0]
    total = -v * v / 18.0 - math.log(3.0)
    for i in range(1, x.size):
        total += -0.5 * x[i] * x[i] * math.exp(-v) - 0.5 * v
    for i in range(x.size):
        total += 0.5 * (x[i] / sd) ** 2 + math.log(sd)
    return total


def run_away_funnels():
    """A funnel with a normal reference of sd 10, from which replicas may run away; several seeds."""
    truths = (mean("x", 0.0, 3.0, 0), share("v < -3", 0.15865525393145707, lambda values: values["x"][..., 0] < -3.0))

    def target():
        return sterna.Target(whole_funnel_likelihood, {"x": sterna.Normal(0, 10, shape=10)}, {"sd": 10.0})

    return [
        Problem(
            f"seeds from {first}",
            lambda seed, first=first: DefaultRun(target)(first + seed - 1),
            0.0,
            truths,
            SHAPE | {"run away", "tails"},
        )
        for first in (1, 101, 201, 301)
    ]


def flat_likelihood(w, log_sigma, features, y):
    """Linear regression with unknown noise."""
    square = 0.0
    for k in range(y.size):
        fitted = 0.0
        for i in range(w.size):
            fitted += features[k, i] * w[i]
        square += (y[k] - fitted) ** 2
    return -0.5 * square * math.exp(-2.0 * log_sigma) - y.size * (log_sigma + 0.5 * math.log(2.0 * math.pi))


def flat_regressions():
    """Regressions with very wide priors, from which replicas may run away."""
    problems = []
    for seed, n, p, width in ((1, 100, 3, 100.0), (2, 200, 9, 100.0)):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
        y = features @ np.linspace(-1, 1, p) + rng.standard_normal(n)
        precision = features.T @ features
        best = np.linalg.solve(precision, features.T @ y)
        rest = float(np.sum((y - features @ best) ** 2))
        log_det = np.linalg.slogdet(precision)[1]

        # given sigma, w is integrated out: its least-squares estimate is normal around 0 with the sum of both variances
        def log_density(s, n=n, p=p, width=width, precision=precision, best=best, rest=rest, log_det=log_det):
            scale = np.linalg.inv(precision) * math.exp(2 * s) + width**2 * np.eye(p)
            log_prior = -0.5 * np.linalg.slogdet(scale)[1] - 0.5 * best @ np.linalg.solve(scale, best)
            return float(
                log_prior
                - 0.5 * log_det
                + (p - n) * (s + 0.5 * math.log(2 * math.pi))
                - 0.5 * p * math.log(2 * math.pi)
                - 0.5 * rest * math.exp(-2 * s)
                - s * s / 200
                - math.log(10 * math.sqrt(2 * math.pi))
            )

        log_z, centre, spread = exact.density_on_line(log_density, -1.5, 1.5, 0.0)
        reference = {"w": sterna.Normal(0, width, shape=p), "log_sigma": sterna.Normal(0, 10)}
        data = {"features": features, "y": y}
        run = DefaultRun(lambda r=reference, d=data: sterna.Target(flat_likelihood, r, d))
        problems.append(
            Problem(f"{n} x {p}", run, log_z, (mean("log_sigma", centre, spread),), SHAPE | {"run away", "few chains"})
        )
    return problems


def ridge_likelihood(x, y, width):
    """A thin ring."""
    return -0.5 * ((math.hypot(x, y) - 5.0) / width) ** 2


def thin_rings():
    """A ring so thin that coordinate-wise moves are tiny."""
    width = 1e-4
    log_z = math.log(2 * math.pi * 5.0 * width * math.sqrt(2 * math.pi)) - 2 * math.log(20.0)
    truths = (
        share("x > 0", 0.5, lambda values: values["x"] > 0),
        Truth("x * y > 0", 0.5, 0.5, lambda values: values["x"] * values["y"] > 0),
    )
    reference = {"x": sterna.Uniform(-10, 10), "y": sterna.Uniform(-10, 10)}
    run = DefaultRun(lambda: sterna.Target(ridge_likelihood, reference, {"width": width}))
    return [Problem(f"width {width:g}", run, log_z, truths, SHAPE)]


FAMILIES = {
    "heavy tails": heavy_tails,
    "singularity": singularities,
    "Rosenbrock": rosenbrock,
    "funnel": funnels,
    "funnel that runs away": run_away_funnels,
    "flat regression": flat_regressions,
    "thin ring": thin_rings,
}
