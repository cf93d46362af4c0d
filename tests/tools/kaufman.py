"""The exact Ising model on a torus: partition function (Kaufman 1949), distribution of the energy, barrier.

The sum over edges of s_i s_j is 2 M^2 - 4 k with k = 0, ..., M^2: every row and column of a torus has an even number of
edges that disagree. So its law at beta is a Fourier transform of Z at beta + i angle, where Kaufman's formula
holds as it does on the line.
"""

import numpy as np


def log_partition(coupling, size):
    """Logarithm of the sum over all states of exp(coupling * sum over edges), for real or complex couplings, not 0.

    Kaufman's four products are of cosh and sinh(size * gamma / 2), with cosh(gamma) = cosh(2K) coth(2K) - cos(angle).
    Angles come in pairs, so that squares are multiplied, but for 0 and pi; what those two are multiplied by makes
    powers of them whole. So no root is taken whose sign could be wrong.
    """
    k = np.asarray(coupling, dtype=np.complex128)
    odd = [_product(k, size, range(1, 2 * size, 2), sign) for sign in (1, -1)]
    even = [_product(k, size, range(0, 2 * size, 2), sign) for sign in (1, -1)]
    log_densities = np.stack([*odd, *even])
    top = log_densities.real.max(axis=0)
    return np.log(0.5 * np.exp(log_densities - top).sum(axis=0)) + top


def _product(k, size, numbers, sign):
    """Return the logarithm of a product over angles pi * number / size of 2 cosh (sign 1) or 2 sinh (sign -1)."""
    total = 0.0
    for number in numbers:
        if number == 0:
            total = total + _log_sum(size * (_log_two_sinh(k) + k), size * (_log_two_cosh(k) - k), sign)
        elif number == size:
            total = total + _log_sum(size * (_log_two_cosh(k) + k), size * (_log_two_sinh(k) - k), sign)
        elif number < size:
            half = np.cosh(2 * k) / np.tanh(2 * k) - np.cos(np.pi * number / size)
            root = np.sqrt(half * half - 1.0)
            larger = np.where(np.abs(half + root) >= 1.0, half + root, half - root)
            total = total + size * (_log_two_sinh(2 * k) + np.log(larger)) + 2 * np.log(1.0 + sign * larger ** (-size))
    return total


def _log_two_sinh(k):
    return k + np.log(-np.expm1(-2 * k))


def _log_two_cosh(k):
    return k + np.log1p(np.exp(-2 * k))


def _log_sum(a, b, sign):
    top = np.maximum(a.real, b.real)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(a - top) + sign * np.exp(b - top)) + top


def energy_law(beta, size):
    """Energies (sums over edges) from the highest to the lowest, and their probabilities at beta > 0."""
    count = size * size + 1
    levels = np.arange(count)
    angles = 2 * np.pi * levels / count
    energies = 2.0 * size * size - 4.0 * levels
    # the sum over states of exp((beta + i angle / 4) energy), relative to that at beta
    log_densities = log_partition(beta + 0.25j * angles, size) - log_partition(beta, size).real
    turned = np.exp(log_densities - 0.5j * size * size * angles)
    return energies, np.maximum(np.fft.ifft(turned).real, 0.0)


def local_barrier(beta, size):
    """Return half the mean distance between two independent energies at beta."""
    energies, law = energy_law(beta, size)
    below = np.cumsum(law) - 0.5 * law
    return float(np.sum(law * energies * (1.0 - 2.0 * below)))


def barrier(size, intervals=50):
    """Return betas from 0 to 1 and Lambda up to each, by Gauss-Legendre quadrature with 4 points per interval."""
    betas = np.linspace(0.0, 1.0, intervals + 1)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    step = betas[1] - betas[0]
    values = [
        sum(w * local_barrier(left + 0.5 * step * (1 + node), size) for node, w in zip(nodes, weights, strict=True))
        for left in betas[:-1]
    ]
    return betas, np.concatenate([[0.0], np.cumsum(0.5 * step * np.array(values))])


def steepest(size):
    """Return the beta at which the local barrier is highest, within 1e-3."""
    betas = np.arange(0.3, 0.5, 1e-3)
    return float(betas[np.argmax([local_barrier(beta, size) for beta in betas])])


def rejections(schedule, size):
    """Return mean rejection probabilities of independent energies at neighbouring betas, the first of which is 0."""
    # at 0 the formula is 0/0; at 1e-9 the distribution is the same up to rounding
    laws = [energy_law(max(beta, 1e-9), size) for beta in schedule]
    differences = np.subtract.outer(laws[0][0], laws[0][0])
    return np.array(
        [
            1.0 - lower @ np.exp(np.minimum(0.0, step * differences)) @ upper
            for (_, lower), (_, upper), step in zip(laws, laws[1:], np.diff(schedule), strict=False)
        ]
    )
