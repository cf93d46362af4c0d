"""A black-box likelihood of 1, 2 or 5 ms: scans per second with one process, two processes, and other executors.

Prints the ratio and whether the bits are the same. `mpi4py.futures` runs in its own processes (`mpiexec`).
"""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import sterna

SECONDS = 0.005


def log_likelihood(x, seconds):
    """Two modes; the time is spent in Python, holding the interpreter lock and a core."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return -0.5 * float(np.sum((np.abs(x) - 3.0) ** 2))


def run(workers, seconds=SECONDS, explorer="slice", n_scans=12):
    """Return scans per second while sampling, and the bits of the draws."""
    result = sterna.sample(
        log_likelihood, {"x": sterna.Normal(0, 5, shape=5)}, {"seconds": seconds}, n_chains=10, n_rounds=3,
        n_scans=n_scans, explorer=explorer, explorations=1, workers=workers, progress=False,
    )  # fmt: skip
    bits = hashlib.sha256(result.posterior["x"].values.tobytes()).hexdigest()
    return n_scans / result.timing["sampling"], bits


def report(name, rate, bits, first):
    print(
        f"{name:<24}{rate:>8.2f} scans/s{rate / first[0]:>8.2f} x   {'same bits' if bits == first[1] else 'OTHER BITS'}"
    )


def main():
    for seconds in (0.001, 0.002):
        for explorer, n_scans in (("slice", 24), ("metropolis", 400)):
            print(f"{1000 * seconds:.0f} ms, {explorer}")
            first = run(None, seconds, explorer, n_scans)
            report("this process", *first, first)
            report("workers=2", *run(2, seconds, explorer, n_scans), first)
    print("5 ms, slice")
    first = run(None)
    report("this process", *first, first)
    report("workers=2", *run(2), first)
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("Dask: not installed")
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            report("Dask, 2 processes", *run(client.get_executor()), first)
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if mpiexec.exists():
        command = [str(mpiexec), "-n", "3", sys.executable, "-m", "mpi4py.futures", __file__, "mpi"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
        rate, bits = done.stdout.split()
        report("mpi4py, 2 processes", float(rate), bits, first)
    else:
        print("mpi4py: not installed")


if __name__ == "__main__":
    if sys.argv[1:] == ["mpi"]:
        from mpi4py.futures import MPIPoolExecutor

        with MPIPoolExecutor() as executor:
            print(*run(executor))
    else:
        main()
