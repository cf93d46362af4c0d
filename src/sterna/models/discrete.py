"""Discrete multimodal model (paper, appendix on the discrete-multimodal problem)."""

import math

from sterna.distributions import DiscreteUniform
from sterna.errors import OptionError
from sterna.models.parameters import checked
from sterna.target.target import Target


@checked
def discrete(k: int = 2, a: float = 100.0) -> Target:
    """Integers 0, 1, ..., 2k with k + 1 modes at the even ones, separated by the odd ones.

    The reference is uniform and the target proportional to a^[x even]: Z(1)/Z(0) = (k + (k + 1) a) / (2k + 1).

    Examples
    --------
    >>> import sterna
    >>> sterna.models.discrete().log_densities(x=2)
    (-1.6094379124341003, 4.605170185988092)
    """
    if k < 1 or not 0 < a < math.inf:
        raise OptionError(f"discrete(k={k}, a={a}): k must be at least 1 and a positive and finite.")
    return Target(log_likelihood, {"x": DiscreteUniform(0, 2 * k)}, {"log_a": math.log(a)}, name="discrete")


def log_likelihood(x: int, log_a: float) -> float:
    """Return log a if x is even, otherwise 0."""
    return log_a if x % 2 == 0 else 0.0
