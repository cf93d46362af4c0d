"""Square lattices."""

import numpy as np
from numpy.typing import NDArray


def neighbours(size: int, periodic: bool) -> NDArray[np.int64]:
    """Neighbours of every site of a size x size lattice, row by row: (sites, 4), with -1 for none.

    On a periodic lattice of size 2 a pair is joined by two edges, and both are listed.
    """
    site = np.arange(size * size).reshape(size, size)
    lists = []
    for axis, step in ((0, -1), (0, 1), (1, -1), (1, 1)):
        shifted = np.roll(site, -step, axis=axis)
        if not periodic:
            edge = [slice(None), slice(None)]
            edge[axis] = slice(0, 1) if step < 0 else slice(size - 1, size)
            shifted[tuple(edge)] = -1
        lists.append(shifted.ravel())
    return np.ascontiguousarray(np.stack(lists, axis=1))
