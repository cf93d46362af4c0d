"""PyMC models as users write them, each with an exact answer computed without PyMC and sterna."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from runs import check_mean
from scipy import stats
from scipy.special import gammaln, logsumexp, ndtr

import sterna


@dataclass(frozen=True)
class Truth:
    """Exact values of a posterior: the log evidence, and means of functions of its variables."""

    log_evidence: float
    means: dict[str, float]


@dataclass(frozen=True)
class Case:
    model: Callable[[], Any]
    truth: Callable[[], Truth]
    functions: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Functions of the posterior, by the names of the exact means."""


def grid_truth(log_joint, functions):
    """Return exact values from log-densities times cell volumes on a grid, and functions on the same grid."""
    total = logsumexp(log_joint)
    weights = np.exp(log_joint - total)
    means = {name: float(np.sum(weights * np.broadcast_to(f, weights.shape))) for name, f in functions.items()}
    return Truth(float(total), means)


def line(low, high, count):
    """Return a grid and the logarithm of its spacing."""
    grid = np.linspace(low, high, count)
    return grid, math.log(grid[1] - grid[0])


# two normal components with known weights: two modes of unequal weight

MIXTURE_DATA = np.array([-2.1, -1.3, -2.6, 1.2, 2.4, 1.9, 2.8, 2.2, 1.1, 3.0])
WEIGHTS = np.array([0.4, 0.6])


def mixture():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 3, shape=2)
        pm.NormalMixture("y", w=WEIGHTS, mu=mu, sigma=1.0, observed=MIXTURE_DATA)
    return model


def mixture_with_indicators():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 3, shape=2)
        z = pm.Categorical("z", p=WEIGHTS, shape=len(MIXTURE_DATA))
        pm.Normal("y", mu[z], 1.0, observed=MIXTURE_DATA)
    return model


def mixture_truth():
    grid, log_step = line(-8, 8, 801)
    a, b = grid[:, None], grid[None, :]
    log_joint = stats.norm.logpdf(a, 0, 3) + stats.norm.logpdf(b, 0, 3) + 2 * log_step
    first = np.zeros_like(log_joint)
    for y in MIXTURE_DATA:
        parts = [math.log(w) + stats.norm.logpdf(y, m, 1.0) for w, m in zip(WEIGHTS, (a, b), strict=True)]
        both = np.logaddexp(*parts)
        first += np.exp(parts[1] - both)
        log_joint = log_joint + both
    functions = {"mu0": a, "mu1": b, "below": (a < b).astype(float), "second": first / len(MIXTURE_DATA)}
    return grid_truth(log_joint, functions)


MIXTURE_FUNCTIONS = {
    "mu0": lambda p: p["mu"][..., 0],
    "mu1": lambda p: p["mu"][..., 1],
    "below": lambda p: p["mu"][..., 0] < p["mu"][..., 1],
}
INDICATOR_FUNCTIONS = {**MIXTURE_FUNCTIONS, "second": lambda p: p["z"].mean("z_dim_0")}

# counts whose rate changes at an unknown time

COUNTS = np.array([4, 5, 4, 0, 1, 4, 3, 4, 0, 6, 3, 1, 0, 1, 1, 0, 2, 0, 1, 0])


def change_point():
    years = np.arange(len(COUNTS))
    with pm.Model(coords={"year": years + 1851}) as model:
        switch = pm.DiscreteUniform("switch", 0, len(COUNTS) - 1)
        early = pm.Exponential("early", 1.0)
        late = pm.Exponential("late", 1.0)
        rate = pm.Deterministic("rate", pm.math.switch(switch >= years, early, late), dims="year")
        pm.Poisson("disasters", rate, observed=COUNTS, dims="year")
    return model


def change_point_truth():
    log_densities, early = [], []
    for s in range(len(COUNTS)):
        total = -gammaln(COUNTS + 1).sum() - math.log(len(COUNTS))
        for part in (COUNTS[: s + 1], COUNTS[s + 1 :]):
            total += gammaln(part.sum() + 1) - (part.sum() + 1) * math.log(len(part) + 1)
        log_densities.append(total)
        early.append((COUNTS[: s + 1].sum() + 1) / (s + 2))
    return grid_truth(np.array(log_densities), {"switch": np.arange(len(COUNTS)), "early": np.array(early)})


CHANGE_POINT_FUNCTIONS = {"switch": lambda p: p["switch"], "early": lambda p: p["early"]}

# the eight schools

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools():
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, dims="school")
        theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("effect", theta, ERRORS, observed=EFFECTS, dims="school")
    return model


def eight_schools_truth():
    """Everything is normal given tau, so only log(tau) needs a grid."""
    t, log_step = line(-16, 16, 6401)
    tau = np.exp(t)
    log_densities, mean, first = [], [], []
    for one in tau:
        variance = ERRORS**2 + one**2
        covariance = np.diag(variance) + 25.0
        solved = np.linalg.solve(covariance, EFFECTS)
        log_densities.append(-0.5 * EFFECTS @ solved - 0.5 * np.linalg.slogdet(2 * math.pi * covariance)[1])
        mean.append(25.0 * solved.sum())
        first.append(25.0 * solved.sum() + one**2 * solved[0])
    log_joint = np.array(log_densities) + stats.halfcauchy.logpdf(tau, scale=5) + t + log_step
    functions = {"mu": np.array(mean), "log_tau": t, "theta0": np.array(first)}
    return grid_truth(log_joint, functions)


SCHOOL_FUNCTIONS = {
    "mu": lambda p: p["mu"],
    "log_tau": lambda p: np.log(p["tau"]),
    "theta0": lambda p: p["theta"][..., 0],
}

# a horseshoe: means, most of which are zero

MEANS = np.array([0.3, -0.8, 4.0])


def horseshoe():
    with pm.Model() as model:
        tau = pm.HalfCauchy("tau", 0.5)
        local = pm.HalfCauchy("local", 1, shape=3)
        z = pm.Normal("z", 0, 1, shape=3)
        beta = pm.Deterministic("beta", z * local * tau)
        pm.Normal("y", beta, 1.0, observed=MEANS)
    return model


def horseshoe_truth():
    """Everything is normal given both scales; given tau, the means are independent."""
    t, log_step = line(-25, 25, 1001)
    tau, local = np.exp(t)[:, None], np.exp(t)[None, :]
    log_local = stats.halfcauchy.logpdf(local) + t[None, :] + log_step
    log_tau = stats.halfcauchy.logpdf(tau[:, 0], scale=0.5) + t + log_step
    variance = 1.0 + (tau * local) ** 2
    total, shrunk = log_tau.copy(), []
    for y in MEANS:
        terms = log_local + stats.norm.logpdf(y, 0, np.sqrt(variance))
        inner = logsumexp(terms, axis=1)
        share = (tau * local) ** 2 / variance
        shrunk.append(y * np.sum(np.exp(terms - inner[:, None]) * share, axis=1))
        total += inner
    return grid_truth(total, {"beta0": shrunk[0], "beta2": shrunk[2], "log_tau": t})


HORSESHOE_FUNCTIONS = {
    "beta0": lambda p: p["beta"][..., 0],
    "beta2": lambda p: p["beta"][..., 2],
    "log_tau": lambda p: np.log(p["tau"]),
}

# censored normal observations

CENSORED_DATA = np.minimum(np.array([1.2, 2.9, 0.4, 3.0, 3.0, 2.2, 3.0, 1.7]), 3.0)


def censored():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        sigma = pm.HalfNormal("sigma", 3)
        pm.Censored("y", pm.Normal.dist(mu, sigma), lower=None, upper=3.0, observed=CENSORED_DATA)
    return model


def censored_truth():
    (mu, step), (s, log_step) = line(-20, 30, 2001), line(-5, 4, 1001)
    m, sigma = mu[:, None], np.exp(s)[None, :]
    log_joint = stats.norm.logpdf(m, 0, 5) + stats.halfnorm.logpdf(sigma, scale=3) + s[None, :] + step + log_step
    for y in CENSORED_DATA:
        if y < 3.0:
            log_joint = log_joint + stats.norm.logpdf(y, m, sigma)
        else:
            log_joint = log_joint + stats.norm.logsf(3.0, m, sigma)
    return grid_truth(log_joint, {"mu": m, "sigma": sigma})


CENSORED_FUNCTIONS = {"mu": lambda p: p["mu"], "sigma": lambda p: p["sigma"]}

# a Gaussian process with unknown length scale

PLACES = np.array([0.0, 0.4, 1.0, 1.7, 2.1, 3.0])
HEIGHTS = np.array([0.1, 0.6, 1.1, 0.9, 0.2, -0.9])


def gaussian_process():
    with pm.Model() as model:
        length = pm.Gamma("length", 4, 4)
        process = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, ls=length))
        f = process.prior("f", X=PLACES[:, None])
        pm.Normal("y", f, 0.3, observed=HEIGHTS)
    return model


def gaussian_process_truth():
    t, log_step = line(-6, 3, 1801)
    length = np.exp(t)
    distance = PLACES[:, None] - PLACES[None, :]
    log_densities, first = [], []
    for one in length:
        covariance = np.exp(-0.5 * (distance / one) ** 2) + 1e-6 * np.eye(len(PLACES))
        noisy = covariance + 0.09 * np.eye(len(PLACES))
        log_densities.append(stats.multivariate_normal(np.zeros(len(PLACES)), noisy).logpdf(HEIGHTS))
        first.append((covariance @ np.linalg.solve(noisy, HEIGHTS))[0])
    log_joint = np.array(log_densities) + stats.gamma.logpdf(length, 4, scale=0.25) + t + log_step
    return grid_truth(log_joint, {"length": length, "f0": np.array(first)})


PROCESS_FUNCTIONS = {"length": lambda p: p["length"], "f0": lambda p: p["f"][..., 0]}

# an ordered logistic regression

DOSE = np.array([-1.5, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 1.5])
GRADE = np.array([0, 0, 1, 0, 1, 2, 1, 2])


def ordered_logistic():
    with pm.Model() as model:
        slope = pm.Normal("slope", 0, 2)
        cuts = pm.Normal("cuts", [-1.0, 1.0], 2, shape=2, transform=pm.distributions.transforms.ordered)
        pm.OrderedLogistic("y", eta=slope * pt.as_tensor(DOSE), cutpoints=cuts, observed=GRADE)
    return model


def ordered_logistic_truth():
    """The prior of the cuts is restricted to c0 < c1, which has probability P(N(2, 8) > 0)."""
    (b, step), (c, log_step) = line(-4, 12, 241), line(-14, 14, 281)
    slope, low, high = b[:, None, None], c[None, :, None], c[None, None, :]
    ordered = low < high
    log_joint = stats.norm.logpdf(slope, 0, 2) + stats.norm.logpdf(low, -1, 2) + stats.norm.logpdf(high, 1, 2)
    log_joint = np.where(ordered, log_joint, -np.inf) + step + 2 * log_step - math.log(ndtr(2 / math.sqrt(8)))
    expit = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    with np.errstate(divide="ignore", invalid="ignore"):
        for x, y in zip(DOSE, GRADE, strict=True):
            below, above = expit(low - slope * x), expit(high - slope * x)
            chance = (below, above - below, 1 - above)[y]
            log_joint = log_joint + np.where(ordered, np.log(chance), 0.0)
    return grid_truth(log_joint, {"slope": slope, "low": low, "high": high})


ORDERED_FUNCTIONS = {
    "slope": lambda p: p["slope"],
    "low": lambda p: p["cuts"][..., 0],
    "high": lambda p: p["cuts"][..., 1],
}

# a Potts model on a small lattice, with a potential

SIDE, COLOURS, COUPLING = 3, 3, 0.9


def potts():
    with pm.Model() as model:
        z = pm.Categorical("z", p=np.full(COLOURS, 1 / COLOURS), shape=(SIDE, SIDE))
        agree = pt.eq(z[1:], z[:-1]).sum() + pt.eq(z[:, 1:], z[:, :-1]).sum()
        pm.Potential("coupling", COUPLING * agree + 0.5 * pt.eq(z[0, 0], 0))
    return model


def potts_truth():
    states = np.stack(np.unravel_index(np.arange(COLOURS**9), (COLOURS,) * 9), axis=-1).reshape(-1, SIDE, SIDE)
    agree = (states[:, 1:] == states[:, :-1]).sum((1, 2)) + (states[:, :, 1:] == states[:, :, :-1]).sum((1, 2))
    log_joint = COUPLING * agree + 0.5 * (states[:, 0, 0] == 0) - 9 * math.log(COLOURS)
    functions = {"corner": states[:, 0, 0] == 0, "far": states[:, 0, 0] == states[:, 2, 2]}
    return grid_truth(log_joint, functions)


POTTS_FUNCTIONS = {
    "corner": lambda p: p["z"][..., 0, 0] == 0,
    "far": lambda p: p["z"][..., 0, 0] == p["z"][..., 2, 2],
}

# zero-inflated counts

ZEROS = np.array([0, 0, 3, 0, 5, 2, 0, 4, 0, 1])


def zero_inflated():
    with pm.Model() as model:
        psi = pm.Beta("psi", 2, 2)
        mu = pm.Gamma("mu", 2, 0.5)
        pm.ZeroInflatedPoisson("y", psi=psi, mu=mu, observed=ZEROS)
    return model


def zero_inflated_truth():
    (t, step), (m, log_step) = line(-12, 12, 1201), line(-6, 4, 1001)
    psi, mu = (1 / (1 + np.exp(-t)))[:, None], np.exp(m)[None, :]
    log_joint = stats.beta.logpdf(psi, 2, 2) + np.log(psi * (1 - psi)) + step
    log_joint = log_joint + stats.gamma.logpdf(mu, 2, scale=2.0) + m[None, :] + log_step
    for y in ZEROS:
        log_joint = log_joint + np.log(psi * stats.poisson.pmf(y, mu) + (1 - psi) * (y == 0))
    return grid_truth(log_joint, {"psi": psi, "mu": mu})


ZERO_FUNCTIONS = {"psi": lambda p: p["psi"], "mu": lambda p: p["mu"]}

# missing values

GAPS = np.array([1.0, np.nan, 2.5, 0.7, np.nan, 1.9])


def missing():
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        mu = pm.Normal("mu", 0, 2)
        pm.Normal("y", mu, 1.0, observed=np.ma.masked_invalid(GAPS))
    return model


def missing_truth():
    known = GAPS[~np.isnan(GAPS)]
    covariance = np.eye(len(known)) + 4.0
    mean = known.sum() / (len(known) + 0.25)
    evidence = float(stats.multivariate_normal(np.zeros(len(known)), covariance).logpdf(known))
    return Truth(evidence, {"mu": mean, "gap": mean, "gap_square": mean**2 + 1.0 + 1.0 / (len(known) + 0.25)})


MISSING_FUNCTIONS = {
    "mu": lambda p: p["mu"],
    "gap": lambda p: p["y"][..., 1],
    "gap_square": lambda p: p["y"][..., 4] ** 2,
}

# logistic growth, integrated by Euler's method in a scan

SIZES = np.array([0.15, 0.28, 0.37, 0.61, 0.72, 0.88])
STEPS_BETWEEN = 5


def growth():
    def step(size, rate):
        return size + 0.1 * rate * size * (1 - size)

    with pm.Model() as model:
        rate = pm.LogNormal("rate", 0, 1)
        start = pm.Beta("start", 1, 9)
        sizes = pytensor.scan(
            step, outputs_info=[start], non_sequences=[rate], n_steps=STEPS_BETWEEN * len(SIZES), return_updates=False
        )
        pm.Normal("y", sizes[STEPS_BETWEEN - 1 :: STEPS_BETWEEN], 0.1, observed=SIZES)
    return model


def growth_truth():
    (r, step), (s, log_step) = line(-4, 4, 1601), line(-14, 3, 1701)
    rate, size = np.exp(r)[:, None], np.broadcast_to(1 / (1 + np.exp(-s)), (len(r), len(s)))
    start = size
    log_joint = stats.norm.logpdf(r)[:, None] + stats.beta.logpdf(start, 1, 9) + np.log(start * (1 - start))
    log_joint = log_joint + step + log_step
    with np.errstate(over="ignore", invalid="ignore"):
        for y in SIZES:
            for _ in range(STEPS_BETWEEN):
                size = size + 0.1 * rate * size * (1 - size)
            log_joint = log_joint + np.nan_to_num(stats.norm.logpdf(y, size, 0.1), nan=-np.inf, neginf=-np.inf)
    return grid_truth(log_joint, {"rate": rate, "start": start})


GROWTH_FUNCTIONS = {"rate": lambda p: p["rate"], "start": lambda p: p["start"]}

CASES = {
    "mixture": Case(mixture, mixture_truth, MIXTURE_FUNCTIONS),
    "mixture_with_indicators": Case(mixture_with_indicators, mixture_truth, INDICATOR_FUNCTIONS),
    "change_point": Case(change_point, change_point_truth, CHANGE_POINT_FUNCTIONS),
    "eight_schools": Case(eight_schools, eight_schools_truth, SCHOOL_FUNCTIONS),
    "horseshoe": Case(horseshoe, horseshoe_truth, HORSESHOE_FUNCTIONS),
    "censored": Case(censored, censored_truth, CENSORED_FUNCTIONS),
    "gaussian_process": Case(gaussian_process, gaussian_process_truth, PROCESS_FUNCTIONS),
    "ordered_logistic": Case(ordered_logistic, ordered_logistic_truth, ORDERED_FUNCTIONS),
    "potts": Case(potts, potts_truth, POTTS_FUNCTIONS),
    "zero_inflated": Case(zero_inflated, zero_inflated_truth, ZERO_FUNCTIONS),
    "missing": Case(missing, missing_truth, MISSING_FUNCTIONS),
    "growth": Case(growth, growth_truth, GROWTH_FUNCTIONS),
}


def check_case(case, **options):
    """Run a model; check evidence and means within 4 standard errors (for means, from batches): 6e-5 each."""
    result = sterna.sample(case.model(), progress=False, **options)
    truth = case.truth()
    found = result.log_evidence
    assert abs(found.value - truth.log_evidence) < 4 * found.error
    for name, function in case.functions.items():
        check_mean(np.asarray(function(result.posterior), dtype=float).ravel(), truth.means[name])
    return result
