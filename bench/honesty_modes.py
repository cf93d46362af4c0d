"""Sick problems with mass that replicas hardly meet: narrow modes, rare modes, values that are never visited."""

import math

import honesty_exact as exact
import numpy as np
from honesty_healthy import modes_in_a_box
from honesty_outcome import MIXING, DefaultRun, Problem, Truth, share

import sterna


def unequal_widths():
    """Two modes of equal weights, one narrower than the other."""
    problems = []
    for dimension, ratio in ((2, 5), (5, 2), (5, 3), (5, 5), (8, 2), (10, 3), (10, 5), (12, 5)):
        centres = np.outer([-1.0, 1.0], np.full(dimension, 5.0 * dimension**-0.5))
        widths = np.array([1.0, 1.0 / ratio]) * 0.7
        problems.append(modes_in_a_box(f"1 : {ratio}, d={dimension}", centres, [1, 1], widths, reasons=MIXING))
    # narrow against wide where the reference hardly meets the narrow one
    problems.append(modes_in_a_box("1 : 50, d=2", [[-5, 0], [5, 0]], [1, 1], [1, 0.02], reasons=MIXING))
    problems.append(modes_in_a_box("1 : 500, d=2", [[-5, 0], [5, 0]], [1, 1], [1, 0.002], reasons=MIXING))
    return problems


def spike_likelihood(x, log_weight, spike, slab):
    """1 + weight * N(x; 0, spike^2) / N(x; 0, slab^2), where the slab is the reference."""
    square = 0.0
    for i in range(x.size):
        square += x[i] * x[i]
    ratio = log_weight + x.size * math.log(slab / spike) - 0.5 * square * (spike**-2 - slab**-2)
    return np.logaddexp(0.0, ratio)


def spikes():
    """A spike on a slab at the same place."""
    problems = []
    cases = ((20, 0.01, 0.1, 100.0), (10, 0.01, 0.1, 100.0), (5, 0.01, 0.1, 1.0), (12, 0.1, 1.0, 1.0))
    for dimension, spike, slab, weight in (*cases, (6, 0.01, 1.0, 10.0), (30, 0.2, 1.0, 3.0)):
        radius = middle_radius(dimension, spike, slab)
        inside = share(
            "share of the spike",
            weight / (1.0 + weight),
            lambda values, r=radius: np.linalg.norm(values["x"], axis=-1) < r,
        )
        data = {"log_weight": math.log(weight), "spike": spike, "slab": slab}
        run = DefaultRun(
            lambda d=dimension, data=data: sterna.Target(
                spike_likelihood, {"x": sterna.Normal(0, data["slab"], shape=d)}, data
            )
        )
        name = f"{spike:g} on {slab:g}, d={dimension}, weights {weight:g} : 1"
        truths = (inside,) if 4.0 * spike * math.sqrt(dimension) < slab * math.sqrt(dimension) else ()
        problems.append(Problem(name, run, math.log1p(weight), truths, MIXING))
    return problems


def middle_radius(dimension, spike, slab):
    """Radius at which both densities are equal; the spike's mass is within it and the slab's beyond."""
    return math.sqrt(2.0 * dimension * math.log(slab / spike) / (spike**-2 - slab**-2))


def rare_modes():
    """A mode of small weight beside a large one, both of the same width."""
    problems = []
    for dimension, weight in ((2, 0.01), (6, 0.01), (10, 0.01), (4, 0.03), (3, 0.003)):
        centres = np.outer([1.0, -1.0], np.full(dimension, 6.0 * dimension**-0.5))
        name = f"{1 - weight:g} / {weight:g}, d={dimension}"
        problems.append(modes_in_a_box(name, centres, [weight, 1 - weight], [0.5, 0.5], reasons=MIXING))
    return problems


def ten_modes():
    """Ten modes of various weights and widths."""
    problems = []
    for seed, dimension in ((1, 2), (2, 2), (3, 2), (4, 4), (5, 4)):
        rng = np.random.default_rng(seed)
        centres = spread_out(rng, 10, dimension)
        widths = np.exp(rng.uniform(math.log(0.05), math.log(0.5), 10))
        problems.append(
            modes_in_a_box(f"d={dimension}, {seed}", centres, rng.dirichlet(np.ones(10)), widths, reasons=MIXING)
        )
    return problems


def spread_out(rng, number, dimension):
    """Draw centres that are at least 4 apart."""
    centres = []
    while len(centres) < number:
        one = rng.uniform(-8, 8, dimension)
        if all(np.linalg.norm(one - other) > 4.0 for other in centres):
            centres.append(one)
    return np.array(centres)


def value_likelihood(kind, x, centres, widths, log_weights):
    """Each value of a categorical variable has its own normal distribution of x."""
    total = log_weights[kind]
    for i in range(x.size):
        total += -0.5 * ((x[i] - centres[kind]) / widths[kind]) ** 2 - math.log(widths[kind])
    return total


def unvisited_values():
    """A categorical variable beside real ones: one of its values needs a narrow region of x."""
    problems = []
    for dimension, narrow, weight in ((4, 0.02, 0.117), (3, 0.005, 0.25), (8, 0.1, 0.117)):
        weights = np.array([0.5, 0.5 - weight, weight])
        centres, widths = np.array([-3.0, 3.0, 0.5]), np.array([1.0, 1.0, narrow])
        data = {"centres": centres, "widths": widths, "log_weights": np.log(3.0 * weights)}
        reference = {"kind": sterna.Categorical(np.full(3, 1 / 3)), "x": sterna.Uniform(-10, 10, shape=dimension)}
        log_z = dimension * (0.5 * math.log(2 * math.pi) - math.log(20.0))
        truths = tuple(share(f"value {k}", float(weights[k]), lambda values, k=k: values["kind"] == k) for k in (0, 2))
        run = DefaultRun(lambda r=reference, d=data: sterna.Target(value_likelihood, r, d))
        problems.append(Problem(f"width {narrow:g}, d={dimension}, {weight:g}", run, log_z, truths, MIXING))
    return problems


def potts_likelihood(state, coupling):
    """Equal neighbours on a free square lattice."""
    equal = 0
    for i in range(state.shape[0]):
        for j in range(state.shape[1]):
            if i > 0 and state[i, j] == state[i - 1, j]:
                equal += 1
            if j > 0 and state[i, j] == state[i, j - 1]:
                equal += 1
    return coupling * equal


def potts():
    """The Potts model near its transition of first order."""
    problems = []
    for size, values, coupling in ((8, 10, 1.5), (8, 20, 1.8), (6, 10, 1.6)):
        log_z = exact.potts_evidence(size, size, values, coupling)
        step = 1e-4
        above, below = (exact.potts_evidence(size, size, values, coupling + s) for s in (step, -step))
        edges = 2 * size * (size - 1)
        slope, bend = (above - below) / (2 * step), (above + below - 2 * log_z) / step**2
        equal = Truth("share of equal neighbours", slope / edges, math.sqrt(bend) / edges, equal_neighbours)
        reference = {"state": sterna.Categorical(np.full(values, 1.0 / values), shape=(size, size))}
        run = DefaultRun(lambda r=reference, c=coupling: sterna.Target(potts_likelihood, r, {"coupling": c}))
        name = f"{values} values, {size} x {size}, {coupling}"
        problems.append(Problem(name, run, log_z, (equal,), MIXING | {"slow", "few chains"}))
    return problems


def equal_neighbours(values):
    """Return the share of equal neighbours in each draw."""
    state = values["state"]
    down, right = state[..., 1:, :] == state[..., :-1, :], state[..., :, 1:] == state[..., :, :-1]
    return 0.5 * (down.mean(axis=(-1, -2)) + right.mean(axis=(-1, -2)))


FAMILIES = {
    "unequal widths": unequal_widths,
    "spike on slab": spikes,
    "rare modes": rare_modes,
    "ten modes": ten_modes,
    "unvisited value": unvisited_values,
    "Potts": potts,
}
