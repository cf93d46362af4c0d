"""The posterior of the differential equation model, by importance sampling."""

import numpy as np
from scipy import optimize, stats
from scipy.special import gammainc, gammaln, logsumexp

LN10 = np.log(10.0)


def ode_truth(times, observations, draws=200_000):
    """Return the log evidence with its error, and posterior means of t0, km0, the slower and faster rates, and sigma.

    By importance sampling in the logarithms of four parameters, with sigma integrated out.

    Two modes are mirror images of each other, and all else fits the data worse by a factor of exp(100) and more.
    """
    n = len(times)

    def curve(log_densities):
        t0, km0, slow, fast = (10.0**log_densities.T)[:, ..., None]
        since = times - t0
        return km0 * (np.exp(-slow * since) - np.exp(-fast * since)) / (fast - slow)

    start = np.log10([2.0, 5.0, 0.2, 0.8])
    fit = optimize.least_squares(lambda log_densities: observations - curve(log_densities), start, x_scale=0.01)
    covariance = np.linalg.inv(fit.jac.T @ fit.jac) * 2 * fit.cost / (n - 4)
    proposal = stats.multivariate_t(fit.x, 1.2 * covariance, df=6)
    log_densities = proposal.rvs(draws, random_state=np.random.default_rng(1))
    half = 0.5 * np.sum((observations - curve(log_densities)) ** 2, axis=1)
    inside = gammainc(n / 2, half / 1e-4) - gammainc(n / 2, half / 1e4)
    log_l = np.log(inside / 2) + gammaln(n / 2) - n / 2 * np.log(2 * np.pi * half) - np.log(4 * LN10)
    # twice, because each of the two modes has one order of the rates
    log_w = log_l + np.log(2.0) - np.log(3 * 10**3) - proposal.logpdf(log_densities)
    low, high = [-2, -5, -5, -5], [1, 5, 5, 5]
    log_w[np.any((log_densities < low) | (log_densities > high), axis=1)] = -np.inf
    weight = np.exp(log_w - logsumexp(log_w))
    # E[sigma] given the others is the ratio of two such integrals
    sigma = np.sqrt(half) * np.exp(gammaln((n - 1) / 2) - gammaln(n / 2))
    values = np.column_stack([10.0**log_densities, sigma])
    error = np.sqrt(draws * np.sum(weight**2) - 1) / np.sqrt(draws)
    return logsumexp(log_w) - np.log(draws), error, weight @ values


def ode_means(values):
    t0, km0, slow, fast, sigma = values
    return {
        lambda p: p["t0"]: t0,
        lambda p: p["km0"]: km0,
        lambda p: np.minimum(p["beta"], p["delta"]): slow,
        lambda p: np.maximum(p["beta"], p["delta"]): fast,
        lambda p: p["sigma"]: sigma,
    }
