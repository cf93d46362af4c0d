"""Weakly identified elliptic curve (paper, appendix on models and data)."""

import math

from sterna.distributions import Uniform
from sterna.errors import OptionError
from sterna.explorers.slice import Slice
from sterna.models.log_terms import binomial, binomial_slope, log_coefficient
from sterna.models.parameters import checked
from sterna.target.target import Target


@checked
def elliptic(trials: int = 100_000, successes: int = 50_000, width: float = 3.0) -> Target:
    r"""A binomial whose probability is a polynomial, so that the posterior concentrates on an elliptic curve.

    .. math:: x, y \sim \mathrm{Uniform}(-w, w), \quad K \sim \mathrm{Binomial}(n, q), \quad
              q = \min(\max(y^2 - x^3 + 2x - \tfrac12, 0), 1)

    If q is 0 or 1 the likelihood is zero, which is the case on 0.886 of the square. So the first pair rejects at least
    0.886, however close beta_1 is to 0. This jump is part of Lambda = 4.339 (paper: 4.4).

    Examples
    --------
    >>> import sterna
    >>> sterna.models.elliptic(trials=10, successes=5).log_densities(x=0.0, y=1.0)
    (-3.5835..., -1.4020...)
    >>> sterna.models.elliptic().log_densities(x=0.0, y=2.0)[1]
    -inf
    """
    if not 0 <= successes <= trials or trials < 1 or not (0 < width < math.inf):
        raise OptionError(
            f"elliptic(trials={trials}, successes={successes}, width={width}): successes must be from 0 to trials, "
            "and width positive and finite."
        )
    data = {"trials": trials, "successes": successes, "constant": log_coefficient(successes, trials)}
    square = {"x": Uniform(-width, width), "y": Uniform(-width, width)}
    # slice sampling crosses the region of zero likelihood, in a twentieth of the time of Hamiltonian trajectories
    return Target(log_likelihood, square, data, gradient=gradient, explorer=Slice(), name="elliptic")


def probability(x: float, y: float) -> float:
    """Return the probability of a success, q."""
    return min(max(y * y - x * x * x + 2.0 * x - 0.5, 0.0), 1.0)


def log_likelihood(x: float, y: float, trials: int, successes: int, constant: float) -> float:
    """Return the binomial log-probability."""
    return binomial(successes, trials, probability(x, y), constant)


def gradient(x: float, y: float, trials: int, successes: int) -> tuple[float, float]:
    """Return the derivatives with respect to x and y."""
    slope = binomial_slope(successes, trials, probability(x, y))
    return slope * (2.0 - 3.0 * x * x), slope * 2.0 * y
