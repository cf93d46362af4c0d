"""Parameters of a differential equation (paper, experiments: mRNA transfection, Leonhardt et al. 2014)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions import LogUniform
from sterna.errors import OptionError
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray

# t0, km0, beta, delta and sigma from which the data are simulated, here and in the paper
TRUE_PARAMETERS = (2.0, 5.0, 0.8, 0.2, 0.1)


@checked
def ode(times: ArrayLike | None = None, observations: ArrayLike | None = None, naive: bool = False) -> Target:
    r"""Time course of a protein after transfection by mRNA, in closed form, with normal errors.

    .. math:: y(t) \sim N(f(t), \sigma^2), \quad
              f(t) = k \, \frac{e^{-\beta (t - t_0)} - e^{-\delta (t - t_0)}}{\delta - \beta}

    The curve is symmetric in beta and delta, so the posterior has two modes. As in the paper's experiments, the formula
    is also used before t0. All five parameters are uniform on a logarithmic scale: `t0` from 10^-2 to 10, k (`km0`),
    `beta` and `delta` from 10^-5 to 10^5, `sigma` from 10^-2 to 10^2.

    By default the curve is accurate to rounding, and a residual too large for a float has zero likelihood. With
    `naive=True` it is computed as in the paper's software, literally as
    exp(-beta (t - t0)) (1 - exp(-(delta - beta)(t - t0))), which is infinite or NaN if a factor overflows and is then
    replaced by 10 000. By default the likelihood is zero at a third of the draws from the reference, with `naive=True`
    at a seventh; the barrier is the same within one percent, about 6.4 (paper: 6.4).

    Data: `times` and `observations`, if given; otherwise ode_mrna/processed.csv of the data folder, which was simulated
    (52 times); otherwise data simulated in the same way, with t0 = 2, k = 5, beta = 0.8, delta = 0.2, sigma = 0.1.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.models.ode(times=[2.0, 3.0], observations=[0.0, 3.0])
    >>> target.log_densities(t0=2.0, km0=5.0, beta=0.8, delta=0.2, sigma=0.1)[1]
    2.460370773527796
    """
    if (times is None) != (observations is None):
        raise OptionError("ode: only one of times and observations is given; give both, or neither.")
    simulated = False
    if times is None or observations is None:
        file = data_file("ode_mrna", "processed.csv")
        simulated = file is None
        table = simulate() if file is None else np.loadtxt(file, delimiter=",", skiprows=1, usecols=(0, 2)).T
        times, observations = table
    t, y = np.asarray(times, dtype=np.float64), np.asarray(observations, dtype=np.float64)
    if t.shape != y.shape or t.ndim != 1 or not np.isfinite(t + y).all():
        raise OptionError("ode: times and observations must be two lists of finite numbers of the same length.")
    reference = {
        "t0": LogUniform(1e-2, 1e1),
        "km0": LogUniform(1e-5, 1e5),
        "beta": LogUniform(1e-5, 1e5),
        "delta": LogUniform(1e-5, 1e5),
        "sigma": LogUniform(1e-2, 1e2),
    }
    function = naive_log_likelihood if naive else log_likelihood
    target = Target(function, reference, {"times": t, "observations": y}, name="ode")
    return say_simulated(target) if simulated else target


def simulate(size: int = 52, last: float = 10.0, seed: int = SEED) -> FloatArray:
    """Draw times and observations from the model at the parameters of the paper's data."""
    t0, km0, beta, delta, sigma = TRUE_PARAMETERS
    times = np.linspace(0.0, last, size)
    curve = km0 * (np.exp(-beta * (times - t0)) - np.exp(-delta * (times - t0))) / (delta - beta)
    rng = np.random.Generator(np.random.PCG64(seed))
    return np.stack([times, curve + sigma * rng.standard_normal(size)])


def log_likelihood(
    t0: float, km0: float, beta: float, delta: float, sigma: float, times: FloatArray, observations: FloatArray
) -> float:
    """Sum of normal log-densities."""
    slow, gap = min(beta, delta), abs(beta - delta)
    total = 0.0
    for i in range(times.size):
        elapsed = times[i] - t0
        # (1 - exp(-gap elapsed)) / gap by expm1; for equal rates, which would give 0 / 0, its limit
        rise = -math.expm1(-gap * elapsed) / gap if gap > 0.0 else elapsed
        away = (observations[i] - km0 * math.exp(-slow * elapsed) * rise) / sigma
        total += away * away
    return -0.5 * total - times.size * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi))


def naive_log_likelihood(
    t0: float, km0: float, beta: float, delta: float, sigma: float, times: FloatArray, observations: FloatArray
) -> float:
    """Sum of normal log-densities, with the curve computed as in the paper's software."""
    gap = delta - beta
    total = 0.0
    for i in range(times.size):
        elapsed = times[i] - t0
        value = math.nan
        if gap != 0.0:
            value = km0 / gap * (1.0 - math.exp(-gap * elapsed)) * math.exp(-beta * elapsed)
        if not math.isfinite(value):
            value = 10_000.0
        away = (observations[i] - value) / sigma
        total += away * away
    return -0.5 * total - times.size * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi))
