"""Efficiency of explorers: effective sample size of the target chain per second and per likelihood evaluation.

Every explorer runs on every target that it can explore, in parallel tempering with the same number of chains, tuned
for nine rounds. Effective sample sizes are those of the energy and the slowest coordinate of the target chain; seconds
are CPU time. A gradient counts as one additional evaluation. `python bench/explorers.py [--only normal] [--seconds 3]`.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from explorer_cases import CASES, Case

import sterna
from sterna.explorers.base import MAX_DIVERGED
from sterna.explorers.cost import EXPENSIVE
from sterna.explorers.table import EXPLORERS
from sterna.run.given import as_explorer
from sterna.tuning.memory import effective_size

ROUNDS = 9
MAX_SCANS = 200_000
DISCRETE = {"gibbs", "slice", "metropolis", "independence"}


def run(case: Case, explorer: Any, n_scans: int | None, n_rounds: int) -> tuple[sterna.Result, float]:
    """Run, and return the result and the CPU seconds of the sampling phase."""
    began = time.process_time()
    result = sterna.sample(
        case.target,
        explorer=explorer,
        n_chains=case.n_chains,
        n_rounds=n_rounds,
        n_scans=n_scans,
        keep_log_likelihoods=True,
        progress=False,
    )
    spent = time.process_time() - began
    timing = result.timing
    compiling = max(timing["compile"] - case.target.build_seconds, 0.0)
    return result, spent * timing["sampling"] / (compiling + timing["tuning"] + timing["sampling"])


@dataclass(frozen=True)
class Row:
    """Effective sample sizes of the energy and the slowest coordinate of a run, relative to their cost."""

    label: str
    rates: tuple[float, float, float, float]
    scans: int
    restarts: int
    explorer: str
    misses: bool
    """Whether trajectories diverged, so that the effective sample size does not account for regions left out."""

    def __str__(self) -> str:
        rates = "{:10.1f} {:10.1f} {:10.3f} {:10.3f}".format(*self.rates)
        note = "  DIVERGES" if self.misses else ""
        return f"{self.label:32} {rates} {self.scans:8d} {self.restarts:8d}  {self.explorer}{note}"


def measure(case: Case, label: str, explorer: Any, seconds: float) -> Row:
    """Run long enough to sample for the given number of seconds."""
    short, spent = run(case, explorer, None, ROUNDS)
    scans = int(np.clip(short.settings.n_scans * seconds / spent, 2 * short.settings.n_scans, MAX_SCANS))
    result, spent = run(case, explorer, scans, ROUNDS)
    # both runs had the same tuning
    more = result.evaluations - short.evaluations + result.gradient_evaluations - short.gradient_evaluations
    work = max(more, 1) * scans / (scans - short.settings.n_scans)
    energy = effective_size(result.log_likelihoods[:, :, -1])
    draws = np.concatenate([result.posterior[v].values.reshape(scans, -1) for v in result.posterior], axis=1)
    slowest = min(effective_size(column[None]) for column in draws.T if column.std() > 0)
    rates = (energy / spent, slowest / spent, 1e3 * energy / work, 1e3 * slowest / work)
    return Row(
        label,
        rates,
        scans,
        result.restarts,
        f"{result.explorer} x{result.explorations}",
        bool(result.diverged.max() > MAX_DIVERGED),
    )


def verdict(case: Case, rows: Sequence[Row]) -> str:
    """Compare the default with the best explorer, by the columns that matter for a target of this cost."""
    expensive = case.target.cost.seconds > EXPENSIVE
    columns = ((2, "energy per evaluation"), (3, "slowest per evaluation"))
    if not expensive:
        columns = ((0, "energy per second"), (1, "slowest per second"))
    default = next(row for row in rows if row.label == "default")
    parts = []
    for column, what in columns:
        best = max((row for row in rows if not row.misses), key=lambda row: row.rates[column])
        parts.append(f"{what} {default.rates[column] / best.rates[column]:.2f} of {best.label}")
    return "default: " + "; ".join(parts)


def explorers_for(case: Case) -> dict[str, Any]:
    """Return the default, the target's own explorer, and all that can explore the target, by name."""
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
    parser.add_argument("--explorer", default="", help="only explorers whose name contains this")
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds of sampling per run")
    given = parser.parse_args()
    for name in given.only:
        case = CASES[name]()
        print(f"\n{case.name:32} {'ESS per second':>21} {'ESS per 1000 evals':>21} {'scans':>8} {'restarts':>8}")
        print(f"{'':32} {'energy':>10} {'slowest':>10} {'energy':>10} {'slowest':>10}")
        rows = []
        for label, explorer in explorers_for(case).items():
            if given.explorer in label:
                rows.append(measure(case, label, explorer, given.seconds))
                print(rows[-1], flush=True)
        if not given.explorer:
            print(verdict(case, rows), flush=True)


if __name__ == "__main__":
    main()
