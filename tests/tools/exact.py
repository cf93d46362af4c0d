"""Exact answers, none of which use parallel tempering."""

import math

import numpy as np
from scipy.special import beta as beta_function
from scipy.special import betainc, betaln, logsumexp
from scipy.stats import binom, multivariate_normal


def normal_barrier(beta, dim, precision):
    """Return Lambda(beta) of the normal model (paper, appendix on the Gaussian model)."""
    scale = 2.0 ** (1 - dim) / beta_function(dim / 2, dim / 2)
    return scale * np.log1p(np.asarray(beta) * (precision - 1))


def normal_rejections(schedule, dim, precision):
    """Return the exact rejections of the normal model.

    Energies are gamma variables of precision p, and a swap is accepted with probability 2 P(V' > V), as for any
    involution; the ratio of two of them has the F distribution.
    """
    p = 1.0 + np.asarray(schedule) * (precision - 1)
    ratio = p[:-1] / p[1:]
    # P(F > p'/p) for F with (dim, dim) degrees of freedom
    return 1.0 - 2.0 * betainc(dim / 2, dim / 2, ratio / (1.0 + ratio))


def level_rejections(schedule, energies, log_weights):
    """Return exact rejections for log-likelihoods `energies` with reference weights exp(log_weights)."""
    laws = []
    for beta in schedule:
        log_densities = log_weights + beta * energies
        laws.append(np.exp(log_densities - logsumexp(log_densities)))
    rejections = []
    for k in range(len(schedule) - 1):
        exponent = (schedule[k + 1] - schedule[k]) * (energies[:, None] - energies[None, :])
        accepted = np.exp(np.minimum(0.0, exponent))
        rejections.append(1.0 - laws[k] @ accepted @ laws[k + 1])
    return np.array(rejections)


def level_barrier(betas, energies, log_weights):
    """Return Lambda(beta): the integral of half the mean distance of two independent energies, on a fine grid."""
    grid = np.unique(np.concatenate([np.linspace(0.0, 1.0, 4001), betas]))
    distance = np.abs(energies[:, None] - energies[None, :])
    local = []
    for beta in grid:
        log_densities = log_weights + beta * energies
        law = np.exp(log_densities - logsumexp(log_densities))
        local.append(0.5 * law @ distance @ law)
    local = np.array(local)
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (local[1:] + local[:-1]) * np.diff(grid))])
    return np.interp(betas, grid, cumulative)


def log_evidence(energies, log_weights):
    """Return log Z(1)/Z(0) from energy levels."""
    return float(logsumexp(log_weights + energies) - logsumexp(log_weights))


def discrete_levels(k, a):
    """Return the energy levels of the discrete model."""
    return np.array([0.0, math.log(a)]), np.log(np.array([k, k + 1.0]))


def binomial_levels(n, chance, gain):
    """Return the energy levels of n independent binary coordinates, each adding `gain` to the log-likelihood."""
    return gain * np.arange(n + 1.0), binom.logpmf(np.arange(n + 1), n, chance)


def ising_levels(size, coupling=1.0, field=0.0):
    """Return the energy levels of a periodic Ising lattice by transfer matrix; reference weights are exp(-field s)."""
    rows = [[1 if row >> site & 1 else -1 for site in range(size)] for row in range(2**size)]
    spins = np.array(rows)
    within = (spins * np.roll(spins, 1, axis=1)).sum(axis=1)
    between = spins @ spins.T
    most = 2 * size * size
    total = np.zeros(2 * most + 1)
    for start in range(2**size):
        # counts[row, energy + most] of partial lattices whose first row is `start`
        counts = np.zeros((2**size, 2 * most + 1))
        counts[start, most] = 1.0
        for _ in range(size):
            grown = np.zeros_like(counts)
            for row in range(2**size):
                weight = math.exp(-field * spins[row].sum())
                for last in range(2**size):
                    grown[row] += weight * np.roll(counts[last], within[row] + between[row, last])
            counts = grown
        # the last row equals the first: the lattice is periodic
        total += counts[start]
    levels = np.arange(-most, most + 1.0)
    seen = total > 0
    return coupling * levels[seen], np.log(total[seen])


def ising_log_evidence(size, coupling=1.0):
    """Return log Z(1)/Z(0) of a periodic Ising lattice of any size, by Kaufman's formula (1949)."""
    k = coupling
    order = np.arange(2 * size)
    with np.errstate(invalid="ignore"):
        gamma = np.arccosh(np.cosh(2 * k) ** 2 / np.sinh(2 * k) - np.cos(np.pi * order / size))
    gamma[0] = 2 * k + math.log(math.tanh(k))
    half = 0.5 * size * gamma
    odd, even = half[1::2], half[0::2]
    terms = [
        (log_product(2 * np.cosh(odd)), 1.0),
        (log_product(2 * np.sinh(odd)), 1.0),
        (log_product(2 * np.cosh(even)), 1.0),
        (log_product(2 * np.abs(np.sinh(even))), float(np.sign(even[0]))),
    ]
    log_densities, signs = zip(*terms, strict=True)
    total = logsumexp(log_densities, b=signs) + math.log(0.5) + 0.5 * size**2 * math.log(2 * math.sinh(2 * k))
    return float(total - size**2 * math.log(2))


def log_product(factors):
    """Return the logarithm of a product of positive numbers."""
    return float(np.sum(np.log(factors)))


def conjugate_log_evidence(y, prior_sd, noise_sd):
    """Return the log-density of y ~ N(mu, noise_sd^2) with mu ~ N(0, prior_sd^2): a normal vector."""
    covariance = noise_sd**2 * np.eye(len(y)) + prior_sd**2
    return float(multivariate_normal(np.zeros(len(y)), covariance).logpdf(y))


def beta_binomial_log_evidence(successes, trials, a, b):
    """Return the log of the integral of p^k (1 - p)^(n - k) under a Beta prior, without the binomial coefficient."""
    return float(betaln(a + successes, b + trials - successes) - betaln(a, b))
