"""Distributions of SciPy, NumPyro and PyMC as distributions of sterna.

Which family each belongs to is written next to sterna's own (`Distribution.adapters`); here is how to read the objects
of each library. A library is recognised by the module of the object's class, so that none of them is imported here.
"""

from importlib import import_module

from sterna.distributions import Distribution

# The package that a distribution's class comes from, and the file here that reads it.
READERS = {"scipy": "scipy", "numpyro": "numpyro", "pytensor": "pymc"}


def as_distribution(part: object, what: str) -> Distribution | None:
    """Return a distribution of sterna or of a library that it can read as one of sterna, otherwise None.

    >>> from scipy import stats
    >>> as_distribution(stats.gamma(2, scale=3), "reference['x']")
    Gamma(alpha=2.0, beta=0.3333333333333333)
    """
    if isinstance(part, Distribution):
        return part
    packages = [base.__module__.partition(".")[0] for base in type(part).__mro__]
    library = next((READERS[package] for package in packages if package in READERS), None)
    if library is None:
        return None
    found: Distribution = import_module(f"sterna.reference.adapters.{library}").as_distribution(part, what)
    return found
