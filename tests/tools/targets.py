"""Log-likelihoods with known answers, of which no built-in model is made."""

import math

import numpy as np


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
    """Return a log-likelihood that is zero on nine tenths of the unit interval."""
    if x > 0.1:
        return -np.inf
    return -0.5 * ((x - 0.05) / 0.001) ** 2
