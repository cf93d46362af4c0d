"""Effective draws per second of NRPT and of the paper's rivals, on the paper's four models.

`python bench/rivals.py` (half an hour); models, and then numbers as seeds, may follow. STERNA_DATA is the folder of the
paper's data. Seconds are CPU seconds of this process, because other programs may run. The column `in turn` counts what
must be explored one after the other, if every chain has its own core: that is the time which the paper measures.
"""

import sys
import time

time.perf_counter = time.process_time

import numpy as np  # noqa: E402

from sterna import models  # noqa: E402
from sterna.paper.comparison import METHODS, RIVALS, ess_per_second, run_method, run_rival  # noqa: E402
from sterna.paper.tables import TABLE2  # noqa: E402


def compare(case, seed):
    """Print a row for a method, and return its effective draws per second, and per exploration in turn."""
    target = getattr(models, case.model)(**case.options)
    steps = 0
    if case.method in RIVALS:
        found = run_rival(case.method, target, seed=seed)
        result, steps = found.result, found.ladder.n_steps
    else:
        result = run_method(case.method, target, n_chains=case.n_chains, seed=seed)
    seconds = result.timing["tuning"] + result.timing["sampling"]
    rate = float(np.median(list(ess_per_second(result).values())))
    in_turn = steps + sum(one.n_scans for one in result.rounds)
    print(
        f"{case.label:14} {case.method:9} {seed:4} {result.settings.n_chains:6} {result.rejection.sum():7.2f} "
        f"{result.restarts:8} {seconds:8.1f} {rate * seconds:6.0f} {rate:9.2f} {in_turn:8} "
        f"{1000 * rate * seconds / in_turn:12.1f}",
        flush=True,
    )
    return rate, rate * seconds / in_turn


def main(arguments):
    seeds = [int(one) for one in arguments if one.isdigit()] or [1]
    names = [one for one in arguments if not one.isdigit()] or list(dict.fromkeys(case.label for case in TABLE2))
    print("model          method    seed chains   sum r restarts  seconds    ESS     ESS/s  in turn ESS/1000 in turn")
    for name in names:
        for seed in seeds:
            rates = {case.method: compare(case, seed) for case in TABLE2 if case.label == name}
            each, in_turn = (rates["NRPT"][k] / max(rates[one][k] for one in METHODS if one in RIVALS) for k in (0, 1))
            print(f"{name}: NRPT over the better rival {each:.2f} per second, {in_turn:.2f} per exploration in turn")


if __name__ == "__main__":
    main(sys.argv[1:])
