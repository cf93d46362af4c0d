"""Parameters of a differential equation (paper, experiments: mRNA transfection, Leonhardt et al. 2014)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.models.data import SEED, data_file, say_simulated
from sterna.reference.distributions import LogUniform
from sterna.target.target import Target
from sterna.types import FloatArray

# t0, km0, beta, delta and sigma at which the data were simulated, the paper's as well
PARAMETERS = (2.0, 5.0, 0.8, 0.2, 0.1)


def ode(times: ArrayLike | None = None, observations: ArrayLike | None = None, naive: bool = False) -> Target:
    r"""Time course of a protein after transfection by mRNA, in closed form, with normal errors.

    .. math:: y(t) \sim N(f(t), \sigma^2), \quad
              f(t) = k \, \frac{e^{-\beta (t - t_0)} - e^{-\delta (t - t_0)}}{\delta - \beta}

    The curve is symmetric in beta and delta, so that the posterior has two modes. It also holds before t0, as in the
    paper's experiments. All five parameters are uniform on a logarithmic scale: `t0` from 10^-2 to 10, k (`km0`),
    `beta` and `delta` from 10^-5 to 10^5, `sigma` from 10^-2 to 10^2.

    By default the curve is right to rounding, and a deviation too large for a float has likelihood zero. With
    `naive=True` it is as the paper's software computes it: exp(-beta (t - t0)) (1 - exp(-(delta - beta)(t - t0))) as it
    stands, which is infinite or not a number where one factor overflows, and is then replaced by 10 000. It is the
    likelihood that is zero at a third of the reference's draws by default, and at a seventh with `naive=True`; the
    barrier is the same to a percent, about 6.4 (paper: 6.4).

    Data: `times` and `observations`; else ode_mrna/processed.csv of the data folder, which was simulated (52 times);
    else simulated in the same way: t0 = 2, k = 5, beta = 0.8, delta = 0.2, sigma = 0.1.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.models.ode(times=[2.0, 3.0], observations=[0.0, 3.0])
    >>> target.log_densities(t0=2.0, km0=5.0, beta=0.8, delta=0.2, sigma=0.1)[1]
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
    t0, km0, beta, delta, sigma = PARAMETERS
    times = np.linspace(0.0, last, size)
    curve = km0 * (np.exp(-beta * (times - t0)) - np.exp(-delta * (times - t0))) / (delta - beta)
    rng = np.random.Generator(np.random.PCG64(seed))
    return np.stack([times, curve + sigma * rng.standard_normal(size)])


def log_likelihood(t0, km0, beta, delta, sigma, times, observations):  # type: ignore[no-untyped-def]
    """Sum of normal log-densities."""
    slow, gap = min(beta, delta), abs(beta - delta)
    total = 0.0
    for i in range(times.size):
        since = times[i] - t0
        # (1 - exp(-gap since)) / gap without the difference, which two equal rates would make 0 / 0
        rise = -math.expm1(-gap * since) / gap if gap > 0.0 else since
        away = (observations[i] - km0 * math.exp(-slow * since) * rise) / sigma
        total += away * away
    return -0.5 * total - times.size * (math.log(sigma) + 0.5 * math.log(2.0 * math.pi))


def naive_log_likelihood(t0, km0, beta, delta, sigma, times, observations):  # type: ignore[no-untyped-def]
    """Sum of normal log-densities, with the curve as the paper's software computes it."""
    gap = delta - beta
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
