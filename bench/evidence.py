"""Compare estimators of the evidence with exact values: bias, spread, coverage and false alarms (`make evidence`).

Each model runs with many seeds, as a user would run it: all options except the length have their defaults.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sterna

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tools"))
import exact
import targets

ESTIMATORS = (
    "log_evidence",
    "bennett",
    "stepping_stone",
    "stepping_stone_forward",
    "stepping_stone_backward",
    "thermodynamic_trapezoid",
    "thermodynamic_sum",
)


@dataclass(frozen=True)
class Case:
    """A model whose evidence is known."""

    name: str
    target: Callable[[], sterna.Target]
    exact: float
    options: dict[str, Any]
    seeds: int


ISING_16 = partial(sterna.models.ising, 16), exact.ising_log_evidence(16)
NORMAL_20 = partial(sterna.models.normal, 20), -10 * math.log(5.0)
NORMAL_200 = partial(sterna.models.normal, 200), -100 * math.log(5.0)

CASES = [
    Case("discrete", sterna.models.discrete, exact.log_evidence(*exact.discrete_levels(2, 100.0)), {}, 1000),
    Case("normal d=2", partial(sterna.models.normal, 2), -math.log(5.0), {}, 1000),
    Case("beta-binomial", targets.beta_binomial, targets.BETA_BINOMIAL_LOG_EVIDENCE, {}, 1000),
    Case("normal-normal", targets.conjugate, targets.CONJUGATE_LOG_EVIDENCE, {}, 1000),
    Case("ising 5x5", sterna.models.ising, exact.ising_log_evidence(5), {}, 1000),
    Case("normal d=20", *NORMAL_20, {}, 200),
    Case("ising 16x16", *ISING_16, {}, 200),
    Case("normal d=200", *NORMAL_200, {"n_rounds": 8}, 200),
    # fewer chains than recommended (22 and 20), as on a machine with few cores
    Case("ising 16x16, 10 chains", *ISING_16, {"n_chains": 10}, 200),
    Case("normal d=200, 10 chains", *NORMAL_200, {"n_chains": 10, "n_rounds": 8}, 200),
]


def one_run(case: Case, seed: int) -> tuple[list[tuple[float, float, bool, float]], list[str]]:
    """Return value, error, coverage of the 95 % interval and bias of every estimator; and the warnings."""
    result = sterna.sample(case.target(), seed=seed, progress=False, **case.options)
    rows = []
    for name in ESTIMATORS:
        found = result.log_evidence if name == "log_evidence" else result.evidence[name]
        low, high = found.interval()
        rows.append((found.value, found.error, low <= case.exact <= high, found.bias))
    return rows, [warning.partition(":")[0] for warning in result.warnings]


def study(case: Case, seeds: int, pool: ProcessPoolExecutor) -> None:
    """Print one model's table."""
    runs = list(pool.map(partial(one_run, case), range(1, seeds + 1), chunksize=5))
    table = np.array([rows for rows, _ in runs])
    alarms = Counter(warning for _, warnings in runs for warning in warnings)
    print(f"\n{case.name}: exact {case.exact:.4f}, {seeds} seeds; warnings: {dict(alarms) or 'none'}")
    heads = ("(error)", "rmse", "/forward", "stated", "cover", "bias")
    print(f"{'estimator':<26}{'mean - exact':>13}" + "".join(f"{head:>9}" for head in heads))
    forward = _rmse(table[:, ESTIMATORS.index("stepping_stone_forward"), 0], case.exact)
    for k, name in enumerate(ESTIMATORS):
        value, error, held, bias = table[:, k].T
        rmse = _rmse(value, case.exact)
        print(
            f"{name:<26}{value.mean() - case.exact:>+13.4f}{value.std(ddof=1) / math.sqrt(seeds):>9.4f}{rmse:>9.4f}"
            f"{rmse / forward:>9.2f}{math.sqrt(np.mean(error**2)):>9.4f}{held.mean():>9.3f}{bias.mean():>+9.3f}"
        )
    first = table[0, 0]
    print(f"seed 1: log_evidence {first[0]:.4f} +- {first[1]:.4f}, {(first[0] - case.exact) / first[1]:+.2f} s.e. off")


def _rmse(values: np.ndarray, truth: float) -> float:
    return float(np.sqrt(np.mean((values - truth) ** 2)))


def main() -> None:
    """Run the named models, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models; all by default")
    parser.add_argument("--seeds", type=int, help="number of seeds, instead of the model's default")
    parser.add_argument("--chains", type=int, help="number of chains, instead of auto")
    given = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        for case in CASES:
            if not given.names or case.name in given.names:
                chains = {"n_chains": given.chains} if given.chains else {}
                study(replace(case, options=case.options | chains), given.seeds or case.seeds, pool)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
