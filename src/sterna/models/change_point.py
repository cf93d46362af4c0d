"""Change-point model of counts (paper, experiments: text messages per day)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions import DiscreteUniform, Exponential
from sterna.errors import OptionError
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.log_terms import times_log
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray


@checked
def change_point(counts: ArrayLike | None = None, rate: float = 1 / 15) -> Target:
    r"""Poisson counts y_0, ..., y_{n-1} whose mean changes once, after an unknown day.

    .. math:: s \sim \mathrm{Uniform}\{0, ..., n-1\}, \quad \lambda_1, \lambda_2 \sim \mathrm{Exponential}(rate),
              \quad y_t \sim \mathrm{Poisson}(\lambda_1 \text{ if } t \le s \text{ else } \lambda_2)

    `change` is s; `early` and `late` are the means. If s = n - 1, the late mean is not used. Given s, both means have
    gamma distributions at every beta, so evidence and posterior are finite sums.

    Data: `counts`, if given; otherwise change_point/txtdata.csv of the data folder (74 days of text messages,
    Davidson-Pilon 2015), for which Lambda = 4.02 (paper: 4.0); otherwise 74 counts simulated with s = 44 and means 18
    and 23.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.models.change_point(counts=[3, 1, 4, 8, 9])
    >>> target.log_densities(change=2, early=3.0, late=8.0)[1]
    -9.23683916450063
    """
    simulated = False
    if counts is None:
        file = data_file("change_point", "txtdata.csv")
        counts, simulated = (simulate(), True) if file is None else (np.loadtxt(file), False)
    y = np.asarray(counts, dtype=np.float64)
    if y.ndim != 1 or y.size == 0 or not np.all((y >= 0) & (y == np.floor(y))) or not rate > 0:
        raise OptionError(f"change_point(rate={rate}): give counts as a list of integers from 0 up, rate positive.")
    target = Target(
        log_likelihood,
        {"change": DiscreteUniform(0, y.size - 1), "early": Exponential(rate), "late": Exponential(rate)},
        {"cumulated": np.cumsum(y), "constant": -sum(math.lgamma(count + 1) for count in y)},
        name="change_point",
    )
    return say_simulated(target) if simulated else target


def simulate(days: int = 74, change: int = 44, early: float = 18.0, late: float = 23.0, seed: int = SEED) -> IntArray:
    """Draw counts from the model at the given parameters."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.poisson(np.where(np.arange(days) <= change, early, late))


def log_likelihood(change: int, early: float, late: float, cumulated: FloatArray, constant: float) -> float:
    """Sum of Poisson log-probabilities, from the sums of counts before and after the change."""
    last = cumulated.size - 1
    before, after = cumulated[change], cumulated[last] - cumulated[change]
    expected = early * (change + 1) + late * (last - change)
    return constant - expected + times_log(before, early) + times_log(after, late)
