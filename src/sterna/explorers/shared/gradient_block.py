"""The block of coordinates of an explorer that follows the gradient: its checks, and the data of its kernel."""

import numpy as np
from numpy.typing import NDArray

from sterna.engine.densities import NORMAL
from sterna.errors import OptionError
from sterna.explorers.base import all_coordinates
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.shared.leapfrog import DENSE, DIAGONAL, PLAIN
from sterna.ground.values import REAL
from sterna.types import FloatArray, IntArray


def block_of(what: str, target: ExplorableTarget, coordinates: IntArray | None) -> IntArray:
    """Return the block's coordinates, after checking that they are real and that the target has a gradient."""
    if not target.has_gradient:
        raise OptionError(
            f"explorer={what}(...) follows the gradient, and {target.name} has none: give gradient= to sterna.Target "
            "(and to a sterna.Reference), or use sterna.Slice()."
        )
    target.prepare_gradient()
    block = all_coordinates(target, coordinates)
    for v in target.space.variables:
        if v.value_type != REAL and np.isin(block, np.arange(v.start, v.stop)).any():
            raise OptionError(
                f"explorer={what}(...) moves real variables only, and {v.name} is not one: give it its own explorer, "
                f'such as {{"{v.name}": sterna.Slice(), ...: {what}()}}.'
            )
    return block


def tables(target: ExplorableTarget, block: IntArray, dense: bool) -> tuple[int, tuple[NDArray[np.generic], ...]]:
    """Return the way of stepping and the kernel's data: coordinates, and means and precisions of a plain reference."""
    program = target.program
    plain = (
        not dense
        and program.log_reference == 0
        and np.array_equal(block, np.arange(target.dimension))
        and bool(np.all(program.family == NORMAL))
    )
    means, precisions = aligned_zeros(len(block)), aligned_zeros(len(block))
    if plain:
        constants = program.constants.reshape(-1, 4)
        means[: len(block)], precisions[: len(block)] = constants[:, 0], constants[:, 1] ** 2
    return PLAIN if plain else DENSE if dense else DIAGONAL, (block, means, precisions)


def aligned_zeros(count: int) -> FloatArray:
    """Return zeros that fill whole cache lines, aligned to the first."""
    size = (count + 7) // 8 * 8
    room = np.zeros(size + 8)
    first = -room.ctypes.data // 8 % 8
    return room[first : first + size]
