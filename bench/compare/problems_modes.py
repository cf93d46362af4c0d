"""Problems with several modes whose weights are exact; sterna's functions come from the other benchmarks."""

import math
from functools import partial

import calibration_cases
import honesty_exact as exact
import honesty_healthy as healthy
import modes_cases
import numpy as np
from problem import FloatArray, Problem, box

import sterna

SIDE = 10 * math.pi


def eggbox() -> Problem:
    """Eighteen equal hills, eight of which are cut in half by the edges of the box."""
    grid = np.linspace(0.0, SIDE, 4001)
    log_z, _, _ = exact.on_grid((2.0 + np.cos(0.5 * grid)[:, None] * np.cos(0.5 * grid)[None, :]) ** 5, grid, grid)
    places = np.array([(i, j) for i in range(6) for j in range(6) if (i + j) % 2 == 0])
    whole = np.where((places == 0) | (places == 5), 0.5, 1.0).prod(axis=1)

    def mode_of(x: FloatArray) -> FloatArray:
        return np.square(x[:, None, :] / (2 * math.pi) - places).sum(axis=2).argmin(axis=1)

    return Problem(
        "egg box, d=2",
        box(0.0, SIDE, 2),
        lambda x, xp: (2.0 + xp.cos(0.5 * x[0]) * xp.cos(0.5 * x[1])) ** 5,
        lambda: sterna.Target(
            healthy.eggbox_likelihood, {"x": sterna.Uniform(0, SIDE, shape=2)}, {"power": 5.0}, name="egg box"
        ),
        log_z - 2 * math.log(SIDE),
        whole / whole.sum(),
        mode_of,
    )


def right(x: FloatArray) -> FloatArray:
    """Number the modes 0 and 1 by the sign of the first coordinate."""
    return (x[:, 0] > 0.0).astype(int)


def shells(d: int) -> Problem:
    """Two thin shells."""
    radius, width = 2.0, 0.1

    def log_likelihood(x, xp):
        rest = xp.sum(x[1:] ** 2)
        left = xp.sqrt(rest + (x[0] + 3.5) ** 2) - radius
        other = xp.sqrt(rest + (x[0] - 3.5) ** 2) - radius
        both = xp.logaddexp(-0.5 * (left / width) ** 2, -0.5 * (other / width) ** 2)
        return both - 0.5 * math.log(2.0 * math.pi * width * width)

    reference, data = {"x": sterna.Uniform(-6, 6, shape=d)}, {"radius": radius, "width": width}
    return Problem(
        f"shells, d={d}",
        box(-6.0, 6.0, d),
        log_likelihood,
        lambda: sterna.Target(healthy.shell_likelihood, reference, data, name="shells"),
        exact.shells_evidence(d, radius, width, 12.0),
        np.array([0.5, 0.5]),
        right,
    )


def two_normals(name: str, d: int, widths: FloatArray, weights: FloatArray, busy: float = 0.0) -> Problem:
    """Two isotropic normal modes far from each other and from the edges of the box."""
    centres = np.array([[-3.0] * d, [3.0] * d])
    case = calibration_cases.mixture(name, weights, centres, widths, 10.0)
    first, second = np.log(weights) - d * np.log(np.asarray(widths) * math.sqrt(2.0 * math.pi))

    def log_likelihood(x, xp):
        left = first - 0.5 * xp.sum((x + 3.0) ** 2) / widths[0] ** 2
        return xp.logaddexp(left, second - 0.5 * xp.sum((x - 3.0) ** 2) / widths[1] ** 2)

    def mode_of(x: FloatArray) -> FloatArray:
        squares = np.square(x[:, None, :] - centres).sum(axis=2) / np.square(widths)
        return squares.argmin(axis=1)

    prior = box(-10.0, 10.0, d)
    return Problem(name, prior, log_likelihood, case.target, case.log_evidence, np.asarray(weights), mode_of, busy)


def equal(d: int) -> Problem:
    return two_normals(f"equal modes, d={d}", d, [0.5, 0.5], [0.5, 0.5])


def unequal(d: int) -> Problem:
    """The narrow mode has the smaller weight, and a fraction 3**-d of the other's volume."""
    return two_normals(f"unequal modes, d={d}", d, [0.3, 0.9], [0.3, 0.7])


def slow_modes() -> Problem:
    return two_normals("slow: two modes, d=5", 5, [0.5, 0.75], [0.4, 0.6], busy=1e-3)


def log_gamma() -> Problem:
    """Four modes, with heavy tails to the left in half of the coordinates (Beaujean and Caldwell 2013)."""
    d, constant = 10, -5 * 0.5 * math.log(2.0 * math.pi) - 2.0 * math.log(2.0)

    def log_likelihood(x, xp):
        skewed, normal = x[2::2] - 10.0, x[3::2] - 10.0
        first = xp.logaddexp(x[0] - 10.0 - xp.exp(x[0] - 10.0), x[0] + 10.0 - xp.exp(x[0] + 10.0))
        second = xp.logaddexp(-0.5 * (x[1] - 10.0) ** 2, -0.5 * (x[1] + 10.0) ** 2)
        return first + second + xp.sum(skewed - xp.exp(skewed)) - 0.5 * xp.sum(normal**2) + constant

    return Problem(
        f"log-gamma, d={d}",
        box(-30.0, 30.0, d),
        log_likelihood,
        lambda: sterna.Target(healthy.log_gamma_likelihood, {"x": sterna.Uniform(-30, 30, shape=d)}, name="log-gamma"),
        -d * math.log(60.0),
        np.full(4, 0.25),
        lambda x: (x[:, 0] > 0).astype(int) + 2 * (x[:, 1] > 0),
    )


def spike_and_slab() -> Problem:
    """100 N(x; 0, 0.01) + N(x; 0, 0.1) in 20 dimensions."""
    case, d = modes_cases.spike_on_slab(), 20
    constant = 0.5 * d * math.log(2 * math.pi)
    spike, slab = math.log(100.0) - d * math.log(0.01) - constant, -d * math.log(0.1) - constant

    def log_likelihood(x, xp):
        square = xp.sum(x**2)
        return xp.logaddexp(spike - 0.5e4 * square, slab - 50.0 * square)

    def mode_of(x: FloatArray) -> FloatArray:
        return (np.square(x).sum(axis=1) >= d * 0.03**2).astype(int)

    name = "spike and slab, d=20"
    return Problem(name, box(-0.5, 0.5, d), log_likelihood, case.target, case.log_evidence, case.shares, mode_of)


# Built when they are asked for: some exact answers take a second.
PROBLEMS = {
    "egg box, d=2": eggbox,
    "shells, d=2": partial(shells, 2),
    "shells, d=10": partial(shells, 10),
    "equal modes, d=2": partial(equal, 2),
    "equal modes, d=10": partial(equal, 10),
    "equal modes, d=30": partial(equal, 30),
    "unequal modes, d=2": partial(unequal, 2),
    "unequal modes, d=10": partial(unequal, 10),
    "unequal modes, d=30": partial(unequal, 30),
    "log-gamma, d=10": log_gamma,
    "spike and slab, d=20": spike_and_slab,
    "slow: two modes, d=5": slow_modes,
}
