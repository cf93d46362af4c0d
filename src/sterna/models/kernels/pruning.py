"""Felsenstein's pruning (1981) from both sides of every branch, under Kimura's model of substitution (1980).

A tree of n taxa has the nodes 0 to 2n - 3: taxa first, then inner nodes. It is rooted at taxon 0, whose only child is
the top of the others; branch v leads from node v > 0 to its parent. The partial likelihood of everything below node v
is `down`, that of everything else at its parent is `up`. The two sides of a branch give the likelihood as a function of
its length, and the sides of all branches cost two passes. A change invalidates only the vectors that depend on it, and
`make_fresh` computes again what one branch needs.

All functions take arrays or pointers: `tree`, a table of integers of all nodes, and `work`, vectors of partial
likelihoods (pattern by pattern A, G, C, T) and numbers of all nodes.
"""

import math

from sterna.ground.compilation import compiled, inlined
from sterna.ground.rows import Extent, Field, fields, size_of, sizes
from sterna.types import FloatPointer, IntPointer

# Rates at which transversions and transitions decay along a branch.
Decay = tuple[float, float] | FloatPointer


# Logarithm of a likelihood, apart from a factor, and the weight of the patterns in that.
Product = tuple[float, float, float]


@fields
class Tree:
    """Rows of the table `tree`; each has an entry for every node."""

    parent = 1
    first_child = 1
    second_child = 1
    order = 1  # parents before their children, subtree by subtree
    down_fresh = 1  # whether the vector from below is up to date
    up_fresh = 1
    on_path = 1  # whether a node is on the path from a branch to taxon 0
    lowest = 1  # the lowest taxon below a node
    stack = 1  # nodes to visit, and later the labels
    above = 1  # whether a subtree's own branch would come above the node on whose branch it is grafted


# One vector for every node, one vector, and one number for every node.
NODE_VECTORS, VECTOR, NODES = sizes(3)


@fields
class Work:
    """The table `work`."""

    down = NODE_VECTORS
    up = NODE_VECTORS
    spare = VECTOR.times(2)
    terms = VECTOR
    # log-weights of the branches on which a subtree can be grafted
    grafts = NODES
    # probabilities along the branch above a node
    same = NODES
    transition = NODES
    transversion = NODES
    length = NODES
    # logarithms of the factors by which the two vectors of a node were scaled
    down_scale = NODES
    up_scale = NODES


# Vectors are scaled if all four entries of a pattern are smaller than this.
MIN_PARTIAL_LIKELIHOOD = 2.0**-64
# The product of two numbers that are not smaller than this does not underflow.
MIN_PRODUCT = 2.0**-500

N_TREE_ROWS = size_of(Tree)


def tree_size(taxa: int) -> int:
    """Length of `tree`."""
    return N_TREE_ROWS * (2 * taxa - 2)


@inlined
def index_in_work(extent: Extent, taxa: int, patterns: int) -> int:
    """Where a field of `work` begins, from the extent of all fields before it."""
    nodes, vector = 2 * taxa - 2, 4 * patterns
    return extent.fixed + extent.first * nodes * vector + extent.second * vector + extent.third * nodes


def work_size(taxa: int, patterns: int) -> int:
    """Length of `work`."""
    nodes, vector = 2 * taxa - 2, 4 * patterns
    return size_of(Work, nodes * vector, vector, nodes)


compiled_tree_size = inlined(tree_size)


@inlined
def compiled_work_size(taxa: int, patterns: int) -> int:
    """Length of `work`, in compiled code."""
    last = Work.up_scale
    return index_in_work(last.begin, taxa, patterns) + index_in_work(last.length, taxa, patterns)


@inlined
def down_of(v: int, taxa: int, patterns: int) -> int:
    """Where the vector from below a node begins."""
    return index_in_work(Work.down.begin, taxa, patterns) + 4 * patterns * v


@inlined
def up_of(v: int, taxa: int, patterns: int) -> int:
    """Where the vector from above a branch begins."""
    return index_in_work(Work.up.begin, taxa, patterns) + 4 * patterns * v


@inlined
def spare(k: int, taxa: int, patterns: int) -> int:
    """Where one of the two spare vectors begins."""
    return index_in_work(Work.spare.begin, taxa, patterns) + 4 * patterns * k


@inlined
def number_of(field: Field, v: int, taxa: int, patterns: int) -> int:
    """Where a number of a node is."""
    return index_in_work(field.begin, taxa, patterns) + v


@inlined
def scales_of(work: FloatPointer, v: int, taxa: int, patterns: int) -> float:
    """Logarithm of the scaling of both vectors of a branch."""
    up_scale = work[number_of(Work.up_scale, v, taxa, patterns)]
    return up_scale + work[number_of(Work.down_scale, v, taxa, patterns)]


@compiled
def hang(tree: IntPointer, taxa: int) -> bool:
    """Find children and order from the parents; return whether these form a tree in which every taxon is a leaf."""
    nodes = 2 * taxa - 2
    parent, first, second = Tree.parent * nodes, Tree.first_child * nodes, Tree.second_child * nodes
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
    # there are as many branches as there is room for children, so every inner node has two
    return put_in_order(tree, taxa) == nodes


@compiled
def put_in_order(tree: IntPointer, taxa: int) -> int:
    """Write the nodes, parents before children, and return how many descend from taxon 0."""
    nodes = 2 * taxa - 2
    found, waiting = 0, 1
    tree[Tree.stack * nodes] = 0
    while waiting > 0:
        waiting -= 1
        v = tree[Tree.stack * nodes + waiting]
        tree[Tree.order * nodes + found] = v
        found += 1
        for which in (Tree.second_child, Tree.first_child):
            child = tree[which * nodes + v]
            if child >= 0:
                tree[Tree.stack * nodes + waiting] = child
                waiting += 1
    return found


@compiled
def label(tree: IntPointer, taxa: int) -> bool:
    """Find the label of every inner node that depends only on the topology; return whether all have it already.

    If the lowest taxa below its two children are i < k, the node would have been added with taxon k, had the taxa been
    added one after the other. So its label is taxa + k - 2. Labels are left in the row `stack`.
    """
    nodes = 2 * taxa - 2
    same = True
    for k in range(nodes - 1, -1, -1):
        v = tree[Tree.order * nodes + k]
        if v < taxa:
            tree[Tree.lowest * nodes + v] = tree[Tree.stack * nodes + v] = v
            continue
        one = tree[Tree.lowest * nodes + tree[Tree.first_child * nodes + v]]
        other = tree[Tree.lowest * nodes + tree[Tree.second_child * nodes + v]]
        tree[Tree.lowest * nodes + v] = min(one, other)
        tree[Tree.stack * nodes + v] = taxa + max(one, other) - 2
        same = same and tree[Tree.stack * nodes + v] == v
    return same


@compiled
def set_length(work: FloatPointer, v: int, length: float, decay: Decay, taxa: int, patterns: int) -> None:
    """Set the length of a branch; small probabilities of change are computed without loss of digits.

    With a = 1 - exp(-decay[0] t) and b = 1 - exp(-decay[1] t), each of the two transversions has probability a / 4, and
    the transition b / 2 - a / 4.
    """
    a, b = -math.expm1(-decay[0] * length), -math.expm1(-decay[1] * length)
    work[number_of(Work.length, v, taxa, patterns)] = length
    work[number_of(Work.same, v, taxa, patterns)] = 1.0 - 0.25 * a - 0.5 * b
    work[number_of(Work.transition, v, taxa, patterns)] = 0.5 * b - 0.25 * a
    work[number_of(Work.transversion, v, taxa, patterns)] = 0.25 * a


@compiled
def join(
    work: FloatPointer, weights: FloatPointer, to: int, one: int, v: int, other: int, w: int, taxa: int, patterns: int
) -> float:
    """Multiply two vectors, each propagated along its branch, v and w; return the log of the scaling."""
    same, transition = (
        work[number_of(Work.same, v, taxa, patterns)],
        work[number_of(Work.transition, v, taxa, patterns)],
    )
    transversion = work[number_of(Work.transversion, v, taxa, patterns)]
    same_w, transition_w = (
        work[number_of(Work.same, w, taxa, patterns)],
        work[number_of(Work.transition, w, taxa, patterns)],
    )
    transversion_w = work[number_of(Work.transversion, w, taxa, patterns)]
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
    return 0.0 if least >= MIN_PARTIAL_LIKELIHOOD else enlarge(work, weights, to, patterns)


@compiled
def enlarge(work: FloatPointer, weights: FloatPointer, to: int, patterns: int) -> float:
    """Scale patterns of small entries by powers of two, and return the correction of the log-likelihood."""
    total = 0.0
    for k in range(patterns):
        o = to + 4 * k
        largest = max(max(work[o], work[o + 1]), max(work[o + 2], work[o + 3]))
        if 0.0 < largest < MIN_PARTIAL_LIKELIHOOD:
            power = -math.frexp(largest)[1]
            # in two steps, because the whole power may overflow
            half = math.ldexp(1.0, power // 2)
            rest = math.ldexp(1.0, power - power // 2)
            for state in range(4):
                work[o + state] = work[o + state] * half * rest
            total -= weights[k] * power * math.log(2.0)
    return total


@compiled
def down(tree: IntPointer, work: FloatPointer, weights: FloatPointer, v: int, taxa: int, patterns: int) -> None:
    """Compute the vector from below an inner node."""
    nodes = 2 * taxa - 2
    a, b = tree[Tree.first_child * nodes + v], tree[Tree.second_child * nodes + v]
    scale = work[number_of(Work.down_scale, a, taxa, patterns)] + work[number_of(Work.down_scale, b, taxa, patterns)]
    left, right = down_of(a, taxa, patterns), down_of(b, taxa, patterns)
    scale += join(work, weights, down_of(v, taxa, patterns), left, a, right, b, taxa, patterns)
    work[number_of(Work.down_scale, v, taxa, patterns)] = scale
    tree[Tree.down_fresh * nodes + v] = 1


@compiled
def sibling(tree: IntPointer, v: int, taxa: int) -> int:
    """Return the other child of a node's parent."""
    nodes = 2 * taxa - 2
    above = tree[Tree.parent * nodes + v]
    first = tree[Tree.first_child * nodes + above]
    return tree[Tree.second_child * nodes + above] if first == v else first


@compiled
def up(tree: IntPointer, work: FloatPointer, weights: FloatPointer, v: int, taxa: int, patterns: int) -> None:
    """Compute the vector from above a branch, from those above its parent and below its sibling."""
    nodes = 2 * taxa - 2
    above, w = tree[Tree.parent * nodes + v], sibling(tree, v, taxa)
    scale = work[number_of(Work.up_scale, above, taxa, patterns)] + work[number_of(Work.down_scale, w, taxa, patterns)]
    left, right = up_of(above, taxa, patterns), down_of(w, taxa, patterns)
    scale += join(work, weights, up_of(v, taxa, patterns), left, above, right, w, taxa, patterns)
    work[number_of(Work.up_scale, v, taxa, patterns)] = scale
    tree[Tree.up_fresh * nodes + v] = 1


@compiled
def begin(
    x: FloatPointer, tree: IntPointer, work: FloatPointer, tips: FloatPointer, decay: Decay, taxa: int, patterns: int
) -> bool:
    """Read a state, 2n - 3 parents and as many lengths, and mark all vectors but those of the taxa as stale.

    Returns whether it is a tree with the labels of its topology.
    """
    nodes = 2 * taxa - 2
    tree[Tree.parent * nodes] = -1
    for v in range(1, nodes):
        tree[Tree.parent * nodes + v] = int(x[v - 1])
    if not hang(tree, taxa) or not label(tree, taxa):
        return False
    for k in range(4 * patterns * taxa):
        work[k] = tips[k]
    for v in range(nodes):
        work[number_of(Work.down_scale, v, taxa, patterns)] = work[number_of(Work.up_scale, v, taxa, patterns)] = 0.0
        tree[Tree.down_fresh * nodes + v] = 1 if v < taxa else 0
        tree[Tree.up_fresh * nodes + v] = 0
        if v > 0:
            set_length(work, v, x[nodes - 2 + v], decay, taxa, patterns)
    begin_at_top(tree, work, taxa, patterns)
    return True


@compiled
def begin_at_top(tree: IntPointer, work: FloatPointer, taxa: int, patterns: int) -> None:
    """Set the vector from above the branch below taxon 0, which is that taxon's own."""
    top = tree[Tree.first_child * (2 * taxa - 2)]
    one, to = down_of(0, taxa, patterns), up_of(top, taxa, patterns)
    for k in range(4 * patterns):
        work[to + k] = work[one + k]
    work[number_of(Work.up_scale, top, taxa, patterns)] = 0.0
    tree[Tree.up_fresh * (2 * taxa - 2) + top] = 1


@compiled
def make_fresh(tree: IntPointer, work: FloatPointer, weights: FloatPointer, v: int, taxa: int, patterns: int) -> None:
    """Compute both sides of branch v, and of the others only what is stale and needed."""
    nodes = 2 * taxa - 2
    for w in range(nodes):
        tree[Tree.on_path * nodes + w] = 0
    w = v
    while w > 0:
        tree[Tree.on_path * nodes + w] = 1
        w = tree[Tree.parent * nodes + w]
    for k in range(nodes - 1, 0, -1):
        w = tree[Tree.order * nodes + k]
        if tree[Tree.down_fresh * nodes + w] == 0 and (w == v or tree[Tree.on_path * nodes + w] == 0):
            down(tree, work, weights, w, taxa, patterns)
    for k in range(1, nodes):
        w = tree[Tree.order * nodes + k]
        if tree[Tree.on_path * nodes + w] == 1 and tree[Tree.up_fresh * nodes + w] == 0:
            up(tree, work, weights, w, taxa, patterns)


@compiled
def make_stale(tree: IntPointer, v: int, taxa: int) -> None:
    """Mark what depends on branch v as stale: the vectors below its ancestors, and above all nodes but these and v."""
    nodes = 2 * taxa - 2
    for w in range(nodes):
        tree[Tree.on_path * nodes + w] = 0
    w = v
    while w > 0:
        tree[Tree.on_path * nodes + w] = 1
        if w != v:
            tree[Tree.down_fresh * nodes + w] = 0
        w = tree[Tree.parent * nodes + w]
    for w in range(nodes):
        if tree[Tree.on_path * nodes + w] == 0:
            tree[Tree.up_fresh * nodes + w] = 0


@compiled
def find_terms(work: FloatPointer, above: int, below: int, taxa: int, patterns: int) -> None:
    """Compute for every pattern the coefficients of the three probabilities in the likelihood across a branch."""
    to = index_in_work(Work.terms.begin, taxa, patterns)
    for k in range(patterns):
        i, j = above + 4 * k, below + 4 * k
        a, g, c, t = work[i], work[i + 1], work[i + 2], work[i + 3]
        b, h, d, u = work[j], work[j + 1], work[j + 2], work[j + 3]
        work[to + 3 * k] = a * b + g * h + c * d + t * u
        work[to + 3 * k + 1] = a * h + g * b + c * u + t * d
        work[to + 3 * k + 2] = (a + g) * (d + u) + (c + t) * (b + h)


@inlined
def with_pattern(so_far: Product, likelihood: float, weight: float) -> Product:
    """Multiply the likelihood of all patterns so far by that of one more.

    A logarithm takes longer than all else, so it is taken of products of neighbours that have the same weight.
    """
    total, product, last = so_far
    if weight != last or product < MIN_PRODUCT:
        total += last * math.log(product)
        product = 1.0
    if likelihood >= MIN_PRODUCT:
        product *= likelihood
    else:
        total += weight * math.log(likelihood) if likelihood > 0.0 else -math.inf
    return total, product, weight


@inlined
def log_of(so_far: Product) -> float:
    """Logarithm of the likelihood of all patterns so far."""
    total, product, last = so_far
    return total + last * math.log(product)


@compiled
def value_across(
    work: FloatPointer, weights: FloatPointer, length: float, decay: Decay, taxa: int, patterns: int
) -> float:
    """Log-likelihood across the branch of `find_terms`, at any length and without scales."""
    a, b = -math.expm1(-decay[0] * length), -math.expm1(-decay[1] * length)
    # a quarter of each: every base has this probability
    same, transition, transversion = 0.25 - 0.0625 * a - 0.125 * b, 0.125 * b - 0.0625 * a, 0.0625 * a
    o = index_in_work(Work.terms.begin, taxa, patterns)
    so_far = (0.0, 1.0, weights[0])
    for k in range(patterns):
        likelihood = same * work[o] + transition * work[o + 1] + transversion * work[o + 2]
        so_far = with_pattern(so_far, likelihood, weights[k])
        o += 3
    return log_of(so_far)


@inlined
def across(
    work: FloatPointer, weights: FloatPointer, above: int, below: int, v: int, decay: Decay, taxa: int, patterns: int
) -> float:
    """Log-likelihood across a branch at its present length, between two vectors and without their scales."""
    find_terms(work, above, below, taxa, patterns)
    return value_across(work, weights, work[number_of(Work.length, v, taxa, patterns)], decay, taxa, patterns)


@compiled
def propagate(work: FloatPointer, to: int, one: int, v: int, taxa: int, patterns: int) -> None:
    """Propagate a vector along branch v."""
    same, transition = (
        work[number_of(Work.same, v, taxa, patterns)],
        work[number_of(Work.transition, v, taxa, patterns)],
    )
    transversion = work[number_of(Work.transversion, v, taxa, patterns)]
    for k in range(0, 4 * patterns, 4):
        a, g, c, t = work[one + k], work[one + k + 1], work[one + k + 2], work[one + k + 3]
        from_pyrimidines, from_purines = transversion * (c + t), transversion * (a + g)
        work[to + k] = same * a + transition * g + from_pyrimidines
        work[to + k + 1] = same * g + transition * a + from_pyrimidines
        work[to + k + 2] = same * c + transition * t + from_purines
        work[to + k + 3] = same * t + transition * c + from_purines


@compiled
def value_at_node(
    work: FloatPointer,
    weights: FloatPointer,
    here: int,
    one: int,
    v: int,
    other: int,
    w: int,
    taxa: int,
    patterns: int,
) -> float:
    """Log-likelihood at a node without scales: a vector there, and two others to be propagated along branches v and w.

    It is -inf if some pattern is too improbable to be computed without scaling.
    """
    same, transition = (
        0.25 * work[number_of(Work.same, v, taxa, patterns)],
        0.25 * work[number_of(Work.transition, v, taxa, patterns)],
    )
    transversion = 0.25 * work[number_of(Work.transversion, v, taxa, patterns)]
    same_w, transition_w = (
        work[number_of(Work.same, w, taxa, patterns)],
        work[number_of(Work.transition, w, taxa, patterns)],
    )
    transversion_w = work[number_of(Work.transversion, w, taxa, patterns)]
    so_far = (0.0, 1.0, weights[0])
    for k in range(patterns):
        o = 4 * k
        a, g, c, t = work[one + o], work[one + o + 1], work[one + o + 2], work[one + o + 3]
        i, j, l, m = work[other + o], work[other + o + 1], work[other + o + 2], work[other + o + 3]  # noqa: E741
        from_pyrimidines, from_purines = transversion * (c + t), transversion * (a + g)
        from_pyrimidines_w, from_purines_w = transversion_w * (l + m), transversion_w * (i + j)
        p = (same * a + transition * g + from_pyrimidines) * (same_w * i + transition_w * j + from_pyrimidines_w)
        q = (same * g + transition * a + from_pyrimidines) * (same_w * j + transition_w * i + from_pyrimidines_w)
        r = (same * c + transition * t + from_purines) * (same_w * l + transition_w * m + from_purines_w)
        s = (same * t + transition * c + from_purines) * (same_w * m + transition_w * l + from_purines_w)
        likelihood = (p * work[here + o] + q * work[here + o + 1]) + (r * work[here + o + 2] + s * work[here + o + 3])
        if likelihood < MIN_PRODUCT:
            return -math.inf
        so_far = with_pattern(so_far, likelihood, weights[k])
    return log_of(so_far)


@compiled
def tree_log_likelihood(
    x: FloatPointer,
    tree: IntPointer,
    work: FloatPointer,
    tips: FloatPointer,
    weights: FloatPointer,
    decay: Decay,
    taxa: int,
    patterns: int,
) -> float:
    """Log-likelihood of a state by one pass from the leaves to taxon 0; zero likelihood if it is not a tree."""
    if not begin(x, tree, work, tips, decay, taxa, patterns):
        return -math.inf
    top = tree[Tree.first_child * (2 * taxa - 2)]
    make_fresh(tree, work, weights, top, taxa, patterns)
    find_terms(work, up_of(top, taxa, patterns), down_of(top, taxa, patterns), taxa, patterns)
    length = work[number_of(Work.length, top, taxa, patterns)]
    scale = work[number_of(Work.down_scale, top, taxa, patterns)]
    return value_across(work, weights, length, decay, taxa, patterns) + scale


@compiled
def sort_children(tree: IntPointer, taxa: int) -> None:
    """Let the order of all nodes depend on the topology only, not on the moves that led to it."""
    nodes = 2 * taxa - 2
    label(tree, taxa)
    for v in range(taxa, nodes):
        first, second = tree[Tree.first_child * nodes + v], tree[Tree.second_child * nodes + v]
        if tree[Tree.lowest * nodes + first] > tree[Tree.lowest * nodes + second]:
            tree[Tree.first_child * nodes + v], tree[Tree.second_child * nodes + v] = second, first
    put_in_order(tree, taxa)
