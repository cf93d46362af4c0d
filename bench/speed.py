"""Measures sterna against a hand-written C program of the same algorithm, and two threads against one.

Run `python bench/speed.py`. Every figure is the least of seven repeats in which the programs take turns.
"""

import os
import sys

from normal_case import race_scans, race_slices, tuned_case
from report import show
from spin_case import race_spins
from thread_case import race_threads

import sterna


def log_likelihood(x):
    """A user's own function of the same model, in ordinary Python."""
    total = 0.0
    for value in x:
        total += value**2
    return -2.0 * total


def main() -> None:
    """Run all cases."""
    print(f"load before the start: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores (the threads need two free ones)")
    cases = [(tuned_case(5, 30), 20_000), (tuned_case(100, 10), 150)]
    builtin = [sterna.models.normal(dim=case.dimension) for case, _ in cases]
    own = [sterna.Target(log_likelihood, {"x": sterna.Normal(0, 1, shape=case.dimension)}) for case, _ in cases]
    rows = [race_slices(case, target, scans, 1.3, "") for (case, scans), target in zip(cases, builtin, strict=True)]
    show("Slice update alone: nanoseconds per likelihood evaluation", "C", "sterna", rows)
    rows = [race_scans(case, scans, 1.5) for case, scans in cases]
    show("Whole scan with swaps and recording: nanoseconds per likelihood evaluation", "C", "sterna", rows)
    rows = [
        race_slices(case, target, scans, limit, ", user's loop")
        for (case, scans), target, limit in zip(cases, own, (2.0, 1.3), strict=True)
    ]
    show("Slice update of a user's function: nanoseconds per likelihood evaluation", "C", "sterna", rows)
    show("Heat bath: nanoseconds per spin update", "C", "sterna", [race_spins(20, 30, 1000, 1.5)])
    show("Two copies: seconds of sampling", "1 thread", "2 threads", race_threads(1.7))


if __name__ == "__main__":
    sys.exit(main())
