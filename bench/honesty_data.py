"""Healthy problems with data and with discrete variables: conjugate models, regressions, lattices, built-in models."""

import math
import sys
from pathlib import Path

import honesty_exact as exact
import numpy as np
from honesty_outcome import DefaultRun, Problem, Truth, mean, share
from scipy.special import betaln, gammaln

import sterna

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tools"))
from exact import ising_levels, ising_log_evidence, log_evidence


def linear_likelihood(w, features, y):
    """Linear regression with unit noise."""
    total = 0.0
    for k in range(y.size):
        fitted = 0.0
        for i in range(w.size):
            fitted += features[k, i] * w[i]
        total -= 0.5 * (y[k] - fitted) ** 2
    return total - 0.5 * y.size * math.log(2.0 * math.pi)


def linear_regressions():
    """Regressions with normal priors, whose posteriors are normal."""
    problems = []
    for seed, n, p in ((1, 20, 2), (2, 50, 4), (3, 60, 10)):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
        y = features @ rng.standard_normal(p) + rng.standard_normal(n)
        precision = features.T @ features
        best = np.linalg.solve(precision, features.T @ y)
        log_z, means, spreads = exact.normal_evidence(precision, best, 3.0)
        log_z += -0.5 * float(np.sum((y - features @ best) ** 2)) - 0.5 * n * math.log(2 * math.pi)
        data = {"features": features, "y": y}
        run = DefaultRun(
            lambda p=p, data=data: sterna.Target(linear_likelihood, {"w": sterna.Normal(0, 3, shape=p)}, data)
        )
        problems.append(Problem(f"linear {n} x {p}", run, log_z, (mean("w", means[0], spreads[0], 0),)))
    return problems


def logistic_likelihood(a, b, t, y):
    """Logistic regression on one feature."""
    total = 0.0
    for k in range(y.size):
        score = a + b * t[k]
        signed = score if y[k] == 1.0 else -score
        total += min(signed, 0.0) - math.log1p(math.exp(-abs(signed)))
    return total


def counts_likelihood(a, b, t, y):
    """Poisson regression on one feature, without factorials."""
    total = 0.0
    for k in range(y.size):
        total += y[k] * (a + b * t[k]) - math.exp(min(a + b * t[k], 700.0))
    return total


def generalised_regressions():
    """Regressions in two variables, integrated on a grid."""
    rng = np.random.default_rng(4)
    t = rng.standard_normal(30)
    yes = (rng.random(30) < 1.0 / (1.0 + np.exp(-0.5 - 1.5 * t))).astype(float)
    counts = rng.poisson(np.exp(0.5 + 0.7 * t)).astype(float)
    a, b = np.linspace(-6, 6, 601), np.linspace(-6, 8, 701)
    score = a[:, None, None] + b[None, :, None] * t
    prior = -(a[:, None] ** 2) / 18 - b[None, :] ** 2 / 18 - math.log(2 * math.pi * 9)
    problems = []
    for name, function, y, logs in (
        ("logistic", logistic_likelihood, yes, -np.logaddexp(0.0, np.where(yes == 1, -score, score)).sum(axis=2)),
        ("Poisson", counts_likelihood, counts, (counts * score - np.exp(score)).sum(axis=2)),
    ):
        log_z, centre, spread = exact.on_grid(prior + logs, a, b)
        reference = {"a": sterna.Normal(0, 3), "b": sterna.Normal(0, 3)}
        run = DefaultRun(lambda f=function, y=y, r=reference: sterna.Target(f, r, {"t": t, "y": y}))
        problems.append(Problem(name, run, log_z, (mean("a", centre, spread),)))
    return problems


def rate_likelihood(rate, y):
    """Poisson counts, without factorials."""
    return np.sum(y) * math.log(rate) - y.size * rate


def chance_likelihood(chance, hits, trials):
    """Binomial, without its coefficient."""
    return hits * math.log(chance) + (trials - hits) * math.log1p(-chance)


def parts_likelihood(parts, counts):
    """Multinomial, without its coefficient."""
    total = 0.0
    for k in range(counts.size):
        total += counts[k] * math.log(parts[k])
    return total


def conjugates():
    """Gamma and Poisson, Beta and binomial, Dirichlet and multinomial."""
    problems = []
    for a, b, y in ((2.0, 1.0, [3, 5, 2, 4]), (0.5, 0.1, [12, 9, 15, 11, 14, 8])):
        n, s = len(y), sum(y)
        log_z = a * math.log(b) - gammaln(a) + gammaln(a + s) - (a + s) * math.log(b + n)
        truth = mean("rate", (a + s) / (b + n), math.sqrt(a + s) / (b + n))
        data = {"y": np.array(y, dtype=float)}
        run = DefaultRun(lambda a=a, b=b, d=data: sterna.Target(rate_likelihood, {"rate": sterna.Gamma(a, b)}, d))
        problems.append(Problem(f"Gamma and Poisson, {n} counts", run, float(log_z), (truth,)))
    for hits, trials in ((7.0, 10.0), (2.0, 400.0)):
        a, b = 1.0 + hits, 1.0 + trials - hits
        truth = mean("chance", a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b))
        run = DefaultRun(
            lambda h=hits, t=trials: sterna.Target(
                chance_likelihood, {"chance": sterna.Beta(1, 1)}, {"hits": h, "trials": t}
            )
        )
        problems.append(Problem(f"Beta and binomial, {trials:g} trials", run, float(betaln(a, b)), (truth,)))
    for prior, counts in ((np.ones(3), [4, 1, 7]), (np.array([0.5, 2.0, 1.0, 3.0]), [0, 10, 3, 5])):
        after = prior + np.array(counts, dtype=float)
        log_z = gammaln(prior.sum()) - gammaln(prior).sum() + gammaln(after).sum() - gammaln(after.sum())
        shares = after / after.sum()
        truth = mean("parts", shares[0], math.sqrt(shares[0] * (1 - shares[0]) / (after.sum() + 1)), 0)
        data = {"counts": np.array(counts, dtype=float)}
        run = DefaultRun(lambda p=prior, d=data: sterna.Target(parts_likelihood, {"parts": sterna.Dirichlet(p)}, d))
        problems.append(Problem(f"Dirichlet and multinomial, {len(prior)} parts", run, float(log_z), (truth,)))
    return problems


def bounded_likelihood(x, slope):
    """An exponential tilt."""
    return slope * x


def bounded():
    """Variables with bounds, at which the posterior piles up."""
    problems = []
    for slope in (8.0, -30.0):
        log_z, centre, spread = exact.density_on_line(lambda x, s=slope: s * x, 0.0, 1.0, 0.5)
        run = DefaultRun(lambda s=slope: sterna.Target(bounded_likelihood, {"x": sterna.Uniform(0, 1)}, {"slope": s}))
        problems.append(Problem(f"uniform, slope {slope:g}", run, log_z, (mean("x", centre, spread),)))
    run = DefaultRun(lambda: sterna.Target(bounded_likelihood, {"x": sterna.Exponential(1.0)}, {"slope": -4.0}))
    problems.append(Problem("exponential", run, -math.log(5.0), (mean("x", 0.2, 0.2),)))
    log_z, centre, spread = exact.density_on_line(
        lambda x: 3.0 * x - 0.5 * x * x + 0.5 * math.log(2 / math.pi), 0.0, 14.0, 3.0
    )
    run = DefaultRun(lambda: sterna.Target(bounded_likelihood, {"x": sterna.HalfNormal(1.0)}, {"slope": 3.0}))
    problems.append(Problem("half-normal", run, log_z, (mean("x", centre, spread),)))
    return problems


def lattices():
    """Ising lattices below, at and above the critical coupling, and in a field."""
    problems = []
    for size, coupling in ((5, 1.0), (6, 0.44), (8, 0.3), (12, 0.4)):
        run = DefaultRun(lambda s=size, c=coupling: sterna.models.ising(s, c))
        up = share("spin up", 0.5, lambda values: values["spin"][..., 0, 0] > 0)
        problems.append(Problem(f"Ising {size} x {size}, {coupling}", run, ising_log_evidence(size, coupling), (up,)))
    run = DefaultRun(lambda: sterna.models.magnetic(3, 0.4, field=0.2))
    problems.append(Problem("Ising 3 x 3 in a field", run, log_evidence(*ising_levels(3, 0.4, 0.2))))
    return problems


def ring_likelihood(state, table):
    """Neighbours on a ring, and a field on the first site."""
    total = 0.0
    for i in range(state.size):
        total += table[state[i], state[(i + 1) % state.size]]
    return total + 0.5 * state[0]


def categories():
    """Categorical variables on a ring, summed over all states."""
    problems = []
    for seed, values, sites in ((1, 2, 10), (2, 3, 7), (3, 5, 4)):
        table = np.random.default_rng(seed).normal(0.0, 1.0, (values, values))

        def log_likelihood(state, table=table):
            return float(table[state, np.roll(state, -1)].sum() + 0.5 * state[0])

        log_z, shares = exact.enumerated(values, sites, log_likelihood)
        reference = {"state": sterna.Categorical(np.full(values, 1.0 / values), shape=sites)}
        run = DefaultRun(lambda r=reference, t=table: sterna.Target(ring_likelihood, r, {"table": t}))
        first = share("first site is 0", float(shares[0]), lambda values: values["state"][..., 0] == 0)
        problems.append(Problem(f"{sites} sites of {values} values", run, log_z, (first,)))
    return problems


def built_in_models():
    """Models that come with sterna, by enumeration and quadrature."""
    problems = []
    for k, a in ((2, 100.0), (10, 20.0)):
        truth = math.log((k + (k + 1) * a) / (2 * k + 1))
        even = share("even", (k + 1) * a / (k + (k + 1) * a), lambda values: values["x"] % 2 == 0)
        problems.append(
            Problem(f"discrete {k}", DefaultRun(lambda k=k, a=a: sterna.models.discrete(k, a)), truth, (even,))
        )
    run = DefaultRun(lambda: sterna.models.product(2000, 1000))
    coefficient = gammaln(2001) - 2 * gammaln(1001)
    log_z, centre, spread = exact.density_on_line(
        lambda u: float(coefficient + 1000 * (math.log(u) + math.log1p(-u)) + math.log(-math.log(u))), 0.4, 0.6, 0.5
    )
    both = Truth("mean of x * y", centre, spread, lambda values: values["x"] * values["y"])
    problems.append(Problem("product of two probabilities", run, log_z, (both,)))
    target = sterna.models.spin_glass(3, 2, couplings="binary", inverse_temperature=1.0)
    log_z, _ = exact.enumerated(2, 9, lambda bits: target.log_densities(spin=2.0 * bits.reshape(3, 3) - 1.0)[1])
    run = DefaultRun(lambda: sterna.models.spin_glass(3, 2, couplings="binary", inverse_temperature=1.0))
    up = share("spin up", 0.5, lambda values: values["spin"][..., 0, 0] > 0)
    problems.append(Problem("spin glass 3 x 3", run, log_z, (up,)))
    return problems


def mixed_likelihood(mu, x, k, chance):
    """Independent terms for a scalar, a vector, a count and a probability."""
    total = -2.0 * (mu - 1.0) ** 2 + k * math.log(0.5) + 6.0 * math.log(chance) + 2.0 * math.log1p(-chance)
    for i in range(x.size):
        total -= 4.5 * (x[i] + 0.5) ** 2
    return total


def mixed_variables():
    """Vectors and scalars, reals and counts in one problem."""
    problems = []
    for size in (3, 12):
        log_z, means, spreads = exact.normal_evidence(np.array([[4.0]]), np.array([1.0]), 2.0)
        vector, _, _ = exact.normal_evidence(9.0 * np.eye(size), np.full(size, -0.5), 1.0)
        # a Poisson count of mean 4, tilted by 1/2 each, and a uniform probability
        log_z += vector - 2.0 + float(betaln(7.0, 3.0))
        reference = {
            "mu": sterna.Normal(0, 2),
            "x": sterna.Normal(0, 1, shape=size),
            "k": sterna.Poisson(4.0),
            "chance": sterna.Uniform(0, 1),
        }
        truths = (
            mean("mu", means[0], spreads[0]),
            mean("x", -0.45, 0.1**0.5, size - 1),
            mean("k", 2.0, 2.0**0.5),
            mean("chance", 0.7, math.sqrt(0.21 / 11)),
        )
        run = DefaultRun(lambda r=reference: sterna.Target(mixed_likelihood, r))
        problems.append(Problem(f"vector of {size}", run, log_z, truths))
    return problems


FAMILIES = {
    "linear regression": linear_regressions,
    "other regressions": generalised_regressions,
    "conjugate": conjugates,
    "bounded": bounded,
    "Ising": lattices,
    "categories": categories,
    "built-in models": built_in_models,
    "mixed variables": mixed_variables,
}
