"""Logistic regression of failures on temperature (paper, experiments: Challenger O-rings)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions import Normal
from sterna.errors import OptionError
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.log_terms import log_sigmoid
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray


@checked
def glm(
    incidents: ArrayLike | None = None,
    temperatures: ArrayLike | None = None,
    sigma: float = 10.0,
    clip: float = 0.0,
) -> Target:
    r"""Logistic regression with an intercept and one slope.

    .. math:: \alpha, \gamma \sim N(0, \sigma^2), \quad
              y_i \sim \mathrm{Bernoulli}\bigl(1 / (1 + e^{-\alpha - \gamma T_i})\bigr)

    `intercept` and `slope` are alpha and gamma; temperatures T are not standardised. By default the log-probabilities
    are exact, and Lambda = 4.35. With `clip=1e-6` they are computed as in the paper's software: a probability that
    rounds to 0 or 1 is replaced by clip or 1 - clip, so that an impossible observation contributes log(clip). Then
    Lambda = 3.42, of which 15 chains estimate 3.35 (paper: 3.3). Evidence and posterior hardly differ.

    Data: `incidents` and `temperatures`, if given; otherwise both files of glm_challenger in the data folder (23
    flights, 7 of them with an incident; the flight with NA is left out); otherwise 23 flights simulated with intercept
    15 and slope -0.23.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.models.glm(incidents=[0, 1], temperatures=[70, 53])
    >>> target.log_densities(intercept=0.0, slope=0.0)[1]
    -1.3862943611198906
    >>> far = {"intercept": 0.0, "slope": 10.0}
    >>> target.log_densities(**far)[1], sterna.models.glm([0, 1], [70, 53], clip=1e-6).log_densities(**far)[1]
    (-700.0, -13.8155...)
    """
    if (incidents is None) != (temperatures is None):
        raise OptionError("glm: only one of incidents and temperatures is given; give both, or neither.")
    simulated = False
    if incidents is None or temperatures is None:
        found = read()
        simulated = found is None
        incidents, temperatures = simulate() if found is None else found
    y, t = np.asarray(incidents, dtype=np.float64), np.asarray(temperatures, dtype=np.float64)
    if y.shape != t.shape or y.ndim != 1 or not np.isin(y, (0, 1)).all() or not (sigma > 0 and 0 <= clip < 0.5):
        raise OptionError(
            f"glm(sigma={sigma}, clip={clip}): incidents must be zeros and ones, one for each temperature, sigma "
            "positive, and clip at least 0 and below 0.5."
        )
    target = Target(
        log_likelihood,
        {"intercept": Normal(0.0, sigma), "slope": Normal(0.0, sigma)},
        {"incidents": y, "temperatures": t, "clip": float(clip)},
        gradient=gradient,
        name="glm",
    )
    return say_simulated(target) if simulated else target


def read() -> tuple[FloatArray, FloatArray] | None:
    """Read the flights of the data folder, except those whose outcome is missing."""
    files = [data_file("glm_challenger", name) for name in ("incidents.csv", "temperatures.csv")]
    if None in files:
        return None
    incidents, temperatures = (np.genfromtxt(str(file), missing_values="NA") for file in files)
    observed = ~np.isnan(incidents)
    return incidents[observed], temperatures[observed]


def simulate(
    flights: int = 23, intercept: float = 15.0, slope: float = -0.23, seed: int = SEED
) -> tuple[FloatArray, FloatArray]:
    """Draw temperatures between 53 and 81 degrees, and incidents from the model at the given parameters."""
    rng = np.random.Generator(np.random.PCG64(seed))
    temperatures = rng.integers(53, 82, flights).astype(np.float64)
    chance = 1.0 / (1.0 + np.exp(-intercept - slope * temperatures))
    return (rng.random(flights) < chance).astype(np.float64), temperatures


def clipped(probability: float, clip: float) -> float:
    """Replace a probability of exactly 0 or 1 by clip or 1 - clip."""
    if probability == 0.0:
        return clip
    return 1.0 - clip if probability == 1.0 else probability


def log_likelihood(
    intercept: float, slope: float, incidents: FloatArray, temperatures: FloatArray, clip: float
) -> float:
    """Sum of Bernoulli log-probabilities."""
    total = 0.0
    for i in range(incidents.size):
        predictor = intercept + slope * temperatures[i]
        if clip == 0.0:
            total += log_sigmoid(predictor if incidents[i] == 1.0 else -predictor)
        else:
            p = clipped(1.0 / (1.0 + math.exp(-predictor)), clip)
            total += math.log(p if incidents[i] == 1.0 else 1.0 - p)
    return total


def gradient(
    intercept: float, slope: float, incidents: FloatArray, temperatures: FloatArray, clip: float
) -> tuple[float, float]:
    """Return the derivatives with respect to intercept and slope; clipped probabilities do not contribute."""
    by_intercept, by_slope = 0.0, 0.0
    for i in range(incidents.size):
        p = 1.0 / (1.0 + math.exp(-intercept - slope * temperatures[i]))
        if clip == 0.0 or 0.0 < p < 1.0:
            by_intercept += incidents[i] - p
            by_slope += (incidents[i] - p) * temperatures[i]
    return by_intercept, by_slope
