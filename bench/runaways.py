"""Starts that run away: problems on which the first states have log-densities of -1e7 and less, over many seeds.

Each problem has a known evidence, or none ("robust"), for which the median over seeds stands. A run has run away if it
raises an error, if its log evidence is off by more than 50, or if it needs more than 150 chains.

    python bench/runaways.py [seeds] [problem ...] [--first SEED]
"""

import argparse
import math
import time
import warnings

import numpy as np

import sterna

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
MAX_ERROR, MAX_CHAINS = 50.0, 150


def over_normal(log_density, d, sd):
    """Return a target whose reference is a wide normal distribution and whose likelihood is density over reference."""

    def ratio(x):
        return log_density(x) + np.sum(0.5 * (x / sd) ** 2 + math.log(sd) + HALF_LOG_2PI)

    return sterna.Target(ratio, {"x": sterna.Normal(0.0, sd, shape=d)})


def funnel():
    """Neal's funnel in 10 dimensions under a normal reference of standard deviation 10."""

    def log_density(x):
        v = x[0]
        rest = x[1:]
        n = rest.size
        return (
            -v * v / 18 - math.log(3) - HALF_LOG_2PI - 0.5 * np.sum(rest**2) * np.exp(-v) - n * (0.5 * v + HALF_LOG_2PI)
        )

    return over_normal(log_density, 10, 10.0), 0.0


def log_regression_evidence(predictors, y):
    """Return log of the integral over coefficients and sigma > 0 of the normal likelihood, all priors flat."""
    n, k = predictors.shape
    coefficients = np.linalg.lstsq(predictors, y, rcond=None)[0]
    rest = float(np.sum((y - predictors @ coefficients) ** 2))
    # the integral of sigma^-(n - k) exp(-rest / (2 sigma^2)) is (rest/2)^-((n-k-1)/2) Gamma((n-k-1)/2) / 2
    power = 0.5 * (n - k - 1)
    determinant = np.linalg.slogdet(predictors.T @ predictors)[1]
    return -(n - k) * HALF_LOG_2PI - 0.5 * determinant + math.lgamma(power) - power * math.log(rest / 2) - math.log(2)


def flat_regression(predictors, y):
    """Return the target of a linear regression with flat priors, and its log evidence."""
    best = np.linalg.lstsq(predictors, y, rcond=None)[0]
    factor = np.ascontiguousarray(np.linalg.cholesky(predictors.T @ predictors).T)
    least, n = float(np.sum((y - predictors @ best) ** 2)), len(y)

    # by sufficient statistics, which are faster than the data
    def log_density(b, sigma):
        total = least
        for i in range(b.size):
            part = 0.0
            for j in range(i, b.size):
                part += factor[i, j] * (b[j] - best[j])
            total += part * part
        return -0.5 * total / sigma**2 - n * (math.log(sigma) + HALF_LOG_2PI)

    space = {"b": sterna.Real(shape=predictors.shape[1]), "sigma": sterna.Real(lower=0)}
    return sterna.Target(log_density, sterna.FittedReference(space)), log_regression_evidence(predictors, y)


def nes():
    """Party identification on ideology, race, age groups, education, gender, income: 800 data, nine coefficients."""
    rng = np.random.default_rng(1980)
    n = 800
    ideology = rng.integers(1, 8, n)
    race = rng.choice([1.0, 1.0, 1.0, 0.5, 2.0], n)
    age = rng.integers(0, 4, n)
    education = rng.integers(1, 5, n)
    gender = rng.integers(1, 3, n)
    income = np.clip(education + rng.integers(-1, 3, n), 1, 5)
    columns = [np.ones(n), ideology, race, age == 1, age == 2, age == 3, education, gender, income]
    predictors = np.ascontiguousarray(np.stack(columns, axis=1).astype(float))
    truth = np.array([-1.8, 0.48, -1.1, -0.2, -0.3, -0.5, 0.3, -0.05, 0.16])
    return flat_regression(predictors, predictors @ truth + rng.normal(0.0, 1.9, n) + 4.0)


def kidscore():
    """Children's scores on mother's high school, her IQ, and their product: 434 data, hardly determined separately."""
    rng = np.random.default_rng(434)
    n = 434
    school = (rng.uniform(size=n) < 0.79).astype(float)
    iq = rng.normal(92.0 + 10.0 * school, 14.0, n)
    predictors = np.ascontiguousarray(np.stack([np.ones(n), school, iq, school * iq], axis=1))
    return flat_regression(predictors, predictors @ np.array([-11.5, 51.3, 0.97, -0.48]) + rng.normal(0.0, 18.0, n))


def many_well():
    """32 dimensions, 2^16 modes."""

    def log_density(x):
        total = 0.0
        for i in range(0, 32, 2):
            a, b = x[i], x[i + 1]
            total += -(a**4) + 6 * a**2 + 0.5 * a - 0.5 * b**2
        return total

    grid = np.linspace(-6.0, 6.0, 200_001)
    well = np.log(np.sum(np.exp(-(grid**4) + 6 * grid**2 + 0.5 * grid)) * (grid[1] - grid[0])) + HALF_LOG_2PI
    return sterna.Target(log_density, sterna.FittedReference(32)), float(16 * well)


def group_scales():
    """Means and log-scales of 6 groups of 30 data, flat, under a normal reference of standard deviation 30."""
    rng = np.random.default_rng(6)
    y = rng.normal(rng.normal(0.0, 5.0, (6, 1)), np.exp(rng.normal(-1.0, 1.5, (6, 1))), (6, 30))
    mean, square, n = y.mean(axis=1), y.var(axis=1), 30

    def log_density(x):
        total = 0.0
        for j in range(6):
            m, s = x[2 * j], x[2 * j + 1]
            total += -0.5 * n * (square[j] + (mean[j] - m) ** 2) * math.exp(-2 * s) - n * (s + HALF_LOG_2PI)
        return total

    # flat in log sigma: one power of sigma less than flat in sigma
    power = 0.5 * (n - 1)
    exact = np.sum(
        -(n - 1) * HALF_LOG_2PI - 0.5 * math.log(n) + math.lgamma(power) - power * np.log(n * square / 2) - math.log(2)
    )
    return over_normal(log_density, 12, 30.0), float(exact)


def schools():
    """Eight groups' effects, their mean and log-scale, centred, under a normal reference of standard deviation 50."""
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    se = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def log_density(x):
        mu, s, effect = x[0], x[1], x[2:]
        prior = -0.5 * (mu / 10) ** 2 - math.log(10) - 0.5 * (s - 1) ** 2 - 2 * HALF_LOG_2PI
        group = -0.5 * np.sum((effect - mu) ** 2) * math.exp(-2 * s) - 8 * (s + HALF_LOG_2PI)
        return prior + group - 0.5 * np.sum(((y - effect) / se) ** 2)

    grid = np.linspace(-9.0, 11.0, 20_001)
    terms = []
    for s in grid:
        total = se**2 + math.exp(2 * s)
        covariance = np.diag(total) + 100.0
        quadratic = y @ np.linalg.solve(covariance, y)
        terms.append(-0.5 * quadratic - 0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * (s - 1) ** 2 - HALF_LOG_2PI)
    # the likelihood above is not normalised
    exact = np.log(np.sum(np.exp(terms)) * (grid[1] - grid[0])) + np.log(se).sum()
    return over_normal(log_density, 10, 50.0), float(exact)


def robust():
    """Regression with Student errors: 6 coefficients, log-scale, log of the degrees of freedom; fitted reference."""
    rng = np.random.default_rng(66)
    predictors = rng.normal(0.0, [1.0, 10.0, 100.0, 1.0, 1.0, 1000.0], (60, 6))
    y = predictors @ np.array([1.0, 2.0, 3.0, -1.0, 0.0, 0.1]) + 2.0 * rng.standard_t(3, 60)

    def log_density(b, s, k, predictors, y):
        scale, nu = math.exp(s), math.exp(k)
        rest = (y - predictors @ b) / scale
        constant = math.lgamma(0.5 * (nu + 1)) - math.lgamma(0.5 * nu) - 0.5 * math.log(math.pi * nu) - s
        # a normal prior of log(nu), and flat ones
        return y.size * constant - 0.5 * (nu + 1) * np.sum(np.log1p(rest**2 / nu)) - 0.5 * (k - 1) ** 2

    space = {"b": sterna.Real(shape=6), "s": sterna.Real(), "k": sterna.Real(-3, 6)}
    return sterna.Target(log_density, sterna.FittedReference(space), {"predictors": predictors, "y": y}), math.nan


PROBLEMS = {f.__name__: f for f in (funnel, nes, kidscore, many_well, group_scales, schools, robust)}


def run(name, target, exact, seed):
    """Run one seed, print a line, and return (log evidence, error, number of chains, number of warnings)."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = sterna.sample(target, seed=seed, progress=False)
        except Exception as error:
            print(f"{name} {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            return math.nan, math.nan, 0, 0
    found, seconds = result.log_evidence, time.process_time() - began
    n_chains = len(result.schedule)
    first = [text.split(":")[0][:40] for text in result.warnings]
    print(
        f"{name} {seed}: {found.value:.6g} +- {found.error:.3g} ({(found.value - exact) / found.error:+.2f}) "
        f"chains {n_chains} restarts {result.restarts} evaluations {result.evaluations:.3g} {seconds:.1f} s "
        f"{first}",
        flush=True,
    )
    return found.value, found.error, n_chains, len(result.warnings)


def main():
    """Run all problems, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", nargs="?", type=int, default=10)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    rows = []
    for name in options.problems or list(PROBLEMS):
        target, exact = PROBLEMS[name]()
        found = [run(name, target, exact, seed) for seed in range(options.first, options.first + options.seeds)]
        values, errors = np.array([f[0] for f in found]), np.array([f[1] for f in found])
        if math.isnan(exact):
            exact = float(np.nanmedian(values))
        z = (values - exact) / errors
        z = z[np.isfinite(z)] if np.isfinite(z).any() else np.full(1, math.nan)
        # a value of NaN, from an error, is not within any distance
        away = sum(not abs(f[0] - exact) <= MAX_ERROR or f[2] > MAX_CHAINS for f in found)
        warned = sum(f[3] > 0 for f in found)
        rows.append(
            f"{name:14} ran away {away:3d} of {len(found)}; warned {warned:3d}; "
            f"exact {exact:.4f}, median {np.nanmedian(values):.4f}, median error {np.nanmedian(errors):.3f}; "
            f"z: root mean square {np.sqrt(np.mean(z**2)):.2f}, largest {np.abs(z).max():.1f}, "
            f"beyond 2: {np.mean(np.abs(z) > 2):.2f}"
        )
    print("\n".join(rows))


if __name__ == "__main__":
    main()
