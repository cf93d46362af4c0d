"""Priors that people already write: distributions of SciPy, NumPyro and PyMC, as sterna's own.

Each library has a file with a table of its families. It is recognised by the module of the object's class, so that
none of them is imported here.
"""

from importlib import import_module
from typing import Any

from sterna.reference.distributions import Distribution

# The package that a distribution's class comes from, and the file here that reads it.
READERS = {"scipy": "scipy", "numpyro": "numpyro", "pytensor": "pymc"}


def as_distribution(part: Any, what: str) -> Distribution | None:
    """Return sterna's distribution for one of its own or of a library that it knows, else None.

    >>> from scipy import stats
    >>> as_distribution(stats.gamma(2, scale=3), "reference['x']")
    Gamma(alpha=2.0, beta=0.3333333333333333)
    """
    if isinstance(part, Distribution):
        return part
    packages = [kind.__module__.partition(".")[0] for kind in type(part).__mro__]
    library = next((READERS[package] for package in packages if package in READERS), None)
    if library is None:
        return None
    found: Distribution = import_module(f"sterna.reference.adapters.{library}").as_distribution(part, what)
    return found
