"""Isotropic normal model (paper, appendix on the Gaussian model)."""

import math
from typing import NamedTuple

from numba import types

from sterna.distributions import Normal
from sterna.engine.callback import HEAD
from sterna.engine.program import Program, with_likelihood
from sterna.errors import OptionError
from sterna.explorers import hamiltonian
from sterna.explorers import slice as slices
from sterna.ground.compilation import as_pointer, compiled, inlined
from sterna.ground.streams import Stream
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray, FloatPointer, IntPointer


@checked
def normal(dim: int = 5, precision: float = 5.0) -> Target:
    r"""Isotropic normal target of a given precision, from a standard normal reference.

    The reference is N(0, I) and the target N(0, I / precision), so V(x) = (precision - 1) |x|^2 / 2 and
    log Z(1)/Z(0) = -(dim / 2) log(precision). Lambda = 2^(1-dim) log(precision) / B(dim/2, dim/2).

    Above 100 coordinates, single-coordinate updates compute only the change of their own square, not the whole sum.

    Examples
    --------
    >>> import sterna
    >>> sterna.models.normal(dim=2, precision=10).log_densities(x=[0.0, 1.0])
    (-2.3378770664093453, -4.5)
    """
    if dim < 1 or not 0 < precision < math.inf:
        raise OptionError(
            f"normal(dim={dim}, precision={precision}): dim must be at least 1 and precision positive and finite."
        )
    small = dim <= 100
    kernels = {hamiltonian.explore_plain: explore_trajectories}
    return Target(
        log_likelihood,
        {"x": Normal(0.0, 1.0, shape=dim)},
        {"half": 0.5 * (precision - 1.0)},
        local_change=None if small else local_change,
        gradient=gradient,
        kernels=kernels | {slices.explore: explore} if small else kernels,
        name="normal",
    )


def log_likelihood(x: FloatArray, half: float) -> float:
    """Return -V."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return -half * total


def local_change(x: FloatArray, i: int, new: float, half: float) -> float:
    """Return the change of -V when coordinate i becomes `new`."""
    return -half * (new * new - x[i] * x[i])


def gradient(x: FloatArray, half: float) -> FloatArray:
    """Return the gradient of -V."""
    return -2.0 * half * x


class Squares(NamedTuple):
    """The same likelihood, compiled in place, because it is so cheap that a call would double its cost."""

    half: float

    @staticmethod
    def value(likelihood: "Squares", x: FloatPointer, dimension: int, data: int) -> float:
        """Return -V."""
        total = 0.0
        for i in range(dimension):
            total += x[i] * x[i]
        return -likelihood.half * total

    @staticmethod
    def gradient(likelihood: "Squares", x: FloatPointer, gradient: FloatPointer, dimension: int, data: int) -> None:
        """Write the gradient of -V."""
        for i in range(dimension):
            gradient[i] = -2.0 * likelihood.half * x[i]


@inlined
def squares(program: Program) -> Squares:
    """Return the likelihood to compile in place; its constant is the first entry of the target's data."""
    return Squares(as_pointer(as_pointer(program.data, types.int64)[HEAD], types.float64)[0])


@compiled
def explore(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Slice sampling with the likelihood compiled in place."""
    in_place = with_likelihood(program, squares(program), program.likelihood_gradient)
    slices.sweep(in_place, x, log_densities, beta, parameters, statistics, data, stream)


@compiled
def explore_trajectories(
    program: Program,
    x: FloatPointer,
    log_densities: FloatPointer,
    beta: float,
    parameters: FloatPointer,
    statistics: FloatPointer,
    data: IntPointer,
    stream: Stream,
) -> None:
    """Hamiltonian Monte Carlo with likelihood and gradient compiled in place."""
    in_place = with_likelihood(program, squares(program), squares(program))
    hamiltonian.walk(in_place, x, log_densities, beta, parameters, statistics, data, stream, True)
