"""Perfect phylogenies: trees of loci on which cells hang, and their likelihood from counts.

The nodes are the loci, 0 to L - 1, and the root, L. Every locus has a parent among the other nodes, every cell hangs on
a node, and a cell has the loci on its path to the root. Sets of cells are words of 64 bits.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sterna.ground.compilation import compiled, inlined
from sterna.types import IntPointer, WordArray, WordPointer


def words_of(cells: int) -> int:
    """Return how many words of 64 bits hold one bit for every cell."""
    return (cells + 63) // 64


compiled_words_of = inlined(words_of)


def pack(observed: NDArray[np.uint8]) -> WordArray:
    """Return sets of cells as words of 64 bits, from rows of zeros and ones."""
    rows, cells = observed.shape
    padded = np.zeros((rows, 64 * words_of(cells)), dtype=np.uint8)
    padded[:, :cells] = observed
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


@compiled
def put_in_order(parent: IntPointer, order: IntPointer, first: IntPointer, following: IntPointer, loci: int) -> int:
    """Write all nodes that descend from the root, parents before their children, and return how many there are."""
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
def number_of_bits(word: np.uint64) -> np.uint64:
    """Return how many bits of a word are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def count(
    parent: IntPointer,
    node_of_cell: IntPointer,
    order: IntPointer,
    sets: WordPointer,
    observed: WordPointer,
    loci: int,
    cells: int,
) -> tuple[int, int]:
    """Count the pairs of a cell and a locus that it has: those that were observed, and all.

    `sets` becomes the set of cells below every node, from the leaves to the root.
    """
    words = compiled_words_of(cells)
    for k in range((loci + 1) * words):
        sets[k] = np.uint64(0)
    for c in range(cells):
        sets[node_of_cell[c] * words + (c >> 6)] |= np.uint64(1) << np.uint64(c & 63)
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
    """Log-likelihood from counts: a present locus is missed with probability fnr, an absent one seen with fpr."""
    absent = ones - seen
    return (
        seen * math.log1p(-fnr)
        + (present - seen) * math.log(fnr)
        + absent * math.log(fpr)
        + (pairs - present - absent) * math.log1p(-fpr)
    )
