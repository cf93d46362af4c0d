"""The Edwards-Anderson spin glass (1975): spins on a lattice with random couplings that are then held fixed."""

import math

import numpy as np

from sterna.distributions import Spin
from sterna.errors import OptionError
from sterna.models.kernels.heat_bath import WeightedSpinHeatBath
from sterna.models.lattice import neighbours
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray

COUPLINGS = ("normal", "binary")


@checked
def spin_glass(
    size: int = 6,
    dim: int = 3,
    seed: int = 1,
    couplings: str = "normal",
    periodic: bool = True,
    inverse_temperature: float = 1.5,
) -> Target:
    """Spin glass of size^dim spins: log L = inverse_temperature * sum over edges of J_ij s_i s_j.

    The couplings J are standard normal, or -1 and +1 with equal probability; they follow from the seed. In three
    dimensions the spin-glass phase begins at an inverse temperature of about 1.05 for normal couplings and 0.91 for
    binary ones; in two dimensions there is none. A lattice that is not periodic has the couplings of the periodic one,
    except those across its border.

    Explored by a single-spin heat bath.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.spin_glass(size=3, dim=2, couplings="binary", inverse_temperature=1.0)
    >>> abs(target.log_densities(spin=np.ones((3, 3)))[1]) <= 18
    True
    """
    if size < 2 or dim not in (2, 3) or couplings not in COUPLINGS or not math.isfinite(inverse_temperature):
        raise OptionError(
            f"spin_glass(size={size}, dim={dim}, couplings={couplings!r}, inverse_temperature={inverse_temperature}): "
            'size must be at least 2, dim 2 or 3, couplings "normal" or "binary", and inverse_temperature finite.'
        )
    adjacent = neighbours(size, periodic, dim)
    weights = weights_of(adjacent, draw_couplings(len(adjacent), dim, seed, couplings))
    # a missing neighbour is represented by the site itself, with weight 0
    adjacent = np.where(adjacent >= 0, adjacent, np.arange(len(adjacent))[:, None])
    return Target(
        log_likelihood,
        {"spin": Spin(shape=(size,) * dim)},
        {"adjacent": adjacent, "weights": weights, "inverse_temperature": float(inverse_temperature)},
        local_change=local_change,
        explorer=WeightedSpinHeatBath(adjacent, float(inverse_temperature), weights=weights),
        name="spin_glass",
    )


def draw_couplings(sites: int, dim: int, seed: int, couplings: str) -> FloatArray:
    """Draw for every site and axis the coupling with the next site along that axis."""
    rng = np.random.Generator(np.random.PCG64(seed))
    if couplings == "normal":
        return rng.standard_normal((sites, dim))
    return np.where(rng.random((sites, dim)) < 0.5, -1.0, 1.0)


def weights_of(adjacent: IntArray, couplings: FloatArray) -> FloatArray:
    """Return the coupling with every neighbour, 0 if there is none; an edge is in the lists of both of its sites."""
    before, after = adjacent[:, 0::2], adjacent[:, 1::2]
    weights = np.empty(adjacent.shape)
    weights[:, 0::2] = np.take_along_axis(couplings, np.maximum(before, 0), axis=0) * (before >= 0)
    weights[:, 1::2] = couplings * (after >= 0)
    return weights


def log_likelihood(x: FloatArray, adjacent: IntArray, weights: FloatArray, inverse_temperature: float) -> float:
    """Sum over edges; each is in the lists of both of its sites, so the sum over lists counts it twice."""
    total = 0.0
    for i in range(adjacent.shape[0]):
        for k in range(adjacent.shape[1]):
            total += weights[i, k] * x[i] * x[adjacent[i, k]]
    return 0.5 * inverse_temperature * total


def local_change(
    x: FloatArray, i: int, new: float, adjacent: IntArray, weights: FloatArray, inverse_temperature: float
) -> float:
    """Return the change of the log-likelihood when spin i becomes `new`."""
    field = 0.0
    for k in range(adjacent.shape[1]):
        field += weights[i, k] * x[adjacent[i, k]]
    return inverse_temperature * (new - x[i]) * field
