"""Predicted against measured times to a goal: `sterna.check` before a run, and the run itself with another seed.

Ten models, cheap ones and some whose evaluation takes 100 microseconds, each with a goal that a run reaches in seconds to
minutes: `make check-times` prints the table. Other work on the same cores makes both times uncertain, so that each pair is
measured one after the other.
"""

import argparse
import time

import numpy as np

import sterna


def busy(seconds):
    """Return a log-likelihood in Python that takes so long: a mixture of two modes in two dimensions."""

    def log_likelihood(x):
        end = time.perf_counter() + seconds
        value = np.logaddexp(-0.5 * np.sum((x - 2.0) ** 2) / 0.04, -0.5 * np.sum((x + 2.0) ** 2) / 0.04)
        while time.perf_counter() < end:
            pass
        return float(value)

    return log_likelihood


class AsPython:
    """A function that Numba does not compile."""

    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        return self.function(x)


def slow(dimension, seconds=1e-4):
    return sterna.Target(AsPython(busy(seconds)), {"x": sterna.Normal(0, 3, shape=dimension)}, name="slow")


def spikes(x):
    """Normal modes in compiled code that does some work."""
    total = 0.0
    for k in range(400):
        total += np.cos(0.001 * k * x[0]) * 1e-9
    return total - 50.0 * np.sum((np.abs(x) - 1.0) ** 2)


CASES = {
    "ising 12, 0.01": (lambda: sterna.models.ising(size=12), {"log_evidence": 0.01}),
    "discrete, 0.001": (lambda: sterna.models.discrete(), {"log_evidence": 0.001}),
    "change_point, 0.01": (lambda: sterna.models.change_point(), {"log_evidence": 0.01}),
    "elliptic, 0.01": (lambda: sterna.models.elliptic(), {"log_evidence": 0.01}),
    "rotor, 0.02": (lambda: sterna.models.rotor(), {"log_evidence": 0.02}),
    "mixture, 0.1": (lambda: sterna.models.mixture(), {"log_evidence": 0.1}),
    "phylo_species, 0.1": (lambda: sterna.models.phylo_species(), {"log_evidence": 0.1}),
    "spike_slab, 0.1": (lambda: sterna.models.spike_slab(), {"log_evidence": 0.1}),
    "spin_glass, 0.1": (lambda: sterna.models.spin_glass(), {"log_evidence": 0.1}),
    "glm, ess 2000": (lambda: sterna.models.glm(), {"log_evidence": 0.005}),
    "eight modes in 3-d, 0.02": (
        lambda: sterna.Target(spikes, {"x": sterna.Normal(0, 3, shape=3)}),
        {"log_evidence": 0.02},
    ),
    "100 us, 2-d, 0.1": (lambda: slow(2), {"log_evidence": 0.1}),
    "100 us, 4-d, 0.1": (lambda: slow(4), {"log_evidence": 0.1}),
}


def measure(name, seconds):
    make, goal = CASES[name]
    report = sterna.check(make(), until=goal, max_seconds=seconds, seed=1, progress=False)
    began = time.perf_counter()
    result = sterna.sample(make(), until=goal, seed=2, progress=False)
    taken = sum(result.timing[phase] for phase in ("tuning", "sampling", "search"))
    whole = "whole" if "just did" in report["time"].text else "extrapolated"
    factor = report.seconds / taken
    print(
        f"{name:28} {report.seconds:10.2f} {taken:10.2f} {factor:8.2f}  {whole:13} {result.ended_by:6} "
        f"{time.perf_counter() - began:8.2f} {result.settings.n_scans:7}  {report['run'].text[:60]}  {report['time'].text[:150]} {result.timing}",
        flush=True,
    )
    return 1 / 1.5 <= factor <= 1.5


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[], help="some of the models")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each check")
    given = parser.parse_args()
    names = [name for name in CASES if not given.names or any(part in name for part in given.names)]
    print(f"{'model, goal':28} {'predicted':>10} {'measured':>10} {'ratio':>8}")
    good = sum(measure(name, given.seconds) for name in names)
    print(f"{good} of {len(names)} within a factor of 1.5")
