"""Coverage of 95 % intervals on problems with exact answers, over the runs without a warning.

`python bench/calibration.py --seeds 100` (about half an hour on two cores) runs each problem with default settings.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import sterna

sys.path.insert(0, str(Path(__file__).parent))
from calibration_cases import cases


def one_run(number: int, options: dict[str, int], seed: int) -> tuple[list[str], dict[str, tuple[float, float, bool]]]:
    """Return the warnings, and of every quantity how far it is off, its error, and whether its interval covers."""
    case = cases()[number]
    result = sterna.sample(case.target(), seed=seed, workers=1, progress=False, **options)
    found = {
        name: (result.mean(lambda posterior, of=function: of(result.values)), truth)
        for name, (function, truth) in case.quantities.items()
    }
    found["log Z"] = (result.log_evidence, case.log_evidence)
    rows = {}
    for name, (estimate, truth) in found.items():
        low, high = estimate.interval()
        rows[name] = (estimate.value - truth, estimate.error, low <= truth <= high)
    return [text.partition(":")[0] for text in result.warnings], rows


def main() -> None:
    """Print a table for each problem, and the pooled coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="problems; all by default")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--copies", type=int)
    parser.add_argument("--rounds", type=int)
    given = parser.parse_args()
    options = {"n_copies": given.copies, "n_rounds": given.rounds}
    options = {name: value for name, value in options.items() if value is not None}
    pooled = []
    with ProcessPoolExecutor(2) as pool:
        for number, case in enumerate(cases()):
            if given.names and case.name not in given.names:
                continue
            runs = list(pool.map(partial(one_run, number, options), range(1, given.seeds + 1), chunksize=5))
            silent = [rows for warnings, rows in runs if not warnings]
            print(f"\n{case.name}: {len(runs) - len(silent)} of {len(runs)} runs warned")
            for name in runs[0][1]:
                off, error, covered = np.array([rows[name] for rows in silent], dtype=np.float64).reshape(-1, 3).T
                rmse = np.sqrt(np.mean(off**2))
                print(f"  {name:<18} covered {covered.mean():.3f}  rmse {rmse:.4f}  stated {np.nanmean(error):.4f}")
                pooled += [] if case.name == "widths 1 : 3" else list(covered)
            sys.stdout.flush()
    print(f"\npooled, without the problem that is too hard: {np.mean(pooled):.3f}")


if __name__ == "__main__":
    main()
