"""Random targets without a fault, as users write them: every check before a run must let them pass."""

import math

import numpy as np

import sterna


def regression(rng):
    """A linear regression with a gradient, on data of any size and scale, some in single precision."""
    n, scale = int(rng.integers(2, 400)), 10.0 ** rng.uniform(-3, 3)
    x = rng.standard_normal(n) * scale
    y = (3.0 * x + rng.standard_normal(n)).astype(rng.choice([np.float32, np.float64]))

    def log_likelihood(a, b, x, y):
        return -0.5 * np.sum((y - a - b * x) ** 2)

    def gradient(a, b, x, y):
        left = y - a - b * x
        return np.sum(left), np.sum(left * x)

    reference = {"a": sterna.Normal(0, 10), "b": sterna.StudentT(3, 0, 5)}
    return sterna.Target(log_likelihood, reference, {"x": x, "y": y}, gradient=gradient)


def counts(rng):
    """Integers among variables and data, and powers and divisions of them that are the same when compiled."""
    k = rng.poisson(4.0, int(rng.integers(3, 30)))

    def log_likelihood(n, p, k, offset):
        total = 0.0
        for one in k:
            if one > n:
                return -np.inf
            total += math.lgamma(n + 1) - math.lgamma(n - one + 1) + one * math.log(p) + (n - one) * math.log1p(-p)
        return total + (n // 2 + n % 3) * offset - n**2 / 1000

    reference = {"n": sterna.Poisson(float(rng.uniform(20, 60))), "p": sterna.Beta(2, 2)}
    return sterna.Target(log_likelihood, reference, {"k": k, "offset": float(rng.normal())})


def lattice(rng):
    """Spins on a ring, with a local change and couplings of any size."""
    size = int(rng.integers(3, 60))
    couplings = rng.standard_normal(size) * 10.0 ** rng.uniform(-2, 1)

    def log_likelihood(s, couplings):
        total = 0.0
        for i in range(s.size):
            total += couplings[i] * (2 * s[i] - 1) * (2 * s[(i + 1) % s.size] - 1)
        return total

    def local_change(x, i, new, couplings):
        left, right = 2 * x[i - 1] - 1, 2 * x[(i + 1) % x.size] - 1
        return 2 * (new - x[i]) * (couplings[i] * right + couplings[i - 1] * left)

    reference = {"s": sterna.Bernoulli(float(rng.uniform(0.2, 0.8)), shape=size)}
    return sterna.Target(log_likelihood, reference, {"couplings": couplings}, local_change=local_change)


def hierarchy(rng):
    """A joint reference with its own gradient and local change: effects of a random, heavy-tailed scale."""
    size, width = int(rng.integers(1, 12)), float(rng.uniform(0.3, 1.5))

    def draw(rng, width):
        scale = math.exp(rng.normal(0.0, width))
        return scale, rng.normal(0.0, scale, size)

    def log_density(scale, effects, width):
        log_scale = math.log(scale)
        of_effects = -0.5 * np.sum(effects**2) / scale**2 - effects.size * log_scale
        return of_effects - 0.5 * (log_scale / width) ** 2 - log_scale

    def slope(scale, effects, width):
        of_scale = np.sum(effects**2) / scale**3 - (effects.size + 1 + math.log(scale) / width**2) / scale
        return of_scale, -effects / scale**2

    def log_likelihood(effects):
        return -0.5 * np.sum((effects - 1.0) ** 2)

    space = {"scale": sterna.Real(lower=0), "effects": sterna.Real(shape=size)}
    reference = sterna.Reference(draw, log_density, space, gradient=slope)
    return sterna.Target(log_likelihood, reference, {"width": width}, gradient=lambda effects: 1.0 - effects)


def tree(rng):
    """A joint reference on integers, binaries and a simplex, of which most neighbours have no mass."""
    chance = float(rng.uniform(0.2, 0.8))

    def draw(rng):
        n = rng.poisson(3.0)
        marked = 1 if n > 2 and rng.random() < chance else 0
        first = rng.beta(2.0, 3.0 + n)
        return n, marked, _three(rng, first)

    def log_density(n, marked, shares):
        if marked == 1 and n <= 2:
            return -np.inf
        of_mark = 0.0 if n <= 2 else math.log(chance if marked == 1 else 1 - chance)
        of_first = math.log(shares[0]) + (2.0 + n) * math.log1p(-shares[0]) - _log_beta(2.0, 3.0 + n)
        return n * math.log(3.0) - math.lgamma(n + 1.0) + of_mark + of_first - math.log1p(-shares[0])

    space = {"n": sterna.Integer(lower=0), "marked": sterna.Binary(), "shares": sterna.Simplex(3)}
    return sterna.Target(
        lambda n, shares: -0.1 * n + 2 * math.log(shares[1]), sterna.Reference(draw, log_density, space)
    )


def _three(rng, first):
    second = rng.random() * (1 - first)
    return np.array([first, second, 1 - first - second])


def _log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def kinks(rng):
    """Kinks, steps and regions of likelihood zero, with the gradient that holds elsewhere."""
    edge = float(rng.uniform(-1, 3))

    def log_likelihood(x, edge):
        if x[0] < -5:
            return -np.inf
        return -np.abs(x[0] - edge) - np.sum(np.maximum(x, 0.0)) - (3.0 if x[1] > edge else 0.0)

    def gradient(x, edge):
        slopes = np.where(x > 0, -1.0, 0.0)
        slopes[0] -= np.sign(x[0] - edge)
        return slopes

    return sterna.Target(log_likelihood, {"x": sterna.Laplace(0, 3, shape=4)}, {"edge": edge}, gradient=gradient)


def vectors(rng):
    """Correlated normal vectors and simplices, stored in other coordinates, with their gradient."""
    root = rng.standard_normal((3, 3))

    def log_likelihood(z, w):
        return -0.5 * np.sum((z - 1.0) ** 2) + 3.0 * np.log(w[0]) + np.log(w[2])

    def gradient(z, w):
        return 1.0 - z, np.array([3.0 / w[0], 0.0, 1.0 / w[2]])

    reference = {
        "z": sterna.MultivariateNormal(rng.standard_normal(3), root @ root.T + 0.01 * np.eye(3)),
        "w": sterna.Dirichlet(rng.uniform(0.5, 3.0, 3)),
    }
    return sterna.Target(log_likelihood, reference, gradient=gradient)


def chaos(rng):
    """A chaotic map, whose last state is all rounding errors: another order of operations gives another value."""
    steps = int(rng.integers(60, 200))

    def log_likelihood(r, start, steps):
        x = start
        for _ in range(steps):
            x = r * x * (1.0 - x)
        return -50.0 * (x - 0.3) ** 2

    return sterna.Target(
        log_likelihood, {"r": sterna.Uniform(3.6, 4.0), "start": sterna.Uniform(0.1, 0.9)}, {"steps": steps}
    )


def overflow(rng):
    """Exponentials that overflow, which Python's own floats refuse and compiled code and NumPy do not."""
    y = (rng.random(int(rng.integers(5, 50))) < 0.5).astype(np.int64)
    x = rng.standard_normal(len(y)) * 100

    def log_likelihood(a, b, x, y):
        total = 0.0
        for i in range(y.size):
            z = a + b * x[i]
            total -= math.log1p(math.exp(-z)) if y[i] == 1 else math.log1p(math.exp(z))
        return total

    return sterna.Target(log_likelihood, {"a": sterna.Normal(0, 10), "b": sterna.Cauchy(0, 2.5)}, {"x": x, "y": y})


def black_box(rng):
    """Python alone: many points at once, with a gradient, or an object that Numba does not compile."""
    centre = rng.normal()
    if rng.random() < 0.5:
        return sterna.Target(
            lambda x: -0.5 * np.sum((x - centre) ** 2, axis=1),
            {"x": sterna.Normal(0, 3, shape=3)},
            gradient=lambda x: centre - x,
            vectorized=True,
        )
    settings = {"centre": centre}
    return sterna.Target(
        lambda x: -0.5 * sum((value - settings["centre"]) ** 2 for value in x.tolist()),
        {"x": sterna.Normal(0, 3, shape=3)},
    )


FAMILIES = {
    family.__name__: family
    for family in (regression, counts, lattice, hierarchy, tree, kinks, vectors, chaos, overflow, black_box)
}


def sound_target(family, seed):
    """Return a target of a family."""
    return FAMILIES[family](np.random.default_rng(seed))
