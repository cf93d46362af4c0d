"""Subtree pruning and regrafting: a subtree is taken out of the tree, and the place where it is grafted again is drawn.

The subtree below node v takes its parent p along, and one of the two other branches at p, the carried one; the third
branch stays and joins what p separated. Grafted on a branch of length l, p divides it in l and the length of the
carried branch; which of them is the upper part is drawn beforehand for every branch. So the tree without the subtree,
the sides, and all lengths are the same before and after, and there is no Jacobian: the branch is drawn from its exact
conditional distribution. Interchanges of neighbours are grafts one node away.

With partial likelihoods from both sides of every branch of the tree without the subtree, a place costs one vector.
"""

import math

from sterna.explorers.base import annealed
from sterna.ground.compilation import compiled, inlined
from sterna.ground.streams import Stream, uniform
from sterna.models.kernels.pruning import (
    Decay,
    Tree,
    Work,
    across,
    begin_at_top,
    down,
    down_of,
    join,
    make_fresh,
    make_stale,
    number_of,
    propagate,
    put_in_order,
    scales_of,
    set_length,
    sibling,
    spare,
    up,
    up_of,
    value_at_node,
)
from sterna.types import FloatPointer, IntPointer


@inlined
def movable(tree: IntPointer, taxa: int, stream: Stream) -> int:
    """Draw one of the 2n - 4 nodes that can be pruned: all but taxon 0 and the top."""
    nodes = 2 * taxa - 2
    v = 1 + int(uniform(stream) * (nodes - 2))
    # a draw of the top stands for the last node
    return nodes - 1 if v == tree[Tree.first_child * nodes] else v


@inlined
def put_in_place(tree: IntPointer, old: int, new: int, above: int, taxa: int) -> None:
    """Let `new` be the child of a node instead of `old`."""
    nodes = 2 * taxa - 2
    which = Tree.first_child if tree[Tree.first_child * nodes + above] == old else Tree.second_child
    tree[which * nodes + above] = new
    tree[Tree.parent * nodes + new] = above


@inlined
def prune(
    tree: IntPointer,
    work: FloatPointer,
    weights: FloatPointer,
    v: int,
    length: float,
    decay: Decay,
    taxa: int,
    patterns: int,
) -> int:
    """Take out v and its parent, and compute all vectors of the other nodes, whose number is returned.

    `length` is that of the branch that stays.
    """
    nodes = 2 * taxa - 2
    make_fresh(tree, work, weights, v, taxa, patterns)
    p, w = tree[Tree.parent * nodes + v], sibling(tree, v, taxa)
    put_in_place(tree, p, w, tree[Tree.parent * nodes + p], taxa)
    set_length(work, w, length, decay, taxa, patterns)
    found = put_in_order(tree, taxa)
    make_stale(tree, w, taxa)
    tree[Tree.up_fresh * nodes + w] = 0
    begin_at_top(tree, work, taxa, patterns)
    for k in range(found - 1, 0, -1):
        u = tree[Tree.order * nodes + k]
        if tree[Tree.down_fresh * nodes + u] == 0:
            down(tree, work, weights, u, taxa, patterns)
    for k in range(1, found):
        u = tree[Tree.order * nodes + k]
        if tree[Tree.up_fresh * nodes + u] == 0:
            up(tree, work, weights, u, taxa, patterns)
    return found


@compiled
def graft_value(
    work: FloatPointer, weights: FloatPointer, v: int, p: int, y: int, decay: Decay, taxa: int, patterns: int
) -> float:
    """Log-likelihood if v is grafted on the branch above y, of which p is the upper part and y the lower one."""
    here, upper, lower = spare(1, taxa, patterns), up_of(y, taxa, patterns), down_of(y, taxa, patterns)
    scale = scales_of(work, y, taxa, patterns) + work[number_of(Work.down_scale, v, taxa, patterns)]
    value = value_at_node(work, weights, here, upper, p, lower, y, taxa, patterns)
    if value == -math.inf:
        to = spare(0, taxa, patterns)
        scale += join(work, weights, to, upper, p, lower, y, taxa, patterns)
        value = across(work, weights, to, down_of(v, taxa, patterns), v, decay, taxa, patterns)
    return value + scale


@inlined
def divide(
    tree: IntPointer, work: FloatPointer, p: int, y: int, carried: float, decay: Decay, taxa: int, patterns: int
) -> None:
    """Let p divide the branch above y in its length and that of the carried branch, in the order drawn for y."""
    length = work[number_of(Work.length, y, taxa, patterns)]
    if tree[Tree.above * (2 * taxa - 2) + y] == 1:
        set_length(work, p, carried, decay, taxa, patterns)
    else:
        set_length(work, p, length, decay, taxa, patterns)
        set_length(work, y, carried, decay, taxa, patterns)


@inlined
def find_grafts(
    tree: IntPointer,
    work: FloatPointer,
    weights: FloatPointer,
    v: int,
    p: int,
    carried: float,
    found: int,
    beta: float,
    decay: Decay,
    taxa: int,
    patterns: int,
) -> float:
    """Compute the annealed log-weights of all places, and return the largest."""
    nodes = 2 * taxa - 2
    propagate(work, spare(1, taxa, patterns), down_of(v, taxa, patterns), v, taxa, patterns)
    largest = -math.inf
    for k in range(1, found):
        y = tree[Tree.order * nodes + k]
        length = work[number_of(Work.length, y, taxa, patterns)]
        divide(tree, work, p, y, carried, decay, taxa, patterns)
        weight = annealed(0.0, beta, graft_value(work, weights, v, p, y, decay, taxa, patterns))
        set_length(work, y, length, decay, taxa, patterns)
        work[number_of(Work.grafts, k, taxa, patterns)] = weight
        largest = max(largest, weight)
    return largest


@inlined
def draw_graft(work: FloatPointer, found: int, largest: float, taxa: int, patterns: int, stream: Stream) -> int:
    """Draw the position of a node in the order by log-weight."""
    o = number_of(Work.grafts, 0, taxa, patterns)
    total = 0.0
    for k in range(1, found):
        total += math.exp(work[o + k] - largest)
    rest = uniform(stream) * total
    for k in range(1, found - 1):
        weight = math.exp(work[o + k] - largest)
        if rest < weight:
            return k
        rest -= weight
    return found - 1


@inlined
def graft(
    tree: IntPointer, work: FloatPointer, v: int, p: int, y: int, carried: float, decay: Decay, taxa: int, patterns: int
) -> None:
    """Insert p, with its child v, in the branch above y, and mark what depends on it as stale."""
    nodes = 2 * taxa - 2
    put_in_place(tree, y, p, tree[Tree.parent * nodes + y], taxa)
    put_in_place(tree, sibling(tree, v, taxa), y, p, taxa)
    divide(tree, work, p, y, carried, decay, taxa, patterns)
    put_in_order(tree, taxa)
    make_stale(tree, v, taxa)
    tree[Tree.up_fresh * nodes + v] = tree[Tree.up_fresh * nodes + p] = 0
    begin_at_top(tree, work, taxa, patterns)


@inlined
def draw_sides(tree: IntPointer, taxa: int, stream: Stream) -> None:
    """Draw for every branch whether the carried branch would come above or below its node."""
    for y in range(1, 2 * taxa - 2):
        tree[Tree.above * (2 * taxa - 2) + y] = 1 if uniform(stream) < 0.5 else 0


@inlined
def regraft(
    tree: IntPointer,
    work: FloatPointer,
    weights: FloatPointer,
    beta: float,
    decay: Decay,
    taxa: int,
    patterns: int,
    stream: Stream,
) -> None:
    """Prune a random subtree, with a random one of the two branches beside it, and draw where it is grafted."""
    nodes = 2 * taxa - 2
    v = movable(tree, taxa, stream)
    p, w = tree[Tree.parent * nodes + v], sibling(tree, v, taxa)
    upper, lower = work[number_of(Work.length, p, taxa, patterns)], work[number_of(Work.length, w, taxa, patterns)]
    draw_sides(tree, taxa, stream)
    # the side that was drawn for the present place says which branch is carried
    carried, stays = (upper, lower) if tree[Tree.above * nodes + w] == 1 else (lower, upper)
    found = prune(tree, work, weights, v, stays, decay, taxa, patterns)
    largest = find_grafts(tree, work, weights, v, p, carried, found, beta, decay, taxa, patterns)
    y = tree[Tree.order * nodes + draw_graft(work, found, largest, taxa, patterns, stream)]
    graft(tree, work, v, p, y, carried, decay, taxa, patterns)
