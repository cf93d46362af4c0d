"""Compare the speed of two states of the source: the same runs, alternating between two processes.

    python bench/pairs.py BEFORE/src AFTER/src [pairs]

Prints for each case the median over all pairs of seconds of sampling after / before, and the quartiles. Both processes
compile first and then wait, so that a disturbance of the machine meets both alike.
"""

import json
import os
import subprocess
import sys

import numpy as np

LIMIT = 1.03


def log_likelihood(x):
    """A user's function in ordinary Python."""
    total = 0.0
    for value in x:
        total += value**2
    return -2.0 * total


def cases():
    """Return runs by name: a target and options; each samples for about half a second."""
    import sterna

    user = sterna.Target(log_likelihood, {"x": sterna.Normal(0, 1, shape=5)})
    normal, large = sterna.models.normal(dim=5), sterna.models.normal(dim=100)
    mixed = {"a": sterna.Gamma(2, 3), "b": sterna.Poisson(4), "c": sterna.Beta(2, 2), "d": sterna.Normal(0, 1)}
    families = sterna.Target(mixed_likelihood, mixed)
    return {
        "normal d=5, slice": (normal, {"explorer": "slice", "n_chains": 30, "n_scans": 12_000}),
        "normal d=100, slice": (large, {"explorer": "slice", "n_chains": 10, "n_scans": 300}),
        "user's function d=5, slice": (user, {"explorer": "slice", "n_chains": 30, "n_scans": 8_000}),
        "four families, slice": (families, {"explorer": "slice", "n_chains": 10, "n_scans": 30_000}),
        "normal d=100, hmc": (large, {"explorer": "hmc", "n_chains": 10, "n_scans": 4_000}),
        "user's function d=5, metropolis": (user, {"explorer": "metropolis", "n_chains": 30, "n_scans": 15_000}),
        "ising 20 x 20, heat bath": (sterna.models.ising(size=20), {"n_chains": 30, "n_scans": 3_000}),
    }


def mixed_likelihood(a, b, c, d):
    """A cheap likelihood of four variables of different families."""
    return -0.5 * (a + 0.1 * b + c - d) ** 2


def serve():
    """Run cases on request, in a separate process."""
    import sterna

    known = cases()
    print(json.dumps(list(known)), flush=True)
    for request in sys.stdin:
        target, options = known[json.loads(request)]
        result = sterna.sample(target, n_rounds=5, explorations=1, workers=1, progress=False, **options)
        print(result.timing["sampling"], flush=True)


class Source:
    """A process that runs cases with one state of the source."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        self.names = json.loads(self.process.stdout.readline())

    def seconds(self, name):
        """Return the seconds of sampling of one run."""
        self.process.stdin.write(json.dumps(name) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main(before, after, pairs):
    sources = [Source(before), Source(after)]
    print(f"load average {os.getloadavg()[0]:.1f}; {pairs} pairs")
    print(f"{'case':<36}{'before':>10}{'after':>10}{'ratio':>8}{'quartiles':>16}")
    for name in sources[0].names:
        for source in sources:
            source.seconds(name)  # compiles
        found = []
        for number in range(pairs):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            pair = {k: sources[k].seconds(name) for k in order}
            found.append((pair[0], pair[1]))
        times = np.array(found)
        ratio = times[:, 1] / times[:, 0]
        low, middle, high = np.quantile(ratio, [0.25, 0.5, 0.75])
        verdict = "ok" if middle <= LIMIT else "MISS"
        first, second = np.median(times, axis=0)
        print(f"{name:<36}{first:>9.3f}s{second:>9.3f}s{middle:>8.3f}{low:>8.3f}{high:>8.3f}  {verdict}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 20)
