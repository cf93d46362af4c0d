"""Coverage of 95 % intervals on problems with exact answers, over the runs without a warning.

`python bench/calibration.py --seeds 100` (about half an hour on two cores) runs each problem with default settings and
the seeds 1 to 100. With `--file runs.jsonl` every run is kept as a line, and runs that are there
are not run again.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import sterna
from sterna.tuning.batches import standard_error
from sterna.tuning.mean_errors import mean_errors

sys.path.insert(0, str(Path(__file__).parent))
from calibration_cases import cases


def one_run(name: str, options: dict[str, int], seed: int) -> dict[str, Any]:
    """Return the warnings; of every quantity how far it is off, its error, the series' own, and whether it covers."""
    case = next(case for case in cases() if case.name == name)
    begin = process_time()
    result = sterna.sample(case.target(), seed=seed, workers=1, progress=False, **options)
    seconds = process_time() - begin
    found = {
        label: (result.mean(lambda posterior, of=function: of(result.values)), truth)
        for label, (function, truth) in case.quantities.items()
    }
    found["log Z"] = (result.log_evidence, case.log_evidence)
    rows = {}
    for label, (estimate, truth) in found.items():
        low, high = estimate.interval()
        own = series_error(result, case.quantities.get(label))
        rows[label] = (float(estimate.value - truth), float(estimate.error), bool(low <= truth <= high), own)
    warnings = [text.partition(":")[0] for text in result.warnings]
    return {"name": name, "options": options, "seed": seed, "warnings": warnings, "rows": rows, "seconds": seconds}


def series_error(result: sterna.Result, quantity: tuple[Callable[..., Any], float] | None) -> float:
    """Return the error that the series alone gives, without journeys: of a quantity, or of log Z."""
    if quantity is None:
        found = result.last.evidence
        return max(standard_error(found.influence)[0], math.sqrt(found.least_variance))
    draws = np.asarray(quantity[0](result.values), dtype=np.float64)
    return float(mean_errors(draws[None], result.journeys).series[0])


def kept_runs(file: Path | None) -> list[dict[str, Any]]:
    """Read the runs that a file holds."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file is not None and file.exists() else []


def all_runs(
    pool: ProcessPoolExecutor, name: str, options: dict[str, int], seeds: range, file: Path | None
) -> list[dict[str, Any]]:
    """Run those seeds of a problem that the file does not hold, and return all of them."""
    runs = [run for run in kept_runs(file) if run["name"] == name and run["options"] == options]
    runs = [run for run in runs if run["seed"] in seeds]
    missing = sorted(set(seeds) - {run["seed"] for run in runs})
    for run in pool.map(partial(one_run, name, options), missing):
        runs.append(run)
        if file is not None:
            with file.open("a") as stream:
                stream.write(json.dumps(run) + "\n")
    return runs


def print_table(name: str, runs: list[dict[str, Any]]) -> list[bool]:
    """Print how a problem's intervals cover, and return whether each of the runs without a warning does."""
    silent = [run["rows"] for run in runs if not run["warnings"]]
    seconds = np.mean([run["seconds"] for run in runs])
    print(f"\n{name}: {len(runs) - len(silent)} of {len(runs)} runs warned, {seconds:.1f} s of CPU time each")
    everything = []
    for label in runs[0]["rows"]:
        off, error, covered, own = np.array([rows[label] for rows in silent], dtype=np.float64).reshape(-1, 4).T
        rmse = np.sqrt(np.mean(off**2))
        print(
            f"  {label:<18} covered {covered.mean():.3f}  rmse {rmse:.4f}  stated {np.nanmean(error):.4f}  "
            f"by the series alone {np.nanmean(own):.4f}"
        )
        everything += list(covered.astype(bool))
    sys.stdout.flush()
    return everything


def main() -> None:
    """Print a table for each problem, and the pooled coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="problems; all by default")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--file", type=Path, help="JSON lines, one for every run")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--copies", type=int)
    parser.add_argument("--rounds", type=int)
    given = parser.parse_args()
    options = {"n_copies": given.copies, "n_rounds": given.rounds}
    options = {name: value for name, value in options.items() if value is not None}
    seeds = range(given.first, given.first + given.seeds)
    pooled = []
    with ProcessPoolExecutor(given.processes) as pool:
        for case in cases():
            if given.names and case.name not in given.names:
                continue
            covered = print_table(case.name, all_runs(pool, case.name, options, seeds, given.file))
            pooled += [] if case.name == "widths 1 : 3" else covered
    print(f"\npooled, without the problem that is too hard: {np.mean(pooled):.3f}")


if __name__ == "__main__":
    main()
