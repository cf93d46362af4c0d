"""Stratified resampling of particles, whose random numbers are a function of (seed, copy, round, step, particle)."""

from sterna.ground.compilation import compiled
from sterna.ground.streams import scan_key, swap_uniform
from sterna.types import FloatArray, IntArray

# The largest number below 1.
_BELOW_ONE = 1.0 - 2.0**-53


@compiled
def stratified_parents(
    seed: int, copy_number: int, round_number: int, step: int, cumulative: FloatArray, parents: IntArray
) -> None:
    """Draw a parent for every new particle: one point in each of as many equal parts of [0, 1) (Kitagawa 1996).

    `cumulative` are running sums of normalised weights, whose last one is 1; a particle of weight zero has no
    offspring. Offspring are in the order of their parents, so that those of one ancestor stay together. Particles
    do not swap, and the numbers that decide swaps serve here.
    """
    key = scan_key(seed, copy_number, round_number, step)
    parent = 0
    for k in range(parents.size):
        point = min((k + swap_uniform(key, k)) / parents.size, _BELOW_ONE)
        while cumulative[parent] <= point:
            parent += 1
        parents[k] = parent
