"""Parameters of a differential equation (paper, experiments: mRNA transfection, Leonhardt et al. 2014)."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.distributions import Uniform
from sterna.errors import OptionError
from sterna.models.data import SEED, data_file, say_simulated
from sterna.target import Target

Numbers = NDArray[np.float64]


def ode(times: ArrayLike | None = None, observations: ArrayLike | None = None, naive: bool = False) -> Target:
    r"""Time course of a protein after transfection by mRNA, in closed form, with normal errors.

    .. math:: y(t) \sim N(f(t), \sigma^2), \quad
              f(t) = k \, \frac{e^{-\beta (t - t_0)} - e^{-\delta (t - t_0)}}{\delta - \beta}

    The curve is symmetric in beta and delta, so that the posterior has two modes. It also holds before t0, as in the
    paper's experiments. All five parameters are uniform on a logarithmic scale: t0 from 10^-2 to 10, k (`km0` there),
    beta and delta from 10^-5 to 10^5, sigma from 10^-2 to 10^2. The variables are these logarithms to base 10, by
    which slices cross the orders of magnitude that slices of the numbers themselves do not.

    By default the curve is right to rounding, and a deviation too large for a float has likelihood zero. With
    `naive=True` it is as the paper's software computes it: exp(-beta (t - t0)) (1 - exp(-(delta - beta)(t - t0))) as it
    stands, which is infinite or not a number where one factor overflows, and is then replaced by 10 000.

    Data: `times` and `observations`; else ode_mrna/processed.csv of the data folder, which was simulated (52 times);
    else simulated in the same way: t0 = 2, k = 5, beta = 0.8, delta = 0.2, sigma = 0.1.

    Examples
    --------
    >>> import math, sterna
    >>> target = sterna.models.ode(times=[2.0, 3.0], observations=[0.0, 3.0])
    >>> parameters = {"t0": 2.0, "km0": 5.0, "beta": 0.8, "delta": 0.2, "sigma": 0.1}
    >>> target.log_densities(**{f"log10_{name}": math.log10(value) for name, value in parameters.items()})[1]
    2.460370773527796
    """
    if (times is None) != (observations is None):
        raise OptionError("ode: give both times and observations, or neither.")
    simulated = False
    if times is None or observations is None:
        file = data_file("ode_mrna", "processed.csv")
        simulated = file is None
        table = simulate() if file is None else np.loadtxt(file, delimiter=",", skiprows=1, usecols=(0, 2)).T
        times, observations = table
    t, y = np.asarray(times, dtype=np.float64), np.asarray(observations, dtype=np.float64)
    if t.shape != y.shape or t.ndim != 1 or not np.isfinite(t + y).all():
        raise OptionError("ode: times and observations must be two lists of finite numbers of one length.")
    reference = {
        "log10_t0": Uniform(-2.0, 1.0),
        "log10_km0": Uniform(-5.0, 5.0),
        "log10_beta": Uniform(-5.0, 5.0),
        "log10_delta": Uniform(-5.0, 5.0),
        "log10_sigma": Uniform(-2.0, 2.0),
    }
    function = naive_log_likelihood if naive else log_likelihood
    target = Target(function, reference, {"times": t, "observations": y}, name="ode")
    return say_simulated(target) if simulated else target


def simulate(size: int = 52, last: float = 10.0) -> Numbers:
    """Draw times and observations from the model at the parameters of the paper's data."""
    t0, km0, beta, delta, sigma = 2.0, 5.0, 0.8, 0.2, 0.1
    times = np.linspace(0.0, last, size)
    curve = km0 * (np.exp(-beta * (times - t0)) - np.exp(-delta * (times - t0))) / (delta - beta)
    rng = np.random.Generator(np.random.PCG64(SEED))
    return np.stack([times, curve + sigma * rng.standard_normal(size)])


def log_likelihood(log10_t0, log10_km0, log10_beta, log10_delta, log10_sigma, times, observations):  # type: ignore[no-untyped-def]
    """Sum of normal log-densities."""
    t0, km0, sigma = 10.0**log10_t0, 10.0**log10_km0, 10.0**log10_sigma
    slow = 10.0 ** min(log10_beta, log10_delta)
    gap = 10.0 ** max(log10_beta, log10_delta) - slow
    total = 0.0
    for i in range(times.size):
        since = times[i] - t0
        # (1 - exp(-gap since)) / gap without the difference, which two equal rates would make 0 / 0
        rise = -math.expm1(-gap * since) / gap if gap > 0.0 else since
        away = (observations[i] - km0 * math.exp(-slow * since) * rise) / sigma
        total += away * away
    return -0.5 * total - times.size * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi))


def naive_log_likelihood(log10_t0, log10_km0, log10_beta, log10_delta, log10_sigma, times, observations):  # type: ignore[no-untyped-def]
    """Sum of normal log-densities, with the curve as the paper's software computes it."""
    t0, km0, sigma = 10.0**log10_t0, 10.0**log10_km0, 10.0**log10_sigma
    beta, gap = 10.0**log10_beta, 10.0**log10_delta - 10.0**log10_beta
    total = 0.0
    for i in range(times.size):
        since = times[i] - t0
        value = math.nan
        if gap != 0.0:
            value = km0 / gap * (1.0 - math.exp(-gap * since)) * math.exp(-beta * since)
        if not math.isfinite(value):
            value = 10_000.0
        away = (observations[i] - value) / sigma
        total += away * away
    return -0.5 * total - times.size * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi))
