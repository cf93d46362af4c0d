"""The Ising model on a square lattice, without and with a magnetic field (paper, appendix on the Ising model)."""

import math

from sterna.distributions import Spin
from sterna.errors import OptionError
from sterna.models.kernels.heat_bath import SpinHeatBath
from sterna.models.lattice import neighbours
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray

CRITICAL_COUPLING = 0.5 * math.log(1.0 + math.sqrt(2.0))


@checked
def ising(size: int = 5, coupling: float = 1.0, periodic: bool = True) -> Target:
    """Ising model of size x size spins from independent fair spins: log L = coupling * sum over edges of s_i s_j.

    Explored by a single-spin heat bath. With the default arguments, log Z(1)/Z(0) = 33.373175.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> sterna.models.ising(size=4).log_densities(spin=np.ones((4, 4)))
    (-11.090354888959125, 32.0)
    """
    return _lattice("ising", size, coupling, periodic, 0.0)


@checked
def magnetic(size: int = 5, coupling: float = CRITICAL_COUPLING, periodic: bool = True, field: float = 0.1) -> Target:
    """Ising model in a magnetic field, which is part of the reference: each spin has weight exp(-field * s_i).

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.magnetic(size=4)
    >>> target.space.names
    ['spin']
    """
    return _lattice("magnetic", size, coupling, periodic, field)


def _lattice(name: str, size: int, coupling: float, periodic: bool, field: float) -> Target:
    if size < 2 or not (math.isfinite(coupling) and math.isfinite(field)):
        raise OptionError(
            f"{name}(size={size}, coupling={coupling}, field={field}): size must be at least 2, and coupling and field "
            "finite."
        )
    adjacent = neighbours(size, periodic)
    return Target(
        log_likelihood,
        {"spin": Spin(field, shape=(size, size))},
        {"adjacent": adjacent, "coupling": float(coupling)},
        local_change=local_change,
        explorer=SpinHeatBath(adjacent, float(coupling), float(field)),
        name=name,
    )


def log_likelihood(x: FloatArray, adjacent: IntArray, coupling: float) -> float:
    """Sum over edges; each is in the lists of both of its sites, so the sum over lists counts it twice."""
    total = 0.0
    for i in range(adjacent.shape[0]):
        for j in adjacent[i]:
            if j >= 0:
                total += x[i] * x[j]
    return 0.5 * coupling * total


def local_change(x: FloatArray, i: int, new: float, adjacent: IntArray, coupling: float) -> float:
    """Return the change of the log-likelihood when spin i becomes `new`."""
    field = 0.0
    for j in adjacent[i]:
        if j >= 0:
            field += x[j]
    return coupling * (new - x[i]) * field
