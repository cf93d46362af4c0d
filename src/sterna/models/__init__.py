"""Built-in models: the models of the paper, and spin glasses. Each is a function that returns a `sterna.Target`.

Examples
--------
>>> import sterna
>>> target = sterna.models.ising(size=4)
>>> target.name, target.space.dimension
('ising', 16)
"""

from sterna.models.change_point import change_point
from sterna.models.copy_number import copy_number
from sterna.models.discrete import discrete
from sterna.models.elliptic import elliptic
from sterna.models.glm import glm
from sterna.models.hierarchical import hierarchical
from sterna.models.ising import ising, magnetic
from sterna.models.mixture import mixture
from sterna.models.normal import normal
from sterna.models.ode import ode
from sterna.models.phylo_cancer import phylo_cancer
from sterna.models.phylo_species import phylo_species
from sterna.models.product import product
from sterna.models.rotor import rotor
from sterna.models.spike_slab import spike_slab
from sterna.models.spin_glass import spin_glass
from sterna.models.wright_fisher import wright_fisher

__all__ = [
    "change_point",
    "copy_number",
    "discrete",
    "elliptic",
    "glm",
    "hierarchical",
    "ising",
    "magnetic",
    "mixture",
    "normal",
    "ode",
    "phylo_cancer",
    "phylo_species",
    "product",
    "rotor",
    "spike_slab",
    "spin_glass",
    "wright_fisher",
]
