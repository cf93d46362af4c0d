"""The distributions of a reference, with arguments as in PyMC: exact densities and exact independent draws.

Arguments may be arrays; together with `shape` they broadcast to the variable's shape. Each family is one record next to
its class: its compiled functions, and its counterparts in SciPy, NumPyro and PyMC.
"""

from typing import TYPE_CHECKING

from sterna.distributions import circle, counts, finite, gamma, half_line, interval, real_line, vectors
from sterna.distributions.base import Coordinates as Coordinates
from sterna.distributions.base import Distribution as Distribution
from sterna.distributions.base import Family as Family
from sterna.distributions.circle import *  # noqa: F403 (each file lists its distributions)
from sterna.distributions.counts import *  # noqa: F403
from sterna.distributions.finite import *  # noqa: F403
from sterna.distributions.gamma import *  # noqa: F403
from sterna.distributions.half_line import *  # noqa: F403
from sterna.distributions.interval import *  # noqa: F403
from sterna.distributions.real_line import *  # noqa: F403
from sterna.distributions.vectors import *  # noqa: F403

_FILES = (real_line, half_line, gamma, interval, circle, finite, counts, vectors)

DISTRIBUTIONS: tuple[type[Distribution], ...] = tuple(getattr(file, name) for file in _FILES for name in file.__all__)
"""All public distributions."""

FAMILIES: tuple[Family, ...] = tuple(
    dict.fromkeys(distribution.family for distribution in DISTRIBUTIONS if hasattr(distribution, "family"))
)
"""All families."""

# Type checkers take all names of a star import to be public unless there is a list that they cannot evaluate.
if not TYPE_CHECKING:
    __all__ = sorted(distribution.__name__ for distribution in DISTRIBUTIONS)
