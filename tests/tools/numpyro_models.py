"""NumPyro models with evidence and posterior means known from conjugacy, quadrature or enumeration.

Each entry of `CASES` has a model, its arguments, and a function that computes the exact values without sampling.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal, norm

NORMAL_DATA = np.array([1.3, 0.2, 2.1, 0.9, 1.7])
MIXTURE_DATA = np.array([2.1, -1.8, 2.6, -0.3, 1.9, -2.4])
SCHOOL_EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SCHOOL_ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
COUNTS = np.array([0, 2, 1, 1, 0, 4, 3, 6, 5, 4])
CATEGORIES = np.array([4, 1, 7])
LIFETIMES, CENSORED = np.array([0.4, 1.1, 0.3, 2.0]), np.array([2.5, 2.5, 2.5])


class Truth(NamedTuple):
    """Exact evidence and means of a posterior."""

    log_evidence: float
    means: dict[str, Any]


class Case(NamedTuple):
    """A model and its exact values."""

    model: Callable[..., Any]
    arguments: tuple[Any, ...]
    truth: Callable[[], Truth]


def normal_normal(y):
    """A normal mean whose likelihood is squared, and a deterministic site."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
    numpyro.deterministic("twice", 2.0 * mu)
    with numpyro.plate("observation", len(y)), handlers.scale(scale=2.0):
        numpyro.sample("y", dist.Normal(mu, 1.5), obs=y)


def normal_normal_truth():
    n, y, noise = len(NORMAL_DATA), NORMAL_DATA, 1.5
    # the square of a normal density is a normal density of half the variance, and a constant
    power = n * (2 * norm.logpdf(0.0, 0.0, noise) - norm.logpdf(0.0, 0.0, noise / math.sqrt(2)))
    half = noise**2 / 2
    evidence = multivariate_normal(np.zeros(n), half * np.eye(n) + 4.0).logpdf(y) + power
    mean = (y.sum() / half) / (n / half + 0.25)
    return Truth(evidence, {"mu": mean, "twice": 2 * mean})


def mixture(y):
    """Two components of opposite means, with an indicator for each observation."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 3.0))
    with numpyro.plate("observation", len(y)):
        up = numpyro.sample("up", dist.Bernoulli(0.6))
        numpyro.sample("y", dist.Normal(jnp.where(up == 1, mu, -mu), 1.0), obs=y)


def mixture_truth():
    n, log_densities, means, ups = len(MIXTURE_DATA), [], [], []
    for up in itertools.product((0, 1), repeat=n):
        up = np.array(up)
        seen = np.where(up == 1, MIXTURE_DATA, -MIXTURE_DATA)
        prior = np.sum(np.where(up == 1, math.log(0.6), math.log(0.4)))
        log_densities.append(prior + multivariate_normal(np.zeros(n), np.eye(n) + 9.0).logpdf(seen))
        means.append(seen.sum() / (n + 1 / 9))
        ups.append(up)
    weights = np.exp(np.array(log_densities) - logsumexp(log_densities))
    return Truth(float(logsumexp(log_densities)), {"mu": weights @ np.array(means), "up": weights @ np.array(ups)})


def eight_schools(effects, errors):
    """Rubin's eight schools, centred: mu ~ Normal(0, 5), tau ~ HalfCauchy(5), theta ~ Normal(mu, tau)."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("school", len(effects)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("effect", dist.Normal(theta, errors), obs=effects)


@functools.cache
def eight_schools_truth():
    # theta and then mu are integrated out in closed form; tau = exp(t) by the trapezoidal rule
    t = np.linspace(-25.0, 12.0, 40_001)
    tau = np.exp(t)
    variance = SCHOOL_ERRORS[:, None] ** 2 + tau**2
    precision = (1 / variance).sum(axis=0) + 1 / 25.0
    mean = (SCHOOL_EFFECTS[:, None] / variance).sum(axis=0) / precision
    log_densities = norm.logpdf(SCHOOL_EFFECTS[:, None], 0.0, np.sqrt(variance)).sum(axis=0)
    log_densities += 0.5 * precision * mean**2 - 0.5 * np.log(25.0 * precision)
    log_densities += math.log(2 / (5.0 * math.pi)) - np.log1p((tau / 5.0) ** 2) + t
    evidence = float(logsumexp(log_densities) + math.log(t[1] - t[0]))
    weights = np.exp(log_densities - logsumexp(log_densities))
    pull = tau**2 / variance
    theta = pull * SCHOOL_EFFECTS[:, None] + (1 - pull) * mean
    return Truth(evidence, {"mu": weights @ mean, "theta": theta @ weights, "tau": weights @ tau})


def change_point(counts):
    """A Poisson rate that changes before count `switch`."""
    switch = numpyro.sample("switch", dist.DiscreteUniform(0, len(counts)))
    rates = numpyro.sample("rate", dist.Gamma(2.0, 1.0).expand([2]).to_event(1))
    place = jnp.arange(len(counts))
    with numpyro.plate("time", len(counts)):
        numpyro.sample("count", dist.Poisson(jnp.where(place < switch, rates[0], rates[1])), obs=counts)


def change_point_truth():
    n = len(COUNTS)
    log_densities, rates = [], []
    for switch in range(n + 1):
        parts = [COUNTS[:switch], COUNTS[switch:]]
        shapes = np.array([2.0 + part.sum() for part in parts])
        inverse_scales = np.array([1.0 + len(part) for part in parts])
        log_densities.append(np.sum(gammaln(shapes) - shapes * np.log(inverse_scales)))
        rates.append(shapes / inverse_scales)
    log_densities = np.array(log_densities) - math.log(n + 1) - gammaln(COUNTS + 1).sum()
    weights = np.exp(log_densities - logsumexp(log_densities))
    return Truth(
        float(logsumexp(log_densities)), {"switch": weights @ np.arange(n + 1), "rate": weights @ np.array(rates)}
    )


def categories(counts):
    """Probabilities of categories, on a simplex."""
    share = numpyro.sample("share", dist.Dirichlet(jnp.array([1.0, 2.0, 0.5])))
    numpyro.sample("count", dist.Multinomial(total_count=12, probs=share), obs=counts)


def categories_truth():
    prior = np.array([1.0, 2.0, 0.5])
    after = prior + CATEGORIES
    evidence = gammaln(13) - gammaln(CATEGORIES + 1).sum() + gammaln(prior.sum()) - gammaln(after.sum())
    return Truth(float(evidence + (gammaln(after) - gammaln(prior)).sum()), {"share": after / after.sum()})


def censored(lifetimes, survived):
    """Exponential lifetimes, some of them censored at the end of the study."""
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.5))
    numpyro.sample("lifetime", dist.Exponential(rate).expand([len(lifetimes)]), obs=lifetimes)
    numpyro.factor("survived", -rate * jnp.sum(survived))


def censored_truth():
    shape, inverse_scale = 2.0 + len(LIFETIMES), 1.5 + LIFETIMES.sum() + CENSORED.sum()
    evidence = 2.0 * math.log(1.5) - shape * math.log(inverse_scale) + gammaln(shape) - gammaln(2.0)
    return Truth(float(evidence), {"rate": shape / inverse_scale})


CASES = {
    "normal_normal": Case(normal_normal, (NORMAL_DATA,), normal_normal_truth),
    "mixture": Case(mixture, (MIXTURE_DATA,), mixture_truth),
    "eight_schools": Case(eight_schools, (SCHOOL_EFFECTS, SCHOOL_ERRORS), eight_schools_truth),
    "change_point": Case(change_point, (COUNTS,), change_point_truth),
    "categories": Case(categories, (CATEGORIES,), categories_truth),
    "censored": Case(censored, (LIFETIMES, CENSORED), censored_truth),
}
