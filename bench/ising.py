"""The Ising model with 5 x 5 to 30 x 30 spins: its barrier, and where its schedule is densest (`make ising`)."""

import sys
import time
from pathlib import Path

import numpy as np

import sterna
from sterna.models.ising import CRITICAL_COUPLING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tools"))
import kaufman

# The paper's 30 chains, except for the largest lattice, for which most swaps would be rejected.
CHAINS = {5: 30, 10: 30, 20: 30, 30: 45}
COLUMNS = ("M", "chains", "sum r", "error", "exact", "barrier", "exact", "/M", "restarts", "allowed",
           "densest", "steepest", "seconds")  # fmt: skip


def densest(schedule: np.ndarray) -> float:
    """Return the midpoint of the smallest step of beta."""
    place = np.diff(schedule).argmin()
    return float(schedule[place : place + 2].mean())


def main() -> None:
    """Print a line for every size, with the exact values."""
    print("Ising model on a torus, coupling 1 (beta is the inverse temperature of the paper), no magnetic moment.")
    print(f"Phase transition of the infinite lattice: log(1 + sqrt 2)/2 = {CRITICAL_COUPLING:.4f}")
    print("".join(f"{name:>9}" for name in COLUMNS))
    for size, n_chains in CHAINS.items():
        began = time.perf_counter()
        result = sterna.sample(
            sterna.models.ising(size=size), n_chains=n_chains, n_rounds=11, n_scans=10_000, progress=False
        )
        seconds = time.perf_counter() - began
        line = (
            f"{result.rejection.sum():>9.3f}{result.last.total_rejection_error:>9.3f}"
            f"{kaufman.rejections(result.schedule, size).sum():>9.3f}"
            f"{result.global_barrier:>9.3f}{kaufman.barrier(size)[1][-1]:>9.3f}{result.global_barrier / size:>9.3f}"
            f"{result.restarts:>9}{result.predicted_restarts:>9.0f}"
            f"{densest(result.schedule):>9.3f}{kaufman.steepest(size):>9.3f}{seconds:>9.1f}"
        )
        print(f"{size:>9}{n_chains:>9}{line}", flush=True)
    print(
        "sum r: the sum of rejections; barrier: the same, corrected for saturation; exact: from Kaufman's solution of\n"
        "the finite lattice, for this schedule and for the barrier; allowed: restarts implied by the rejections;\n"
        "densest: the midpoint of the smallest step; steepest: where the exact local barrier is highest."
    )


if __name__ == "__main__":
    main()
