"""Log-likelihoods with known answers that are not built-in models."""

import math

import exact
import numpy as np

import sterna


def two_modes(x):
    """Return the log-likelihood of two unit normal modes, 20 standard deviations apart."""
    # weights 0.9 and 0.1 on the diagonal, at distance 10 from the origin on either side
    side = 10.0 / math.sqrt(x.size)
    left = right = 0.0
    for value in x:
        left += (value + side) ** 2
        right += (value - side) ** 2
    return np.logaddexp(math.log(0.9) - 0.5 * left, math.log(0.1) - 0.5 * right)


def corner(x):
    """Return the log of a likelihood that is zero on nine tenths of the unit interval."""
    if x > 0.1:
        return -np.inf
    return -0.5 * ((x - 0.05) / 0.001) ** 2


# Five observations, and seven successes in ten trials: models with known evidence.
SEEN = np.array([1.3, 0.2, 2.1, 0.9, 1.6])
CONJUGATE_LOG_EVIDENCE = exact.conjugate_log_evidence(SEEN, prior_sd=10.0, noise_sd=1.0)
BETA_BINOMIAL_LOG_EVIDENCE = exact.beta_binomial_log_evidence(7, 10, 2.0, 3.0)


def normal_log_likelihood(mu, y):
    """Normal observations with unit variance."""
    return -0.5 * np.sum((y - mu) ** 2) - 0.5 * y.size * np.log(2 * np.pi)


def conjugate():
    """Mean of normal observations under a wide normal prior."""
    return sterna.Target(normal_log_likelihood, {"mu": sterna.Normal(0.0, 10.0)}, {"y": SEEN}, name="conjugate")


def binomial_log_likelihood(p):
    """Seven successes in ten trials."""
    return 7.0 * np.log(p) + 3.0 * np.log1p(-p)


def beta_binomial():
    """Success probability with a Beta prior."""
    return sterna.Target(binomial_log_likelihood, {"p": sterna.Beta(2.0, 3.0)}, name="beta_binomial")
