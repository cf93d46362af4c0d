"""The paper's comparison of four methods on the same engine: the same explorer, scans and random streams for all."""

import math
from collections.abc import Callable
from functools import partial

from sterna.paper.adaptive_reversible import LadderResult, run_arr, run_mmv
from sterna.paper.ladder import MAX_STEPS
from sterna.particles.runtime import own_explorer
from sterna.result.result import Result
from sterna.run.sample import sample
from sterna.target.target import Target

METHODS = ("NRPT", "NRPT+SCM", "ARR", "MMV")

RIVALS: dict[str, Callable[..., LadderResult]] = {
    "ARR": run_arr,
    "MMV": run_mmv,
    "MMV-DEO": partial(run_mmv, scheme="deo"),
}


def run_method(
    method: str,
    target: Target,
    *,
    n_chains: int,
    seed: int = 1,
    n_rounds: int = 11,
    n_scans: int = 5000,
    workers: int | None = 1,
    max_steps: int = MAX_STEPS,
) -> Result:
    """Run a method of the paper with the paper's budget.

    NRPT has `n_chains`, and tunes for `n_rounds`. A rival finds its ladder, and then runs twice `n_scans`, of which the
    first half is burn-in. All but NRPT begin at particles of sequential Monte Carlo.
    """
    if method in RIVALS:
        return run_rival(method, target, seed=seed, n_scans=n_scans, workers=workers, max_steps=max_steps).result
    return sample(
        target,
        n_chains=n_chains,
        n_rounds=n_rounds,
        n_scans=n_scans,
        explorer=own_explorer(target),
        explorations=1,
        path="prior",
        start="smc" if method == "NRPT+SCM" else "reference",
        seed=seed,
        workers=workers,
        progress=False,
    )


def run_rival(
    method: str,
    target: Target,
    *,
    seed: int = 1,
    n_scans: int = 5000,
    workers: int | None = 1,
    max_steps: int = MAX_STEPS,
) -> LadderResult:
    """Run a rival of NRPT with the paper's budget, and return its ladder too."""
    return RIVALS[method](
        target,
        n_scans=n_scans,
        n_burn_in=n_scans,
        start="smc",
        explorer=own_explorer(target),
        seed=seed,
        workers=workers,
        max_steps=max_steps,
    )


def ess_per_second(result: Result, of: str = "ess") -> dict[str, float]:
    """Return effective draws per second of tuning and sampling, by scalar of the posterior.

    Compilation and the search for missed mass do not count, and a scalar that never varied has none. `of` is an entry
    of the summary: "ess" knows from which journeys the draws come, "ess_series" is that of the series alone.
    """
    seconds = result.timing["tuning"] + result.timing["sampling"]
    sizes = {name: row[of] for name, row in result.summary.items()}
    return {name: 0.0 if math.isnan(size) else size / seconds for name, size in sizes.items()}
