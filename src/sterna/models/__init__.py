"""Built-in models with known answers; each is a function that returns a `sterna.Target`."""

from sterna.models.change_point import change_point
from sterna.models.discrete import discrete
from sterna.models.elliptic import elliptic
from sterna.models.glm import glm
from sterna.models.ising import ising, magnetic
from sterna.models.normal import normal
from sterna.models.ode import ode
from sterna.models.product import product
from sterna.models.rotor import rotor
from sterna.models.spike_slab import spike_slab
from sterna.models.spin_glass import spin_glass
from sterna.models.wright_fisher import wright_fisher

__all__ = [
    "change_point",
    "discrete",
    "elliptic",
    "glm",
    "ising",
    "magnetic",
    "normal",
    "ode",
    "product",
    "rotor",
    "spike_slab",
    "spin_glass",
    "wright_fisher",
]
