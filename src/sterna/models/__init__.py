"""Built-in models: those of the paper, and spin glasses; each is a function that returns a `sterna.Target`."""

from sterna.models.copy_number import copy_number
from sterna.models.discrete import discrete
from sterna.models.hierarchical import hierarchical
from sterna.models.ising import ising, magnetic
from sterna.models.mixture import mixture
from sterna.models.normal import normal
from sterna.models.phylo_cancer import phylo_cancer
from sterna.models.phylo_species import phylo_species
from sterna.models.rotor import rotor
from sterna.models.spin_glass import spin_glass

__all__ = [
    "copy_number",
    "discrete",
    "hierarchical",
    "ising",
    "magnetic",
    "mixture",
    "normal",
    "phylo_cancer",
    "phylo_species",
    "rotor",
    "spin_glass",
]
