"""Perfect phylogeny of cancer cells, from noisy observations of their mutations (paper, table of models)."""

import csv
import math
import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.errors import OptionError
from sterna.ground.compilation import compiled_with_memory
from sterna.models.data import SEED, data_file, say_simulated
from sterna.models.kernels.perfect_phylogeny import count, log_likelihood_of, pack, put_in_order
from sterna.models.kernels.regraft import Regraft
from sterna.models.parameters import checked
from sterna.models.trees import genotypes
from sterna.reference.reference import Reference
from sterna.reference.space import Integer, Real
from sterna.target.target import Target
from sterna.types import FloatArray, IntArray, WordArray

# The sizes of the paper.
N_CELLS, N_LOCI = 493, 391


@checked
def phylo_cancer(
    observed: ArrayLike | str | os.PathLike[str] | None = None,
    fpr_bound: float = 0.1,
    fnr_bound: float = 0.5,
    regrafts: float = 0.1,
    moves: float = 0.1,
) -> Target:
    r"""Perfect phylogeny: the tree by which cells acquired their mutations, each of which arose once.

    Its nodes are the root and L loci; each of C cells hangs on one of them, and has the loci on its path to the root:
    :math:`x_{cl} = 1`. The reference is uniform over all :math:`(L+1)^{L+C-1}` such trees; the error rates are uniform,
    fpr on (0, fpr_bound) and fnr on (0, fnr_bound). Errors are independent, so the likelihood is

    .. math:: L = \prod_{c,l} P(y_{cl} \mid x_{cl}), \quad P(1 \mid 0) = \mathrm{fpr}, \quad P(0 \mid 1) = \mathrm{fnr}.

    The variables are `parent` (the parent of every locus), `place` (the node of every cell), `fpr` and `fnr`; the root
    is number L. `sterna.models.trees` has functions for draws: `genotypes` gives x, `locus_newick` the tree.

    Explored by Gibbs sampling (`sterna.models.kernels.regraft`): a locus is taken out and grafted again, from its exact
    conditional distribution over all nodes and all subsets of the children there; a cell is hung on another node; and
    the rates are updated by slice sampling.

    Parameters
    ----------
    observed
        Matrix of zeros and ones with a row for every cell and a column for every locus; or the path of a CSV file with
        a line for every locus: its name and a value for every cell, whose names are in the first line. By default
        `phylo_cancer/derived_binary_SA609_100cells_5pct.csv` of the data folder (not the data of the paper, which are
        not public); without a folder, 391 simulated loci of 493 cells.
    fpr_bound, fnr_bound
        Upper bounds of the rates of false positives and false negatives.
    regrafts, moves
        Shares of the loci that each exploration regrafts, and of the cells that it moves.

    Examples
    --------
    >>> import sterna
    >>> target = sterna.models.phylo_cancer([[1, 0], [1, 1], [0, 0]])
    >>> target.space.names
    ['parent', 'place', 'fpr', 'fnr']
    >>> tree = {"parent": [2, 0], "place": [0, 1, 2]}  # root, then locus 0, then locus 1
    >>> round(target.log_densities(**tree, fpr=0.05, fnr=0.1)[1], 9) == round(3 * math.log(0.95 * 0.9), 9)
    True
    """
    for name, bound in (("fpr_bound", fpr_bound), ("fnr_bound", fnr_bound)):
        if not 0 < bound <= 1:
            raise OptionError(f"phylo_cancer({name}={bound}): a rate's bound is a number above 0, at most 1.")
    simulated = False
    if observed is None:
        observed = data_file("phylo_cancer", "derived_binary_SA609_100cells_5pct.csv")
    if isinstance(observed, (str, os.PathLike)):
        observed = read_observations(observed)[0]
    elif observed is None:
        observed, simulated = simulate(N_CELLS, N_LOCI, 0.5 * fpr_bound, 0.5 * fnr_bound), True
    by_locus = np.ascontiguousarray(_check(observed).T)
    loci, cells = by_locus.shape
    space = {
        "parent": Integer(0, loci, shape=loci),
        "place": Integer(0, loci, shape=cells),
        "fpr": Real(0.0, fpr_bound),
        "fnr": Real(0.0, fnr_bound),
    }
    data = {
        "observed": pack(by_locus).ravel(),
        "ones": int(by_locus.sum()),
        "loci": loci,
        "cells": cells,
        "fpr_bound": float(fpr_bound),
        "fnr_bound": float(fnr_bound),
    }
    target = Target(
        log_likelihood,
        Reference(draw, log_reference, space),
        data,
        explorer=Regraft(by_locus, regrafts, moves),
        name="phylo_cancer",
    )
    return say_simulated(target) if simulated else target


def read_observations(path: str | os.PathLike[str]) -> tuple[NDArray[np.uint8], list[str], list[str]]:
    """Read a matrix of cells and loci, and the names of both."""
    try:
        with open(path, newline="") as file:
            header, *lines = list(csv.reader(file))
    except OSError as error:
        raise OptionError(f"phylo_cancer({str(path)!r}): {error.strerror}; give a CSV file.") from None
    except ValueError:
        raise OptionError(f"{path} is empty: its first line must name the cells.") from None
    try:
        values = np.array([[float(value) for value in line[1:]] for line in lines])
    except ValueError:
        raise OptionError(f"{path}: every line must have a name and then a 0 or 1 for each cell.") from None
    return _check(values.T), header[1:], [line[0] for line in lines]


def _check(observed: ArrayLike) -> NDArray[np.uint8]:
    matrix = np.asarray(observed)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isin(matrix, (0, 1)).all():
        raise OptionError(
            f"phylo_cancer: observed has shape {matrix.shape} and must be a matrix of zeros and ones, "
            "with a row for every cell and a column for every locus."
        )
    return matrix.astype(np.uint8)


@compiled_with_memory
def log_likelihood(x: FloatArray, observed: WordArray, ones: int, loci: int, cells: int) -> float:
    """Count right and wrong observations; zero likelihood if the parents do not form a tree."""
    parent, node_of_cell = x[:loci].astype(np.int64), x[loci : loci + cells].astype(np.int64)
    order, first, following = np.empty(loci + 1, np.int64), np.empty(loci + 1, np.int64), np.empty(loci + 1, np.int64)
    if put_in_order(parent, order, first, following, loci) <= loci:
        return -np.inf
    sets = np.empty((loci + 1) * ((cells + 63) // 64), np.uint64)
    seen, present = count(parent, node_of_cell, order, sets, observed, loci, cells)
    return log_likelihood_of(seen, present, ones, loci * cells, x[loci + cells], x[loci + cells + 1])


@compiled_with_memory
def log_reference(x: FloatArray, loci: int, cells: int, fpr_bound: float, fnr_bound: float) -> float:
    """Uniform over trees and rates; zero density if the parents do not form a tree."""
    parent = x[:loci].astype(np.int64)
    order, first, following = np.empty(loci + 1, np.int64), np.empty(loci + 1, np.int64), np.empty(loci + 1, np.int64)
    if put_in_order(parent, order, first, following, loci) <= loci:
        return -np.inf
    return -(loci + cells - 1) * math.log(loci + 1.0) - math.log(fpr_bound) - math.log(fnr_bound)


@compiled_with_memory
def draw(
    rng: np.random.Generator, loci: int, cells: int, fpr_bound: float, fnr_bound: float
) -> tuple[IntArray, IntArray, float, float]:
    """Draw a tree by its Pruefer code (1918), which is any sequence of L - 1 nodes, and cells and rates independently.

    Decoding removes leaves, the lowest first, and the code names their parents. The root has the highest number and is
    never removed, so these are the parents of the rooted tree.
    """
    parent, node_of_cell = np.empty(loci, np.int64), np.empty(cells, np.int64)
    code, uses = np.empty(loci - 1, np.int64), np.zeros(loci + 1, np.int64)
    for k in range(loci - 1):
        code[k] = rng.integers(0, loci + 1)
        uses[code[k]] += 1
    lowest = 0
    while uses[lowest] > 0:
        lowest += 1
    leaf = lowest
    for k in range(loci - 1):
        above = code[k]
        parent[leaf] = above
        uses[above] -= 1
        if uses[above] == 0 and above < lowest:
            leaf = above
        else:
            lowest += 1
            while uses[lowest] > 0:
                lowest += 1
            leaf = lowest
    parent[leaf] = loci
    for c in range(cells):
        node_of_cell[c] = rng.integers(0, loci + 1)
    # the interval is open: there is no density at 0
    fpr = fpr_bound * max(rng.random(), 2.0**-53)
    fnr = fnr_bound * max(rng.random(), 2.0**-53)
    return parent, node_of_cell, fpr, fnr


def simulate(cells: int, loci: int, fpr: float, fnr: float, seed: int = SEED) -> NDArray[np.uint8]:
    """Simulate a tree from the reference, and observations with errors at the given rates."""
    rng = np.random.Generator(np.random.PCG64(seed))
    parent, node_of_cell, _, _ = draw(rng, loci, cells, 1.0, 1.0)
    return observe(rng, parent, node_of_cell, fpr, fnr)


def observe(
    rng: np.random.Generator, parent: ArrayLike, node_of_cell: ArrayLike, fpr: float, fnr: float
) -> NDArray[np.uint8]:
    """Simulate observations of a tree."""
    probability = np.where(genotypes(parent, node_of_cell), 1.0 - fnr, fpr)
    return (rng.random(probability.shape) < probability).astype(np.uint8)
