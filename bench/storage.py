"""Why runs are written as they are: formats for draws that grow, by time, size and what a kill leaves.

    python bench/storage.py

Each format takes 50 times 1 MB of draws, which must reach the disk each time, as a run writes them. Then the last
file written is cut in the middle, as by a kill or a full disk, and the rows that can still be read are counted. Also
printed: the time to import what reads and writes the format, and how much slower a run of 20 seconds is with a folder.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import sterna
from sterna.storage.array_folder import ArrayFolder, Place

APPENDS, ROWS, WIDTH = 50, 13_107, 10
DRAWS = np.random.default_rng(1).normal(size=(APPENDS * ROWS, 1, WIDTH))
DIMS = ("draw", "chain", "coordinate")


def by_sterna(root):
    folder = ArrayFolder(root)
    for n in range(ROWS, len(DRAWS) + 1, ROWS):
        folder.take({"draws": DRAWS}, {"draws": Place("scans/draws", n, DIMS)})


def by_zarr(root):
    import zarr

    array = zarr.create_array(root / "draws", shape=(0, 1, WIDTH), chunks=(ROWS, 1, WIDTH), dtype="f8")
    for n in range(0, len(DRAWS), ROWS):
        array.append(DRAWS[n : n + ROWS])
        os.sync()


def by_hdf5(root):
    import h5py

    with h5py.File(root / "draws.h5", "w") as file:
        data = file.create_dataset("draws", shape=(0, 1, WIDTH), maxshape=(None, 1, WIDTH), chunks=(ROWS, 1, WIDTH))
        for n in range(0, len(DRAWS), ROWS):
            data.resize(n + ROWS, axis=0)
            data[n:] = DRAWS[n : n + ROWS]
            file.flush()
            os.fsync(file.id.get_vfd_handle())


def by_whole_netcdf(root):
    """NetCDF cannot grow safely in place, so a whole file is written beside and renamed."""
    import xarray

    for n in range(ROWS, len(DRAWS) + 1, ROWS):
        xarray.Dataset({"draws": (DIMS, DRAWS[:n])}).to_netcdf(root / "part.nc", engine="h5netcdf")
        with open(root / "part.nc", "rb") as file:
            os.fsync(file.fileno())
        os.replace(root / "part.nc", root / "draws.nc")


def rows_of_zarr(root):
    import zarr

    path = next(root.rglob(".zarray"), None) or next(root.rglob("zarr.json"))
    array = zarr.open_array(path.parent, mode="r")
    found = 0
    for n in range(0, array.shape[0], array.chunks[0]):
        try:
            found += len(array[n : n + array.chunks[0]])
        except Exception:
            break
    return found


def rows_of_hdf5(root):
    import h5py

    try:
        with h5py.File(next(root.glob("draws.*"))) as file:
            return len(file["draws"][:])
    except Exception:
        return 0


FORMATS = {
    "chunks in Zarr's format, by sterna": (by_sterna, rows_of_zarr, "import sterna.storage.array_folder"),
    "Zarr by zarr-python": (by_zarr, rows_of_zarr, "import zarr"),
    "HDF5, appended in place": (by_hdf5, rows_of_hdf5, "import h5py"),
    "netCDF, written whole each time": (by_whole_netcdf, rows_of_hdf5, "import h5netcdf, xarray"),
}


def seconds_to_import(code):
    script = f"import numpy, time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    return float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)


def cut_newest(root):
    newest = max((path for path in root.rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime_ns)
    if newest.name.startswith("."):  # what describes an array is as whole as any file; take the chunk
        newest = max((p for p in root.rglob("[0-9]*") if p.is_file()), key=lambda path: path.stat().st_mtime_ns)
    with open(newest, "r+b") as file:
        file.truncate(newest.stat().st_size // 2)


def overhead(seconds=20.0):
    """Return how much longer a run takes with a folder; twice each, alternating."""
    options = {"explorer": "slice", "n_rounds": 12, "progress": False, "workers": 1}
    target = sterna.models.normal(20)
    began = time.perf_counter()
    trial = sterna.sample(target, n_scans=2000, **options)
    n_scans = int(2000 * seconds / max(trial.timing["sampling"], 0.01))
    times = {False: [], True: []}
    for _ in range(2):
        for in_folder in (False, True):
            with tempfile.TemporaryDirectory() as root:
                began = time.perf_counter()
                sterna.sample(target, n_scans=n_scans, folder=f"{root}/run" if in_folder else None, **options)
                times[in_folder].append(time.perf_counter() - began)
    return min(times[False]), min(times[True])


def main():
    warnings.simplefilter("ignore")
    print(f"{'format':38} ms per MB   MB on disk   rows after a cut   seconds to import")
    for name, (write, rows, code) in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            began = time.perf_counter()
            write(root)
            each = (time.perf_counter() - began) / APPENDS
            size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 1e6
            cut_newest(root)
            left, loading = rows(root) / len(DRAWS), seconds_to_import(code)
            print(f"{name:38} {1e3 * each:9.1f} {size:12.1f} {left:18.2f} {loading:19.2f}", flush=True)
    without, with_folder = overhead()
    print(f"a run of {without:.1f} s takes {with_folder:.1f} s with a folder: {with_folder / without - 1:+.1%}")


if __name__ == "__main__":
    main()
