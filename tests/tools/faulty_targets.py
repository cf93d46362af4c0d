"""Targets with a fault each, as users make them; a run must refuse every one of them."""

import itertools
import math
import random
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

import sterna

settings = ModuleType("settings")
settings.centre = 2.0

NORMAL = {"x": sterna.Normal(0, 10)}
PAIR = {"x": sterna.Normal(0, 3, shape=3)}


@dataclass(frozen=True)
class Fault:
    """A faulty target, and a part of the message that names the fault."""

    target: Any
    message: str
    options: dict[str, Any] = field(default_factory=dict)


def inverse(x, n):
    return -0.5 * (x - n**-1) ** 2


def factorial(x, n):
    product = 1
    for k in range(1, n + 1):
        product = product * k
    return -0.5 * (x - math.log(product)) ** 2


def divided(x, n):
    return -0.5 * (x - 1 // n) ** 2


def inverses(x, n):
    return -0.5 * np.sum((x - n**-1) ** 2)


def noisy_compiled(x):
    return -0.5 * x**2 + np.random.normal(0.0, 2.0)  # noqa: NPY002


def noisy(x):
    return -0.5 * x**2 + random.gauss(0.0, 2.0)


def noisy_batch(x):
    return -0.5 * x**2 + np.random.default_rng().normal(0.0, 2.0, len(x))


def counting():
    """Return a function whose value depends on how often it was called."""
    calls = itertools.count()
    return lambda x: -0.5 * x**2 + 0.01 * next(calls)


def with_default(x, centre=2.0):
    return -0.5 * (x - centre) ** 2


def distance(x, centre=2.0):
    return (x - centre) ** 2


def with_helper(x):
    return -0.5 * distance(x)


def with_module(x):
    return -0.5 * (x - settings.centre) ** 2


def stale(change, function):
    """Return a target that was made before a value changed, which its function captures."""
    target = sterna.Target(function, NORMAL)
    change()
    return target


def change_default(function):
    """Return what gives a function another default, but no earlier one."""

    def change():
        function.__defaults__ = (5.0,) if function.__defaults__ == (2.0,) else (2.0,)

    return change


def change_module():
    settings.centre = 7.0 - settings.centre


def ring(s):
    total = 0.0
    for i in range(s.size):
        total += (2 * s[i] - 1) * (2 * s[(i + 1) % s.size] - 1)
    return total


def half_ring_change(x, i, new):
    return 2 * (new - x[i]) * (2 * x[(i + 1) % x.size] - 1)


def squares(x):
    return -0.5 * np.sum((x - 1.0) ** 2)


def wrong_component(x):
    slopes = 1.0 - x
    slopes[1] = -slopes[1]
    return slopes


def draw_pair(rng, width):
    return rng.normal(0.0, width), math.exp(rng.normal(0.0, 0.5))


def log_density(a, b):
    return -0.5 * a**2 - 0.5 * (math.log(b) / 0.5) ** 2 - math.log(b)


def without_jacobian(a, b):
    return -0.5 * a**2 - 0.5 * (math.log(b) / 0.5) ** 2


def forgetful_change(x, i, new):
    if i == 0:
        return -0.5 * (new**2 - x[0] ** 2)
    return -0.5 * ((math.log(new) / 0.5) ** 2 - (math.log(x[1]) / 0.5) ** 2)


def reference(width, density, change=None):
    space = {"a": sterna.Real(), "b": sterna.Real(lower=0)}
    joint = sterna.Reference(draw_pair, density, space, local_change=change)
    return sterna.Target(lambda a, b: -0.5 * (a - b) ** 2, joint, {"width": width})


def counted(k, d):
    """Poisson counts: draws of d given k, and a density that forgets that k is twice as likely as its draws."""
    return k * math.log(2.0) - math.lgamma(k + 1.0) + 2 * d * math.log(0.5)


def draw_counts(rng):
    return rng.poisson(1.6), rng.geometric(0.75) - 1


def discrete_reference():
    space = {"k": sterna.Integer(lower=0), "d": sterna.Integer(lower=0)}
    return sterna.Target(lambda k, d: -0.1 * (k - d) ** 2, sterna.Reference(draw_counts, counted, space))


def misspelt(x, y=None):
    return -0.5 * x**2 if y is None else -0.5 * (x - y) ** 2


def labelled(z, mu, y):
    return -0.5 * np.sum((y - mu[z]) ** 2)


def mixture():
    data = {"y": np.array([-2.0, 1.9, 2.1])}
    prior = {"z": sterna.Categorical([0.5, 0.5], shape=3), "mu": sterna.Normal(0, 3, shape=2)}
    return sterna.Target(labelled, prior, data)


GIBBS = {"z": sterna.Gibbs(conditional=lambda i, beta, mu, y: -0.25 * beta * (y[i] - mu) ** 2), "mu": sterna.Slice()}
HMC = {"explorer": "hmc"}

FAULTS = {
    "inverse of an integer": lambda: Fault(sterna.Target(inverse, NORMAL, {"n": 2}), "when compiled"),
    "inverses of integers": lambda: Fault(sterna.Target(inverses, NORMAL, {"n": np.array([2, 4])}), "when compiled"),
    "factorial": lambda: Fault(sterna.Target(factorial, NORMAL, {"n": 25}), "when compiled"),
    "division by zero": lambda: Fault(sterna.Target(divided, NORMAL, {"n": 0}), "raises ZeroDivisionError"),
    "stale default": lambda: Fault(stale(change_default(with_default), with_default), "make it again"),
    "stale helper": lambda: Fault(stale(change_default(distance), with_helper), "make it again"),
    "stale module": lambda: Fault(stale(change_module, with_module), "make it again"),
    "noise, compiled": lambda: Fault(sterna.Target(noisy_compiled, NORMAL), "at the same point"),
    "noise": lambda: Fault(sterna.Target(noisy, NORMAL), "at the same point"),
    "noise of a batch": lambda: Fault(sterna.Target(noisy_batch, NORMAL, vectorized=True), "the same point"),
    "counting calls": lambda: Fault(sterna.Target(counting(), NORMAL, compile=False), "at the same point"),
    "forgotten neighbour": lambda: Fault(
        sterna.Target(ring, {"s": sterna.Bernoulli(0.5, shape=12)}, local_change=half_ring_change), "local_change"
    ),
    "forgotten term of the reference": lambda: Fault(
        reference(1.0, log_density, forgetful_change), "The reference's local_change"
    ),
    "wrong conditional": lambda: Fault(mixture(), "conditional", {"explorer": GIBBS}),
    "wrong sign of the gradient": lambda: Fault(
        sterna.Target(squares, PAIR, gradient=lambda x: x - 1.0), "gradient gives the slope", HMC
    ),
    "half of the gradient": lambda: Fault(
        sterna.Target(squares, PAIR, gradient=lambda x: 0.5 * (1.0 - x)), "gradient gives the slope", HMC
    ),
    "wrong sign of one component": lambda: Fault(
        sterna.Target(squares, PAIR, gradient=wrong_component), "gradient gives the slope", HMC
    ),
    "draws too wide": lambda: Fault(reference(1.3, log_density), "do not describe the same distribution"),
    "draws too narrow": lambda: Fault(reference(0.8, log_density), "do not describe the same distribution"),
    "density without its Jacobian": lambda: Fault(
        reference(1.0, without_jacobian), "do not describe the same distribution"
    ),
    "counts of another rate": lambda: Fault(discrete_reference(), "do not describe the same distribution"),
    "misspelt data": lambda: Fault(sterna.Target(misspelt, NORMAL, {"yy": 3.0}), "keeps its default"),
    "data of another name": lambda: Fault(sterna.Target(misspelt, NORMAL, {"seen": 3.0}), "keeps its default"),
    "truth value among numbers": lambda: Fault(
        sterna.Target(lambda x: True if x > 0 else -3.0, NORMAL), "a truth value"
    ),
    "truth value of an array": lambda: Fault(
        sterna.Target(lambda x: np.array(x > 0), NORMAL, compile=False), "a truth value"
    ),
    "text": lambda: Fault(sterna.Target(lambda x: "1.0", NORMAL), "must return one number"),
}
