"""Moves on unrooted binary trees: topology, branch lengths, and the parameters of the lengths' distribution.

- The topology changes by nearest-neighbour interchange (`sterna.models.kernels.interchange`), and by pruning and
  regrafting of subtrees (`sterna.models.kernels.prune_and_regraft`).
- Every branch is updated by slice sampling (Neal 2003) of the logarithm of its length, which only needs the likelihood
  across this branch.
- Shape and rate of the lengths' gamma distribution are drawn together, unless they are fixed
  (`sterna.models.kernels.length_prior`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numba import types

from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program
from sterna.errors import OptionError
from sterna.explorers.base import Bound
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.options import take_whole
from sterna.ground.compilation import as_address, as_pointer, compiled, inlined, int_pointer
from sterna.ground.rows import fields, new_row
from sterna.ground.streams import Stream
from sterna.ground.values import HUGE
from sterna.models.kernels.interchange import exchange
from sterna.models.kernels.length_prior import Fixed, draw_shape_and_rate, log_prior, shape_and_rate
from sterna.models.kernels.log_slice import TINY, slice_logarithm
from sterna.models.kernels.prune_and_regraft import regraft
from sterna.models.kernels.pruning import (
    Decay,
    Tree,
    Work,
    begin,
    compiled_work_size,
    down_of,
    find_terms,
    label,
    make_fresh,
    make_stale,
    number_of,
    scales_of,
    set_length,
    sort_children,
    tree_size,
    up_of,
    value_across,
    work_size,
)
from sterna.types import FloatArray, FloatPointer, IntArray, IntPointer

# What the density of a branch length is conditional on.
BranchGiven = tuple[FloatPointer, FloatPointer, float, float, float, Decay, int, int]


@fields
class Parameters:
    """A chain's row of parameters."""

    sweeps = 1  # updates of all branches per exploration
    exchanges = 1  # interchanges before each sweep
    regrafts = 1  # subtrees pruned and regrafted before each sweep
    taxa = 1
    patterns = 1
    decay = 2  # of transversions and transitions along a branch
    fixed = 2  # shape and rate of the lengths' prior, NaN if it is in the state


@compiled
def branch_density(length: float, given: BranchGiven) -> float:
    """Annealed log-density of one length, given everything else."""
    work, weights, beta, shape, rate, decay, taxa, patterns = given
    reference = (shape - 1.0) * math.log(length) - rate * length
    if beta == 0.0:
        return reference
    return reference + beta * value_across(work, weights, length, decay, taxa, patterns)


@inlined
def sweep_branches(
    x: FloatPointer,
    tree: IntPointer,
    work: FloatPointer,
    weights: FloatPointer,
    beta: float,
    decay: Decay,
    fixed: Fixed,
    taxa: int,
    patterns: int,
    stream: Stream,
) -> float:
    """Update all lengths, in an order in which neighbours follow each other; return the log-likelihood."""
    nodes = 2 * taxa - 2
    shape, rate = shape_and_rate(x, fixed, taxa)
    likelihood = 0.0
    for k in range(1, nodes):
        v = tree[Tree.order * nodes + k]
        make_fresh(tree, work, weights, v, taxa, patterns)
        find_terms(work, up_of(v, taxa, patterns), down_of(v, taxa, patterns), taxa, patterns)
        given = (work, weights, beta, shape, rate, decay, taxa, patterns)
        length = slice_logarithm(branch_density, given, work[number_of(Work.length, v, taxa, patterns)], stream)
        length = min(max(length, TINY), HUGE)
        set_length(work, v, length, decay, taxa, patterns)
        make_stale(tree, v, taxa)
        likelihood = value_across(work, weights, length, decay, taxa, patterns)
        likelihood += scales_of(work, v, taxa, patterns)
    return likelihood


@inlined
def draw_length_prior(
    x: FloatPointer, work: FloatPointer, fixed: Fixed, taxa: int, patterns: int, stream: Stream
) -> None:
    """Draw what is not fixed of the lengths' gamma distribution."""
    total = log_total = 0.0
    for v in range(1, 2 * taxa - 2):
        length = work[number_of(Work.length, v, taxa, patterns)]
        total += length
        log_total += math.log(length)
    draw_shape_and_rate(x, total, log_total, fixed, taxa, stream)


@inlined
def write_back(x: FloatPointer, tree: IntPointer, work: FloatPointer, taxa: int, patterns: int) -> None:
    """Write parents and lengths into the state, with the labels that the topology gives to the inner nodes."""
    nodes = 2 * taxa - 2
    label(tree, taxa)
    for v in range(1, nodes):
        new = tree[Tree.stack * nodes + v]
        x[new - 1] = float(tree[Tree.stack * nodes + tree[Tree.parent * nodes + v]])
        x[nodes - 2 + new] = work[number_of(Work.length, v, taxa, patterns)]


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
    """Interchange neighbours, regraft subtrees, then update all lengths, then their shape and rate.

    The order in which lengths are updated depends only on the topology, which does not change meanwhile. It must not
    depend on the moves before, which depend on the lengths.
    """
    tips, weights = as_pointer(data[0], types.float64), as_pointer(data[1], types.float64)
    taxa, patterns = int(parameters[Parameters.taxa]), int(parameters[Parameters.patterns])
    decay = (parameters[Parameters.decay], parameters[Parameters.decay + 1])
    fixed = (parameters[Parameters.fixed], parameters[Parameters.fixed + 1])
    work = statistics
    tree = int_pointer(as_address(statistics) + 8 * compiled_work_size(taxa, patterns))
    begin(x, tree, work, tips, decay, taxa, patterns)
    for _ in range(int(parameters[Parameters.sweeps])):
        if taxa > 3:
            for _ in range(int(parameters[Parameters.exchanges])):
                exchange(tree, work, weights, beta, decay, taxa, patterns, stream)
            for _ in range(int(parameters[Parameters.regrafts])):
                regraft(tree, work, weights, beta, decay, taxa, patterns, stream)
            sort_children(tree, taxa)
        log_densities[LOG_LIKELIHOOD] = sweep_branches(
            x, tree, work, weights, beta, decay, fixed, taxa, patterns, stream
        )
        draw_length_prior(x, work, fixed, taxa, patterns, stream)
    write_back(x, tree, work, taxa, patterns)
    log_densities[LOG_REFERENCE] = log_prior(x, fixed, taxa)


@dataclass(frozen=True)
class TreeMoves:
    """The explorer of `phylo_species`.

    Parameters
    ----------
    tips
        (taxa, patterns, 4): 1 for each of the bases A, G, C, T that a taxon may have in a pattern, otherwise 0.
    weights
        Number of sites of each pattern.
    decay
        Rates at which transversions and transitions decay along a branch.
    fixed
        Shape and rate of the lengths' gamma distribution; NaN for what is a variable.
    passes
        How often each exploration updates every branch and draws the pairing around n - 3 inner branches.
    regrafts
        Number of subtrees that are pruned and regrafted in each of these passes. One takes as long as ten pairings.
    """

    tips: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    decay: tuple[float, float]
    fixed: tuple[float, float] = (math.nan, math.nan)
    passes: int = 1
    regrafts: int = 4
    name: ClassVar[str] = "tree_moves"
    kernel: Callable[..., None] = field(default=explore, repr=False, compare=False)

    def __post_init__(self) -> None:
        take_whole(self, "passes", 0, "whole trees are updated so often; give an integer from 0 up")
        take_whole(self, "regrafts", 0, "subtrees are regrafted so often; give an integer from 0 up")
        # contiguous, because the kernel reads the arrays by their addresses
        object.__setattr__(self, "tips", np.ascontiguousarray(self.tips, dtype=np.float64))
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights, dtype=np.float64))

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Prepare the explorer for a target, which must be the one that it was made for."""
        if not self._same_data(target.explorer):
            raise OptionError(
                "explorer=TreeMoves(...) was made for another model: use the target's own explorer, as in "
                "dataclasses.replace(target.explorer, passes=3)."
            )
        if coordinates is not None and len(coordinates) < target.dimension:
            raise OptionError("explorer=TreeMoves(...) explores the whole tree, not a part of its coordinates.")
        taxa, patterns = self.tips.shape[:2]
        row = new_row(
            Parameters,
            sweeps=self.passes,
            exchanges=max(taxa - 3, 0),
            regrafts=self.regrafts,
            taxa=taxa,
            patterns=patterns,
            decay=self.decay,
            fixed=self.fixed,
        )
        return Bound(
            kernel=self.kernel,
            data=(self.tips, self.weights),
            start=lambda draw: row,
            n_parameters=len(row),
            n_scratch=work_size(taxa, patterns) + tree_size(taxa),
        )

    def _same_data(self, other: object) -> bool:
        """Whether another explorer is for the same model, possibly with another number of passes."""
        return (
            isinstance(other, TreeMoves)
            and self.decay == other.decay
            and np.array_equal(self.fixed, other.fixed, equal_nan=True)
            and np.array_equal(self.tips, other.tips)
            and np.array_equal(self.weights, other.weights)
        )
