"""The version, stated here alone: the distribution on PyPI and `sterna --version` read it."""

__version__ = "0.1.0"
