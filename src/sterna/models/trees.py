"""Trees for users: Newick strings, topologies and splits with their frequencies, and genotypes."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sterna.errors import OptionError
from sterna.types import BoolArray, IntArray


def newick(parent: ArrayLike, length: ArrayLike | None = None, names: Sequence[str] | None = None) -> str:
    """Write one unrooted tree of `phylo_species` as a Newick string, with branch lengths if they are given.

    Parameters
    ----------
    parent, length
        One draw of the two variables.
    names
        Names of the taxa, in the order of the alignment; by default 0, 1, 2, ...

    Examples
    --------
    >>> newick([5, 4, 4, 5, 0], names=["human", "chimp", "mouse", "rat"])
    '(human,chimp,(mouse,rat));'
    """
    children, taxa = _children(parent), _taxa(parent)
    labels = _labels(names, taxa)
    lengths = None if length is None else np.asarray(length, dtype=np.float64)

    def branch(v: int) -> str:
        return "" if lengths is None else f":{lengths[v - 1]:.6g}"

    def write(v: int) -> str:
        inner = f"({','.join(write(child) for child in children[v])})" if children[v] else labels[v]
        return inner + branch(v)

    top = children[0][0]
    parts = [labels[0] + branch(top), *(write(child) for child in children[top])]
    return f"({','.join(parts)});"


def topologies(parents: ArrayLike, names: Sequence[str] | None = None) -> dict[str, float]:
    """Return the frequency of every topology among draws of `parent`, keyed by Newick string, in decreasing order.

    Examples
    --------
    >>> topologies([[5, 4, 4, 5, 0], [5, 4, 4, 5, 0]])
    {'(0,1,(2,3));': 1.0}
    """
    draws = _draws(parents)
    distinct, counts = np.unique(draws, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {newick(distinct[k], None, names): float(counts[k] / len(draws)) for k in order}


def splits(parents: ArrayLike, names: Sequence[str] | None = None) -> dict[frozenset[str], float]:
    """Return the frequency of every group of taxa among draws of `parent`, in decreasing order.

    A branch splits the taxa in two; its group is the side without taxon 0. Groups of a single taxon are left out.

    Examples
    --------
    >>> shares = splits([[5, 4, 4, 5, 0]], names=["human", "chimp", "mouse", "rat"])
    >>> shares[frozenset({"mouse", "rat"})]
    1.0
    """
    draws = _draws(parents)
    taxa = _taxa(draws[0])
    labels = _labels(names, taxa)
    found: Counter[frozenset[str]] = Counter()
    distinct, counts = np.unique(draws, axis=0, return_counts=True)
    for parent, count in zip(distinct, counts, strict=True):
        children = _children(parent)

        def below(v: int, children: list[list[int]] = children) -> frozenset[int]:
            return frozenset([v]).union(*(below(child) for child in children[v])) if children[v] else frozenset([v])

        for v in range(taxa, 2 * taxa - 2):
            group = frozenset(k for k in below(v) if k < taxa)
            if 1 < len(group) < taxa - 1:
                found[frozenset(labels[k] for k in group)] += int(count)
    return {group: count / len(draws) for group, count in found.most_common()}


def genotypes(parent: ArrayLike, place: ArrayLike) -> BoolArray:
    """Return whether each cell has each locus, (cells, loci), for one draw of `phylo_cancer`.

    Examples
    --------
    >>> genotypes([2, 0], [0, 1, 2]).astype(int).tolist()
    [[1, 0], [1, 1], [0, 0]]
    """
    above, nodes = np.asarray(parent, dtype=np.int64), np.asarray(place, dtype=np.int64)
    found = np.zeros((len(nodes), len(above)), dtype=bool)
    for cell, node in enumerate(nodes.tolist()):
        v = node
        while v < len(above):
            found[cell, v] = True
            v = int(above[v])
    return found


def locus_newick(
    parent: ArrayLike,
    place: ArrayLike,
    loci: Sequence[str] | None = None,
    cells: Sequence[str] | None = None,
) -> str:
    """Write one tree of `phylo_cancer` as a Newick string whose inner nodes are loci and whose leaves are cells.

    A locus that no cell has is a leaf, too. By default loci are named L0, L1, ... and cells C0, C1, ...

    Examples
    --------
    >>> locus_newick([2, 0], [0, 1, 2])
    '(((C1)L1,C0)L0,C2)root;'
    """
    above, nodes = np.asarray(parent, dtype=np.int64), np.asarray(place, dtype=np.int64)
    names = [f"L{k}" for k in range(len(above))] if loci is None else list(loci)
    leaves = [f"C{k}" for k in range(len(nodes))] if cells is None else list(cells)
    parts: list[list[str]] = [[] for _ in range(len(above) + 1)]
    children = [np.flatnonzero(above == v).tolist() for v in range(len(above) + 1)]
    order = [len(above)]
    for v in order:
        order.extend(children[v])
    # without recursion, because a chain of loci can be deeper than Python's recursion limit
    for v in reversed(order):
        parts[v] = [*[_node(parts[k], names[k]) for k in children[v]], *[leaves[c] for c in np.flatnonzero(nodes == v)]]
    return _node(parts[len(above)], "root") + ";"


def _node(parts: list[str], name: str) -> str:
    return f"({','.join(parts)}){name}" if parts else name


def _draws(parents: ArrayLike) -> IntArray:
    """Return all draws as rows; the chains of a posterior are concatenated."""
    array = np.asarray(parents, dtype=np.int64)
    return array.reshape(-1, array.shape[-1])


def _taxa(parent: ArrayLike) -> int:
    return int(np.asarray(parent).shape[-1] + 3) // 2


def _children(parent: ArrayLike) -> list[list[int]]:
    above = np.asarray(parent, dtype=np.int64)
    children: list[list[int]] = [[] for _ in range(len(above) + 1)]
    for v, p in enumerate(above.tolist(), start=1):
        children[p].append(v)
    return children


def _labels(names: Sequence[str] | None, taxa: int) -> list[str]:
    if names is None:
        return [str(k) for k in range(taxa)]
    if len(names) != taxa:
        raise OptionError(f"{len(names)} names were given for a tree of {taxa} taxa; give one name per taxon.")
    return list(names)
