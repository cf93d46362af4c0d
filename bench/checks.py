"""What the checks before the first round cost: evaluations of the likelihood, and their share of a default run's time.

Run with .venv/bin/python bench/checks.py. The share must be below 5 %, and the evaluations at most 50.
"""

import sys
import time
from pathlib import Path

import numpy as np

import sterna
from sterna.run import start

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tools"))

from sound_targets import FAMILIES, sound_target

MODELS = ("ising", "glm", "hierarchical", "mixture", "normal", "phylo_species", "copy_number", "ode")


def timed_run(target):
    """Return the CPU seconds of the checks and of the whole run, without compilation: a second run."""
    spent = []
    check = start.check_target

    def clocked(*arguments):
        began = time.process_time()
        check(*arguments)
        spent.append(time.process_time() - began)

    start.check_target = clocked
    try:
        for seed in (1, 2):
            began = time.process_time()
            sterna.sample(target, seed=seed, progress=False)
            total = time.process_time() - began
    finally:
        start.check_target = check
    return spent[-1], total


def main():
    """Print a row for each target."""
    targets = {name: lambda name=name: sound_target(name, 1) for name in FAMILIES}
    targets |= {name: getattr(sterna.models, name) for name in MODELS}
    chosen = sys.argv[1:] or list(targets)
    print(f"{'target':16}{'checks':>10}{'run':>10}{'share':>9}")
    shares = []
    for name in chosen:
        seconds, total = timed_run(targets[name]())
        shares.append(seconds / total)
        print(f"{name:16}{seconds:8.3f} s{total:8.2f} s{100 * shares[-1]:7.1f} %", flush=True)
    print(f"median {100 * float(np.median(shares)):.1f} %, largest {100 * max(shares):.1f} %")


if __name__ == "__main__":
    main()
