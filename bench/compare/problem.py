"""What a problem is: a prior, a likelihood for each kind of package, and the exact answer."""

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

import sterna

FloatArray = Any

# CPU time, if the machine has other work to do: with one thread it is what the clock on the wall shows when it has not.
CPU = os.environ.get("COMPARE_CLOCK") == "cpu"


def clock() -> float:
    """Return seconds; CPU time includes that of ended children, such as a C compiler."""
    if not CPU:
        return time.perf_counter()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


# The files by which a run tells that it has begun, after its imports, and that it is done but for the measures.
BEGAN, ENDED = "began", "ended"


@dataclass(frozen=True)
class Prior:
    """Independent coordinates: uniform from `first` to `second`, or normal with mean `first` and sd `second`."""

    is_normal: FloatArray
    first: FloatArray
    second: FloatArray

    @property
    def dimension(self) -> int:
        return len(self.first)

    def reference(self) -> dict[str, Any]:
        """Return the same prior for sterna."""
        if self.is_normal.all():
            return {"x": sterna.Normal(self.first, self.second)}
        if not self.is_normal.any():
            return {"x": sterna.Uniform(self.first, self.second)}
        families = [sterna.Normal if one else sterna.Uniform for one in self.is_normal]
        return {f"x{i}": families[i](self.first[i], self.second[i]) for i in range(self.dimension)}

    def from_cube(self, u: FloatArray) -> FloatArray:
        """Map uniform numbers to draws of the prior; the last axis is the coordinate."""
        u = np.asarray(u, dtype=float)
        uniform = self.first + (self.second - self.first) * u
        if not self.is_normal.any():
            return uniform
        return np.where(self.is_normal, self.first + self.second * ndtri(u), uniform)

    def draw(self, rng: np.random.Generator, *shape: int) -> FloatArray:
        """Draw from the prior."""
        return self.from_cube(rng.random((*shape, self.dimension)))

    @cached_property
    def constant(self) -> float:
        """The log-density without what depends on the point."""
        uniform = np.log(self.second - self.first)[~self.is_normal].sum()
        return -float(uniform + np.log(self.second * np.sqrt(2 * np.pi))[self.is_normal].sum())

    def log_density(self, x: FloatArray) -> float:
        """Return the log-density of one vector, -inf outside of the support."""
        if self.is_normal.all():
            z = (x - self.first) / self.second
            return self.constant - 0.5 * float(z @ z)
        outside = (x < self.first) | (x > self.second)
        if not self.is_normal.any():
            return -np.inf if outside.any() else self.constant
        z = ((x - self.first) / self.second)[self.is_normal]
        return -np.inf if outside[~self.is_normal].any() else self.constant - 0.5 * float(z @ z)


def box(low: float, high: float, dimension: int) -> Prior:
    """Return a uniform prior."""
    return Prior(np.zeros(dimension, dtype=bool), np.full(dimension, float(low)), np.full(dimension, float(high)))


def normals(means: FloatArray, sds: FloatArray) -> Prior:
    """Return an independent normal prior."""
    return Prior(np.ones(len(means), dtype=bool), np.asarray(means, dtype=float), np.asarray(sds, dtype=float))


@dataclass(frozen=True)
class Problem:
    """One entry of the comparison."""

    name: str
    prior: Prior
    log_likelihood: Callable[[FloatArray, Any], Any]
    """Of one vector and of the module that computes: `numpy`, `jax.numpy` or `pytensor.tensor`."""
    target: Callable[[], sterna.Target]
    """The same for sterna, as its users write it."""
    log_evidence: float
    weights: FloatArray = ()
    """Exact weights of the modes; empty if there is one mode."""
    mode_of: Callable[[FloatArray], FloatArray] | None = None
    """From draws of shape (draws, dimension) to the number of the mode of each."""
    busy: float = 0.0
    """Seconds that an evaluation takes at least: the processor is kept busy, and nobody sees the source."""
    exact: str = "exact"
    """How the log evidence is known."""

    @property
    def dimension(self) -> int:
        return self.prior.dimension

    def plain(self) -> Callable[[FloatArray], float]:
        """Return the function of one vector that all packages call which do not need JAX or PyTensor."""
        function, busy = self.log_likelihood, self.busy

        def log_likelihood(x: FloatArray) -> float:
            return float(function(x, np))

        def slow(x: FloatArray) -> float:
            until = clock() + busy
            value = float(function(x, np))
            while clock() < until:
                pass
            return value

        return slow if busy else log_likelihood


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., float]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, x: FloatArray) -> float:
        self.calls += 1
        return self.function(x)


@dataclass(frozen=True)
class Settings:
    """What a run is given beside the problem and the seed."""

    quick: bool
    """The smallest settings, to see whether everything works."""
    limit: float
    """Seconds after which the run is ended."""

    @property
    def budget(self) -> float:
        """Seconds for which packages run that do not stop by themselves."""
        return 0.2 * self.limit


@dataclass(frozen=True)
class Outcome:
    """What a package found."""

    draws: FloatArray
    """Of shape (draws, dimension), or (chains, draws, dimension)."""
    evaluations: int
    ess: float | None = None
    """The effective size that the package states; that of the chains is measured when the run is over."""
    weights: FloatArray | None = None
    """Of the draws, if they are not equal."""
    log_evidence: float | None = None
    error: float | None = None
    """The standard error that the package states."""
    compile_seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    """What the package says against its own result; only sterna's are known."""


def kish(weights: FloatArray) -> float:
    """Return the effective number of weighted draws."""
    return float(weights.sum() ** 2 / (weights**2).sum())
