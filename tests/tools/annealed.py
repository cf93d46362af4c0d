"""Exact annealed distributions: targets that can be sampled and compared with exactly at every beta.

Every distribution is created once, by `law(name)`. Its target has a gradient if its real variables have one.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from kernels import logs_of
from scipy import stats
from scipy.special import i0e, logsumexp

import sterna
from sterna.ground.values import BINARY


def nothing(beta, states):
    return []


@dataclass(frozen=True)
class Law:
    """A target, exact draws of its annealed distribution, and the distributions of functions of such draws."""

    target: Any
    draw: Any
    """draw(beta, n, rng) -> states"""
    uniforms: Any = nothing
    """uniforms(beta, states) -> columns, each of which is uniform on [0, 1]"""
    cells: Any = nothing
    """cells(beta, states) -> pairs of cell numbers of the states and the probabilities of all cells"""
    block: Any = None
    """The coordinates to explore, if not all; the others must not change."""


def by_columns(target, laws):
    """Independent coordinates, each with a SciPy distribution that depends on beta."""
    lower, upper = target.program.lower, target.program.upper

    def draw(beta, n, rng):
        # a draw that rounds to the boundary of an open support becomes the nearest number inside, as in a reference
        return np.clip(np.column_stack([one(beta).rvs(n, random_state=rng) for one in laws]), lower, upper)

    return Law(target, draw, lambda beta, states: [one(beta).cdf(x) for one, x in zip(laws, states.T, strict=True)])


@dataclass(frozen=True)
class Grid:
    """A distribution on the real line, given by its density at many points."""

    points: Any
    cumulative: Any

    @classmethod
    def of(cls, points, log_density):
        density = np.exp(log_density - log_density.max())
        cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(points))])
        return cls(points, cumulative / cumulative[-1])

    def cdf(self, x):
        return np.interp(x, self.points, self.cumulative)

    def rvs(self, n, random_state):
        return np.interp(random_state.random(n), self.cumulative, self.points)


@dataclass(frozen=True)
class Slope:
    """The distribution with density proportional to exp(rate t) on an interval."""

    rate: float
    low: float
    high: float

    def rvs(self, n, random_state):
        u, length = random_state.random(n), self.high - self.low
        return self.low + (length * u if self.rate == 0 else np.log1p(u * np.expm1(self.rate * length)) / self.rate)

    def cdf(self, t):
        length = self.high - self.low
        if self.rate == 0:
            return (t - self.low) / length
        return np.expm1(self.rate * (t - self.low)) / np.expm1(self.rate * length)

    def mean(self):
        length = self.high - self.low
        return self.high - 1 / self.rate + length / math.expm1(self.rate * length)


# Normal distributions.


def normal_law(target, moments):
    """Return the distribution of a normal vector; `moments(beta)` are its mean and precision."""

    def draw(beta, n, rng):
        mean, precision = moments(beta)
        return rng.multivariate_normal(mean, np.linalg.inv(precision), size=n)

    def uniforms(beta, states):
        """Every coordinate, and the squared distance, which is wrong if only the dependence of coordinates is wrong."""
        mean, precision = moments(beta)
        away = states - mean
        square = np.einsum("ni,ij,nj->n", away, precision, away)
        spread = np.sqrt(np.diag(np.linalg.inv(precision)))
        return [*stats.norm.cdf(away / spread).T, stats.chi2(len(mean)).cdf(square)]

    return Law(target, draw, uniforms)


PRECISION = np.array([[6.0, 4.0, 0.5], [4.0, 5.0, 0.0], [0.5, 0.0, 1.0]])
CENTRE = np.array([1.0, -0.5, 2.0])


def squares(x, precision, centre):
    return -0.5 * (x - centre) @ (precision @ (x - centre))


def squares_gradient(x, precision, centre):
    return -precision @ (x - centre)


def gaussian():
    """Correlated, from a wide normal reference."""
    data = {"precision": PRECISION, "centre": CENTRE}
    target = sterna.Target(squares, {"x": sterna.Normal(0.0, 2.0, shape=3)}, data, gradient=squares_gradient)

    def moments(beta):
        whole = 0.25 * np.eye(3) + beta * PRECISION
        return np.linalg.solve(whole, beta * PRECISION @ CENTRE), whole

    return normal_law(target, moments)


def model():
    """The built-in model, which has its own kernels."""
    return normal_law(sterna.models.normal(3, precision=5.0), lambda beta: (np.zeros(3), (1 + 4 * beta) * np.eye(3)))


MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
SEEN = np.array([2.0, -1.0, 3.0])


def near_seen(f, y):
    return -0.5 * np.sum((y - f) ** 2) / 0.3


def latent():
    """A normal vector stored as standard normal coordinates z, with precision 1 + beta L'L / 0.3."""
    target = sterna.Target(near_seen, {"f": sterna.MultivariateNormal(MEAN, COVARIANCE)}, {"y": SEEN})
    factor = np.linalg.cholesky(COVARIANCE)

    def moments(beta):
        precision = np.eye(3) + beta * factor.T @ factor / 0.3
        return np.linalg.solve(precision, beta * factor.T @ (SEEN - MEAN) / 0.3), precision

    return normal_law(target, moments)


def joint_draw(rng):
    first = rng.standard_normal()
    return first, 0.8 * first + 0.6 * rng.standard_normal()


def joint_density(x, y):
    return -0.5 * x * x - 0.5 * ((y - 0.8 * x) / 0.6) ** 2 - math.log(2 * math.pi * 0.6)


def joint_gradient(x, y):
    slope = (y - 0.8 * x) / 0.36
    return -x + 0.8 * slope, -slope


def second_near_one(y):
    return -2.0 * (y - 1.0) ** 2


def second_gradient(y):
    return -4.0 * (y - 1.0)


def joint():
    """A reference given by functions, with correlation 0.8."""
    space = {"x": sterna.Real(), "y": sterna.Real()}
    reference = sterna.Reference(joint_draw, joint_density, space, gradient=joint_gradient)
    target = sterna.Target(second_near_one, reference, gradient=second_gradient)

    def moments(beta):
        precision = np.linalg.inv([[1.0, 0.8], [0.8, 1.0]]) + np.diag([0.0, 4 * beta])
        return np.linalg.solve(precision, [0.0, 4 * beta]), precision

    return normal_law(target, moments)


# Other distributions of real variables.


def bounded_terms(w, s, p):
    return 0.8 * w - 0.7 * s + 2.0 * math.log(p)


def bounded_gradient(w, s, p):
    return 0.8, -0.7, 2.0 / p


BOUNDED = (
    lambda beta: Slope(0.8 * beta, -2.0, 3.0),
    lambda beta: stats.expon(scale=1 / (0.5 + 0.7 * beta)),
    lambda beta: stats.beta(0.5 + 2 * beta, 0.5),
)


def bounded():
    """An interval, a half line and an interval with an infinite density at its ends, independent of each other."""
    reference = {"w": sterna.Uniform(-2, 3), "s": sterna.Exponential(0.5), "p": sterna.Beta(0.5, 0.5)}
    return by_columns(sterna.Target(bounded_terms, reference, gradient=bounded_gradient), BOUNDED)


HOUR = 2 * math.pi / 24


def clock(hour, angle):
    return 3.0 * math.cos(HOUR * hour - 6.2) + 1.5 * math.cos(angle - HOUR * hour)


def clock_gradient(hour, angle):
    apart = math.sin(angle - HOUR * hour)
    return HOUR * (1.5 * apart - 3.0 * math.sin(HOUR * hour - 6.2)), -1.5 * apart


def circle():
    """A periodic hour that is most likely before midnight, and an angle near 3; given the hour it is von Mises."""
    reference = {"hour": sterna.CircularUniform(0, 24), "angle": sterna.VonMises(3.0, 2.0)}
    target = sterna.Target(clock, reference, gradient=clock_gradient)
    points = np.linspace(0, 24, 100_001)

    def pull(beta, hour):
        """The direction and strength of the angle's distribution."""
        return 2.0 * np.exp(3.0j) + 1.5 * beta * np.exp(1j * HOUR * hour)

    @cache
    def first(beta):
        strength = np.abs(pull(beta, points))
        return Grid.of(points, 3.0 * beta * np.cos(HOUR * points - 6.2) + np.log(i0e(strength)) + strength)

    def draw(beta, n, rng):
        hour = first(beta).rvs(n, rng)
        pulled = pull(beta, hour)
        angle = np.angle(pulled) + rng.vonmises(0.0, np.abs(pulled))
        return np.column_stack([hour % 24, (angle + math.pi) % (2 * math.pi) - math.pi])

    def uniforms(beta, states):
        assert (states >= [0, -math.pi]).all(), "below its interval"
        assert (states < [24, math.pi]).all(), "above its interval"
        hour, angle = states.T
        pulled = pull(beta, hour)
        away = np.angle(np.exp(1j * angle) / pulled)
        return [first(beta).cdf(hour), stats.vonmises.cdf(away, np.abs(pulled))]

    return Law(target, draw, uniforms)


def shares(p, counts):
    return np.sum(counts * np.log(p))


def shares_gradient(p, counts):
    return counts / p


def simplex():
    """Counts with a Dirichlet prior; the posterior is Dirichlet, and its stored fractions are independent Betas."""
    alpha, counts = np.array([0.7, 1.2, 2.0, 0.4]), np.array([3.0, 0.0, 5.0, 1.0])
    target = sterna.Target(shares, {"p": sterna.Dirichlet(alpha)}, {"counts": counts}, gradient=shares_gradient)

    def fraction(k):
        return lambda beta: stats.beta(*(part.sum() for part in np.split((alpha + beta * counts)[k:], [1])))

    return by_columns(target, [fraction(k) for k in range(3)])


def bend(x, y):
    return -2.0 * (y - x * x) ** 2


def bend_gradient(x, y):
    return 8.0 * x * (y - x * x), -4.0 * (y - x * x)


def banana():
    """A narrow curved ridge: y is normal given x; x is drawn on a grid."""
    target = sterna.Target(bend, {"x": sterna.Normal(0, 1), "y": sterna.Normal(0, 3)}, gradient=bend_gradient)
    points = np.linspace(-7, 7, 400_001)

    @cache
    def first(beta):
        return Grid.of(points, -0.5 * points**2 - 0.5 * points**4 * (4 * beta / (36 * beta + 1)))

    def second(beta, x):
        precision = 1 / 9 + 4 * beta
        return stats.norm(4 * beta * x**2 / precision, 1 / math.sqrt(precision))

    def draw(beta, n, rng):
        x = first(beta).rvs(n, rng)
        return np.column_stack([x, second(beta, x).rvs(n, random_state=rng)])

    def uniforms(beta, states):
        x, y = states.T
        return [first(beta).cdf(x), second(beta, x).cdf(y)]

    return Law(target, draw, uniforms)


def funnel_draw(rng):
    scale = rng.exponential()
    return scale, rng.normal(0.0, scale)


def funnel_density(scale, effect):
    return -scale - math.log(scale) - 0.5 * (effect / scale) ** 2 - 0.5 * math.log(2 * math.pi)


def funnel_slopes(scale, effect):
    return -1.0 - 1.0 / scale + effect**2 / scale**3, -effect / scale**2


def funnel_terms(scale, effect):
    return -0.7 * scale - 0.5 * (effect / scale) ** 2


def funnel_gradient(scale, effect):
    return -0.7 + effect**2 / scale**3, -effect / scale**2


def funnel():
    """A reference given by functions, with one variable the standard deviation of the other."""
    space = {"scale": sterna.Real(lower=0), "effect": sterna.Real()}
    reference = sterna.Reference(funnel_draw, funnel_density, space, gradient=funnel_slopes)
    target = sterna.Target(funnel_terms, reference, gradient=funnel_gradient)

    def draw(beta, n, rng):
        scale = rng.exponential(1 / (1 + 0.7 * beta), n)
        return np.column_stack([scale, scale * rng.standard_normal(n) / math.sqrt(1 + beta)])

    def uniforms(beta, states):
        scale, effect = states.T
        return [-np.expm1(-(1 + 0.7 * beta) * scale), stats.norm.cdf(effect / scale * math.sqrt(1 + beta))]

    return Law(target, draw, uniforms)


# Distributions of one real variable.


def on_line(target, points, log_reference):
    """Return the distribution of one real variable, on a grid."""
    likelihood = logs_of(target, points[:, None])[:, 1]

    @cache
    def grid(beta):
        return Grid.of(points, log_reference + (beta * likelihood if beta > 0 else 0.0))

    return by_columns(target, [grid])


def far_out(x):
    return -0.7 * math.log1p((x - 2.0) ** 2)


def far_out_gradient(x):
    return -1.4 * (x - 2.0) / (1.0 + (x - 2.0) ** 2)


def heavy():
    """A Cauchy reference, and a shifted distribution with lighter tails; the grid extends to 1e13."""
    points = np.sinh(np.linspace(-30, 30, 60_001))
    target = sterna.Target(far_out, {"x": sterna.Cauchy(0, 1)}, gradient=far_out_gradient)
    return on_line(target, points, -np.log1p(points**2))


def two_widths(x):
    """Return the log-density of two modes, one ten times as wide as the other."""
    narrow = math.exp(-0.5 * ((x + 3.0) / 0.15) ** 2) / 0.15
    wide = math.exp(-0.5 * ((x - 3.0) / 1.5) ** 2) / 1.5
    return math.log(narrow + wide + 1e-300)


def two_widths_gradient(x):
    narrow = math.exp(-0.5 * ((x + 3.0) / 0.15) ** 2) / 0.15
    wide = math.exp(-0.5 * ((x - 3.0) / 1.5) ** 2) / 1.5
    return -(narrow * (x + 3.0) / 0.0225 + wide * (x - 3.0) / 2.25) / (narrow + wide + 1e-300)


def bimodal():
    """Two modes of unequal widths on an interval."""
    points = np.linspace(-10, 10, 60_001)
    target = sterna.Target(two_widths, {"x": sterna.Uniform(-10, 10)}, gradient=two_widths_gradient)
    return on_line(target, points, np.zeros_like(points))


def bimodal_normal():
    """The same two modes from a normal reference."""
    points = np.linspace(-18, 18, 60_001)
    target = sterna.Target(two_widths, {"x": sterna.Normal(0, 3)}, gradient=two_widths_gradient)
    return on_line(target, points, stats.norm(0, 3).logpdf(points))


def away(x):
    return -2.0 * math.log1p((x - 6.0) ** 2 / 0.1)


def far_data():
    """A narrow likelihood with heavy tails, far from the centre of a normal reference."""
    points = np.linspace(-15, 15, 60_001)
    return on_line(sterna.Target(away, {"x": sterna.Normal(-1, 2)}), points, stats.norm(-1, 2).logpdf(points))


def half_line(x):
    return -0.3 * x * x if x > 0.5 else -np.inf


def half_line_gradient(x):
    return -0.6 * x


def cliff():
    """Likelihood zero on two thirds of the reference, which has no effect at beta = 0."""
    points = np.sort(np.append(np.linspace(-8.5, 8.5, 60_001), [0.5, np.nextafter(0.5, 1.0)]))
    target = sterna.Target(half_line, {"x": sterna.Normal(0, 1)}, gradient=half_line_gradient)
    return on_line(target, points, stats.norm.logpdf(points))


# Distributions with discrete variables.


def mixed_terms(z, x, k):
    return 1.5 * z * x - 0.5 * (x - 1.0) ** 2 - 0.3 * abs(k - 7.0) + (1.0 if k % 2 == 0 else 0.0)


def mixed_gradient(z, x, k):
    return 1.5 * z - (x - 1.0)


def mixed_parts(beta):
    """Weights of z, mean of x given z, precision of x, and weights of k; weights are not normalised."""
    precision = 0.25 + beta
    means = (beta + 1.5 * beta * np.array([0.0, 1.0])) / precision
    weights = np.array([0.7, 0.3]) * np.exp(0.5 * precision * means**2 - 0.5 * beta) / math.sqrt(4 * precision)
    k = np.arange(60)
    return weights, means, precision, stats.poisson.pmf(k, 6.0) * np.exp(beta * (-0.3 * abs(k - 7) + (k % 2 == 0)))


def mixed():
    """A binary and a real variable that depend on each other, and an unbounded integer."""
    reference = {"z": sterna.Bernoulli(0.3), "x": sterna.Normal(0, 2), "k": sterna.Poisson(6.0)}
    target = sterna.Target(mixed_terms, reference, gradient=mixed_gradient)

    def draw(beta, n, rng):
        weights, means, precision, counts = mixed_parts(beta)
        z = rng.choice(2, size=n, p=weights / weights.sum())
        x = means[z] + rng.standard_normal(n) / math.sqrt(precision)
        return np.column_stack([z, x, rng.choice(60, size=n, p=counts / counts.sum())])

    def uniforms(beta, states):
        _, means, precision, _ = mixed_parts(beta)
        return [stats.norm.cdf((states[:, 1] - means[states[:, 0].astype(int)]) * math.sqrt(precision))]

    def cells(beta, states):
        weights, _, _, counts = mixed_parts(beta)
        return [(states[:, 0], weights / weights.sum()), (states[:, 2], counts / counts.sum())]

    return Law(target, draw, uniforms, cells)


@dataclass(frozen=True)
class Table:
    """All states of a small discrete target, and both of their log-densities."""

    values: list[Any]
    states: Any
    log_densities: Any

    @classmethod
    def of(cls, target, fixed=()):
        """List the states, with the first coordinates fixed."""
        p = target.program
        values = [np.array([value]) for value in fixed]
        for i in range(len(fixed), target.dimension):
            both = np.array([p.lower[i], p.upper[i]])
            values.append(both if p.value_type[i] == BINARY else np.arange(p.lower[i], p.upper[i] + 1))
        states = np.array(list(itertools.product(*values)))
        return cls(values, states, logs_of(target, states))

    def law(self, beta):
        log_densities = self.log_densities[:, 0] + (beta * self.log_densities[:, 1] if beta > 0 else 0.0)
        return np.exp(log_densities - logsumexp(log_densities))

    def numbers(self, states):
        """Return the positions of states in the list."""
        places = [np.searchsorted(values, x) for values, x in zip(self.values, states.T, strict=True)]
        return np.ravel_multi_index(places, [len(values) for values in self.values])


def finite(target, fixed=()):
    """Return the distribution of a discrete target with few states, given its first coordinates."""
    table = Table.of(target, fixed)
    return Law(
        target,
        lambda beta, n, rng: table.states[rng.choice(len(table.states), size=n, p=table.law(beta))],
        cells=lambda beta, states: [(table.numbers(states), table.law(beta))],
        block=np.arange(len(fixed), target.dimension) if len(fixed) else None,
    )


def few_terms(s, c, k):
    if s == 1 and c == 3 and k == 0:
        return -np.inf
    return 0.8 * s * k + 0.5 * c * s - 0.7 * k * c


def few_values():
    """A spin, a category of probability zero among four, and an integer from -1 to 1: 24 states."""
    reference = {
        "s": sterna.Spin(0.3),
        "c": sterna.Categorical([0.1, 0.5, 0.0, 0.4]),
        "k": sterna.DiscreteUniform(-1, 1),
    }
    return finite(sterna.Target(few_terms, reference))


# A reference with dependent coordinates: b is drawn first, and then n given b.
JOINT_TABLE = np.array([[0.2, 0.1, 0.0], [0.1, 0.25, 0.35]])


def draw_table(rng, table):
    place = np.searchsorted(np.cumsum(table.ravel()), rng.random())
    return place // 3, 5 + place % 3


def log_table(b, n, table):
    return np.log(table[b, n - 5]) if table[b, n - 5] > 0 else -np.inf


def product(b, n):
    return 0.6 * b * n - 0.2 * n


def joint_values(way=lambda function: function):
    """Six states, one of probability zero, under a joint reference; `way` can make the functions run as Python."""
    space = {"b": sterna.Binary(), "n": sterna.Integer(5, 7)}
    reference = sterna.Reference(draw_table, way(log_table), space)
    return finite(sterna.Target(way(product), reference, {"table": JOINT_TABLE}))


def hill(k):
    return -0.3 * abs(k - 7.0) + (2.0 if k % 2 == 0 else 0.0)


def integers():
    """One integer from 0 to 20, with rare odd values."""
    return finite(sterna.Target(hill, {"k": sterna.DiscreteUniform(0, 20)}))


def lattice():
    """Four spins in a field, on a periodic lattice of 2 x 2, where neighbours share two edges."""
    return finite(sterna.models.magnetic(size=2, coupling=0.4, field=0.2))


def open_lattice():
    """Four spins in a field, in a ring."""
    return finite(sterna.models.magnetic(size=2, coupling=0.4, field=0.2, periodic=False))


def glass():
    """Four spins whose couplings are random."""
    return finite(sterna.models.spin_glass(size=2, dim=2, inverse_temperature=0.5))


# A mixture: the components, out of three, of four observations, given the means.
NUMBERS = np.array([-1.8, 0.3, 2.2, 1.1])
SHARES = np.array([0.5, 0.2, 0.3])
PRIOR_MEANS = (-2.0, 0.0, 2.0)


def mixture(z, mu, y):
    return -0.5 * np.sum((y - mu[z]) ** 2)


def conditional(i, beta, mu, y, shares):
    """Log-probabilities of the values of z[i], for Gibbs."""
    return np.log(shares) - 0.5 * beta * (y[i] - mu) ** 2


def mixture_target():
    reference = {"mu": sterna.Normal(list(PRIOR_MEANS), 0.5), "z": sterna.Categorical(SHARES, shape=4)}
    return sterna.Target(mixture, reference, {"y": NUMBERS, "shares": SHARES})


def components():
    """The components of the mixture given its means: 81 states."""
    return finite(mixture_target(), fixed=(-1.5, 0.4, 1.9))


def rotors():
    """Four angles in a ring, each with two edges to each of its neighbours.

    Given two opposite ones, the others are independent, of von Mises' law; and the distance of two opposite ones has
    what is left over when the others are integrated out.
    """
    coupling = 0.6
    points = np.linspace(-math.pi, math.pi, 60_001)

    @cache
    def distance(beta):
        strength = 4 * beta * coupling * np.abs(np.cos(0.5 * points))
        return Grid.of(points, 2 * (np.log(i0e(strength)) + strength))

    def given(beta, first, second):
        pull = 2 * (np.exp(1j * first) + np.exp(1j * second))
        # SciPy requires a positive concentration
        return np.angle(pull), np.maximum(beta * coupling * np.abs(pull), 1e-12)

    def draw(beta, n, rng):
        second = rng.uniform(-math.pi, math.pi, n)
        third = wrapped(second + distance(beta).rvs(n, rng))
        centre, strength = given(beta, second, third)
        ends = [wrapped(centre + rng.vonmises(0.0, strength)) for _ in range(2)]
        return np.column_stack([ends[0], second, third, ends[1]])

    def uniforms(beta, states):
        centre, strength = given(beta, states[:, 1], states[:, 2])
        ends = [stats.vonmises.cdf(wrapped(states[:, k] - centre), strength) for k in (0, 3)]
        places = [0.5 + states[:, k] / (2 * math.pi) for k in range(4)]
        return [*places, *ends, distance(beta).cdf(wrapped(states[:, 2] - states[:, 1]))]

    return Law(sterna.models.rotor(size=2, coupling=coupling), draw, uniforms)


def wrapped(angle):
    """Return the same angle between -pi and pi."""
    return np.remainder(angle + math.pi, 2 * math.pi) - math.pi


# Every distribution and its number of comparisons: uniform columns, tables of cells, and energies.
COMPARISONS = {
    gaussian: 5,
    model: 5,
    latent: 5,
    joint: 4,
    bounded: 4,
    simplex: 4,
    circle: 3,
    banana: 3,
    funnel: 3,
    heavy: 2,
    bimodal: 2,
    bimodal_normal: 2,
    far_data: 2,
    cliff: 2,
    mixed: 4,
    few_values: 2,
    joint_values: 2,
    integers: 2,
    lattice: 2,
    open_lattice: 2,
    glass: 2,
    components: 2,
    rotors: 8,
}
MAKERS = {maker.__name__: maker for maker in COMPARISONS}


@cache
def law(name):
    """Return a distribution, created once."""
    return MAKERS[name]()
