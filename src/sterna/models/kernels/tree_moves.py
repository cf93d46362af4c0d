"""Moves on unrooted binary trees: nearest-neighbour interchange, branch lengths, and their distribution's parameters.

- An inner branch has four subtrees around it, which can be paired in three ways. Nearest-neighbour interchange draws
  the pairing from its exact conditional distribution.
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
from sterna.explorers.base import Bound, annealed
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.options import take_whole
from sterna.ground.compilation import as_address, as_pointer, compiled, inlined, int_pointer
from sterna.ground.rows import fields, new_row
from sterna.ground.streams import Stream, uniform
from sterna.ground.values import HUGE
from sterna.models.kernels.length_prior import Fixed, draw_shape_and_rate, log_prior, shape_and_rate
from sterna.models.kernels.log_slice import TINY, slice_logarithm
from sterna.models.kernels.pruning import (
    Decay,
    Tree,
    Work,
    begin,
    compiled_work_size,
    down_of,
    find_terms,
    join,
    label,
    make_fresh,
    make_stale,
    number_of,
    put_in_order,
    scales_of,
    set_length,
    sibling,
    spare,
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
def across(
    work: FloatPointer, weights: FloatPointer, above: int, below: int, v: int, decay: Decay, taxa: int, patterns: int
) -> float:
    """Log-likelihood across a branch at its present length, between two vectors and without their scales."""
    find_terms(work, above, below, taxa, patterns)
    return value_across(work, weights, work[number_of(Work.length, v, taxa, patterns)], decay, taxa, patterns)


@inlined
def pairing(
    tree: IntPointer,
    work: FloatPointer,
    weights: FloatPointer,
    v: int,
    low: int,
    other: int,
    decay: Decay,
    taxa: int,
    patterns: int,
) -> float:
    """Log-likelihood if the child `low` of v and the sibling of v are exchanged; `other` is the child that stays."""
    nodes = 2 * taxa - 2
    above, w = tree[Tree.parent * nodes + v], sibling(tree, v, taxa)
    one, two = spare(0, taxa, patterns), spare(1, taxa, patterns)
    a, b, c = down_of(low, taxa, patterns), down_of(other, taxa, patterns), down_of(w, taxa, patterns)
    scale = join(work, weights, one, up_of(above, taxa, patterns), above, a, low, taxa, patterns)
    scale += join(work, weights, two, c, w, b, other, taxa, patterns)
    scale += (
        work[number_of(Work.up_scale, above, taxa, patterns)] + work[number_of(Work.down_scale, low, taxa, patterns)]
    )
    scale += (
        work[number_of(Work.down_scale, other, taxa, patterns)] + work[number_of(Work.down_scale, w, taxa, patterns)]
    )
    return across(work, weights, one, two, v, decay, taxa, patterns) + scale


@inlined
def draw_of_three(a: float, b: float, c: float, stream: Stream) -> int:
    """Draw one of three by log-weights, of which the first belongs to the present state."""
    largest = max(a, b, c)
    p, q, r = math.exp(a - largest), math.exp(b - largest), math.exp(c - largest)
    u = uniform(stream) * (p + q + r)
    if u < p:
        return 0
    return 1 if u < p + q else 2


@inlined
def exchange_subtrees(tree: IntPointer, v: int, low: int, taxa: int) -> None:
    """Exchange a child of v with the sibling of v, and mark what depends on them as stale."""
    nodes = 2 * taxa - 2
    above, w = tree[Tree.parent * nodes + v], sibling(tree, v, taxa)
    first = Tree.first_child if tree[Tree.first_child * nodes + v] == low else Tree.second_child
    upper = Tree.first_child if tree[Tree.first_child * nodes + above] == w else Tree.second_child
    tree[first * nodes + v], tree[upper * nodes + above] = w, low
    tree[Tree.parent * nodes + w], tree[Tree.parent * nodes + low] = v, above
    put_in_order(tree, taxa)
    make_stale(tree, v, taxa)
    tree[Tree.down_fresh * nodes + v] = tree[Tree.up_fresh * nodes + v] = 0


@inlined
def inner_branch(tree: IntPointer, taxa: int, stream: Stream) -> int:
    """Draw one of the n - 3 branches between inner nodes: any inner node except the top."""
    nodes = 2 * taxa - 2
    v = taxa + int(uniform(stream) * (taxa - 3))
    # a draw of the top stands for the last node
    return nodes - 1 if v == tree[Tree.first_child * nodes] else v


@inlined
def exchange(
    tree: IntPointer,
    work: FloatPointer,
    weights: FloatPointer,
    beta: float,
    decay: Decay,
    taxa: int,
    patterns: int,
    stream: Stream,
) -> None:
    """Draw the pairing of the four subtrees around a random inner branch."""
    nodes = 2 * taxa - 2
    v = inner_branch(tree, taxa, stream)
    make_fresh(tree, work, weights, v, taxa, patterns)
    a, b = tree[Tree.first_child * nodes + v], tree[Tree.second_child * nodes + v]
    now = scales_of(work, v, taxa, patterns)
    now += across(work, weights, up_of(v, taxa, patterns), down_of(v, taxa, patterns), v, decay, taxa, patterns)
    one = pairing(tree, work, weights, v, a, b, decay, taxa, patterns)
    two = pairing(tree, work, weights, v, b, a, decay, taxa, patterns)
    drawn = draw_of_three(annealed(0.0, beta, now), annealed(0.0, beta, one), annealed(0.0, beta, two), stream)
    if drawn > 0:
        exchange_subtrees(tree, v, a if drawn == 1 else b, taxa)


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
    """Interchange neighbours at random inner branches, then update all lengths, then their shape and rate.

    The order in which lengths are updated depends only on the topology, which does not change meanwhile.
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
    """

    tips: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    decay: tuple[float, float]
    fixed: tuple[float, float] = (math.nan, math.nan)
    passes: int = 1
    name: ClassVar[str] = "tree_moves"
    kernel: Callable[..., None] = field(default=explore, repr=False, compare=False)

    def __post_init__(self) -> None:
        take_whole(self, "passes", 0, "whole trees are updated so often; give an integer from 0 up")
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
