"""Square lattices, and cubic lattices of any dimension."""

import numpy as np

from sterna.types import IntArray


def neighbours(size: int, periodic: bool, dim: int = 2) -> IntArray:
    """Neighbours of every site of a lattice of size^dim sites in C order: (sites, 2 dim), with -1 for none.

    For each axis the previous site comes first, then the next. On a periodic lattice of size 2, two sites are joined by
    two edges, and both are listed.
    """
    site = np.arange(size**dim).reshape((size,) * dim)
    lists = []
    for axis in range(dim):
        for step in (-1, 1):
            shifted = np.roll(site, -step, axis=axis)
            if not periodic:
                edge = [slice(None)] * dim
                edge[axis] = slice(0, 1) if step < 0 else slice(size - 1, size)
                shifted[tuple(edge)] = -1
            lists.append(shifted.ravel())
    return np.ascontiguousarray(np.stack(lists, axis=1))
