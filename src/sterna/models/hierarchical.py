"""Failure rates of rocket types that share a common law (paper, table of models)."""

import csv
import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from sterna.errors import OptionError
from sterna.models.beta_binomial import BetaBinomial
from sterna.models.data import SEED, data_file, say_simulated
from sterna.reference.reference import Reference
from sterna.reference.space import Real
from sterna.target.target import Target
from sterna.types import IntArray

TYPES, LAUNCHES = 367, 5667

# What a draw of a probability that rounds to 0 or 1 becomes, as in the original: the density is zero or infinite there.
LEAST, MOST = 1e-300, 1.0 - 1e-16

# Places in the state; the types' probabilities follow.
MEAN, SIZE, FIRST = 0, 1, 2


def hierarchical(launches: Any = None, failures: Any = None, clamp: bool = True) -> Target:
    r"""Chances of failure of many types of rockets, from their numbers of launches and failures.

    .. math::

        m \sim U(0, 1), \quad s \sim \text{Exp}(0.1), \quad p_r \sim \text{Beta}(m s, (1 - m) s), \quad
        F_r \sim \text{Binomial}(L_r, p_r)

    The binomial terms are annealed, with their coefficients; the Betas belong to the reference. The variables are `m`,
    `s` and `p`. Under the reference a Beta of tiny shape often rounds to 0 or 1, where its density is not finite.
    Such draws become 1e-300 and 1 - 1e-16, as in the original. Without `clamp` they become the
    nearest number inside of the unit interval, which is smaller: 2e-308. Either sets the extreme tail of the energy at
    beta = 0.

    Explored by slices of the law of m and s alone, from which all p are integrated out, and exact draws of p given
    them. `explorer=sterna.Slice()` is the original's; by local changes, a slice pays for its own coordinate alone.

    Parameters
    ----------
    launches, failures
        A number for each type. By default the file hierarchical_rockets/failure_counts.csv of the data folder; without
        one, 367 types with 5667 launches in all, simulated from the model.
    clamp
        Whether draws that round to 0 or 1 become what they do in the original.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.hierarchical(launches=[10, 2], failures=[1, 0])
    >>> reference, likelihood = target.log_densities(m=0.5, s=2.0, p=np.array([0.1, 0.2]))
    >>> round(reference, 6), round(likelihood, 6)
    (-2.502585, -1.394532)
    """
    if (launches is None) != (failures is None):
        raise OptionError("hierarchical(launches=..., failures=...): give both, or neither.")
    simulated = False
    if launches is None:
        path = data_file("hierarchical_rockets", "failure_counts.csv")
        simulated = path is None
        launches, failures = simulate(np.random.default_rng(SEED)) if path is None else read(path)
    trials, failed = _check(launches, failures)
    least = LEAST if clamp else float(np.finfo(np.float64).tiny)
    counts = trials.astype(np.float64), failed.astype(np.float64)
    space = {"m": Real(0, 1), "s": Real(lower=0), "p": Real(0, 1, shape=len(trials))}
    target = Target(
        log_likelihood,
        Reference(draw, log_reference, space, local_change=reference_change),
        {
            "launches": counts[0],
            "failures": counts[1],
            "constant": float(np.sum(gammaln(trials + 1) - gammaln(failed + 1) - gammaln(trials - failed + 1))),
            "least": least,
            "most": MOST,
        },
        local_change=likelihood_change,
        explorer=BetaBinomial(*counts, least, MOST),
        name="hierarchical",
    )
    return say_simulated(target) if simulated else target


def read(path: Any) -> tuple[IntArray, IntArray]:
    """Read numbers of launches and failures."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    launches, failures = ([int(row[name]) for row in rows] for name in ("numberOfLaunches", "numberOfFailures"))
    return np.array(launches), np.array(failures)


def simulate(rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Draw failures from the model; most types have few launches and a few have hundreds, as in the original."""
    launches = 1 + rng.multinomial(LAUNCHES - TYPES, rng.dirichlet(np.full(TYPES, 0.2)))
    m, s = rng.random(), rng.exponential(10.0)
    return launches, rng.binomial(launches, rng.beta(m * s, (1.0 - m) * s, TYPES))


def _check(launches: Any, failures: Any) -> tuple[IntArray, IntArray]:
    trials, failed = np.asarray(launches), np.asarray(failures)
    counts = trials.ndim == 1 and trials.shape == failed.shape and trials.size > 0
    if not counts or trials.dtype.kind not in "iu" or failed.dtype.kind not in "iu" or not (failed <= trials).all():
        raise OptionError("hierarchical(launches=..., failures=...): give two vectors of whole numbers of one length.")
    if failed.min() < 0:
        raise OptionError(f"hierarchical(failures=...): {failed.min()} is negative.")
    return trials, failed


def draw(rng, launches, least, most):  # type: ignore[no-untyped-def]
    """Draw mean, size and all probabilities."""
    m, s = rng.random(), rng.exponential(10.0)
    m = min(max(m, 1e-300), most)
    p = np.empty(launches.size)
    for r in range(p.size):
        p[r] = min(max(rng.beta(m * s, (1.0 - m) * s), least), most)
    return m, s, p


def log_normaliser(a: float, b: float) -> float:
    """Return the logarithm of the Beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def log_reference(m, s, p):  # type: ignore[no-untyped-def]
    """Return the log-density of mean, size and probabilities."""
    a, b = m * s, (1.0 - m) * s
    total = math.log(0.1) - 0.1 * s - p.size * log_normaliser(a, b)
    for value in p:
        total += (a - 1.0) * math.log(value) + (b - 1.0) * math.log1p(-value)
    return total


def reference_change(x, i, new):  # type: ignore[no-untyped-def]
    """Return the change of the reference; all probabilities know of mean and size, none of another."""
    m, s = x[MEAN], x[SIZE]
    a, b = m * s, (1.0 - m) * s
    if i >= FIRST:
        return (a - 1.0) * math.log(new / x[i]) + (b - 1.0) * (math.log1p(-new) - math.log1p(-x[i]))
    successes, others = 0.0, 0.0
    for k in range(FIRST, x.size):
        successes += math.log(x[k])
        others += math.log1p(-x[k])
    if i == MEAN:
        m = new
    else:
        s = new
    c, d = m * s, (1.0 - m) * s
    change = (c - a) * successes + (d - b) * others - 0.1 * (s - x[SIZE])
    return change - (x.size - FIRST) * (log_normaliser(c, d) - log_normaliser(a, b))


def log_likelihood(p, launches, failures, constant):  # type: ignore[no-untyped-def]
    """Sum of the binomial terms."""
    total = constant
    for r in range(p.size):
        total += failures[r] * math.log(p[r]) + (launches[r] - failures[r]) * math.log1p(-p[r])
    return total


def likelihood_change(x, i, new, launches, failures):  # type: ignore[no-untyped-def]
    """Return the change of one binomial term; mean and size are in none."""
    if i < FIRST:
        return 0.0
    r = i - FIRST
    return failures[r] * math.log(new / x[i]) + (launches[r] - failures[r]) * (math.log1p(-new) - math.log1p(-x[i]))
