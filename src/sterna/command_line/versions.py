"""The versions that a bug report needs."""

import platform
from importlib.metadata import version

import click

from sterna.version import __version__


def versions() -> str:
    """Return the versions of sterna and of what its results depend on, without importing anything large."""
    libraries = ", ".join(f"{name} {version(name.lower())}" for name in ("NumPy", "Numba", "SciPy"))
    system = f"{platform.system()} {platform.machine()}"
    return f"sterna {__version__} (Python {platform.python_version()}, {libraries}, {system})"


def print_versions(context: click.Context, _: click.Parameter, requested: bool) -> None:
    """Print them and exit, if the option is given."""
    if requested:
        click.echo(versions())
        context.exit()
