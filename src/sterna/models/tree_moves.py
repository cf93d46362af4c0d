"""Moves on unrooted binary trees with branch lengths: exchanges of neighbours, slices of branches, and their law.

- An inner branch has four subtrees around it, which can be paired in three ways. Nearest-neighbour interchange draws
  the pairing from its exact conditional law.
- Every branch is updated by slice sampling (Neal 2003) of the logarithm of its length, at the cost of the likelihood
  across this branch alone.
- Shape and rate of the lengths' Gamma law are drawn together: the shape by a slice with the rate integrated out, the
  rate from its exact conditional law, which is a Gamma law.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numba import types

from sterna.engine.program import LOG_LIKELIHOOD, LOG_REFERENCE, Program
from sterna.engine.stream_draws import log_gamma_draw
from sterna.errors import OptionError
from sterna.explorers.base import Bound, annealed, check_passes
from sterna.explorers.explorable import ExplorableTarget
from sterna.ground.compilation import as_address, as_pointer, compiled, inlined
from sterna.ground.streams import Stream, exponential, uniform
from sterna.ground.values import HUGE
from sterna.models.pruning import (
    DOWN_FRESH,
    DOWN_SCALE,
    FIRST,
    LENGTH,
    ORDER,
    PARENT,
    SECOND,
    STACK,
    UP_FRESH,
    UP_SCALE,
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
    set_length,
    sibling,
    spare,
    tree_size,
    up_of,
    value_across,
    work_size,
)
from sterna.types import FloatArray, IntArray

# Places in a chain's row of parameters.
SWEEPS, EXCHANGES, TAXA, PATTERNS, DECAY = 0, 1, 2, 3, 4

TINY = float(np.finfo(np.float64).tiny)
# First width of a slice on the logarithmic scale, and the most steps by which it grows.
WIDTH, MOST_STEPS = 2.0, 400
MAX_SHRINKS = 2000


@inlined
def slice_logarithm(density: Callable[..., Any], given: Any, here: float, stream: Stream) -> float:
    """Draw a positive number by a slice of its logarithm (Neal 2003, figures 3 and 5).

    `density(value, given)` is the log-density of the number itself.
    """
    start = math.log(here)
    level = density(here, given) + start - exponential(stream)
    left = start - WIDTH * uniform(stream)
    right = left + WIDTH
    steps = int(MOST_STEPS * uniform(stream))
    rest = MOST_STEPS - 1 - steps
    while steps > 0 and log_scale_density(density, given, left) > level:
        left -= WIDTH
        steps -= 1
    while rest > 0 and log_scale_density(density, given, right) > level:
        right += WIDTH
        rest -= 1
    for _ in range(MAX_SHRINKS):
        place = left + (right - left) * uniform(stream)
        if log_scale_density(density, given, place) >= level:
            return math.exp(place)
        if place < start:
            left = place
        else:
            right = place
    return here


@inlined
def log_scale_density(density: Callable[..., Any], given: Any, place: float) -> float:
    """Log-density of the logarithm of a number; zero where the number is none."""
    value = math.exp(place)
    if not TINY <= value <= HUGE:
        return -math.inf
    return density(value, given) + place


@compiled
def branch_density(length: float, given: Any) -> float:
    """Annealed log-density of one length, all else as it is."""
    work, weights, beta, shape, rate, decay, taxa, patterns = given
    reference = (shape - 1.0) * math.log(length) - rate * length
    if beta == 0.0:
        return reference
    return reference + beta * value_across(work, weights, length, decay, taxa, patterns)


@compiled
def shape_density(shape: float, given: Any) -> float:
    """Log-density of the shape of the lengths' Gamma law, with the rate integrated out, up to a constant."""
    count, total, log_total = given
    return (
        -shape
        + shape * log_total
        - count * math.lgamma(shape)
        + math.lgamma(count * shape + 1.0)
        - (count * shape + 1.0) * math.log1p(total)
    )


@compiled
def log_prior(x: FloatArray, taxa: int) -> float:
    """Log-density of lengths, shape and rate, and of a topology among all (2n - 5)!!, uniformly."""
    count = 2 * taxa - 3
    shape, rate = x[2 * count], x[2 * count + 1]
    total = -shape - rate + count * (shape * math.log(rate) - math.lgamma(shape))
    for v in range(count, 2 * count):
        total += (shape - 1.0) * math.log(x[v]) - rate * x[v]
    for k in range(3, taxa):
        total -= math.log(2.0 * k - 3.0)
    return total


@inlined
def across(
    work: FloatArray, weights: FloatArray, above: int, below: int, v: int, decay: Any, taxa: int, patterns: int
) -> float:
    """Log-likelihood across a branch of its own length, between two vectors and but for their scales."""
    find_terms(work, above, below, taxa, patterns)
    return value_across(work, weights, work[number_of(LENGTH, v, taxa, patterns)], decay, taxa, patterns)


@inlined
def pairing(
    tree: IntArray,
    work: FloatArray,
    weights: FloatArray,
    v: int,
    low: int,
    other: int,
    decay: Any,
    taxa: int,
    patterns: int,
) -> float:
    """Log-likelihood if the child `low` of v changes places with the sibling of v; `other` is the child that stays."""
    nodes = 2 * taxa - 2
    above, w = tree[PARENT * nodes + v], sibling(tree, v, taxa)
    one, two = spare(0, taxa, patterns), spare(1, taxa, patterns)
    a, b, c = down_of(low, taxa, patterns), down_of(other, taxa, patterns), down_of(w, taxa, patterns)
    scale = join(work, weights, one, up_of(above, taxa, patterns), above, a, low, taxa, patterns)
    scale += join(work, weights, two, c, w, b, other, taxa, patterns)
    scale += work[number_of(UP_SCALE, above, taxa, patterns)] + work[number_of(DOWN_SCALE, low, taxa, patterns)]
    scale += work[number_of(DOWN_SCALE, other, taxa, patterns)] + work[number_of(DOWN_SCALE, w, taxa, patterns)]
    return across(work, weights, one, two, v, decay, taxa, patterns) + scale


@inlined
def draw_of_three(a: float, b: float, c: float, stream: Stream) -> int:
    """Draw one of three by log-weights, of which the first is that of the present state."""
    largest = max(a, b, c)
    p, q, r = math.exp(a - largest), math.exp(b - largest), math.exp(c - largest)
    u = uniform(stream) * (p + q + r)
    if u < p:
        return 0
    return 1 if u < p + q else 2


@inlined
def change_places(tree: IntArray, v: int, low: int, taxa: int) -> None:
    """Let a child of v and the sibling of v change places; what they made stale is noted."""
    nodes = 2 * taxa - 2
    above, w = tree[PARENT * nodes + v], sibling(tree, v, taxa)
    first = FIRST if tree[FIRST * nodes + v] == low else SECOND
    upper = FIRST if tree[FIRST * nodes + above] == w else SECOND
    tree[first * nodes + v], tree[upper * nodes + above] = w, low
    tree[PARENT * nodes + w], tree[PARENT * nodes + low] = v, above
    put_in_order(tree, taxa)
    make_stale(tree, v, taxa)
    tree[DOWN_FRESH * nodes + v] = tree[UP_FRESH * nodes + v] = 0


@inlined
def inner_branch(tree: IntArray, taxa: int, stream: Stream) -> int:
    """Draw one of the n - 3 branches between inner nodes: any inner node but the top."""
    nodes = 2 * taxa - 2
    v = taxa + int(uniform(stream) * (taxa - 3))
    # the top stands for the last
    return nodes - 1 if v == tree[FIRST * nodes] else v


@inlined
def exchange(
    tree: IntArray,
    work: FloatArray,
    weights: FloatArray,
    beta: float,
    decay: Any,
    taxa: int,
    patterns: int,
    stream: Stream,
) -> None:
    """Draw the pairing of the four subtrees around a random inner branch."""
    nodes = 2 * taxa - 2
    v = inner_branch(tree, taxa, stream)
    make_fresh(tree, work, weights, v, taxa, patterns)
    a, b = tree[FIRST * nodes + v], tree[SECOND * nodes + v]
    now = work[number_of(UP_SCALE, v, taxa, patterns)] + work[number_of(DOWN_SCALE, v, taxa, patterns)]
    now += across(work, weights, up_of(v, taxa, patterns), down_of(v, taxa, patterns), v, decay, taxa, patterns)
    one = pairing(tree, work, weights, v, a, b, decay, taxa, patterns)
    two = pairing(tree, work, weights, v, b, a, decay, taxa, patterns)
    drawn = draw_of_three(annealed(0.0, beta, now), annealed(0.0, beta, one), annealed(0.0, beta, two), stream)
    if drawn > 0:
        change_places(tree, v, a if drawn == 1 else b, taxa)


@inlined
def sweep_branches(
    x: FloatArray,
    tree: IntArray,
    work: FloatArray,
    weights: FloatArray,
    beta: float,
    decay: Any,
    taxa: int,
    patterns: int,
    stream: Stream,
) -> float:
    """Update all lengths, going through the tree so that neighbours follow each other; return the log-likelihood."""
    nodes = 2 * taxa - 2
    shape, rate = x[2 * nodes - 2], x[2 * nodes - 1]
    likelihood = 0.0
    for k in range(1, nodes):
        v = tree[ORDER * nodes + k]
        make_fresh(tree, work, weights, v, taxa, patterns)
        find_terms(work, up_of(v, taxa, patterns), down_of(v, taxa, patterns), taxa, patterns)
        given = (work, weights, beta, shape, rate, decay, taxa, patterns)
        length = slice_logarithm(branch_density, given, work[number_of(LENGTH, v, taxa, patterns)], stream)
        length = min(max(length, TINY), HUGE)
        set_length(work, v, length, decay, taxa, patterns)
        make_stale(tree, v, taxa)
        likelihood = value_across(work, weights, length, decay, taxa, patterns)
        likelihood += work[number_of(UP_SCALE, v, taxa, patterns)] + work[number_of(DOWN_SCALE, v, taxa, patterns)]
    return likelihood


@inlined
def draw_law_of_lengths(x: FloatArray, work: FloatArray, taxa: int, patterns: int, stream: Stream) -> None:
    """Draw shape and rate of the lengths' Gamma law given the lengths."""
    count = 2 * taxa - 3
    total = log_total = 0.0
    for v in range(1, count + 1):
        length = work[number_of(LENGTH, v, taxa, patterns)]
        total += length
        log_total += math.log(length)
    shape = slice_logarithm(shape_density, (float(count), total, log_total), x[2 * count], stream)
    rate = math.exp(log_gamma_draw(count * shape + 1.0, stream) - math.log1p(total))
    x[2 * count], x[2 * count + 1] = min(max(shape, TINY), HUGE), min(max(rate, TINY), HUGE)


@inlined
def write_back(x: FloatArray, tree: IntArray, work: FloatArray, taxa: int, patterns: int) -> None:
    """Write parents and lengths into the state, by the labels that the topology gives to the inner nodes."""
    nodes = 2 * taxa - 2
    label(tree, taxa)
    for v in range(1, nodes):
        new = tree[STACK * nodes + v]
        x[new - 1] = float(tree[STACK * nodes + tree[PARENT * nodes + v]])
        x[nodes - 2 + new] = work[number_of(LENGTH, v, taxa, patterns)]


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
    """Exchange neighbours at random inner branches, then update all lengths, then their law.

    The order in which lengths are updated depends on the topology, which stays while that is done.
    """
    tips, weights = as_pointer(data[0], types.float64), as_pointer(data[1], types.float64)
    taxa, patterns = int(parameters[TAXA]), int(parameters[PATTERNS])
    decay = (parameters[DECAY], parameters[DECAY + 1])
    work = statistics
    tree = as_pointer(as_address(statistics) + 8 * compiled_work_size(taxa, patterns), types.int64)
    begin(x, tree, work, tips, decay, taxa, patterns)
    for _ in range(int(parameters[SWEEPS])):
        if taxa > 3:
            for _ in range(int(parameters[EXCHANGES])):
                exchange(tree, work, weights, beta, decay, taxa, patterns, stream)
        log_densities[LOG_LIKELIHOOD] = sweep_branches(x, tree, work, weights, beta, decay, taxa, patterns, stream)
        draw_law_of_lengths(x, work, taxa, patterns, stream)
    write_back(x, tree, work, taxa, patterns)
    log_densities[LOG_REFERENCE] = log_prior(x, taxa)


@dataclass(frozen=True)
class TreeMoves:
    """Explorer of unrooted trees; that of `phylo_species`.

    Parameters
    ----------
    tips
        (taxa, patterns, 4): 1 for the bases A, G, C, T that a taxon may have there, else 0.
    weights
        How many sites have each pattern.
    decay
        Rates at which transversions and transitions forget.
    passes
        How many times each scan updates every branch, and draws the pairing around n - 3 inner branches.
    """

    tips: FloatArray
    weights: FloatArray
    decay: tuple[float, float]
    passes: int = 1
    name: ClassVar[str] = "tree_moves"
    kernel: Any = field(default=explore, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_passes(type(self).__name__, self.passes)
        if self.passes != int(self.passes):
            raise OptionError(f"TreeMoves(passes={self.passes}): trees are updated as a whole; give an integer.")
        # the kernel reads them by their addresses
        object.__setattr__(self, "tips", np.ascontiguousarray(self.tips, dtype=np.float64))
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights, dtype=np.float64))

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Make ready for the target, which must be the one that this was made for."""
        if not self._same_data(target.explorer):
            raise OptionError(
                "explorer=TreeMoves(...) was made for another model: use that of the target, "
                "dataclasses.replace(target.explorer, passes=3)."
            )
        if coordinates is not None and len(coordinates) < target.dimension:
            raise OptionError("explorer=TreeMoves(...) explores the whole tree, not a part of its coordinates.")
        taxa, patterns = self.tips.shape[:2]
        row = np.array([self.passes, max(taxa - 3, 0), taxa, patterns, *self.decay], dtype=np.float64)
        return Bound(
            kernel=self.kernel,
            data=(self.tips, self.weights),
            start=lambda draw: row,
            n_scratch=work_size(taxa, patterns) + tree_size(taxa),
        )

    def _same_data(self, other: object) -> bool:
        """Whether another explorer is for the same model, with perhaps another number of passes."""
        return (
            isinstance(other, TreeMoves)
            and self.decay == other.decay
            and np.array_equal(self.tips, other.tips)
            and np.array_equal(self.weights, other.weights)
        )
