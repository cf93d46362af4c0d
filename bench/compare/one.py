"""One run in its own process: `python one.py PROBLEM PACKAGE SEED`; the last line that it prints is JSON."""

import argparse
import importlib
import json
import math
import warnings
from pathlib import Path

import numpy as np
from catalogue import PACKAGES, problem_of
from problem import BEGAN, ENDED, Outcome, Problem, Settings, clock


def measures(problem: Problem, outcome: Outcome, exact: float) -> dict[str, float | None]:
    """Return the errors of what a package found."""
    found = {
        "log_evidence": finite(outcome.log_evidence),
        "stated": finite(outcome.error),
        "log_z_error": None,
        "weight_error": None,
    }
    if outcome.log_evidence is not None:
        found["log_z_error"] = finite(outcome.log_evidence - exact)
    if problem.mode_of is not None:
        draws = np.asarray(outcome.draws).reshape(-1, problem.dimension)
        weights = np.ones(len(draws)) if outcome.weights is None else outcome.weights
        modes = problem.mode_of(draws)
        shares = np.bincount(modes, weights, minlength=len(problem.weights)) / weights.sum()
        found["weight_error"] = float(np.abs(shares - problem.weights).max())
    return found


def effective(outcome: Outcome) -> float:
    """Return the effective size that a package states, or the bulk one of the worst coordinate of its chains."""
    if outcome.ess is not None:
        return outcome.ess
    import arviz  # after the run: it takes seconds to import

    chains = np.asarray(outcome.draws)
    return min(float(arviz.ess(np.ascontiguousarray(chains[..., i]))) for i in range(chains.shape[-1]))


def finite(value: float | None) -> float | None:
    """Return a number that JSON has, or None."""
    return float(value) if value is not None and math.isfinite(value) else None


def one(problem_name: str, package: str, seed: int, settings: Settings, planted: float = 0.0) -> dict[str, object]:
    """Run and measure; `planted` is added to the exact log evidence, to see whether the table would show it."""
    problem = problem_of(problem_name)
    # what a package imports is no part of its time
    module = importlib.import_module(f"packages.{PACKAGES[package]}")
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    # tells the runner that the limit counts from now
    Path(BEGAN).touch()
    began = clock()
    outcome = module.run(problem, seed, settings)
    total = clock() - began
    Path(ENDED).touch()
    compiling = min(outcome.compile_seconds, total)
    return {
        "seconds": total - compiling,
        "compile": compiling,
        "evaluations": outcome.evaluations,
        "ess": finite(effective(outcome)),
        "warnings": [warning[:200] for warning in outcome.warnings],
        **measures(problem, outcome, problem.log_evidence + planted),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem")
    parser.add_argument("package")
    parser.add_argument("seed", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--planted", type=float, default=0.0)
    given = parser.parse_args()
    found = one(given.problem, given.package, given.seed, Settings(given.quick, given.limit), given.planted)
    print("\n" + json.dumps(found))
