"""What each explorer gives for its cost: effective draws of the target per second and per evaluation of the likelihood.

Every explorer runs on every target that it can explore, within parallel tempering of the same chains, tuned by
nine rounds. Effective sizes are of the target chain, of its energy and of its slowest coordinate; seconds are of the
processor. A gradient counts as one evaluation more. `python bench/explorers.py [--only normal] [--seconds 3]`.
"""

import argparse
import time
from typing import Any

import numpy as np
from explorer_cases import CASES, Case

import sterna
from sterna.options import EXPLORERS, as_explorer
from sterna.tuning.memory import effective_size

ROUNDS = 9
MOST_SCANS = 200_000
DISCRETE = {"gibbs", "slice", "metropolis", "independence", "evolution"}


def run(case: Case, explorer: Any, n_scans: int | None, n_rounds: int) -> tuple[sterna.Result, float]:
    """Run, and return also the processor's seconds of sampling."""
    began = time.process_time()
    result = sterna.sample(
        case.target,
        explorer=explorer,
        n_chains=case.n_chains,
        n_rounds=n_rounds,
        n_scans=n_scans,
        keep_energies=True,
        progress=False,
    )
    spent = time.process_time() - began
    timing = result.timing
    return result, spent * timing["sampling"] / sum(timing.values())


def figures(case: Case, explorer: Any, seconds: float) -> tuple[Any, ...]:
    """Effective draws of the energy and of the slowest coordinate, per second and per 1000 evaluations; scans."""
    short, spent = run(case, explorer, None, ROUNDS)
    scans = int(np.clip(short.settings.n_scans * seconds / spent, 1000, MOST_SCANS))
    result, spent = run(case, explorer, scans, ROUNDS)
    share = scans / (scans + 2 ** (ROUNDS + 1) - 2)
    work = share * (result.evaluations + result.gradient_evaluations)
    energy = effective_size(result.energies[:, :, -1])
    draws = np.concatenate([result.posterior[v].values.reshape(scans, -1) for v in result.posterior], axis=1)
    sizes = [effective_size(column[None]) for column in draws.T if column.std() > 0]
    slowest = min(sizes) if sizes else np.nan
    rates = (energy / spent, slowest / spent, 1e3 * energy / work, 1e3 * slowest / work)
    return (*rates, scans, result.restarts, f"{result.explorer} x{result.explorations}")


def explorers_for(case: Case) -> dict[str, Any]:
    """The default, the target's own, and all that can explore the target, by name."""
    found: dict[str, Any] = {"default": None}
    for name, make in EXPLORERS.items():
        explorer: Any = make()
        if case.discrete and name not in DISCRETE:
            others = tuple(v for v in case.target.space.names if v not in case.discrete)
            if not others:
                continue
            explorer = {case.discrete: sterna.Gibbs(), others: explorer}
        try:
            as_explorer(explorer, case.target).bind(case.target)
        except sterna.Error:
            continue
        found[name] = explorer
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(CASES), help="cases")
    parser.add_argument("--explorer", default="", help="explorers whose name contains this")
    parser.add_argument("--seconds", type=float, default=3.0, help="of sampling for each run")
    given = parser.parse_args()
    for name in given.only:
        case = CASES[name]()
        print(f"\n{case.name:32} {'ESS per second':>21} {'ESS per 1000 evals':>21} {'scans':>8} {'restarts':>8}")
        print(f"{'':32} {'energy':>10} {'slowest':>10} {'energy':>10} {'slowest':>10}")
        for label, explorer in explorers_for(case).items():
            if given.explorer in label:
                row = figures(case, explorer, given.seconds)
                rates = f"{row[0]:10.1f} {row[1]:10.1f} {row[2]:10.3f} {row[3]:10.3f}"
                print(f"{label:32} {rates} {row[4]:8d} {row[5]:8d}  {row[6]}", flush=True)


if __name__ == "__main__":
    main()
