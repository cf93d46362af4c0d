"""Problems with exact answers for `bench/modes.py`: modes of several widths and shapes in a wide uniform box.

A mode is a standard normal distribution that is skewed (a sinh-arcsinh transformation of some coordinates), bent (one
coordinate is shifted by the square of another), rotated, stretched and moved. The Jacobian of each step is known, so
that every mode is normalised. Modes end far within the box, so that log Z is minus the log volume of the box.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sterna

FloatArray = Any

HALF_SIDE = 10.0


@dataclass(frozen=True)
class Case:
    """A target with its exact log evidence, and exact shares of its draws."""

    name: str
    target: Callable[[], sterna.Target]
    log_evidence: float
    shares: FloatArray
    shares_of: Callable[[FloatArray], FloatArray]
    """From the draws of all variables, of shape (draws, dimension), to the shares of the modes."""
    allowed: FloatArray
    """The lowest and the highest share, of each mode, that count as right."""
    options: dict[str, Any]


def log_modes(x, centres, unstretched, log_heights, skews, bends):
    """Log-density of all modes; coordinates beyond half are neither skewed nor bent."""
    top, total, size = -math.inf, 0.0, x.size
    z = np.empty(size)
    for k in range(centres.shape[0]):
        for i in range(size):
            z[i] = 0.0
            for j in range(size):
                z[i] += unstretched[k, i, j] * (x[j] - centres[k, j])
        term = log_heights[k]
        z[1] -= bends[k] * (z[0] * z[0] - 1.0)
        if skews[k] != 0.0:
            for i in range((size + 1) // 2):
                moved = math.sinh(math.asinh(z[i]) - skews[k])
                term += 0.5 * math.log((1.0 + moved * moved) / (1.0 + z[i] * z[i]))
                z[i] = moved
        for i in range(size):
            term -= 0.5 * z[i] * z[i]
        if term > top:
            total = total * math.exp(top - term) + 1.0
            top = term
        else:
            total += math.exp(term - top)
    return top + math.log(total)


@dataclass(frozen=True)
class Modes:
    """Shapes of all modes."""

    weights: FloatArray
    centres: FloatArray
    factors: FloatArray
    skews: FloatArray
    bends: FloatArray

    @property
    def data(self) -> dict[str, FloatArray]:
        """What the likelihood needs."""
        d = self.centres.shape[1]
        heights = np.log(self.weights) - np.linalg.slogdet(self.factors)[1] - 0.5 * d * math.log(2 * math.pi)
        return {
            "centres": self.centres,
            "unstretched": np.linalg.inv(self.factors),
            "log_heights": heights,
            "skews": self.skews,
            "bends": self.bends,
        }

    def draws(self, k: int, number: int, rng: np.random.Generator) -> FloatArray:
        """Draw from one mode: the steps of the likelihood backwards."""
        d = self.centres.shape[1]
        z, some = rng.standard_normal((number, d)), (d + 1) // 2
        z[:, :some] = np.sinh(np.arcsinh(z[:, :some]) + self.skews[k])
        z[:, 1] += self.bends[k] * (z[:, 0] ** 2 - 1.0)
        return self.centres[k] + z @ self.factors[k].T

    def log_densities(self, x: FloatArray) -> FloatArray:
        """Return the log-density of every mode at every point."""
        data, d = self.data, x.shape[1]
        found = np.empty((len(x), len(self.weights)))
        for k in range(len(self.weights)):
            z = (x - self.centres[k]) @ data["unstretched"][k].T
            z[:, 1] -= self.bends[k] * (z[:, 0] ** 2 - 1.0)
            some = z[:, : (d + 1) // 2]
            moved = np.sinh(np.arcsinh(some) - self.skews[k])
            more = 0.5 * np.log((1.0 + moved**2) / (1.0 + some**2)).sum(axis=1)
            z[:, : (d + 1) // 2] = moved
            found[:, k] = data["log_heights"][k] + more - 0.5 * (z**2).sum(axis=1)
        return found

    def shares_of(self, x: FloatArray) -> FloatArray:
        """Return the share of the draws to which each mode contributes most."""
        return np.bincount(self.log_densities(x).argmax(axis=1), minlength=len(self.weights)) / len(x)

    def apart(self, rng: np.random.Generator, number: int = 4000) -> bool:
        """Whether draws of each mode are within the box, and tell of which mode they are."""
        for k in range(len(self.weights)):
            x = self.draws(k, number, rng)
            if np.abs(x).max() > 0.97 * HALF_SIDE or (self.log_densities(x).argmax(axis=1) != k).mean() > 1e-3:
                return False
        return True


def case_of(name: str, modes: Modes, half_side: float = HALF_SIDE, **options: Any) -> Case:
    """Return the case of modes in a box; every share must be within 0.05."""
    d = modes.centres.shape[1]
    reference = {"x": sterna.Uniform(-half_side, half_side, shape=d)}
    allowed = np.stack([modes.weights - 0.05, modes.weights + 0.05], axis=1)
    return Case(
        name,
        lambda: sterna.Target(log_modes, reference, modes.data, name=name),
        -d * math.log(2 * half_side),
        modes.weights,
        modes.shares_of,
        allowed,
        options,
    )


def three_modes() -> Case:
    """Three normal modes of unequal widths in 12 dimensions."""
    d = 12
    centres = np.array([np.full(d, -4.0), np.where(np.arange(d) % 2, 5.0, -3.0), np.full(d, 5.0)])
    factors = np.array([width * np.eye(d) for width in (0.3, 0.5, 0.2)])
    return case_of("three modes", Modes(np.array([0.6, 0.3, 0.1]), centres, factors, np.zeros(3), np.zeros(3)))


def log_spike(x, log_spike_height, log_slab_height):
    """100 N(x; 0, 0.01^2) + N(x; 0, 0.1^2)."""
    square = 0.0
    for i in range(x.size):
        square += x[i] ** 2
    spike, slab = log_spike_height - 0.5e4 * square, log_slab_height - 50.0 * square
    top = max(spike, slab)
    return top + math.log(math.exp(spike - top) + math.exp(slab - top))


def spike_on_slab() -> Case:
    """A narrow mode on a wide one of a hundredth of its weight, in 20 dimensions; the slab is within a factor 2."""
    d, spike, slab = 20, 0.01, 0.1
    constant = 0.5 * d * math.log(2 * math.pi)
    data = {
        "log_spike_height": math.log(100.0) - d * math.log(spike) - constant,
        "log_slab_height": -d * math.log(slab) - constant,
    }
    # halfway between the radii at which the two have their mass
    border = d * 0.03**2

    def shares_of(x: FloatArray) -> FloatArray:
        inside = float(((x**2).sum(axis=1) < border).mean())
        return np.array([inside, 1.0 - inside])

    shares = np.array([100.0, 1.0]) / 101.0
    allowed = np.array([[shares[0] - 0.05, shares[0] + 0.05], [0.5 * shares[1], 2.0 * shares[1]]])
    reference = {"x": sterna.Uniform(-0.5, 0.5, shape=d)}
    # all but 1e-5 of the slab is within the box
    return Case(
        "spike on slab",
        lambda: sterna.Target(log_spike, reference, data, name="spike on slab"),
        math.log(101.0),
        shares,
        shares_of,
        allowed,
        {},
    )


def random_factor(d: int, width: float, rng: np.random.Generator) -> FloatArray:
    """Return a rotated and stretched factor whose determinant is width**d."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    stretch = np.exp(0.3 * rng.standard_normal(d))
    return width * rotation * stretch / np.exp(np.log(stretch).mean())


def family(seed: int) -> Case:
    """Return one problem of the family: 2 to 6 modes, 2 to 20 dimensions, width ratios 1 to 4, weights from 0.02."""
    rng = np.random.default_rng([16, seed])
    number, d = int(rng.integers(2, 7)), int(rng.choice([2, 3, 4, 5, 6, 8, 10, 12, 15, 20]))
    ratio, narrowest = 4.0 ** rng.uniform(), rng.uniform(0.12, 0.25)
    weights = 0.02 + (1.0 - 0.02 * number) * rng.dirichlet(np.ones(number))
    while True:
        place = np.concatenate([[0.0, 1.0], rng.uniform(size=number - 2)])
        widths = narrowest * ratio ** rng.permutation(place)
        kinds = rng.integers(3, size=number)
        modes = Modes(
            weights,
            rng.uniform(-7.0, 7.0, (number, d)),
            np.array([random_factor(d, width, rng) for width in widths]),
            np.where(kinds == 1, rng.choice([-1, 1], number) * rng.uniform(0.2, 0.5, number), 0.0),
            np.where(kinds == 2, rng.uniform(0.2, 0.6, number), 0.0),
        )
        if modes.apart(rng):
            shapes = "".join("nsb"[kind] for kind in kinds)
            return case_of(f"family {seed}: d={d}, ratio {ratio:.1f}, {shapes}, least {weights.min():.2f}", modes)


def one_mode(d: int, width: float, skew: float, bend: float, seed: int) -> Case:
    """Return a problem with a single mode of the same kind."""
    rng = np.random.default_rng([17, seed])
    factor = random_factor(d, width, rng)
    modes = Modes(np.ones(1), rng.uniform(-3, 3, (1, d)), factor[None], np.array([skew]), np.array([bend]))
    return case_of(f"d={d}, width {width:g}, skew {skew:g}, bend {bend:g}", modes)


def log_funnel(v, x):
    """Normal coordinates whose variance is exp(v)."""
    return -0.5 * np.sum(x * x) * math.exp(-v) - 0.5 * x.size * (v + math.log(2 * math.pi))


def log_student(x, freedom, width):
    """Independent Student's t distributions, up to a constant."""
    total = 0.0
    for i in range(x.size):
        total -= 0.5 * (freedom + 1.0) * math.log(1.0 + (x[i] / width) ** 2 / freedom)
    return total


def log_laplace(x, width):
    """Independent Laplace distributions, up to a constant."""
    return -np.sum(np.abs(x)) / width


def log_edge(x):
    """Exponential distributions that end at a bound of the box."""
    return -5.0 * np.sum(x)


def without_answer(name: str, function: Callable[..., float], reference: dict[str, Any], **data: Any) -> Case:
    """Return a problem that is asked for warnings only."""
    return Case(
        name,
        lambda: sterna.Target(function, reference, data, name=name),
        math.nan,
        np.ones(1),
        lambda x: np.ones(1),
        np.array([[0.0, 2.0]]),
        {},
    )


def single_modes() -> list[Case]:
    """Return twenty problems with one mode."""
    shapes = [(2, 0.3, 0.0, 0.0), (5, 0.2, 0.0, 0.0), (12, 0.3, 0.0, 0.0), (20, 0.1, 0.0, 0.0), (20, 0.6, 0.0, 0.0)]
    shapes += [(2, 0.3, 0.5, 0.0), (5, 0.3, -0.5, 0.0), (12, 0.2, 0.4, 0.0), (20, 0.2, 0.3, 0.0)]
    shapes += [(2, 0.5, 0.0, 1.0), (2, 0.2, 0.0, 3.0), (5, 0.3, 0.0, 0.6), (12, 0.3, 0.0, 0.5), (8, 0.3, 0.3, 0.4)]
    box = {"x": sterna.Uniform(-10, 10, shape=6)}
    funnel = {"v": sterna.Normal(0, 2), "x": sterna.Uniform(-30, 30, shape=4)}
    return [one_mode(*shape, seed=seed) for seed, shape in enumerate(shapes, 1)] + [
        without_answer("funnel, d=5", log_funnel, funnel),
        without_answer("Student 3, d=6", log_student, box, freedom=3.0, width=0.3),
        without_answer("Student 1, d=6", log_student, box, freedom=1.0, width=0.1),
        without_answer("Laplace, d=6", log_laplace, box, width=0.2),
        without_answer("edge, d=6", log_edge, {"x": sterna.Uniform(0, 10, shape=6)}),
        without_answer("normal prior", log_student, {"x": sterna.Normal(0, 3, shape=6)}, freedom=5.0, width=1.0),
    ]
