"""Sick problems that are users' mistakes or traps of compiled code: an error that names them is the best answer."""

import math
import random
import types

import honesty_exact as exact
import numpy as np
from honesty_outcome import DefaultRun, Problem, mean, share

import sterna

# A run without any right answer: only an error or a warning is honest.
NO_TRUTH = math.nan


def ring_likelihood(state, coupling):
    """Equal neighbours on a ring."""
    total = 0.0
    for i in range(state.size):
        if state[i] == state[(i + 1) % state.size]:
            total += coupling
    return total


def ring_change(x, i, new, coupling):
    """A change that forgets one of the two neighbours."""
    before = x[i] == x[i - 1]
    after = new == x[i - 1]
    return coupling * (after - before)


def chain_likelihood(x, stiffness):
    """Springs between neighbours, and one at the first coordinate."""
    total = -0.5 * stiffness * (x[0] - 1.0) ** 2
    for i in range(x.size - 1):
        total -= 0.5 * stiffness * (x[i + 1] - x[i]) ** 2
    return total


def chain_change(x, i, new, stiffness):
    """A change that forgets the next neighbour."""
    before = x[i - 1] if i > 0 else 1.0
    return -0.5 * stiffness * ((new - before) ** 2 - (x[i] - before) ** 2)


def wrong_local_changes():
    """Local changes that forget a neighbour."""
    problems = []
    for size, coupling in ((10, 1.0), (30, 0.7)):
        log_z = math.log((math.exp(coupling) + 1) ** size + (math.exp(coupling) - 1) ** size) - size * math.log(2.0)
        reference = {"state": sterna.Bernoulli(0.5, shape=size)}
        run = DefaultRun(
            lambda r=reference, c=coupling: sterna.Target(ring_likelihood, r, {"coupling": c}, local_change=ring_change)
        )
        truths = (share("state[0]", 0.5, lambda values: values["state"][..., 0] == 1),)
        problems.append(Problem(f"ring of {size}", run, log_z, truths, frozenset({"local change"})))
    size, stiffness = 6, 4.0
    precision = stiffness * (2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1))
    precision[-1, -1] = stiffness
    log_z, means, spreads = exact.normal_evidence(precision, np.ones(size), 2.0)
    reference = {"x": sterna.Normal(0, 2, shape=size)}
    run = DefaultRun(
        lambda: sterna.Target(chain_likelihood, reference, {"stiffness": stiffness}, local_change=chain_change)
    )
    truths = (mean("x", means[-1], spreads[-1], size - 1),)
    return [*problems, Problem("springs", run, log_z, truths, frozenset({"local change"}))]


def narrow_likelihood(x):
    """A normal likelihood around 1."""
    return -8.0 * (x - 1.0) ** 2


def wide_draw(rng):
    """Draw with a standard deviation of 1.5."""
    return 1.5 * rng.standard_normal()


def shifted_draw(rng):
    """Draw around 0.5."""
    return 0.5 + rng.standard_normal()


def standard_density(x):
    """The standard normal density."""
    return -0.5 * x * x - 0.5 * math.log(2.0 * math.pi)


def scale_draw(rng):
    """Draw a scale whose logarithm is normal."""
    return math.exp(rng.standard_normal())


def scale_density(x):
    """A density of the logarithm, without the Jacobian 1 / x."""
    return -0.5 * math.log(x) ** 2 - 0.5 * math.log(2.0 * math.pi)


def wrong_references():
    """References whose draws and density differ."""
    log_z, means, spreads = exact.normal_evidence(np.array([[16.0]]), np.array([1.0]), 1.0)
    truths = (mean("x", means[0], spreads[0]),)
    problems = [
        Problem(
            name,
            DefaultRun(
                lambda d=draw: sterna.Target(
                    narrow_likelihood, sterna.Reference(d, standard_density, {"x": sterna.Real()})
                )
            ),
            log_z,
            truths,
            frozenset({"draws"}),
        )
        for name, draw in (("scale", wide_draw), ("shift", shifted_draw))
    ]
    above, centre, spread = exact.density_on_line(lambda x: narrow_likelihood(x) + scale_density(x), 1e-6, 10.0, 1.0)
    # the integral of exp(-log(x)^2 / 2) over x is sqrt(2 pi) e^(1/2)
    run = DefaultRun(
        lambda: sterna.Target(
            narrow_likelihood, sterna.Reference(scale_draw, scale_density, {"x": sterna.Real(lower=0.0)})
        )
    )
    return [*problems, Problem("Jacobian", run, above - 0.5, (mean("x", centre, spread),), frozenset({"draws"}))]


def noisy_likelihood(x):
    """Compiled noise of sd 2."""
    return -8.0 * (x - 1.0) ** 2 + 2.0 * np.random.normal()  # noqa: NPY002


def noisy_python_likelihood(x):
    """Noise of sd 2 in a function that runs as Python."""
    return -8.0 * (x - 1.0) ** 2 + random.gauss(0.0, 2.0)


def noisy_likelihoods():
    """Likelihoods with random noise: what is asked for is their value without it."""
    log_z, means, spreads = exact.normal_evidence(np.array([[16.0]]), np.array([1.0]), 1.0)
    return [
        Problem(
            name,
            DefaultRun(lambda f=function, c=compile: sterna.Target(f, {"x": sterna.Normal(0, 1)}, compile=c)),
            log_z,
            (mean("x", means[0], spreads[0]),),
            frozenset({"noisy", "compiled"}),
        )
        for name, function, compile in (
            ("compiled", noisy_likelihood, True),
            ("Python", noisy_python_likelihood, False),
        )
    ]


def wells_likelihood(x):
    """A steep quartic."""
    total = 0.0
    for i in range(x.size):
        total -= 10.0 * (x[i] ** 2 - 1.0) ** 2
    return total


def wrong_sign(x):
    """The gradient of the quartic with the wrong sign."""
    return 40.0 * x * (x**2 - 1.0)


def half_forgotten(x):
    """The gradient of the quartic, but for every other coordinate."""
    slopes = -40.0 * x * (x**2 - 1.0)
    slopes[::2] = 0.0
    return slopes


def wrong_gradients():
    """Gradients that do not belong to their function."""
    problems = []
    log_z = exact.density_on_line(
        lambda x: -10.0 * (x * x - 1.0) ** 2 - 0.5 * x * x - 0.5 * math.log(2 * math.pi), -5.0, 5.0, -1.0, 0.0, 1.0
    )[0]
    for size, name, gradient in ((2, "sign", wrong_sign), (12, "sign", wrong_sign), (12, "half", half_forgotten)):
        run = DefaultRun(
            lambda n=size, g=gradient: sterna.Target(wells_likelihood, {"x": sterna.Normal(0, 1, shape=n)}, gradient=g)
        )
        truths = (share("x[0] > 0", 0.5, lambda values: values["x"][..., 0] > 0),)
        problems.append(Problem(f"{name}, d={size}", run, size * log_z, truths, frozenset({"gradient"})))
    return problems


def power_likelihood(x, n):
    """Integers to a negative power are integers when compiled."""
    return -50.0 * (x - n**-1) ** 2


def factorial_likelihood(x, n):
    """A factorial that overflows 64 bits."""
    product = 1
    for k in range(1, n + 1):
        product *= k
    return n * math.log(x) - x - math.log(product)


def division_likelihood(x, n, m):
    """An integer division by zero, which raises in Python."""
    return -0.5 * (x - n // m) ** 2


def integers():
    """Integers that are something else when compiled."""
    log_z, means, spreads = exact.normal_evidence(np.array([[100.0]]), np.array([0.5]), 1.0)
    compiled = frozenset({"compiled"})
    # Exponential(1) and Poisson(25): the integral of x^25 exp(-2 x) / 25! is 2^-26
    count = Problem(
        "factorial",
        DefaultRun(lambda: sterna.Target(factorial_likelihood, {"x": sterna.Exponential(1.0)}, {"n": 25})),
        -26 * math.log(2.0),
        (mean("x", 13.0, math.sqrt(26.0) / 2),),
        compiled,
    )
    return [
        Problem(
            "negative power",
            DefaultRun(lambda: sterna.Target(power_likelihood, {"x": sterna.Normal(0, 1)}, {"n": 2})),
            log_z,
            (mean("x", means[0], spreads[0]),),
            compiled,
        ),
        count,
        Problem(
            "division by zero",
            DefaultRun(lambda: sterna.Target(division_likelihood, {"x": sterna.Normal(0, 1)}, {"n": 1, "m": 0})),
            NO_TRUTH,
            (),
            compiled,
        ),
    ]


SETTINGS = types.ModuleType("settings")
SETTINGS.centre = 0.0


def default_likelihood(x, centre=0.0):
    """A likelihood around a default value."""
    return -50.0 * (x - centre) ** 2


def helper(x, centre=0.0):
    """A helper with a default value."""
    return -50.0 * (x - centre) ** 2


def helped_likelihood(x):
    """A likelihood that calls a helper."""
    return helper(x)


def module_likelihood(x):
    """A likelihood around a module's attribute."""
    return -50.0 * (x - SETTINGS.centre) ** 2


def set_default(value):
    """Change the default of the likelihood."""
    default_likelihood.__defaults__ = (value,)


def set_helper(value):
    """Change the default of the helper."""
    helper.__defaults__ = (value,)


def set_module(value):
    """Change the module's attribute."""
    SETTINGS.centre = value


def changed_values():
    """What a function depends on changes between two runs; the second run is asked."""
    log_z, means, spreads = exact.normal_evidence(np.array([[100.0]]), np.array([2.0]), 1.0)
    problems = []
    for name, function, change in (
        ("default", default_likelihood, set_default),
        ("helper's default", helped_likelihood, set_helper),
        ("module's attribute", module_likelihood, set_module),
    ):

        def run(seed, function=function, change=change):
            change(0.0)
            sterna.sample(function, {"x": sterna.Normal(0, 1)}, n_rounds=2, explorer="slice", progress=False)
            change(2.0)
            return sterna.sample(function, {"x": sterna.Normal(0, 1)}, seed=seed, progress=False)

        problems.append(Problem(name, run, log_z, (mean("x", means[0], spreads[0]),), frozenset({"compiled"})))
    return problems


def offset_likelihood(z, z__offset):
    """Data whose name looks like one of sterna's own."""
    total = 0.0
    for i in range(z.size):
        total -= 0.5 * (z[i] - z__offset) ** 2
    return total


def text_likelihood(x):
    """A number as text."""
    return str(-0.5 * x * x)


def bool_likelihood(x):
    """A condition instead of its logarithm."""
    return x > 0


def names_and_types():
    """Misspelt data, data with a name that sterna uses, and likelihoods that return something else than a number."""
    log_z, means, spreads = exact.normal_evidence(np.eye(2), np.full(2, 50.0), 20.0)
    reference = {"z": sterna.MultivariateNormal(np.zeros(2), 400.0 * np.eye(2))}
    offset = Problem(
        "name of sterna's",
        DefaultRun(lambda: sterna.Target(offset_likelihood, reference, {"z__offset": 50.0})),
        log_z,
        (mean("z", means[0], spreads[0], 0),),
        frozenset({"data"}),
    )
    one_log_z, one_means, one_spreads = exact.normal_evidence(np.array([[100.0]]), np.array([2.0]), 1.0)

    def misspelt(seed):
        set_default(0.0)
        return sterna.sample(default_likelihood, {"x": sterna.Normal(0, 1)}, {"center": 2.0}, seed=seed, progress=False)

    def returning(name, function):
        run = DefaultRun(lambda: sterna.Target(function, {"x": sterna.Normal(0, 1)}))
        return Problem(name, run, NO_TRUTH, (), frozenset({"returned"}))

    return [
        offset,
        Problem("misspelt", misspelt, one_log_z, (mean("x", one_means[0], one_spreads[0]),), frozenset({"data"})),
        returning("text", text_likelihood),
        returning("bool", bool_likelihood),
    ]


FAMILIES = {
    "wrong local change": wrong_local_changes,
    "wrong reference draws": wrong_references,
    "noisy likelihood": noisy_likelihoods,
    "wrong gradient": wrong_gradients,
    "integers": integers,
    "changed values": changed_values,
    "names and types": names_and_types,
}
