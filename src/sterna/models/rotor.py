"""The rotor (XY) model on a periodic square lattice."""

import math

from sterna.distributions import Uniform
from sterna.errors import OptionError
from sterna.models.kernels.heat_bath import RotorHeatBath
from sterna.models.lattice import neighbours
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray


@checked
def rotor(size: int = 5, coupling: float = 1.0) -> Target:
    """Rotor model: size x size uniform angles, log L = coupling * sum over edges of cos(a_i - a_j).

    Explored by a single-site heat bath: given its neighbours, an angle has a von Mises distribution.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> sterna.models.rotor(size=3).log_densities(angle=np.zeros((3, 3)))[1]
    18.0
    """
    if size < 2 or not math.isfinite(coupling):
        raise OptionError(f"rotor(size={size}, coupling={coupling}): size must be at least 2 and coupling finite.")
    adjacent = neighbours(size, True)
    return Target(
        log_likelihood,
        {"angle": Uniform(-math.pi, math.pi, shape=(size, size))},
        {"adjacent": adjacent, "coupling": float(coupling)},
        local_change=local_change,
        explorer=RotorHeatBath(adjacent, float(coupling)),
        name="rotor",
    )


def log_likelihood(x: FloatArray, adjacent: IntArray, coupling: float) -> float:
    """Sum over edges; each is in the lists of both of its sites."""
    total = 0.0
    for i in range(adjacent.shape[0]):
        for j in adjacent[i]:
            total += math.cos(x[i] - x[j])
    return 0.5 * coupling * total


def local_change(x: FloatArray, i: int, new: float, adjacent: IntArray, coupling: float) -> float:
    """Return the change of the log-likelihood when angle i becomes `new`."""
    total = 0.0
    for j in adjacent[i]:
        total += math.cos(new - x[j]) - math.cos(x[i] - x[j])
    return coupling * total
