"""Failure rates of rocket types with a common distribution (paper, table of models)."""

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.kernels.beta_binomial import BetaBinomial, State
from sterna.models.parameters import checked
from sterna.reference.reference import Reference
from sterna.reference.space import Real
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray

N_TYPES, N_LAUNCHES = 367, 5667

# A probability that rounds to 0 or 1, where the density is zero or infinite, becomes one of these, as in the original.
MIN_PROBABILITY, MAX_PROBABILITY = 1e-300, 1.0 - 1e-16


@checked
def hierarchical(launches: ArrayLike | None = None, failures: ArrayLike | None = None, clamp: bool = True) -> Target:
    r"""Failure probabilities of many types of rockets, from their numbers of launches and failures.

    .. math::

        m \sim U(0, 1), \quad s \sim \text{Exp}(0.1), \quad p_r \sim \text{Beta}(m s, (1 - m) s), \quad
        F_r \sim \text{Binomial}(L_r, p_r)

    The binomial terms are annealed, including their coefficients; the beta distributions belong to the reference. The
    variables are `m`, `s` and `p`. Under the reference a beta variate of tiny shape often rounds to 0 or 1, where its
    density is not finite. Such draws become 1e-300 and 1 - 1e-16, as in the original. Without `clamp` a draw of 0
    becomes the smallest normal float, 2e-308. Either choice determines the extreme tail of the energy at beta = 0.

    Explored by slice sampling of the marginal distribution of m and s, with all p integrated out, and exact draws of p
    given them. The original is explored by `explorer=sterna.Slice()`; with local changes, the update of a coordinate
    only evaluates its own terms.

    Parameters
    ----------
    launches, failures
        One integer per type. By default the file hierarchical_rockets/failure_counts.csv of the data folder; without a
        folder, 367 types with 5667 launches in total, simulated from the model.
    clamp
        Whether draws that round to 0 become 1e-300, as in the original.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.hierarchical(launches=[10, 2], failures=[1, 0])
    >>> reference, likelihood = target.log_densities(m=0.5, s=2.0, p=np.array([0.1, 0.2]))
    >>> round(reference, 6), round(likelihood, 6)
    (-2.502585, -1.394532)
    """
    from scipy.special import gammaln

    if (launches is None) != (failures is None):
        raise OptionError("hierarchical: only one of launches and failures is given; give both, or neither.")
    simulated = False
    if launches is None or failures is None:
        path = data_file("hierarchical_rockets", "failure_counts.csv")
        simulated = path is None
        launches, failures = simulate(np.random.default_rng(SEED)) if path is None else read(path)
    trials, failed = _check(launches, failures)
    lower = MIN_PROBABILITY if clamp else float(np.finfo(np.float64).tiny)
    counts = trials.astype(np.float64), failed.astype(np.float64)
    space = {"m": Real(0, 1), "s": Real(lower=0), "p": Real(0, 1, shape=len(trials))}
    target = Target(
        log_likelihood,
        Reference(draw, log_reference, space, local_change=reference_change),
        {
            "launches": counts[0],
            "failures": counts[1],
            "constant": float(np.sum(gammaln(trials + 1) - gammaln(failed + 1) - gammaln(trials - failed + 1))),
            "min_probability": lower,
            "max_probability": MAX_PROBABILITY,
        },
        local_change=likelihood_change,
        explorer=BetaBinomial(*counts, lower, MAX_PROBABILITY),
        name="hierarchical",
    )
    return say_simulated(target) if simulated else target


def read(path: Path) -> tuple[IntArray, IntArray]:
    """Read numbers of launches and failures."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    launches, failures = ([int(row[name]) for row in rows] for name in ("numberOfLaunches", "numberOfFailures"))
    return np.array(launches), np.array(failures)


def simulate(rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Simulate failures from the model; as in the original, most types have few launches and a few have hundreds."""
    launches = 1 + rng.multinomial(N_LAUNCHES - N_TYPES, rng.dirichlet(np.full(N_TYPES, 0.2)))
    m, s = rng.random(), rng.exponential(10.0)
    return launches, rng.binomial(launches, rng.beta(m * s, (1.0 - m) * s, N_TYPES))


def _check(launches: ArrayLike, failures: ArrayLike) -> tuple[IntArray, IntArray]:
    trials, failed = np.asarray(launches), np.asarray(failures)
    counts = trials.ndim == 1 and trials.shape == failed.shape and trials.size > 0
    if not counts or trials.dtype.kind not in "iu" or failed.dtype.kind not in "iu" or not (failed <= trials).all():
        raise OptionError(
            "hierarchical(launches=..., failures=...): give two vectors of integers of the same length, with no more "
            "failures than launches."
        )
    if failed.min() < 0:
        raise OptionError(f"hierarchical(failures=...): {failed.min()} is negative; give counts from 0 up.")
    return trials, failed


def draw(
    rng: np.random.Generator, launches: FloatArray, min_probability: float, max_probability: float
) -> tuple[float, float, FloatArray]:
    """Draw mean, size and all probabilities."""
    m, s = rng.random(), rng.exponential(10.0)
    m = min(max(m, 1e-300), max_probability)
    p = np.empty(launches.size)
    for r in range(p.size):
        p[r] = min(max(rng.beta(m * s, (1.0 - m) * s), min_probability), max_probability)
    return m, s, p


def log_normaliser(a: float, b: float) -> float:
    """Return the logarithm of the beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def log_reference(m: float, s: float, p: FloatArray) -> float:
    """Return the log-density of mean, size and probabilities."""
    a, b = m * s, (1.0 - m) * s
    total = math.log(0.1) - 0.1 * s - p.size * log_normaliser(a, b)
    for value in p:
        total += (a - 1.0) * math.log(value) + (b - 1.0) * math.log1p(-value)
    return total


def reference_change(x: FloatArray, i: int, new: float) -> float:
    """Return the change of the reference; given mean and size, the probabilities are independent."""
    m, s = x[State.mean], x[State.size]
    a, b = m * s, (1.0 - m) * s
    if i >= State.first_probability:
        return (a - 1.0) * math.log(new / x[i]) + (b - 1.0) * (math.log1p(-new) - math.log1p(-x[i]))
    successes, others = 0.0, 0.0
    for k in range(State.first_probability, x.size):
        successes += math.log(x[k])
        others += math.log1p(-x[k])
    if i == State.mean:
        m = new
    else:
        s = new
    c, d = m * s, (1.0 - m) * s
    change = (c - a) * successes + (d - b) * others - 0.1 * (s - x[State.size])
    return change - (x.size - State.first_probability) * (log_normaliser(c, d) - log_normaliser(a, b))


def log_likelihood(p: FloatArray, launches: FloatArray, failures: FloatArray, constant: float) -> float:
    """Sum of the binomial terms."""
    total = constant
    for r in range(p.size):
        total += failures[r] * math.log(p[r]) + (launches[r] - failures[r]) * math.log1p(-p[r])
    return total


def likelihood_change(x: FloatArray, i: int, new: float, launches: FloatArray, failures: FloatArray) -> float:
    """Return the change of one binomial term; none depends on mean and size."""
    if i < State.first_probability:
        return 0.0
    r = i - State.first_probability
    return failures[r] * math.log(new / x[i]) + (launches[r] - failures[r]) * (math.log1p(-new) - math.log1p(-x[i]))
