"""Weakly identified product of two probabilities (paper, appendix on models and data)."""

from sterna.distributions import Uniform
from sterna.errors import OptionError
from sterna.models.log_terms import binomial, binomial_slope, log_coefficient
from sterna.models.parameters import checked
from sterna.target.target import Target


@checked
def product(trials: int = 100_000, successes: int = 50_000) -> Target:
    r"""A binomial whose probability is a product, so that the posterior concentrates on a curve.

    .. math:: x, y \sim \mathrm{Uniform}(0, 1), \quad K \sim \mathrm{Binomial}(n, xy)

    Under the reference u = xy has the density -log u, so everything else is a one-dimensional integral: Lambda = 3.732
    (paper: 3.7).

    Examples
    --------
    >>> import sterna
    >>> sterna.models.product(trials=10, successes=5).log_densities(x=0.5, y=1.0)
    (0.0, -1.4020...)
    """
    if not 0 <= successes <= trials or trials < 1:
        raise OptionError(f"product(trials={trials}, successes={successes}): successes must be from 0 to trials.")
    data = {"trials": trials, "successes": successes, "constant": log_coefficient(successes, trials)}
    return Target(
        log_likelihood, {"x": Uniform(0.0, 1.0), "y": Uniform(0.0, 1.0)}, data, gradient=gradient, name="product"
    )


def log_likelihood(x: float, y: float, trials: int, successes: int, constant: float) -> float:
    """Return the binomial log-probability."""
    return binomial(successes, trials, x * y, constant)


def gradient(x: float, y: float, trials: int, successes: int) -> tuple[float, float]:
    """Return the derivatives with respect to x and y."""
    slope = binomial_slope(successes, trials, x * y)
    return slope * y, slope * x
