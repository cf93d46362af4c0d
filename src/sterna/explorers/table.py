"""The explorers that `sample` and the command line know by name."""

from collections.abc import Callable

from sterna.explorers.automala import AutoMALA
from sterna.explorers.base import Explorer
from sterna.explorers.elliptical import Elliptical
from sterna.explorers.evolution import Evolution
from sterna.explorers.fitted import Fitted
from sterna.explorers.gibbs import Gibbs
from sterna.explorers.hamiltonian import HMC
from sterna.explorers.independence import Independence
from sterna.explorers.mala import MALA
from sterna.explorers.metropolis import Metropolis
from sterna.explorers.slice import Slice

# These follow the gradient, which not every target has.
GRADIENT_EXPLORERS = ("hmc", "mala", "automala")

EXPLORERS: dict[str, Callable[[], Explorer]] = {
    "slice": Slice,
    "metropolis": Metropolis,
    "evolution": Evolution,
    "independence": Independence,
    "fitted": Fitted,
    "elliptical": Elliptical,
    "hmc": HMC,
    "mala": MALA,
    "automala": AutoMALA,
    "gibbs": Gibbs,
}
