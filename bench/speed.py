"""Compare sterna with a hand-written C program of the same algorithm, and two threads with one.

Run `python bench/speed.py`. Every figure is the minimum of seven repeats in which the programs alternate.
"""

import os
import sys

import numpy as np
from normal_case import race_scans, race_slices, tuned_case
from report import Row, show
from spin_case import race_spins
from thread_case import race_threads

import sterna


def log_likelihood(x):
    """A user's function of the same model, in ordinary Python."""
    total = 0.0
    for value in x:
        total += value**2
    return -2.0 * total


def log_likelihood_of_arrays(x):
    """The same with array operations, for which compiled NumPy creates an array at every evaluation."""
    return -2.0 * np.sum(x**2)


def race_users(cases) -> list[Row]:
    """Compare slice updates of a user's functions; the one with arrays has no limit and shows the cost of arrays."""
    rows = []
    for (case, scans), limit in zip(cases, (2.0, 1.3), strict=True):
        reference = {"x": sterna.Normal(0, 1, shape=case.dimension)}
        for function, bound, label in ((log_likelihood, limit, "loop"), (log_likelihood_of_arrays, None, "arrays")):
            target = sterna.Target(function, reference)
            rows.append(race_slices(case, target, scans, bound, f", user's {label}"))
    return rows


def main() -> None:
    """Run all cases."""
    print(f"load average at the start: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores (threads need two idle ones)")
    cases = [(tuned_case(5, 30), 20_000), (tuned_case(100, 10), 150)]
    builtin = [sterna.models.normal(dim=case.dimension) for case, _ in cases]
    rows = [race_slices(case, target, scans, 1.3, "") for (case, scans), target in zip(cases, builtin, strict=True)]
    show("Slice updates only: nanoseconds per likelihood evaluation", "C", "sterna", rows)
    rows = [race_scans(case, scans, 1.5) for case, scans in cases]
    show("Complete scans with swaps and recording: nanoseconds per likelihood evaluation", "C", "sterna", rows)
    show("Slice update of a user's function: nanoseconds per likelihood evaluation", "C", "sterna", race_users(cases))
    show("Heat bath: nanoseconds per spin update", "C", "sterna", [race_spins(20, 30, 1000, 1.5)])
    show("Two copies: seconds of sampling", "1 thread", "2 threads", race_threads(1.7))


if __name__ == "__main__":
    sys.exit(main())
