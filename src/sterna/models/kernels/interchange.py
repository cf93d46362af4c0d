"""Nearest-neighbour interchange: an inner branch has four subtrees around it, which can be paired in three ways.

The pairing is drawn from its exact conditional distribution, given all lengths.
"""

import math

from sterna.explorers.base import annealed
from sterna.ground.compilation import inlined
from sterna.ground.streams import Stream, uniform
from sterna.models.kernels.pruning import (
    Decay,
    Tree,
    Work,
    across,
    down_of,
    join,
    make_fresh,
    make_stale,
    number_of,
    put_in_order,
    scales_of,
    sibling,
    spare,
    up_of,
)
from sterna.types import FloatPointer, IntPointer


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
