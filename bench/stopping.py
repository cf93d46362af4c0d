"""Coverage of log Z if a run ends when its own error is small: stopping must not bias the evidence.

    python bench/stopping.py [seeds] [first seed]

Two models with exact evidences, each with `until={"log_evidence": error}`, so small that sampling is extended a few
times. Prints how often 95 % intervals cover, the mean deviation in standard errors (0 without a bias), the scatter
relative to the stated errors, and the mean number of scans; beside it the same of runs with that number of scans, which
nothing stopped.
"""

import math
import sys

import numpy as np

import sterna

Y = np.array([1.2, 0.4, 1.9])


def conjugate(mu, y):
    return -0.5 * np.sum((y - mu) ** 2) - 0.5 * y.size * math.log(2 * math.pi)


def two_modes(x):
    return np.logaddexp(-0.5 * np.sum((x - 4.0) ** 2) / 0.25, -0.5 * np.sum((x + 4.0) ** 2) / 0.25)


def exact_conjugate():
    """Return the log-density of the data under their joint normal distribution."""
    covariance = np.eye(Y.size) + 25.0
    return float(-0.5 * (Y @ np.linalg.solve(covariance, Y) + np.linalg.slogdet(2 * math.pi * covariance)[1]))


def exact_two_modes():
    """Return the log of two normal integrals over a uniform prior on [-10, 10] squared, which holds all of both."""
    return math.log(2 * (2 * math.pi * 0.25) / 400.0)


MODELS = {
    "conjugate normal": (
        lambda: sterna.Target(conjugate, {"mu": sterna.Normal(0, 5)}, {"y": Y}), exact_conjugate(), 0.05,
    ),
    "two modes": (
        lambda: sterna.Target(two_modes, {"x": sterna.Uniform(-10, 10, shape=2)}), exact_two_modes(), 0.12,
    ),
}  # fmt: skip
OPTIONS = {"explorer": "slice", "n_rounds": 8, "progress": False, "workers": 1}


def line(name, results, exact):
    """Return a row of the table."""
    covered = [low <= exact <= high for low, high in (one.log_evidence.interval() for one in results)]
    z = np.array([(one.log_evidence.value - exact) / one.log_evidence.error for one in results])
    scans = np.mean([one.settings.n_scans for one in results])
    ends = {one.ended_by for one in results}
    error = z.std() / math.sqrt(len(z))
    return f"{name:30} {np.mean(covered):.3f}   {z.mean():+.3f} ± {error:.3f}   {z.std():.2f}   {scans:8.0f}   {ends}"


def main(n_seeds=500, first=1):
    print(f"{'model':30} cover   mean z           sd z   scans")
    for name, (build, exact, error) in MODELS.items():
        target, seeds = build(), range(first, first + n_seeds)
        stopped = [
            sterna.sample(target, seed=seed, n_scans=200, until={"log_evidence": error}, **OPTIONS) for seed in seeds
        ]
        print(line(name, stopped, exact), flush=True)
        n_scans = round(np.mean([one.settings.n_scans for one in stopped]))
        plain = [sterna.sample(target, seed=seed, n_scans=n_scans, **OPTIONS) for seed in seeds]
        print(line("  as many scans, not stopped", plain, exact), flush=True)


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:]))
