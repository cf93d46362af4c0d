"""Gibbs sampling of perfect phylogenies: where a locus is grafted, on which node a cell hangs, and error rates.

Regrafting takes a locus out (its children and cells move to its parent) and draws where to insert it again: below a
node p, and above some of the children and cells of p. Each subtree u of p that moves below the locus gains it, which
changes the weight by exp(s_u), where s_u is beta times the sum over the cells of u of log P(y | 1) - log P(y | 0). All
subsets of p's subtrees together have the weight prod_u (1 + exp(s_u)), so one pass over the tree gives the distribution
of p, and given p every subtree moves below independently. For a locus, only the numbers of ones and zeros in each
subtree matter.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from sterna.engine.program import LOG_LIKELIHOOD, Program
from sterna.errors import OptionError
from sterna.explorers.base import Bound, first_coordinate, updates_of
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.options import check_number
from sterna.ground.compilation import as_address, as_pointer, compiled, inlined, int_pointer
from sterna.ground.rows import field_pointer, fields, new_row, size_of, sizes
from sterna.ground.streams import Stream, exponential, uniform
from sterna.models.kernels.perfect_phylogeny import (
    compiled_words_of,
    count,
    log_likelihood_of,
    pack,
    put_in_order,
    words_of,
)
from sterna.types import FloatPointer, IntArray, IntPointer


@fields
class Parameters:
    """A chain's row of parameters."""

    regrafts = 1  # loci grafted per exploration
    moves = 1  # cells moved per exploration
    loci = 1
    cells = 1


NODES, CELLS, WORDS = sizes(3)


@fields
class Scratch:
    """Working memory: integers of nodes and cells, weights, and the set of cells below every node."""

    parent = NODES
    order = NODES
    ones = NODES
    size = NODES
    log_weights = NODES
    node_of_cell = CELLS
    sets = WORDS


# Beyond this the exponential is lost in rounding beside 1.
MAX_EXPONENT = 40.0
# Slices shrink geometrically, so this many shrinks are never needed.
MAX_SHRINKS = 2000


class Tree(NamedTuple):
    """A perfect phylogeny with working memory of its nodes; compiled functions see pointers."""

    parent: IntPointer
    node_of_cell: IntPointer
    order: IntPointer
    """All nodes, parents before their children."""
    ones: IntPointer
    size: IntPointer
    log_weights: FloatPointer
    loci: int
    cells: int


@inlined
def softplus(s: float) -> float:
    """Logarithm of 1 + exp(s)."""
    if s > 0.0:
        return s if s > MAX_EXPONENT else s + math.log1p(math.exp(-s))
    return 0.0 if s < -MAX_EXPONENT else math.log1p(math.exp(s))


@inlined
def logistic(s: float) -> float:
    """Probability with odds exp(s)."""
    return 1.0 / (1.0 + math.exp(-s)) if s > -700.0 else 0.0


@compiled
def draw_node(log_weights: FloatPointer, order: IntPointer, number: int, stream: Stream) -> int:
    """Draw a node by log-weights, and return its index in the order."""
    largest = -math.inf
    for k in range(number):
        largest = max(largest, log_weights[order[k]])
    total = 0.0
    for k in range(number):
        v = order[k]
        log_weights[v] = math.exp(log_weights[v] - largest)
        total += log_weights[v]
    rest = uniform(stream) * total
    chosen = 0
    for k in range(number):
        rest -= log_weights[order[k]]
        if rest < 0.0:
            return k
        if log_weights[order[k]] > 0.0:
            # if rounding leaves a remainder, the last node of positive weight is drawn
            chosen = k
    return chosen


@inlined
def take_out(tree: Tree, locus: int) -> None:
    """Move a locus's children and cells to its parent, and take it out of the order."""
    parent, node_of_cell, order = tree.parent, tree.node_of_cell, tree.order
    above = parent[locus]
    for v in range(tree.loci):
        parent[v] = above if parent[v] == locus else parent[v]
    for c in range(tree.cells):
        node_of_cell[c] = above if node_of_cell[c] == locus else node_of_cell[c]
    k = 0
    while order[k] != locus:
        k += 1
    while k < tree.loci:
        order[k] = order[k + 1]
        k += 1


@inlined
def put_in(tree: Tree, locus: int, at: int) -> None:
    """Insert a locus into the order right after its parent: its descendants all come later."""
    order = tree.order
    k = tree.loci
    while k > at + 1:
        order[k] = order[k - 1]
        k -= 1
    order[at + 1] = locus
    tree.parent[locus] = order[at]


@compiled
def weigh(tree: Tree, observed: IntPointer, present: float, absent: float) -> None:
    """Find the log-weight of every node as the parent of a locus that was taken out.

    `ones` and `size` become the numbers of cells below each node, those in which the locus was observed and all;
    `observed` is the row of the locus. A single cell moves below with s = `present` if the locus was observed in it,
    otherwise `absent`.
    """
    ones, size, log_weights, loci = tree.ones, tree.size, tree.log_weights, tree.loci
    for v in range(loci + 1):
        ones[v] = size[v] = 0
    for c in range(tree.cells):
        v = tree.node_of_cell[c]
        ones[v] += observed[c]
        size[v] += 1
    by_one, by_zero = softplus(present), softplus(absent)
    for v in range(loci + 1):
        log_weights[v] = ones[v] * by_one + (size[v] - ones[v]) * by_zero
    for k in range(loci - 1, 0, -1):
        v = tree.order[k]
        above = tree.parent[v]
        log_weights[above] += softplus(ones[v] * present + (size[v] - ones[v]) * absent)
        ones[above] += ones[v]
        size[above] += size[v]


@compiled
def regraft(tree: Tree, observed: IntPointer, locus: int, present: float, absent: float, stream: Stream) -> None:
    """Take a locus out and draw where it is grafted, from its conditional distribution given the rest of the tree."""
    parent, node_of_cell, order, ones, size = tree.parent, tree.node_of_cell, tree.order, tree.ones, tree.size
    log_weights, loci = tree.log_weights, tree.loci
    take_out(tree, locus)
    weigh(tree, observed, present, absent)
    at = draw_node(log_weights, order, loci, stream)
    above = order[at]
    for k in range(at + 1, loci):
        v = order[k]
        if parent[v] == above and uniform(stream) < logistic(ones[v] * present + (size[v] - ones[v]) * absent):
            parent[v] = locus
    by_one, by_zero = logistic(present), logistic(absent)
    for c in range(tree.cells):
        if node_of_cell[c] == above and uniform(stream) < (by_one if observed[c] == 1 else by_zero):
            node_of_cell[c] = locus
    put_in(tree, locus, at)


@compiled
def move_cell(tree: Tree, observed: IntPointer, cell: int, present: float, absent: float, stream: Stream) -> None:
    """Draw the node on which a cell hangs; `observed` is the row of the cell."""
    parent, order, log_weights, loci = tree.parent, tree.order, tree.log_weights, tree.loci
    log_weights[loci] = 0.0
    for k in range(1, loci + 1):
        v = order[k]
        log_weights[v] = log_weights[parent[v]] + (present if observed[v] == 1 else absent)
    tree.node_of_cell[cell] = order[draw_node(log_weights, order, loci + 1, stream)]


@inlined
def draw_rate(rate: float, yes: float, no: float, lower: float, upper: float, stream: Stream) -> float:
    """Update a rate of density rate^yes (1 - rate)^no between two bounds, by slice sampling (Neal 2003, figure 5)."""
    level = yes * math.log(rate) + no * math.log1p(-rate) - exponential(stream)
    left, right = lower, upper
    for _ in range(MAX_SHRINKS):
        new = left + (right - left) * uniform(stream)
        if yes * math.log(new) + no * math.log1p(-new) >= level:
            return new
        if new < rate:
            left = new
        else:
            right = new
    return rate


@inlined
def read_tree(x: FloatPointer, statistics: FloatPointer, loci: int, cells: int) -> Tree:
    """Read a state into working memory."""
    nodes = loci + 1
    parent = int_pointer(as_address(field_pointer(statistics, Scratch.parent, nodes, cells)))
    order = int_pointer(as_address(field_pointer(statistics, Scratch.order, nodes, cells)))
    ones = int_pointer(as_address(field_pointer(statistics, Scratch.ones, nodes, cells)))
    size = int_pointer(as_address(field_pointer(statistics, Scratch.size, nodes, cells)))
    log_weights = field_pointer(statistics, Scratch.log_weights, nodes, cells)
    node_of_cell = int_pointer(as_address(field_pointer(statistics, Scratch.node_of_cell, nodes, cells)))
    for v in range(loci):
        parent[v] = int(x[v])
    for c in range(cells):
        node_of_cell[c] = int(x[loci + c])
    put_in_order(parent, order, ones, size, loci)
    return Tree(parent, node_of_cell, order, ones, size, log_weights, loci, cells)


@inlined
def explore_tree(
    tree: Tree, present: float, absent: float, parameters: FloatPointer, data: IntPointer, stream: Stream
) -> None:
    """Regraft some loci, and then move some cells."""
    loci, cells = tree.loci, tree.cells
    updates = int(parameters[Parameters.regrafts])
    locus = first_coordinate(updates, loci, stream)
    for _ in range(updates):
        regraft(tree, as_pointer(data[0] + locus * cells, types.uint8), locus, present, absent, stream)
        locus = locus + 1 if locus + 1 < loci else 0
    updates = int(parameters[Parameters.moves])
    cell = first_coordinate(updates, cells, stream)
    for _ in range(updates):
        move_cell(tree, as_pointer(data[1] + cell * loci, types.uint8), cell, present, absent, stream)
        cell = cell + 1 if cell + 1 < cells else 0


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
    """Regraft loci, move cells, update the two rates.

    The log-likelihood is computed from the counts at the end, so rounding errors do not accumulate; the density of the
    reference is constant.
    """
    loci, cells = int(parameters[Parameters.loci]), int(parameters[Parameters.cells])
    tree = read_tree(x, statistics, loci, cells)
    i = loci + cells
    fpr, fnr = x[i], x[i + 1]
    present = beta * (math.log1p(-fnr) - math.log(fpr))
    absent = beta * (math.log(fnr) - math.log1p(-fpr))
    explore_tree(tree, present, absent, parameters, data, stream)
    set_words = (loci + 1) * compiled_words_of(cells)
    sets = as_pointer(as_address(field_pointer(statistics, Scratch.sets, loci + 1, cells, set_words)), types.uint64)
    observed, ones = as_pointer(data[2], types.uint64), as_pointer(data[3], types.int64)[0]
    seen, had = count(tree.parent, tree.node_of_cell, tree.order, sets, observed, loci, cells)
    wrong = ones - seen
    fpr = draw_rate(
        fpr, beta * wrong, beta * (loci * cells - had - wrong), program.lower[i], program.upper[i], stream
    )  # fmt: skip
    fnr = draw_rate(fnr, beta * (had - seen), beta * seen, program.lower[i + 1], program.upper[i + 1], stream)
    for v in range(loci):
        x[v] = float(tree.parent[v])
    for c in range(cells):
        x[loci + c] = float(tree.node_of_cell[c])
    x[i], x[i + 1] = fpr, fnr
    log_densities[LOG_LIKELIHOOD] = log_likelihood_of(seen, had, ones, loci * cells, fpr, fnr)


@dataclass(frozen=True)
class Regraft:
    """The explorer of `phylo_cancer`.

    Parameters
    ----------
    observed
        (loci, cells): 1 if a locus was observed in a cell, otherwise 0.
    regrafts, moves
        Shares of the loci that each exploration regrafts, and of the cells that it moves.
    """

    observed: NDArray[np.uint8] = field(repr=False)
    regrafts: float = 0.1
    moves: float = 0.1
    name: ClassVar[str] = "regraft"
    kernel: Callable[..., None] = field(default=explore, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("regrafts", "moves"):
            advice = "this is the share of loci or cells that each exploration draws again; give a number from 0 up"
            check_number(self, name, f"{advice}, such as 0.1 or 1")
        # contiguous, because the kernel reads it by its address
        object.__setattr__(self, "observed", np.ascontiguousarray(self.observed, dtype=np.uint8))

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Prepare the explorer for a target, which must be the one that it was made for."""
        if not isinstance(target.explorer, Regraft) or not np.array_equal(self.observed, target.explorer.observed):
            raise OptionError(
                "explorer=Regraft(...) was made for another model: use the target's own explorer, as in "
                "dataclasses.replace(target.explorer, regrafts=1)."
            )
        if coordinates is not None and len(coordinates) < target.dimension:
            raise OptionError("explorer=Regraft(...) explores the whole tree, not a part of its coordinates.")
        loci, cells = self.observed.shape
        regrafts, moves = updates_of(self.regrafts, loci), updates_of(self.moves, cells)
        row = new_row(Parameters, regrafts=regrafts, moves=moves, loci=loci, cells=cells)
        by_cell, totals = np.ascontiguousarray(self.observed.T), np.array([self.observed.sum()], dtype=np.int64)
        return Bound(
            kernel=self.kernel,
            data=(self.observed, by_cell, pack(self.observed), totals),
            start=lambda draw: row,
            n_parameters=len(row),
            n_scratch=size_of(Scratch, loci + 1, cells, (loci + 1) * words_of(cells)),
        )
