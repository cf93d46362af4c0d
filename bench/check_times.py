"""Predicted against measured times to a goal: `sterna.check` before a run, and the run itself with another seed.

Models with goals that a run reaches in seconds to minutes, cheap ones and some whose evaluation takes 100 microseconds.
All run in one thread. On cores that others use too, wall times say as much about the others; so the table has both the
ratio of wall times and that of processor times: the predicted time is multiplied by the share of the wall time that the
check had a processor, and the measured one is the processor time of the run.
"""

import argparse
import math
import time

import numpy as np

import sterna
import sterna.run.check.check as check_module


class AsPython:
    """A function that Numba does not compile."""

    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        return self.function(x)


def two_modes_with_work(x):
    """Two modes, in Python that takes about 100 microseconds."""
    total = 0.0
    for k in range(900):
        total += math.sin(0.001 * k) * 1e-12
    near, far = (-0.5 * sum((value - side) ** 2 for value in x.tolist()) / 0.04 for side in (2.0, -2.0))
    return max(near, far) + math.log1p(math.exp(-abs(near - far))) + total


def slow(dimension):
    return sterna.Target(AsPython(two_modes_with_work), {"x": sterna.Normal(0, 3, shape=dimension)}, name="slow")


def regression(dimension):
    """A logistic regression in Python with a gradient: about 100 microseconds."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((4000, dimension))
    y = (rng.random(4000) < 1 / (1 + np.exp(-x @ np.ones(dimension)))).astype(float)

    def log_likelihood(b):
        z = x @ b
        return float(y @ z - np.logaddexp(0, z).sum())

    def gradient(b):
        return x.T @ (y - 1 / (1 + np.exp(-(x @ b))))

    reference = {"b": sterna.Normal(0, 5, shape=dimension)}
    return sterna.Target(AsPython(log_likelihood), reference, gradient=AsPython(gradient), name="regression")


def shell(x):
    """A thin shell, in compiled code that takes some microseconds."""
    total = 0.0
    for k in range(300):
        total += np.cos(0.001 * k * x[0]) * 1e-9
    return total - 50.0 * (np.sqrt(np.sum(x**2)) - 2.0) ** 2


CASES = {
    "ising 12": (lambda: sterna.models.ising(size=12), {"log_evidence": 0.02}),
    "discrete": (lambda: sterna.models.discrete(), {"log_evidence": 0.0005}),
    "change_point": (lambda: sterna.models.change_point(), {"log_evidence": 0.005}),
    "rotor": (lambda: sterna.models.rotor(), {"log_evidence": 0.01}),
    "mixture": (lambda: sterna.models.mixture(), {"log_evidence": 0.1}),
    "phylo_species": (lambda: sterna.models.phylo_species(), {"log_evidence": 0.1}),
    "spike_slab": (lambda: sterna.models.spike_slab(), {"log_evidence": 0.1}),
    "spin_glass": (lambda: sterna.models.spin_glass(), {"log_evidence": 0.1}),
    "100 us, two modes": (lambda: slow(3), {"log_evidence": 0.05}),
    "100 us, regression": (lambda: regression(5), {"log_evidence": 0.05}),
    "shell in 6-d": (lambda: sterna.Target(shell, {"x": sterna.Normal(0, 3, shape=6)}), {"log_evidence": 0.02}),
}


def clocks():
    return time.perf_counter(), time.process_time()


def share_of_processor(before):
    wall, busy = (now - then for now, then in zip(clocks(), before, strict=True))
    return min(1.0, busy / wall)


def timed_forecasts():
    """Let the run that a check begins be timed; return a list to which the processor's shares are added."""
    shares, original = [], check_module._forecast

    def timed(*arguments):
        before = clocks()
        found = original(*arguments)
        shares.append(share_of_processor(before))
        return found

    check_module._forecast = timed
    return shares


def measure(name, seconds):
    """Print the row of a model; return whether its prediction is within a factor of 1.5."""
    make, goal = CASES[name]
    # what a run needs is compiled before
    sterna.sample(make(), n_rounds=7, n_scans=10, workers=1, progress=False)
    SHARES.clear()
    report = sterna.check(make(), until=goal, max_seconds=seconds, seed=1, workers=1, progress=False)
    predicted = report.seconds * SHARES[-1]
    before = clocks()
    result = sterna.sample(make(), until=goal, seed=2, workers=1, progress=False)
    wall = sum(result.timing[phase] for phase in ("tuning", "sampling", "search"))
    measured = wall * share_of_processor(before)
    whole = "made to its end" if "just did" in report["time"].text else "extrapolated"
    goals = ", ".join(f"{key} {value:g}" for key, value in goal.items())
    print(
        f"{name:20} {goals:22} {report.seconds:8.2f} {wall:8.2f} {report.seconds / wall:6.2f}  "
        f"{predicted:8.2f} {measured:8.2f} {predicted / measured:6.2f}  {whole:16} {result.ended_by}",
        flush=True,
    )
    return np.array([1 / 1.5 <= report.seconds / wall <= 1.5, 1 / 1.5 <= predicted / measured <= 1.5])


SHARES = timed_forecasts()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[], help="some of the models")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each check")
    given = parser.parse_args()
    names = [name for name in CASES if not given.names or any(part in name for part in given.names)]
    print(f"{'':43} {'wall time, seconds':>25} {'processor time, seconds':>26}")
    print(f"{'model':20} {'goal':22} {'pred.':>8} {'meas.':>8} {'ratio':>6}  {'pred.':>8} {'meas.':>8} {'ratio':>6}")
    wall, processor = sum(measure(name, given.seconds) for name in names)
    print(f"within a factor of 1.5: {wall} of {len(names)} by wall time, {processor} by processor time")
