"""Which explorer a target gets if its user names none: by its kinds of variables, its gradient, and its cost.

Where several explorers suit, the tuning rounds find the best of them (`sterna.explorers.best`).
"""

from dataclasses import dataclass

from sterna.engine.densities import NORMAL
from sterna.explorers.automala import AutoMALA
from sterna.explorers.base import Bound, Explorer, all_coordinates
from sterna.explorers.best import Best
from sterna.explorers.composition import Cycle, compose, explore_in_turn
from sterna.explorers.elliptical import Elliptical
from sterna.explorers.evolution import Evolution
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.fitted import Fitted
from sterna.explorers.hamiltonian import HMC
from sterna.explorers.metropolis import Metropolis
from sterna.explorers.slice import Slice
from sterna.ground.values import REAL
from sterna.types import BoolArray, IntArray

# An evaluation of so many seconds costs more than all else that an explorer does.
EXPENSIVE = 1e-5

# Explorers that learn a law of many coordinates need more draws than tuning has, and memory.
MOST_LEARNED = 100


def default_explorer(target: ExplorableTarget) -> Explorer:
    """Choose for a target.

    Slices need no tuning and fear no geometry. Beside them go on trial: paths along a gradient, if there is one;
    ellipses, if the reference is normal; and, where an evaluation costs more than all else, explorers of one evaluation
    a move.
    """
    if target.explorer is not None:
        return target.explorer
    real = target.program.value_type == REAL
    if not real.any():
        return Slice()
    candidates = _for_real_variables(target, real)
    others: list[Explorer] = candidates if real.all() else [OnReals(one) for one in candidates]
    return Best(Slice(), *others) if others else Slice()


def _for_real_variables(target: ExplorableTarget, real: BoolArray) -> list[Explorer]:
    """Return what suits the real variables, besides slices."""
    found: list[Explorer] = []
    if target.has_gradient:
        found += [HMC(), AutoMALA()]
    independent = target.program.log_reference == 0
    if independent and (target.program.family[real] == NORMAL).all():
        found.append(Elliptical())
    if target.cost.seconds > EXPENSIVE:
        found.append(Metropolis())
        if real.sum() <= MOST_LEARNED:
            found.append(Cycle(Evolution(1), Fitted(1)))
    return found


@dataclass(frozen=True)
class OnReals:
    """An explorer for the real variables, and slices for all others."""

    explorer: Explorer

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.explorer.name} and slice"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind both, each to its kind of coordinates, if there are any."""
        block = all_coordinates(target, coordinates)
        real = target.program.value_type[block] == REAL
        kinds = [(self.explorer, block[real]), (Slice(), block[~real])]
        parts = [explorer.bind(target, own) for explorer, own in kinds if len(own) > 0]
        return compose(explore_in_turn, parts, [len(parts)])
