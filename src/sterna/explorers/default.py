"""The explorer of a target whose user names none: by the types of its variables, its gradient, and its cost.

If several explorers are suitable, the tuning rounds find the best of them (`sterna.explorers.best`).
"""

from dataclasses import dataclass

from sterna.engine.densities import NORMAL
from sterna.explorers.automala import AutoMALA
from sterna.explorers.base import Bound, Explorer, all_coordinates
from sterna.explorers.best import Best
from sterna.explorers.composition import Cycle, compose_in_turn
from sterna.explorers.elliptical import Elliptical
from sterna.explorers.evolution import Evolution
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.fitted import Fitted
from sterna.explorers.hamiltonian import HMC
from sterna.explorers.metropolis import Metropolis
from sterna.explorers.slice import Slice
from sterna.ground.values import REAL
from sterna.types import BoolArray, IntArray

# Explorers that learn a joint distribution of more coordinates need more draws than tuning has, and much memory.
MAX_LEARNED = 100


def default_explorer(target: ExplorableTarget) -> Explorer:
    """Choose an explorer for a target.

    Slice sampling needs no tuning and adapts to any geometry. On trial beside it are explorers along a gradient, if
    there is one; elliptical slice sampling, if the reference is normal; and, if evaluations dominate the cost,
    explorers with one evaluation per move.
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
    """Return the explorers that suit the real variables, besides slice sampling."""
    found: list[Explorer] = []
    if target.has_gradient:
        found += [HMC(), AutoMALA()]
    independent = target.program.log_reference == 0
    if independent and (target.program.family[real] == NORMAL).all():
        found.append(Elliptical())
    if target.cost.expensive:
        found.append(Metropolis())
        if real.sum() <= MAX_LEARNED:
            found.append(Cycle(Evolution(1), Fitted(1)))
    return found


@dataclass(frozen=True)
class OnReals:
    """An explorer for the real variables, and slice sampling for all others."""

    explorer: Explorer

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.explorer.name} and slice"

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind both, each to its type of coordinates, if there are any."""
        block = all_coordinates(target, coordinates)
        real = target.program.value_type[block] == REAL
        blocks = [(self.explorer, block[real]), (Slice(), block[~real])]
        return compose_in_turn([explorer.bind(target, part) for explorer, part in blocks if len(part) > 0])
