"""The posterior in a netCDF file, with what is worth knowing about its run as attributes.

The libraries netCDF4 and h5netcdf write files of version 4, which hold everything exactly. SciPy, which is always
there, writes version 3: integers become 32 bits wide (or floating-point numbers of the same values if they do not fit),
and names are limited to Latin letters. `xarray.open_dataset` reads all of them.
"""

import os
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sterna.errors import OptionError
from sterna.reference.space import Space, View
from sterna.result.attributes import attributes_of

if TYPE_CHECKING:
    import xarray

    from sterna.result.result import Result

Engine = Literal["netcdf4", "h5netcdf", "scipy"]
# Modules that xarray's engines need, the most capable first.
ENGINES: dict[Engine, tuple[str, ...]] = {
    "netcdf4": ("netCDF4",),
    "h5netcdf": ("h5netcdf", "h5py"),
    "scipy": ("scipy",),
}
MAX_INT = 2**31 - 1


def choose_engine(names: Iterable[str]) -> Engine:
    """Return the most capable engine that is installed and can write variables and dimensions of these names."""
    names = list(names)
    installed = [name for name, modules in ENGINES.items() if all(find_spec(module) for module in modules)]
    for engine in installed:
        if all(_can_name(engine, name) for name in names):
            return engine
    odd = next(name for name in names if not _can_name(installed[0], name))
    others_can = installed == ["scipy"] and "/" not in odd
    advice = "install h5netcdf (pip install h5netcdf h5py)" if others_can else "rename it"
    raise OptionError(f"A netCDF file written by {installed[0]} cannot hold a variable called {odd!r}: {advice}.")


def names_in_file(space: Space, view: View | None) -> list[str]:
    """Return the names that a target's posterior will have in a file, as far as they are known before the run."""
    if view is None:
        return space.names
    return [*view.shown, *(dim for dims in view.dims.values() for dim in dims if dim is not None)]


def _can_name(engine: Engine, name: str) -> bool:
    if engine != "scipy":
        return "/" not in name
    try:
        name.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


# What files of this format are called.
SUFFIXES = (".nc", ".nc4", ".netcdf", ".h5", ".hdf5", ".cdf")


def check_file(path: Path) -> None:
    """Refuse a file that cannot be written, by writing one beside it: a finished run would be lost otherwise."""
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OptionError(f"{path} cannot be written, because there is no folder {folder}. Create it first.")
    if path.is_dir():
        raise OptionError(f"{path} is a folder: give the name of a file, such as {path / 'posterior.nc'}.")
    if path.suffix.lower() not in ("", *SUFFIXES):
        raise OptionError(f"{path} would be a netCDF file, whatever its name: use one that ends in .nc.")
    if path.exists() and not path.is_file():
        raise OptionError(f"{path} is not an ordinary file: give another name.")
    if path.exists() and not os.access(path, os.W_OK):
        raise OptionError(f"{path} exists and must not be overwritten: give another name.")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".sterna-"):
            pass
    except OSError as error:
        raise OptionError(f"{path} cannot be written: {error.strerror} in {folder}. Give another folder.") from error


def save_posterior(result: "Result", path: Path) -> None:
    """Write the posterior to a file; one that exists already is replaced only when the new one is complete."""
    dataset = result.posterior.assign_attrs(attributes_of(result))
    engine = choose_engine(map(str, [*dataset.variables, *dataset.dims]))
    path = path.resolve()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        (_for_version_3(dataset) if engine == "scipy" else dataset).to_netcdf(part, engine=engine)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _for_version_3(dataset: "xarray.Dataset") -> "xarray.Dataset":
    """Return the dataset with integers of more than 32 bits as floating-point numbers, in which states hold them."""
    wide = {
        name: variable.astype(np.float64)
        for name, variable in dataset.data_vars.items()
        if variable.dtype.kind in "iu" and variable.size and _is_wide(variable.values)
    }
    attributes = {
        # floating-point numbers hold a seed up to 2**53 only
        name: str(value) if isinstance(value, int) and _is_wide(value) else value
        for name, value in dataset.attrs.items()
    }
    return dataset.assign(wide).assign_attrs(attributes)


def _is_wide(values: Any) -> bool:
    return bool(np.min(values) < -MAX_INT - 1 or np.max(values) > MAX_INT)
