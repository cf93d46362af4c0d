"""Spin glasses: the lattice of Edwards and Anderson (1975) with random couplings, and any graph with given ones."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sterna.distributions import Spin
from sterna.errors import OptionError
from sterna.ground.numbers import float_array
from sterna.models.kernels.heat_bath import WeightedSpinHeatBath
from sterna.models.lattice import neighbours
from sterna.models.parameters import checked
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray

COUPLINGS = ("normal", "binary")

# If a number is larger than this for each edge, the numbers of spins are something else than 0, 1, 2, ...
MAX_SPINS_PER_EDGE = 10


@checked
def spin_glass(
    size: int = 6,
    dim: int = 3,
    seed: int = 1,
    couplings: str | ArrayLike = "normal",
    periodic: bool = True,
    inverse_temperature: float = 1.5,
    edges: ArrayLike | None = None,
) -> Target:
    """Spin glass on a lattice, or on any graph: log L = inverse_temperature * sum over edges of J_ij s_i s_j.

    The reference is independent fair spins. Without `edges` there are size^dim spins on a lattice. In three dimensions
    its spin-glass phase begins at an inverse temperature of about 1.05 for normal couplings and 0.91 for binary ones;
    in two dimensions there is none. A lattice that is not periodic has the couplings of the periodic one, except those
    across its border.

    Explored by a single-spin heat bath (`sterna.models.kernels.heat_bath`). Its time per spin is that of the spin with
    most neighbours.

    Parameters
    ----------
    size, dim, periodic
        The lattice. Not used if there are `edges`.
    seed
        Random couplings follow from it.
    couplings
        "normal" for standard normal couplings, "binary" for -1 and +1 with equal probability, or the coupling of every
        edge.
    inverse_temperature
        Factor of all couplings.
    edges
        The two spins of every edge, (edges, 2), numbered from 0. Couplings of an edge that is given twice are added.
        There are as many spins as the largest number says: those that no edge names are free.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> target = sterna.models.spin_glass(size=3, dim=2, couplings="binary", inverse_temperature=1.0)
    >>> abs(target.log_densities(spin=np.ones((3, 3)))[1]) <= 18
    True
    >>> triangle = sterna.models.spin_glass(
    ...     edges=[[0, 1], [1, 2], [2, 0]], couplings=[1.0, -0.5, 2.0], inverse_temperature=2.0
    ... )
    >>> triangle.log_densities(spin=[1, 1, -1])[1]
    -1.0
    """
    if not math.isfinite(inverse_temperature):
        raise OptionError(f"spin_glass(inverse_temperature={inverse_temperature}): inverse_temperature must be finite.")
    if isinstance(couplings, str) and couplings not in COUPLINGS:
        raise OptionError(
            f'spin_glass(couplings={couplings!r}): couplings must be "normal", "binary", or the coupling of every edge.'
        )
    if edges is not None:
        adjacent, weights = on_graph(edges, couplings, seed)
        shape: tuple[int, ...] = (len(adjacent),)
    elif isinstance(couplings, str):
        adjacent, weights = on_lattice(size, dim, periodic, couplings, seed)
        shape = (size,) * dim
    else:
        raise OptionError("spin_glass(couplings=...): numbers need edges=, the two spins of every edge.")
    return Target(
        log_likelihood,
        {"spin": Spin(shape=shape)},
        {"adjacent": adjacent, "weights": weights, "inverse_temperature": float(inverse_temperature)},
        local_change=local_change,
        explorer=WeightedSpinHeatBath(adjacent, float(inverse_temperature), weights=weights),
        name="spin_glass",
    )


def on_lattice(size: int, dim: int, periodic: bool, couplings: str, seed: int) -> tuple[IntArray, FloatArray]:
    """Return the neighbours of every site of a lattice, and the couplings with them."""
    if size < 2 or dim not in (2, 3):
        raise OptionError(f"spin_glass(size={size}, dim={dim}): size must be at least 2, and dim 2 or 3.")
    adjacent = neighbours(size, periodic, dim)
    weights = weights_of(adjacent, draw_couplings((len(adjacent), dim), seed, couplings))
    # a missing neighbour is represented by the site itself, with weight 0
    return np.where(adjacent >= 0, adjacent, np.arange(len(adjacent))[:, None]), weights


def on_graph(edges: ArrayLike, couplings: str | ArrayLike, seed: int) -> tuple[IntArray, FloatArray]:
    """Return the neighbours of every spin of a graph, and the couplings with them; missing ones as on lattices."""
    pairs = read_edges(edges)
    values = draw_couplings((len(pairs),), seed, couplings) if isinstance(couplings, str) else float_array(couplings)
    if values is None or values.shape != (len(pairs),) or not np.isfinite(values).all():
        given = "no numbers" if values is None else f"values of shape {values.shape}"
        raise OptionError(f"spin_glass: {len(pairs)} edges need as many finite couplings, but {given} were given.")
    # each edge is in the lists of both of its spins
    here, there = np.concatenate([pairs, pairs[:, ::-1]]).T
    degrees = np.bincount(here)
    order = np.argsort(here, kind="stable")
    column = np.arange(len(here)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    adjacent = np.repeat(np.arange(len(degrees))[:, None], degrees.max(), axis=1)
    weights = np.zeros(adjacent.shape)
    adjacent[here[order], column] = there[order]
    weights[here[order], column] = np.concatenate([values, values])[order]
    return adjacent, weights


def read_edges(edges: ArrayLike) -> IntArray:
    """Return edges as an array of integers, (edges, 2), or say what is wrong with them."""
    given = float_array(edges)
    if given is None or given.ndim != 2 or given.shape[1] != 2 or len(given) == 0:
        raise OptionError("spin_glass(edges=...): give the two spins of every edge, such as [[0, 1], [1, 2]].")
    if not ((given >= 0) & (given == np.floor(given)) & (given < 2**31)).all():
        raise OptionError("spin_glass(edges=...): spins are numbered from 0 on, by whole numbers.")
    if given.max() > MAX_SPINS_PER_EDGE * len(given):
        raise OptionError(
            f"spin_glass(edges=...): spin {int(given.max())} is named, but {len(given)} edges join at most "
            f"{2 * len(given)} spins, so nearly all would be free: number spins from 0 on, without gaps."
        )
    if (given[:, 0] == given[:, 1]).any():
        spin = int(given[given[:, 0] == given[:, 1]][0, 0])
        raise OptionError(f"spin_glass(edges=...): an edge joins spin {spin} with itself; leave it out.")
    return given.astype(np.int64)


def draw_couplings(shape: tuple[int, ...], seed: int, couplings: str) -> FloatArray:
    """Draw couplings: of every edge, or on a lattice for every site and axis that with the next site along the axis."""
    rng = np.random.Generator(np.random.PCG64(seed))
    if couplings == "normal":
        return rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


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
