"""Healthy problems on real variables: default settings should answer all of them rightly and without a warning."""

import math

import honesty_exact as exact
import numpy as np
from honesty_outcome import DefaultRun, Problem, Truth, mean, share

import sterna


def mixture(x, centres, log_weights, widths):
    """Normal modes of given centres, weights and widths; each integrates to its weight."""
    top, total = -math.inf, 0.0
    for k in range(log_weights.size):
        square = 0.0
        for i in range(x.size):
            square += (x[i] - centres[k, i]) ** 2
        term = log_weights[k] - 0.5 * square / widths[k] ** 2
        term -= x.size * (math.log(widths[k]) + 0.5 * math.log(2.0 * math.pi))
        if term > top:
            total = total * math.exp(top - term) + 1.0
            top = term
        else:
            total += math.exp(term - top)
    return top + math.log(total)


def modes_in_a_box(name, centres, weights, widths, half_side=10.0, reasons=None):
    """Normal modes within a uniform box; asked for are log Z, the mean of x[0], and the shares of up to three modes."""
    centres, widths = np.asarray(centres, dtype=float), np.asarray(widths, dtype=float)
    weights = np.asarray(weights, dtype=float) / np.sum(weights)
    dimension = centres.shape[1]
    data = {"centres": centres, "log_weights": np.log(weights), "widths": widths}
    reference = {"x": sterna.Uniform(-half_side, half_side, shape=dimension)}
    first = float(weights @ centres[:, 0])
    spread = math.sqrt(float(weights @ (centres[:, 0] ** 2 + widths**2)) - first**2)
    truths = [mean("x", first, spread, 0)]
    if well_apart(centres, widths):
        # of two modes the first, of many the heaviest: a share of a thousandth is more than a default run can know
        asked = [0] if len(weights) == 2 else np.argsort(-weights)[:3].tolist()
        truths += [
            share(f"share of mode {k}", float(weights[k]), lambda values, k=k: nearest(values["x"], centres) == k)
            for k in asked
        ]
    return Problem(
        name,
        DefaultRun(lambda: sterna.Target(mixture, reference, data)),
        -dimension * math.log(2 * half_side),
        tuple(truths),
        reasons,
    )


def well_apart(centres, widths):
    """Whether the nearest centre tells of which mode a draw is: all but 3e-5 of a mode are on its side of a middle."""
    apart = np.linalg.norm(centres[:, None] - centres[None, :], axis=2) + np.diag(np.full(len(centres), math.inf))
    return bool((0.5 * apart.min(axis=1) >= 4.0 * widths).all())


def nearest(x, centres):
    """Return which centre is nearest to each draw."""
    return np.argmin(((x[..., None, :] - centres) ** 2).sum(axis=-1), axis=-1)


def normals():
    """The built-in normal model from few to many dimensions."""
    problems = []
    for dimension, precision in ((1, 5.0), (2, 20.0), (5, 5.0), (20, 5.0), (60, 10.0)):
        truth = -0.5 * dimension * math.log(precision)
        run = DefaultRun(lambda d=dimension, p=precision: sterna.models.normal(d, p))
        truths = (mean("x", 0.0, precision**-0.5, 0),)
        problems.append(Problem(f"d={dimension}, precision {precision:g}", run, truth, truths))
    return problems


def quadratic(x, precision, centre):
    """A normal likelihood with a full precision matrix."""
    total = 0.0
    for i in range(x.size):
        for j in range(x.size):
            total += (x[i] - centre[i]) * precision[i, j] * (x[j] - centre[j])
    return -0.5 * total


def correlated():
    """Correlated normal distributions."""
    problems = []
    for dimension, correlation in ((2, 0.95), (5, 0.7), (10, 0.5)):
        covariance = 0.25 * (np.full((dimension, dimension), correlation) + (1 - correlation) * np.eye(dimension))
        precision, centre = np.linalg.inv(covariance), np.linspace(-1.0, 1.0, dimension)
        log_z, means, spreads = exact.normal_evidence(precision, centre, 3.0)
        reference = {"x": sterna.Normal(0, 3, shape=dimension)}
        run = DefaultRun(
            lambda r=reference, p=precision, c=centre: sterna.Target(quadratic, r, {"precision": p, "centre": c})
        )
        truths = (mean("x", means[0], spreads[0], 0), mean("x", means[-1], spreads[-1], dimension - 1))
        problems.append(Problem(f"d={dimension}, correlation {correlation}", run, log_z, truths))
    return problems


def eggbox_likelihood(x, power):
    """Eighteen equal modes."""
    return (2.0 + math.cos(0.5 * x[0]) * math.cos(0.5 * x[1])) ** power


def eggbox():
    """The egg box of MultiNest's authors, and a flatter one."""
    problems = []
    side = 10 * math.pi
    grid = np.linspace(0.0, side, 2001)
    for power in (5.0, 3.0):
        height = (2.0 + np.cos(0.5 * grid)[:, None] * np.cos(0.5 * grid)[None, :]) ** power
        log_z, centre, spread = exact.on_grid(height, grid, grid)
        run = DefaultRun(
            lambda p=power: sterna.Target(eggbox_likelihood, {"x": sterna.Uniform(0, side, shape=2)}, {"power": p})
        )
        problems.append(Problem(f"power {power:g}", run, log_z - 2 * math.log(side), (mean("x", centre, spread, 0),)))
    return problems


def equal_widths():
    """Modes of equal widths and similar weights, far apart."""
    problems = [
        modes_in_a_box("two, d=2, weights 1 : 1", [[-6, -6], [6, 6]], [1, 1], [1, 1]),
        modes_in_a_box("two, d=2, weights 7 : 3", [[-6, 0], [6, 0]], [7, 3], [0.7, 0.7]),
        modes_in_a_box("two, d=8, weights 1 : 2", np.outer([-1, 1], np.full(8, 3.0)), [1, 2], [1, 1]),
    ]
    for seed, dimension, number in ((1, 2, 5), (2, 2, 40), (3, 3, 10), (4, 10, 8)):
        centres = np.random.default_rng(seed).uniform(-6, 6, (number, dimension))
        problems.append(modes_in_a_box(f"{number}, d={dimension}", centres, np.ones(number), np.ones(number) * 0.6))
    return problems


def shell_likelihood(x, radius, width):
    """Two shells, whose centres are at -3.5 and 3.5 on the first axis."""
    rest = 0.0
    for i in range(1, x.size):
        rest += x[i] * x[i]
    left = math.sqrt(rest + (x[0] + 3.5) ** 2) - radius
    right = math.sqrt(rest + (x[0] - 3.5) ** 2) - radius
    both = np.logaddexp(-0.5 * (left / width) ** 2, -0.5 * (right / width) ** 2)
    return both - 0.5 * math.log(2.0 * math.pi * width * width)


def shells():
    """Gaussian shells."""
    problems = []
    for dimension in (2, 5, 10):
        run = DefaultRun(
            lambda d=dimension: sterna.Target(
                shell_likelihood, {"x": sterna.Uniform(-6, 6, shape=d)}, {"radius": 2.0, "width": 0.1}
            )
        )
        truths = (share("share of the right shell", 0.5, lambda values: values["x"][..., 0] > 0),)
        problems.append(Problem(f"d={dimension}", run, exact.shells_evidence(dimension, 2.0, 0.1, 12.0), truths))
    return problems


def log_gamma_likelihood(x):
    """Two log-gamma and two normal modes, and further coordinates of both kinds (Beaujean and Caldwell 2013)."""
    first = np.logaddexp(x[0] - 10.0 - math.exp(x[0] - 10.0), x[0] + 10.0 - math.exp(x[0] + 10.0))
    second = np.logaddexp(-0.5 * (x[1] - 10.0) ** 2, -0.5 * (x[1] + 10.0) ** 2) - 0.5 * math.log(2.0 * math.pi)
    total = first + second - 2.0 * math.log(2.0)
    for i in range(2, x.size):
        if i % 2 == 0:
            total += x[i] - 10.0 - math.exp(x[i] - 10.0)
        else:
            total += -0.5 * (x[i] - 10.0) ** 2 - 0.5 * math.log(2.0 * math.pi)
    return total


def log_gamma():
    """The log-gamma problem."""
    truths = (share("x[1] > 0", 0.5, lambda values: values["x"][..., 1] > 0),)
    return [
        Problem(
            f"d={d}",
            DefaultRun(lambda d=d: sterna.Target(log_gamma_likelihood, {"x": sterna.Uniform(-30, 30, shape=d)})),
            -d * math.log(60.0),
            truths,
        )
        for d in (2, 6, 10)
    ]


def wells_likelihood(x):
    """Double wells in even coordinates, normal distributions in odd ones."""
    total = 0.0
    for i in range(x.size):
        if i % 2 == 0:
            total += -(x[i] ** 4) + 6.0 * x[i] ** 2 + 0.5 * x[i]
        else:
            total -= 0.5 * x[i] ** 2
    return total


def many_wells():
    """The many-well problem."""
    log_norm = math.log(2.0) + 0.5 * math.log(2.0 * math.pi)
    log_z, centre, spread = exact.density_on_line(
        lambda x: -(x**4) + 6 * x**2 + 0.5 * x - 0.125 * x * x - log_norm, -6.0, 6.0, -1.7, 0.0, 1.7
    )
    # N(0, 2^2) and exp(-x^2 / 2)
    other = -0.5 * math.log(5.0)
    return [
        Problem(
            f"d={d}",
            DefaultRun(lambda d=d: sterna.Target(wells_likelihood, {"x": sterna.Normal(0, 2, shape=d)})),
            d // 2 * (log_z + other),
            tuple(mean("x", centre, spread, k) for k in {0, d - 2}),
        )
        for d in (2, 8, 16)
    ]


def hierarchy_likelihood(v, z, y):
    """Observations of effects exp(v / 2) z, without centring."""
    total = 0.0
    for k in range(y.size):
        total += -0.5 * (y[k] - math.exp(0.5 * v) * z[k]) ** 2 - 0.5 * math.log(2.0 * math.pi)
    return total


def suitable_funnels():
    """Funnels whose effects are independent of their scale under the reference."""
    problems = []
    for seed, number in ((1, 4), (2, 9)):
        y = np.random.default_rng(seed).normal(0.0, 2.0, number)

        def log_density(v, y=y):
            variance = 1.0 + math.exp(v)
            terms = -0.5 * y**2 / variance - 0.5 * math.log(2 * math.pi * variance)
            return float(terms.sum()) - 0.5 * v * v - 0.5 * math.log(2 * math.pi)

        log_z, centre, spread = exact.density_on_line(log_density, -10.0, 12.0, 0.0)
        reference = {"v": sterna.Normal(0, 1), "z": sterna.Normal(0, 1, shape=number)}
        run = DefaultRun(lambda r=reference, y=y: sterna.Target(hierarchy_likelihood, r, {"y": y}))
        problems.append(Problem(f"{number} effects", run, log_z, (mean("v", centre, spread),)))
    return problems


def labels_likelihood(first, second, y):
    """A mixture of two unit normals with equal weights."""
    total = 0.0
    for k in range(y.size):
        total += np.logaddexp(-0.5 * (y[k] - first) ** 2, -0.5 * (y[k] - second) ** 2)
    return total - y.size * (math.log(2.0) + 0.5 * math.log(2.0 * math.pi))


def label_switching():
    """Two labelings with equal weights."""
    problems = []
    for seed, number, apart in ((1, 8, 3.0), (2, 12, 6.0), (3, 14, 4.0)):
        rng = np.random.default_rng(seed)
        y = rng.standard_normal(number) + apart * (np.arange(number) % 2 - 0.5)
        log_z, centre, spread = exact.two_labels_evidence(y, 5.0)
        reference = {"first": sterna.Normal(0, 5), "second": sterna.Normal(0, 5)}
        run = DefaultRun(lambda r=reference, y=y: sterna.Target(labels_likelihood, r, {"y": y}))
        truths = (
            mean("first", centre, spread),
            share("first > second", 0.5, lambda values: values["first"] > values["second"]),
        )
        problems.append(Problem(f"{number} data, {apart:g} apart", run, log_z, truths))
    return problems


def cauchy_reference_likelihood(x):
    """Two narrow normal modes."""
    return np.logaddexp(-0.5 * ((x - 3.0) / 0.2) ** 2, -0.5 * ((x + 3.0) / 0.2) ** 2)


def heavy_references():
    """References with heavier tails than the target."""
    problems = []
    for reference, log_density in (
        (sterna.Cauchy(0, 2), lambda x: -math.log(2 * math.pi * (1 + (x / 2) ** 2))),
        (sterna.Laplace(0, 3), lambda x: -math.log(6.0) - abs(x) / 3),
    ):

        def total(x, log_density=log_density):
            return float(np.logaddexp(-12.5 * (x - 3.0) ** 2, -12.5 * (x + 3.0) ** 2)) + log_density(x)

        log_z, _, _ = exact.density_on_line(total, -8.0, 8.0, -3.0, 0.0, 3.0)
        run = DefaultRun(lambda r=reference: sterna.Target(cauchy_reference_likelihood, {"x": r}))
        truths = (share("x > 0", 0.5, lambda values: values["x"] > 0),)
        problems.append(Problem(type(reference).__name__, run, log_z, truths))
    return problems


def corner_likelihood(x, y):
    """Zero on nine tenths of the reference."""
    if x > 0.1:
        return -math.inf
    return -0.5 * ((x - 0.05) / 0.005) ** 2 - 0.5 * ((y - 0.5) / 0.2) ** 2


def zero_likelihood():
    """A likelihood that is zero on most of the reference."""
    first, _, spread = exact.density_on_line(lambda x: -0.5 * ((x - 0.05) / 0.005) ** 2, 0.0, 0.1, 0.05)
    second, _, _ = exact.density_on_line(lambda y: -0.5 * ((y - 0.5) / 0.2) ** 2, 0.0, 1.0, 0.5)
    run = DefaultRun(lambda: sterna.Target(corner_likelihood, {"x": sterna.Uniform(0, 1), "y": sterna.Uniform(0, 1)}))
    below = Truth("x < 0.05", 0.5, 0.5, lambda values: values["x"] < 0.05)
    return [Problem("corner", run, first + second, (mean("x", 0.05, spread), below))]


FAMILIES = {
    "normal": normals,
    "correlated": correlated,
    "egg box": eggbox,
    "equal widths": equal_widths,
    "shells": shells,
    "log-gamma": log_gamma,
    "many wells": many_wells,
    "suitable funnel": suitable_funnels,
    "label switching": label_switching,
    "heavy reference": heavy_references,
    "zero likelihood": zero_likelihood,
}
