"""Gibbs sampling of perfect phylogenies: where a locus is grafted, on which node a cell hangs, and rates of error.

Nodes are the loci, 0 to L - 1, and the root, L. Every locus has a parent among the other nodes, every cell hangs on a
node, and a cell has the loci on its way to the root.

Regrafting takes a locus out (its children and cells go to its parent) and draws where it comes back: below a node p,
and above some of the children and cells of p. Each subtree u of p that goes below it gains the locus: its weight
changes by exp(s_u), where s_u is beta times the sum over the cells of u of log P(y | 1) - log P(y | 0). All subsets of
p's subtrees together have the weight prod_u (1 + exp(s_u)), so that one pass over the tree gives the law of p, and then
every subtree goes below by itself. Of a locus only the numbers of ones and zeros in each subtree matter.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numba import types
from numpy.typing import NDArray

from sterna.engine.program import LOG_LIKELIHOOD, Program
from sterna.errors import OptionError
from sterna.explorers.base import Bound, first_coordinate, updates_of
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import as_address, as_pointer, compiled, inlined
from sterna.ground.streams import Stream, exponential, uniform
from sterna.types import FloatArray, IntArray, WordArray

Bits = WordArray

# Places in a chain's row of parameters.
REGRAFTS, MOVES, LOCI, CELLS = 0, 1, 2, 3

# Beyond this the exponential is lost beside 1.
FAR = 40.0
MAX_SHRINKS = 2000


def words_of(cells: int) -> int:
    """Words of 64 bits that hold a bit for every cell."""
    return (cells + 63) // 64


def scratch_size(loci: int, cells: int) -> int:
    """Working memory: integers by node (6) and by cell, a number by node, and a set of cells for every node."""
    nodes = loci + 1
    return 6 * nodes + cells + nodes + nodes * words_of(cells)


compiled_words_of = inlined(words_of)


@compiled
def put_in_order(parent: IntArray, order: IntArray, first: IntArray, following: IntArray, loci: int) -> int:
    """Write all nodes that hang on the root, parents before their children, and return how many they are."""
    for v in range(loci + 1):
        first[v] = -1
    for v in range(loci - 1, -1, -1):
        following[v] = first[parent[v]]
        first[parent[v]] = v
    order[0] = loci
    found, done = 1, 0
    while done < found:
        child = first[order[done]]
        done += 1
        while child >= 0:
            order[found] = child
            found += 1
            child = following[child]
    return found


@inlined
def number_of_bits(word: Any) -> Any:
    """How many bits of a word are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def count(
    parent: IntArray, place: IntArray, order: IntArray, sets: Bits, observed: Bits, loci: int, cells: int
) -> tuple[int, int]:
    """Count the pairs of a cell and a locus that it has: those observed, and all.

    `sets` becomes the set of cells below every node, from the leaves to the root.
    """
    words = compiled_words_of(cells)
    for k in range((loci + 1) * words):
        sets[k] = np.uint64(0)
    for c in range(cells):
        sets[place[c] * words + (c >> 6)] |= np.uint64(1) << np.uint64(c & 63)
    seen = present = np.uint64(0)
    for k in range(loci, 0, -1):
        v = order[k]
        here, above = v * words, parent[v] * words
        for word in range(words):
            below = sets[here + word]
            present += number_of_bits(below)
            seen += number_of_bits(below & observed[here + word])
            sets[above + word] |= below
    return int(seen), int(present)


@inlined
def log_likelihood_of(seen: int, present: int, ones: int, pairs: int, fpr: float, fnr: float) -> float:
    """Log-likelihood from counts: a locus that is present is missed by fnr, one that is absent is seen by fpr."""
    absent = ones - seen
    return (
        seen * math.log1p(-fnr)
        + (present - seen) * math.log(fnr)
        + absent * math.log(fpr)
        + (pairs - present - absent) * math.log1p(-fpr)
    )


@inlined
def softplus(s: float) -> float:
    """Logarithm of 1 + exp(s)."""
    if s > 0.0:
        return s if s > FAR else s + math.log1p(math.exp(-s))
    return 0.0 if s < -FAR else math.log1p(math.exp(s))


@inlined
def logistic(s: float) -> float:
    """Probability of odds exp(s)."""
    return 1.0 / (1.0 + math.exp(-s)) if s > -700.0 else 0.0


@compiled
def draw_node(log_weights: FloatArray, order: IntArray, number: int, stream: Stream) -> int:
    """Draw a node by log-weights, and return its place in the order."""
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
            # where rounding leaves a rest, the last of positive weight takes it
            chosen = k
    return chosen


@inlined
def take_out(parent: IntArray, place: IntArray, order: IntArray, locus: int, loci: int, cells: int) -> None:
    """Give a locus's children and cells to its parent, and take it out of the order."""
    above = parent[locus]
    for v in range(loci):
        parent[v] = above if parent[v] == locus else parent[v]
    for c in range(cells):
        place[c] = above if place[c] == locus else place[c]
    k = 0
    while order[k] != locus:
        k += 1
    while k < loci:
        order[k] = order[k + 1]
        k += 1


@inlined
def put_in(parent: IntArray, order: IntArray, locus: int, at: int, loci: int) -> None:
    """Put a locus into the order right behind its parent: all that may be below it comes later."""
    k = loci
    while k > at + 1:
        order[k] = order[k - 1]
        k -= 1
    order[at + 1] = locus
    parent[locus] = order[at]


@compiled
def weigh(
    parent: IntArray,
    place: IntArray,
    order: IntArray,
    ones: IntArray,
    size: IntArray,
    log_weights: FloatArray,
    observed: Any,
    present: float,
    absent: float,
    loci: int,
    cells: int,
) -> None:
    """Find the log-weight of every node as the parent of a locus that was taken out.

    `ones` and `size` become the numbers of cells below each node, those in which the locus was observed and all;
    `observed` is the row of the locus. A cell by itself goes below with s = `present` if the locus was observed in it,
    else `absent`.
    """
    for v in range(loci + 1):
        ones[v] = size[v] = 0
    for c in range(cells):
        v = place[c]
        ones[v] += observed[c]
        size[v] += 1
    by_one, by_zero = softplus(present), softplus(absent)
    for v in range(loci + 1):
        log_weights[v] = ones[v] * by_one + (size[v] - ones[v]) * by_zero
    for k in range(loci - 1, 0, -1):
        v = order[k]
        above = parent[v]
        log_weights[above] += softplus(ones[v] * present + (size[v] - ones[v]) * absent)
        ones[above] += ones[v]
        size[above] += size[v]


@compiled
def regraft(
    parent: IntArray,
    place: IntArray,
    order: IntArray,
    ones: IntArray,
    size: IntArray,
    log_weights: FloatArray,
    observed: Any,
    locus: int,
    present: float,
    absent: float,
    loci: int,
    cells: int,
    stream: Stream,
) -> None:
    """Take a locus out and draw its place from the exact conditional law given the tree of the others."""
    take_out(parent, place, order, locus, loci, cells)
    weigh(parent, place, order, ones, size, log_weights, observed, present, absent, loci, cells)
    at = draw_node(log_weights, order, loci, stream)
    above = order[at]
    for k in range(at + 1, loci):
        v = order[k]
        if parent[v] == above and uniform(stream) < logistic(ones[v] * present + (size[v] - ones[v]) * absent):
            parent[v] = locus
    by_one, by_zero = logistic(present), logistic(absent)
    for c in range(cells):
        if place[c] == above and uniform(stream) < (by_one if observed[c] == 1 else by_zero):
            place[c] = locus
    put_in(parent, order, locus, at, loci)


@compiled
def move_cell(
    parent: IntArray,
    place: IntArray,
    order: IntArray,
    log_weights: FloatArray,
    observed: Any,
    cell: int,
    present: float,
    absent: float,
    loci: int,
    stream: Stream,
) -> None:
    """Draw the node on which a cell hangs; `observed` is the row of the cell."""
    log_weights[loci] = 0.0
    for k in range(1, loci + 1):
        v = order[k]
        log_weights[v] = log_weights[parent[v]] + (present if observed[v] == 1 else absent)
    place[cell] = order[draw_node(log_weights, order, loci + 1, stream)]


@inlined
def draw_rate(rate: float, yes: float, no: float, lower: float, upper: float, stream: Stream) -> float:
    """Update a rate of density rate^yes (1 - rate)^no between two bounds, by a slice (Neal 2003, figure 5)."""
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


@compiled
def explore(
    program: Program,
    x: FloatArray,
    log_densities: FloatArray,
    beta: float,
    parameters: FloatArray,
    statistics: FloatArray,
    data: IntArray,
    stream: Stream,
) -> None:
    """Regraft loci, move cells, update the two rates.

    The log-likelihood is that of the counts at the end, so no rounding builds up; the reference's density is constant.
    """
    by_locus, by_cell = as_pointer(data[0], types.uint8), as_pointer(data[1], types.uint8)
    totals = as_pointer(data[3], types.int64)
    loci, cells = int(parameters[LOCI]), int(parameters[CELLS])
    nodes = loci + 1
    base = as_address(statistics)
    parent, order = as_pointer(base, types.int64), as_pointer(base + 8 * nodes, types.int64)
    ones, size = as_pointer(base + 16 * nodes, types.int64), as_pointer(base + 24 * nodes, types.int64)
    log_weights = as_pointer(base + 32 * nodes, types.float64)
    place = as_pointer(base + 40 * nodes, types.int64)
    sets = as_pointer(base + 40 * nodes + 8 * cells, types.uint64)
    for v in range(loci):
        parent[v] = int(x[v])
    for c in range(cells):
        place[c] = int(x[loci + c])
    put_in_order(parent, order, ones, size, loci)
    fpr, fnr = x[loci + cells], x[loci + cells + 1]
    present = beta * (math.log1p(-fnr) - math.log(fpr))
    absent = beta * (math.log(fnr) - math.log1p(-fpr))
    updates = int(parameters[REGRAFTS])
    locus = first_coordinate(updates, loci, stream)
    for _ in range(updates):
        row = as_pointer(as_address(by_locus) + locus * cells, types.uint8)
        regraft(
            parent, place, order, ones, size, log_weights, row, locus, present, absent, loci, cells, stream
        )  # fmt: skip
        locus = locus + 1 if locus + 1 < loci else 0
    updates = int(parameters[MOVES])
    cell = first_coordinate(updates, cells, stream)
    for _ in range(updates):
        row = as_pointer(as_address(by_cell) + cell * loci, types.uint8)
        move_cell(parent, place, order, log_weights, row, cell, present, absent, loci, stream)
        cell = cell + 1 if cell + 1 < cells else 0
    seen, had = count(parent, place, order, sets, as_pointer(data[2], types.uint64), loci, cells)
    wrong = totals[0] - seen
    i = loci + cells
    fpr = draw_rate(
        fpr, beta * wrong, beta * (loci * cells - had - wrong), program.lower[i], program.upper[i], stream
    )  # fmt: skip
    fnr = draw_rate(fnr, beta * (had - seen), beta * seen, program.lower[i + 1], program.upper[i + 1], stream)
    for v in range(loci):
        x[v] = float(parent[v])
    for c in range(cells):
        x[loci + c] = float(place[c])
    x[i], x[i + 1] = fpr, fnr
    log_densities[LOG_LIKELIHOOD] = log_likelihood_of(seen, had, totals[0], loci * cells, fpr, fnr)


def pack(observed: NDArray[np.uint8]) -> Bits:
    """Sets of cells as words of 64 bits, from rows of zeros and ones."""
    rows, cells = observed.shape
    padded = np.zeros((rows, 64 * words_of(cells)), dtype=np.uint8)
    padded[:, :cells] = observed
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


@dataclass(frozen=True)
class Regraft:
    """Explorer of perfect phylogenies; that of `phylo_cancer`.

    Parameters
    ----------
    observed
        (loci, cells): 1 where a locus was observed in a cell, else 0.
    regrafts, moves
        Shares of the loci that a scan regrafts, and of the cells that it hangs anew.
    """

    observed: NDArray[np.uint8]
    regrafts: float = 0.1
    moves: float = 0.1
    name: ClassVar[str] = "regraft"
    kernel: Any = field(default=explore, repr=False, compare=False)

    def __post_init__(self) -> None:
        for share in (self.regrafts, self.moves):
            if not (math.isfinite(share) and share >= 0):
                raise OptionError(
                    f"Regraft(regrafts={self.regrafts!r}, moves={self.moves!r}): these are the shares of loci and "
                    "cells that a scan draws anew; give numbers from 0 up, such as 0.1 or 1."
                )
        # the kernel reads them by their addresses
        object.__setattr__(self, "observed", np.ascontiguousarray(self.observed, dtype=np.uint8))

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for the target, which must be the one that this was made for."""
        if not isinstance(target.explorer, Regraft) or not np.array_equal(self.observed, target.explorer.observed):
            raise OptionError(
                "explorer=Regraft(...) was made for another model: use that of the target, "
                "dataclasses.replace(target.explorer, regrafts=1)."
            )
        if coordinates is not None and len(coordinates) < target.dimension:
            raise OptionError("explorer=Regraft(...) explores the whole tree, not a part of its coordinates.")
        loci, cells = self.observed.shape
        row = np.array([updates_of(self.regrafts, loci), updates_of(self.moves, cells), loci, cells], dtype=np.float64)
        by_cell, totals = np.ascontiguousarray(self.observed.T), np.array([self.observed.sum()], dtype=np.int64)
        return Bound(
            kernel=self.kernel,
            data=(self.observed, by_cell, pack(self.observed), totals),
            start=lambda draw: row,
            n_scratch=scratch_size(loci, cells),
        )
