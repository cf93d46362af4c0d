"""Cost of a scan of each of the paper's models, and a breakdown for the largest three (`make models`).

Times are CPU times, which depend little on other work on the machine. Numbers of chains are those of the paper. Data
are read from the folder STERNA_DATA, except for the cancer tree, which is simulated with the paper's size.
"""

import dataclasses
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from normal_case import explore_scans, make_plan

import sterna
from sterna.engine.program import EVALUATIONS, N_LOG_DENSITIES
from sterna.engine.round import new_copy
from sterna.explorers.composition import Blocks
from sterna.ground.streams import new_stream
from sterna.models.data import FOLDER
from sterna.models.phylo_cancer import N_CELLS, N_LOCI, simulate
from sterna.paper.runs import Case
from sterna.paper.tables import TABLE1
from sterna.run.display import Display

# Tuning rounds and sampling scans, and fewer for the largest models.
ROUNDS, SCANS = 8, 500
HEAVY_ROUNDS, HEAVY_SCANS = 4, 10
COLUMNS = ("chains", "explore", "passes", "ms/scan", "us/expl.", "evals/scan", "us/eval.", "alone")


def target_of(case: Case) -> sterna.Target:
    """Build the model with its data."""
    if case.model == "phylo_cancer":
        return sterna.models.phylo_cancer(simulate(N_CELLS, N_LOCI, 0.05, 0.25))
    return getattr(sterna.models, case.model)(**case.options)


class Stopwatch(Display):
    """Measures the CPU time since the last round began; the last round is the sampling phase."""

    began = seconds = 0.0

    def begin_round(self, *_: Any) -> None:
        self.began = time.process_time()

    def finish(self, result: sterna.Result) -> None:
        self.seconds = time.process_time() - self.began


def run(case: Case, target: sterna.Target, n_scans: int, keep: str = "target") -> tuple[sterna.Result, float]:
    """Run with short tuning; return the result and the seconds per sampling scan."""
    rounds, watch = HEAVY_ROUNDS if case.heavy else ROUNDS, Stopwatch()
    result = sterna.sample(
        target,
        n_chains=case.n_chains,
        n_rounds=rounds,
        n_scans=n_scans,
        explorations=case.explorations,
        keep=keep,
        progress=watch,
    )
    return result, watch.seconds / n_scans


def cost(case: Case, target: sterna.Target) -> str:
    """Return a line; evaluations of the sampling phase are the difference between a longer and a shorter run."""
    n_scans = HEAVY_SCANS if case.heavy else SCANS
    short, _ = run(case, target, 1)
    result, scan = run(case, target, n_scans + 1)
    evaluations = (result.evaluations - short.evaluations) / n_scans
    exploration = scan / ((case.n_chains - 1) * result.explorations)
    passes = getattr(target.explorer, "passes", "-")
    # the draw from the reference is evaluated once; an explorer without other evaluations computes changes itself
    per_evaluation = f"{1e6 * scan / evaluations:.2f}" if evaluations > 2 else "-"
    return (
        f"{case.label:<15}{case.n_chains:>8}{result.explorations:>8}{passes!s:>8}{1e3 * scan:>12.3f}"
        f"{1e6 * exploration:>12.2f}{evaluations:>12.0f}{per_evaluation:>12}{1e6 * target.cost.seconds:>12.2f}"
        f"  {result.explorer[:40]}"
    )


@dataclasses.dataclass(frozen=True)
class Ready:
    """An explorer that is already bound, because some fill their tables when they return their initial parameters."""

    bound: Any

    def bind(self, target: sterna.Target) -> Any:
        return self.bound


def explored(
    target: sterna.Target, explorer: Any, result: sterna.Result, n_scans: int, edit: Callable[[Any], None] | None = None
) -> tuple[float, float]:
    """Return seconds and evaluations per exploration, averaged over chains, from the final states of a run.

    The explorer's parameters are tuned on these states first. `edit` may change them.
    """
    schedule, chains = result.schedule, len(result.schedule)
    bound = explorer.bind(target)
    start = np.stack([record.draws[-1] for record in result.records])[0]
    parameters = np.tile(bound.start(lambda n: start[:n]), (chains, 1))
    copy, stream = new_copy(chains, target.dimension), new_stream()
    copy.states[:] = start
    copy.log_densities[1:] = [[*target.log_densities(state), *[0.0] * (N_LOG_DENSITIES - 2)] for state in start[1:]]
    for _ in range(4):
        statistics = np.zeros((chains, bound.n_row))
        explore_scans(make_plan(target, Ready(bound), schedule, parameters, 2), copy, statistics, 1, 2, stream)
        parameters = bound.tune(parameters, statistics[:, : bound.n_statistics])
    if edit is not None:
        edit(parameters)
    plan = make_plan(target, Ready(bound), schedule, parameters, n_scans)
    copy.log_densities[:, EVALUATIONS] = 0.0
    statistics = np.zeros((chains, bound.n_row))
    began = time.process_time()
    explore_scans(plan, copy, statistics, 1, n_scans, stream)
    seconds, count = time.process_time() - began, (chains - 1) * n_scans
    return seconds / count, float(copy.log_densities[:, EVALUATIONS].sum()) / count


def show_parts(title: str, parts: Sequence[tuple[str, tuple[float, float]]], scan: float, chains: int) -> None:
    """Print the parts of an exploration, and the exploration and total time of a scan."""
    print(f"\n{title}")
    for name, (seconds, evaluations) in parts:
        alone = f"{1e6 * seconds / evaluations:>10.2f} us each" if evaluations >= 1 else ""
        print(f"    {name:<52}{1e6 * seconds:>10.1f} us{evaluations:>10.1f} evaluations{alone}")
    whole = (chains - 1) * parts[0][1][0]
    print(f"    {'a scan: explorations, total':<52}{1e3 * whole:>10.1f} ms{1e3 * scan:>10.1f} ms")


def minus(part: tuple[float, float], rest: tuple[float, float]) -> tuple[float, float]:
    """Return the difference between two explorers."""
    return part[0] - rest[0], part[1] - rest[1]


def copy_number_parts(target: sterna.Target, result: sterna.Result, scan: float) -> None:
    """Time the two blocks of variables, each without passes over the other."""
    explorer = target.explorer
    assert isinstance(explorer, Blocks)
    (whole, by_whole), (local, by_local) = explorer.explorers.items()
    only_whole = Blocks({whole: by_whole, local: dataclasses.replace(by_local, passes=0)})
    only_local = Blocks({whole: dataclasses.replace(by_whole, passes=0), local: by_local})
    parts = [
        ("all", explored(target, explorer, result, 4)),
        ("shared variables: whole evaluations", explored(target, only_whole, result, 4)),
        ("n_states and p: local changes, two chromosomes each", explored(target, only_local, result, 4)),
    ]
    show_parts("copy_number, an exploration (one pass)", parts, scan, len(result.schedule))


def phylo_cancer_parts(target: sterna.Target, result: sterna.Result, scan: float) -> None:
    """Time explorers without regrafts, without moves, and without both."""
    times = {
        (regrafts, moves): explored(target, dataclasses.replace(target.explorer, regrafts=a, moves=b), result, 4)
        for regrafts, moves, a, b in [(1, 1, 0.1, 0.1), (1, 0, 0.1, 0), (0, 1, 0, 0.1), (0, 0, 0, 0)]
    }
    loci, cells = math.floor(0.1 * N_LOCI), math.floor(0.1 * N_CELLS)
    parts = [
        ("all", times[1, 1]),
        (f"{loci} loci grafted again", minus(times[1, 0], times[0, 0])),
        (f"{cells} cells attached again", minus(times[0, 1], times[0, 0])),
        ("order, counts and rates", times[0, 0]),
    ]
    title = f"phylo_cancer, {N_LOCI} loci x {N_CELLS} cells (simulated), an exploration; parts are differences"
    show_parts(title, parts, scan, len(result.schedule))


def phylo_species_parts(target: sterna.Target, result: sterna.Result, scan: float) -> None:
    """Time the kernel without exchanges, without regrafts, and without sweeps."""
    from sterna.models.kernels.tree_moves import Parameters

    def without(*places: int) -> Callable[[Any], None]:
        return lambda parameters: parameters.__setitem__((slice(None), list(places)), 0.0)

    whole = explored(target, target.explorer, result, 200)
    regrafts = explored(target, target.explorer, result, 200, without(Parameters.exchanges))
    lengths = explored(target, target.explorer, result, 200, without(Parameters.exchanges, Parameters.regrafts))
    begin = explored(target, target.explorer, result, 200, without(Parameters.sweeps))
    parts = [
        ("all", whole),
        ("slices of all branch lengths, and their prior", minus(lengths, begin)),
        ("exchanges of neighbours", minus(whole, regrafts)),
        ("regrafts of subtrees", minus(regrafts, lengths)),
        ("partial likelihoods at the start, labels at the end", begin),
    ]
    show_parts("phylo_species, an exploration; parts are differences", parts, scan, len(result.schedule))


PARTS = {
    "copy_number": copy_number_parts,
    "phylo_cancer": phylo_cancer_parts,
    "phylo_species": phylo_species_parts,
}


def main() -> None:
    """Print the table, and then the parts."""
    began = time.perf_counter()
    print(f"data: {os.environ.get(FOLDER) or 'simulated'}; phylo_cancer: simulated")
    print(f"{'model':<15}" + "".join(f"{name:>{8 if k < 3 else 12}}" for k, name in enumerate(COLUMNS)) + "  explorer")
    targets = {}
    for case in TABLE1:
        targets[case.label] = target_of(case)
        print(cost(case, targets[case.label]), flush=True)
    print(
        "chains: with both ends; explore: explorations per chain and scan; passes: of the explorer over variables;\n"
        "us/expl.: time per chain and exploration; evals: full evaluations and local changes;\n"
        "us/eval.: time per evaluation, if the explorer evaluates; alone: time of a full evaluation on its own."
    )
    for case in TABLE1:
        if case.label in PARTS:
            target = targets[case.label]
            result, scan = run(case, target, HEAVY_SCANS, keep="all")
            PARTS[case.label](target, result, scan / result.explorations)
    print(f"\n{time.perf_counter() - began:.0f} s in total")


if __name__ == "__main__":
    main()
