"""Felsenstein's pruning (1981) from both sides of every branch, under Kimura's model of substitution (1980).

A tree of n taxa has the nodes 0 to 2n - 3: taxa first, then inner nodes. It hangs on taxon 0, whose only child is the
top of the others; branch v leads from node v > 0 to its parent. What is known below node v is `down`, what is known
at its parent from all other sides is `up`. Both sides of a branch give the likelihood as a function of its length; and
all of them together cost two passes. A change makes stale only what it is part of, and `make_fresh` does over what one
branch needs.

All functions take arrays or pointers. `tree` holds integers, a stretch of 2n - 2 for each of what follows; `work` holds
the two sides of every branch (pattern by pattern A, G, C, T), four more such vectors, and then numbers by node.
"""

import math
from typing import Any

from sterna.ground.compilation import compiled, inlined
from sterna.types import FloatArray, IntArray

# Stretches of `tree`. ORDER has parents before their children, subtree by subtree.
PARENT, FIRST, SECOND, ORDER, DOWN_FRESH, UP_FRESH, ON_PATH, LOWEST, STACK = range(9)
N_STRETCHES = 9

# Numbers by node, behind the vectors of `work`: probabilities along the branch above a node, its length, and the
# logarithms of the factors by which its two vectors were made larger.
SAME, TRANSITION, TRANSVERSION, LENGTH, DOWN_SCALE, UP_SCALE = range(6)
N_NUMBERS = 6

# Vectors beside the two of every node.
N_SPARE = 5
TERMS = 4

# Vectors are made larger where all four entries of a pattern are smaller than this.
SMALL = 2.0**-64
LOG_QUARTER = math.log(0.25)


def tree_size(taxa: int) -> int:
    """Length of `tree`."""
    return N_STRETCHES * (2 * taxa - 2)


def work_size(taxa: int, patterns: int) -> int:
    """Length of `work`."""
    nodes = 2 * taxa - 2
    return (2 * nodes + N_SPARE) * 4 * patterns + N_NUMBERS * nodes


compiled_tree_size, compiled_work_size = inlined(tree_size), inlined(work_size)


@inlined
def down_of(v: int, taxa: int, patterns: int) -> int:
    """Where the vector from below a node begins."""
    return 4 * patterns * v


@inlined
def up_of(v: int, taxa: int, patterns: int) -> int:
    """Where the vector from above a branch begins."""
    return 4 * patterns * (2 * taxa - 2 + v)


@inlined
def spare(k: int, taxa: int, patterns: int) -> int:
    """Where one of the vectors of no node begins."""
    return 4 * patterns * (2 * (2 * taxa - 2) + k)


@inlined
def number_of(which: int, v: int, taxa: int, patterns: int) -> int:
    """Where a number of a node is."""
    return 4 * patterns * (2 * (2 * taxa - 2) + N_SPARE) + which * (2 * taxa - 2) + v


@compiled
def hang(tree: IntArray, taxa: int) -> bool:
    """Find children and order from the parents; whether these are a tree in which every taxon is a leaf."""
    nodes = 2 * taxa - 2
    parent, first, second = PARENT * nodes, FIRST * nodes, SECOND * nodes
    for v in range(nodes):
        tree[first + v] = tree[second + v] = -1
    for v in range(1, nodes):
        above = tree[parent + v]
        if not (above == 0 or taxa <= above < nodes):
            return False
        if tree[first + above] < 0:
            tree[first + above] = v
        elif tree[second + above] < 0 and above > 0:
            tree[second + above] = v
        else:
            return False
    # every inner node has two children if all of them are used up: there are as many branches as places
    return put_in_order(tree, taxa) == nodes


@compiled
def put_in_order(tree: IntArray, taxa: int) -> int:
    """Write the nodes, parents before children, and return how many hang on taxon 0."""
    nodes = 2 * taxa - 2
    found, waiting = 0, 1
    tree[STACK * nodes] = 0
    while waiting > 0:
        waiting -= 1
        v = tree[STACK * nodes + waiting]
        tree[ORDER * nodes + found] = v
        found += 1
        for which in (SECOND, FIRST):
            child = tree[which * nodes + v]
            if child >= 0:
                tree[STACK * nodes + waiting] = child
                waiting += 1
    return found


@compiled
def label(tree: IntArray, taxa: int) -> bool:
    """Find the label of every inner node that depends on the topology alone; whether all have it already.

    The lowest taxa below its two children are i < k: had taxa come one after the other, it would have come with k. So
    it is number taxa + k - 2. Labels are left in STACK.
    """
    nodes = 2 * taxa - 2
    same = True
    for k in range(nodes - 1, -1, -1):
        v = tree[ORDER * nodes + k]
        if v < taxa:
            tree[LOWEST * nodes + v] = tree[STACK * nodes + v] = v
            continue
        one = tree[LOWEST * nodes + tree[FIRST * nodes + v]]
        other = tree[LOWEST * nodes + tree[SECOND * nodes + v]]
        tree[LOWEST * nodes + v] = min(one, other)
        tree[STACK * nodes + v] = taxa + max(one, other) - 2
        same = same and tree[STACK * nodes + v] == v
    return same


@compiled
def set_length(work: FloatArray, v: int, length: float, decay: Any, taxa: int, patterns: int) -> None:
    """Set the length of a branch; probabilities of change are found without loss of digits where they are small.

    With a = 1 - exp(-decay[0] t) and b = 1 - exp(-decay[1] t), each of the two transversions has probability a / 4, and
    the transition b / 2 - a / 4.
    """
    a, b = -math.expm1(-decay[0] * length), -math.expm1(-decay[1] * length)
    work[number_of(LENGTH, v, taxa, patterns)] = length
    work[number_of(SAME, v, taxa, patterns)] = 1.0 - 0.25 * a - 0.5 * b
    work[number_of(TRANSITION, v, taxa, patterns)] = 0.5 * b - 0.25 * a
    work[number_of(TRANSVERSION, v, taxa, patterns)] = 0.25 * a


@compiled
def join(
    work: FloatArray, weights: FloatArray, to: int, one: int, v: int, other: int, w: int, taxa: int, patterns: int
) -> float:
    """Multiply two vectors, each brought along its branch, v and w; return the log of what enlarging them takes."""
    same, transition = work[number_of(SAME, v, taxa, patterns)], work[number_of(TRANSITION, v, taxa, patterns)]
    transversion = work[number_of(TRANSVERSION, v, taxa, patterns)]
    same_w, transition_w = work[number_of(SAME, w, taxa, patterns)], work[number_of(TRANSITION, w, taxa, patterns)]
    transversion_w = work[number_of(TRANSVERSION, w, taxa, patterns)]
    least = 1.0
    for k in range(0, 4 * patterns, 4):
        a, g, c, t = work[one + k], work[one + k + 1], work[one + k + 2], work[one + k + 3]
        i, j, l, m = work[other + k], work[other + k + 1], work[other + k + 2], work[other + k + 3]  # noqa: E741
        from_pyrimidines, from_purines = transversion * (c + t), transversion * (a + g)
        from_pyrimidines_w, from_purines_w = transversion_w * (l + m), transversion_w * (i + j)
        p = (same * a + transition * g + from_pyrimidines) * (same_w * i + transition_w * j + from_pyrimidines_w)
        q = (same * g + transition * a + from_pyrimidines) * (same_w * j + transition_w * i + from_pyrimidines_w)
        r = (same * c + transition * t + from_purines) * (same_w * l + transition_w * m + from_purines_w)
        s = (same * t + transition * c + from_purines) * (same_w * m + transition_w * l + from_purines_w)
        work[to + k], work[to + k + 1], work[to + k + 2], work[to + k + 3] = p, q, r, s
        least = min(least, max(max(p, q), max(r, s)))
    return 0.0 if least >= SMALL else enlarge(work, weights, to, patterns)


@compiled
def enlarge(work: FloatArray, weights: FloatArray, to: int, patterns: int) -> float:
    """Multiply small patterns by powers of two, and return the logarithm of what that takes from the likelihood."""
    total = 0.0
    for k in range(patterns):
        o = to + 4 * k
        largest = max(max(work[o], work[o + 1]), max(work[o + 2], work[o + 3]))
        if 0.0 < largest < SMALL:
            power = -math.frexp(largest)[1]
            # in two steps, as the whole power can be no number
            half = math.ldexp(1.0, power // 2)
            rest = math.ldexp(1.0, power - power // 2)
            for state in range(4):
                work[o + state] = work[o + state] * half * rest
            total -= weights[k] * power * math.log(2.0)
    return total


@compiled
def down(tree: IntArray, work: FloatArray, weights: FloatArray, v: int, taxa: int, patterns: int) -> None:
    """Find what is known below an inner node."""
    nodes = 2 * taxa - 2
    a, b = tree[FIRST * nodes + v], tree[SECOND * nodes + v]
    scale = work[number_of(DOWN_SCALE, a, taxa, patterns)] + work[number_of(DOWN_SCALE, b, taxa, patterns)]
    left, right = down_of(a, taxa, patterns), down_of(b, taxa, patterns)
    scale += join(work, weights, down_of(v, taxa, patterns), left, a, right, b, taxa, patterns)
    work[number_of(DOWN_SCALE, v, taxa, patterns)] = scale
    tree[DOWN_FRESH * nodes + v] = 1


@compiled
def sibling(tree: IntArray, v: int, taxa: int) -> int:
    """The other child of an inner node."""
    nodes = 2 * taxa - 2
    above = tree[PARENT * nodes + v]
    first = tree[FIRST * nodes + above]
    return tree[SECOND * nodes + above] if first == v else first


@compiled
def up(tree: IntArray, work: FloatArray, weights: FloatArray, v: int, taxa: int, patterns: int) -> None:
    """Find what is known above a branch from that above its parent and that below its sibling."""
    nodes = 2 * taxa - 2
    above, w = tree[PARENT * nodes + v], sibling(tree, v, taxa)
    scale = work[number_of(UP_SCALE, above, taxa, patterns)] + work[number_of(DOWN_SCALE, w, taxa, patterns)]
    left, right = up_of(above, taxa, patterns), down_of(w, taxa, patterns)
    scale += join(work, weights, up_of(v, taxa, patterns), left, above, right, w, taxa, patterns)
    work[number_of(UP_SCALE, v, taxa, patterns)] = scale
    tree[UP_FRESH * nodes + v] = 1


@compiled
def begin(
    x: FloatArray, tree: IntArray, work: FloatArray, tips: FloatArray, decay: Any, taxa: int, patterns: int
) -> bool:
    """Read a state, 2n - 3 parents and as many lengths, and note that nothing is known but the taxa.

    Returns whether it is a tree with the labels of its topology.
    """
    nodes = 2 * taxa - 2
    tree[PARENT * nodes] = -1
    for v in range(1, nodes):
        tree[PARENT * nodes + v] = int(x[v - 1])
    if not hang(tree, taxa) or not label(tree, taxa):
        return False
    for k in range(4 * patterns * taxa):
        work[k] = tips[k]
    for v in range(nodes):
        work[number_of(DOWN_SCALE, v, taxa, patterns)] = work[number_of(UP_SCALE, v, taxa, patterns)] = 0.0
        tree[DOWN_FRESH * nodes + v] = 1 if v < taxa else 0
        tree[UP_FRESH * nodes + v] = 0
        if v > 0:
            set_length(work, v, x[nodes - 2 + v], decay, taxa, patterns)
    top = tree[FIRST * nodes]
    tree[UP_FRESH * nodes + top] = 1
    o = up_of(top, taxa, patterns)
    for k in range(4 * patterns):
        work[o + k] = tips[k]
    return True


@compiled
def make_fresh(tree: IntArray, work: FloatArray, weights: FloatArray, v: int, taxa: int, patterns: int) -> None:
    """Find both sides of branch v, from what of the others is stale and no more."""
    nodes = 2 * taxa - 2
    for w in range(nodes):
        tree[ON_PATH * nodes + w] = 0
    w = v
    while w > 0:
        tree[ON_PATH * nodes + w] = 1
        w = tree[PARENT * nodes + w]
    for k in range(nodes - 1, 0, -1):
        w = tree[ORDER * nodes + k]
        if tree[DOWN_FRESH * nodes + w] == 0 and (w == v or tree[ON_PATH * nodes + w] == 0):
            down(tree, work, weights, w, taxa, patterns)
    for k in range(1, nodes):
        w = tree[ORDER * nodes + k]
        if tree[ON_PATH * nodes + w] == 1 and tree[UP_FRESH * nodes + w] == 0:
            up(tree, work, weights, w, taxa, patterns)


@compiled
def make_stale(tree: IntArray, v: int, taxa: int) -> None:
    """Note that branch v has changed: it is part of what is below its ancestors, and above all but these and v."""
    nodes = 2 * taxa - 2
    for w in range(nodes):
        tree[ON_PATH * nodes + w] = 0
    w = v
    while w > 0:
        tree[ON_PATH * nodes + w] = 1
        if w != v:
            tree[DOWN_FRESH * nodes + w] = 0
        w = tree[PARENT * nodes + w]
    for w in range(nodes):
        if tree[ON_PATH * nodes + w] == 0:
            tree[UP_FRESH * nodes + w] = 0


@compiled
def find_terms(work: FloatArray, above: int, below: int, taxa: int, patterns: int) -> None:
    """Find for every pattern the factors of the three probabilities in the likelihood across a branch."""
    to = spare(TERMS, taxa, patterns)
    for k in range(patterns):
        i, j = above + 4 * k, below + 4 * k
        a, g, c, t = work[i], work[i + 1], work[i + 2], work[i + 3]
        b, h, d, u = work[j], work[j + 1], work[j + 2], work[j + 3]
        work[to + 3 * k] = a * b + g * h + c * d + t * u
        work[to + 3 * k + 1] = a * h + g * b + c * u + t * d
        work[to + 3 * k + 2] = (a + g) * (d + u) + (c + t) * (b + h)


@compiled
def value_across(work: FloatArray, weights: FloatArray, length: float, decay: Any, taxa: int, patterns: int) -> float:
    """Log-likelihood across the branch of `find_terms`, at any length and but for scales."""
    a, b = -math.expm1(-decay[0] * length), -math.expm1(-decay[1] * length)
    same, transition, transversion = 1.0 - 0.25 * a - 0.5 * b, 0.5 * b - 0.25 * a, 0.25 * a
    o = spare(TERMS, taxa, patterns)
    total = 0.0
    for k in range(patterns):
        likelihood = same * work[o] + transition * work[o + 1] + transversion * work[o + 2]
        total += weights[k] * (math.log(likelihood) + LOG_QUARTER) if likelihood > 0.0 else -math.inf
        o += 3
    return total


@compiled
def tree_log_likelihood(
    x: FloatArray,
    tree: IntArray,
    work: FloatArray,
    tips: FloatArray,
    weights: FloatArray,
    decay: Any,
    taxa: int,
    patterns: int,
) -> float:
    """Log-likelihood of a state by one pass from the leaves to taxon 0; zero likelihood if it is no tree."""
    if not begin(x, tree, work, tips, decay, taxa, patterns):
        return -math.inf
    top = tree[FIRST * (2 * taxa - 2)]
    make_fresh(tree, work, weights, top, taxa, patterns)
    find_terms(work, up_of(top, taxa, patterns), down_of(top, taxa, patterns), taxa, patterns)
    length = work[number_of(LENGTH, top, taxa, patterns)]
    scale = work[number_of(DOWN_SCALE, top, taxa, patterns)]
    return value_across(work, weights, length, decay, taxa, patterns) + scale
