"""Evaluations that an expensive likelihood needs for a standard error of 0.3 in log Z, beside dynesty in the same run.

Lotka and Volterra's differential equations with six parameters (four rates, two initial values) and 40 noisy
observations. Both samplers get the same compiled function; sterna is told that an evaluation is expensive, so that it
decides as for one that takes milliseconds. dynesty is compared if it is installed.
`python bench/expensive.py [--rounds 6 7 8] [--seeds 5]`.
"""

import argparse
import math

import numpy as np
from numba import njit

import sterna
import sterna.explorers.cost

OBSERVATIONS, STEPS, STEP, NOISE = 20, 20, 0.05, 0.25
MEANS, SPREADS = np.log([1.0, 0.05, 1.0, 0.05, 10.0, 10.0]), np.array([0.5, 0.5, 0.5, 0.5, 1.0, 1.0])
TRUTH = np.log([0.55, 0.028, 0.84, 0.026, 33.0, 6.0])


@njit
def slopes(rates, prey, hunters):  # type: ignore[no-untyped-def]
    return rates[0] * prey - rates[1] * prey * hunters, rates[3] * prey * hunters - rates[2] * hunters


@njit
def solution(parameters):  # type: ignore[no-untyped-def]
    """Return both populations at the times of observation, by Runge and Kutta's method of fourth order."""
    values = np.exp(parameters)
    x, y = values[4], values[5]
    found = np.empty((OBSERVATIONS, 2))
    for k in range(OBSERVATIONS):
        for _ in range(STEPS):
            a, b = slopes(values, x, y)
            c, d = slopes(values, x + 0.5 * STEP * a, y + 0.5 * STEP * b)
            e, f = slopes(values, x + 0.5 * STEP * c, y + 0.5 * STEP * d)
            g, h = slopes(values, x + STEP * e, y + STEP * f)
            x += STEP * (a + 2 * c + 2 * e + g) / 6
            y += STEP * (b + 2 * d + 2 * f + h) / 6
        found[k] = x, y
    return found


@njit
def log_likelihood(u, observed, means, spreads):  # type: ignore[no-untyped-def]
    found = solution(means + spreads * u)
    total = 0.0
    for k in range(OBSERVATIONS):
        for j in range(2):
            if not 1e-12 < found[k, j] < 1e12:
                return -1e10
            total += -0.5 * ((observed[k, j] - math.log(found[k, j])) / NOISE) ** 2
    return total - 2 * OBSERVATIONS * math.log(NOISE * math.sqrt(2 * math.pi))


def dynesty_row(observed: np.ndarray, seed: int) -> tuple[int, float, float]:
    """Return evaluations, log evidence and its error by dynesty with default settings."""
    import dynesty
    from scipy.special import ndtri

    sampler = dynesty.NestedSampler(
        lambda u: log_likelihood(u, observed, MEANS, SPREADS), ndtri, 6, rstate=np.random.default_rng(seed)
    )
    sampler.run_nested(print_progress=False)
    found = sampler.results
    return int(np.sum(found.ncall)), float(found.logz[-1]), float(found.logzerr[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, nargs="+", default=[6, 7, 8])
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    sterna.explorers.cost.EXPENSIVE = 0.0
    noise = NOISE * np.random.default_rng(3).standard_normal((OBSERVATIONS, 2))
    observed = np.log(solution(TRUTH)) + noise
    data = {"observed": observed, "means": MEANS, "spreads": SPREADS}
    target = sterna.Target(log_likelihood, {"u": sterna.Normal(0, 1, shape=6)}, data)
    print(f"{'':14} {'seed':>4} {'evaluations':>11} {'log Z':>8} {'error':>6} {'warnings':>8}  explorer")
    for n_rounds in given.rounds:
        for seed in range(1, given.seeds + 1):
            found = sterna.sample(target, n_rounds=n_rounds, seed=seed, progress=False)
            value, error = found.log_evidence.value, found.log_evidence.error
            print(
                f"sterna {n_rounds:2} rounds {seed:3} {found.evaluations:11} {value:8.2f} {error:6.2f} "
                f"{len(found.warnings):8}  {found.explorer}",
                flush=True,
            )
    for seed in range(1, given.seeds + 1):
        try:
            evaluations, value, error = dynesty_row(observed, seed)
        except ImportError:
            print("dynesty is not installed: `pip install dynesty` to compare.")
            return
        print(f"{'dynesty':16} {seed:3} {evaluations:11} {value:8.2f} {error:6.2f}", flush=True)


if __name__ == "__main__":
    main()
