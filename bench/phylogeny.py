"""A phylogeny of 27 taxa: restarts per second with and without regrafting, and its evidence by another estimator.

    python bench/phylogeny.py race --seeds 4 [--before FOLDER]    # kernels take turns; times are CPU times
    python bench/phylogeny.py evidence                            # tempering against bridge sampling on one topology

1900 sites are simulated under the model of Jukes and Cantor along a random tree. The prior is that of the published
comparisons: uniform topologies, exponential branch lengths with mean 0.1. FOLDER has the sources of another version.
"""

import argparse
import dataclasses
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, special, stats

import sterna
from sterna.models.phylo_species import BASES, evolve
from sterna.run.display import Display

TAXA, SITES, SEED = 27, 1900, 1
# Short enough that some branches are uncertain, as in real alignments.
MEAN_LENGTH = 0.02
CHAINS, ROUNDS, SCANS = 40, 8, 1000
KERNELS = {"interchange only": {"regrafts": 0}, "interchange and regraft": {}}


def random_parents(rng: np.random.Generator, taxa: int) -> list[int]:
    """Add taxa one after the other at a random branch."""
    parent = [0] * (2 * taxa - 3)
    for k in range(2, taxa):
        below = int(rng.integers(1, 2 * k - 2))
        below += taxa - k if below >= k else 0
        inner = taxa + k - 2
        parent[inner - 1] = parent[below - 1]
        parent[below - 1] = parent[k - 1] = inner
    return parent


def model() -> sterna.Target:
    """Return the phylogeny of the simulated alignment."""
    rng = np.random.default_rng(SEED)
    parent, length = random_parents(rng, TAXA), rng.exponential(MEAN_LENGTH, size=2 * TAXA - 3)
    bases = evolve(rng, parent, length, SITES, 1.0)
    alignment = {f"taxon_{k}": "".join(BASES[b] for b in row) for k, row in enumerate(bases)}
    return sterna.models.phylo_species(alignment, kappa=1, shape=1, rate=1 / 0.1)


class Stopwatch(Display):
    """Measures the CPU time of the last round, which is the sampling phase."""

    began = seconds = 0.0

    def begin_round(self, *_: Any) -> None:
        self.began = time.process_time()

    def finish(self, result: sterna.Result) -> None:
        self.seconds = time.process_time() - self.began


def run(options: dict[str, Any], seed: int, scans: int) -> tuple[sterna.Result, float]:
    """Return a run, and the CPU seconds of its sampling phase."""
    target, watch = model(), Stopwatch()
    explorer = dataclasses.replace(target.explorer, **options)
    result = sterna.sample(
        target, explorer=explorer, n_chains=CHAINS, n_rounds=ROUNDS, n_scans=scans, explorations=1, seed=seed,
        workers=1, progress=watch,
    )  # fmt: skip
    return result, watch.seconds


def one(options: str, seed: int, scans: int) -> None:
    """Print a run as one line of JSON."""
    result, seconds = run(json.loads(options), seed, scans)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "restarts": result.restarts,
                "allowed": result.predicted_restarts,
                "barrier": result.global_barrier,
                "evidence": [result.log_evidence.value, result.log_evidence.error],
            }
        )
    )


def race(seeds: int, scans: int, before: str | None) -> None:
    """Let kernels take turns, each run in its own process, and print sums over seeds."""
    cases = {name: (options, None) for name, options in KERNELS.items()}
    if before is not None:
        cases = {"before": ({}, before), **cases}
    totals = {name: np.zeros(3) for name in cases}
    for seed in range(1, seeds + 1):
        for name, (options, source) in cases.items():
            path = {} if source is None else {"PYTHONPATH": source}
            command = [sys.executable, str(Path(__file__)), "one", json.dumps(options), str(seed), str(scans)]
            done = subprocess.run(command, env={**os.environ, **path}, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            totals[name] += found["seconds"], found["restarts"], found["allowed"]
            value, error = found["evidence"]
            print(
                f"seed {seed}  {name:<25}{found['seconds']:>8.1f} s{1e3 * found['seconds'] / scans:>8.1f} ms/scan"
                f"{found['restarts']:>6} restarts, allowed {found['allowed']:>6.1f}  barrier {found['barrier']:.2f}"
                f"  log Z {value:.2f} ± {error:.2f}",
                flush=True,
            )
    for name, (seconds, restarts, allowed) in totals.items():
        print(f"{name:<25}{restarts:>6.0f} of {allowed:.0f} restarts, {1e3 * restarts / seconds:.1f} per 1000 s")


def evidence(scans: int) -> None:
    """Compare tempering with p(topology) Z(topology) / P(topology | data), where Z is found by bridge sampling."""
    result, _ = run({}, 1, scans)
    parents, lengths = (result.posterior[name].values[0] for name in ("parent", "length"))
    distinct, number, counts = np.unique(parents, axis=0, return_inverse=True, return_counts=True)
    best = int(counts.argmax())
    inside = (number.ravel() == best).astype(float)
    share = float(inside.mean())
    batches = inside[: len(inside) // 25 * 25].reshape(25, -1).mean(axis=1)
    value, error = bridge(model(), distinct[best], lengths[inside == 1.0])
    independent = value - math.log(share)
    error = math.hypot(error, float(batches.std(ddof=1)) / 5.0 / share)
    print(f"tempering                      {result.log_evidence.value:.3f} ± {result.log_evidence.error:.3f}")
    print(f"bridge sampling                {independent:.3f} ± {error:.3f}")
    print(f"({len(distinct)} topologies, the most frequent one with share {share:.3f}; {result.restarts} restarts)")


def bridge(target: sterna.Target, parent: Any, lengths: Any) -> tuple[float, float]:
    """Return log of prior times evidence of one topology, by bridge sampling (Meng and Wong 1996), and its error.

    Half of the lengths drawn fit gamma distributions with the correlations of their normal scores; these are what the
    other half is bridged to.
    """
    fitted, others = lengths[::2], lengths[1::2]
    shape = fitted.mean(axis=0) ** 2 / fitted.var(axis=0)
    scale = fitted.mean(axis=0) / shape
    scores = stats.norm.ppf(np.clip(stats.gamma.cdf(fitted, shape, scale=scale), 1e-9, 1 - 1e-9))
    # the fewer the draws, the less of their correlations is believed
    keep = len(fitted) / (len(fitted) + 5 * len(shape))
    correlation = keep * np.corrcoef(scores.T) + (1 - keep) * np.eye(len(shape))
    normal = stats.multivariate_normal(np.zeros(len(shape)), correlation)

    def log_proposal(x: Any) -> Any:
        z = stats.norm.ppf(np.clip(stats.gamma.cdf(x, shape, scale=scale), 1e-15, 1 - 1e-15))
        marginals = stats.gamma.logpdf(x, shape, scale=scale) - stats.norm.logpdf(z)
        return normal.logpdf(z) + marginals.sum(axis=1)

    rng = np.random.default_rng(1)
    z = normal.rvs(size=4 * len(others), random_state=rng)
    proposed = np.maximum(stats.gamma.ppf(special.ndtr(z), shape, scale=scale), 1e-300)
    states = [np.array([np.concatenate([parent, x]) for x in rows]) for rows in (others, proposed)]
    target_logs = [np.array([sum(target.log_densities(x)) for x in rows]) for rows in states]
    here, there = (logs - log_proposal(x) for logs, x in zip(target_logs, (others, proposed), strict=True))
    ratio = math.log(len(others) / len(proposed))

    def gap(value: float) -> float:
        return float(special.expit(ratio + there - value).sum() - special.expit(value - ratio - here).sum())

    centre = float(np.median(here))
    value = float(optimize.brentq(gap, centre - 200, centre + 200))
    # draws are correlated: the error of the sum over them is that of batches
    one, other = special.expit(value - ratio - here), special.expit(ratio + there - value)
    batches = one[: len(one) // 25 * 25].reshape(25, -1).mean(axis=1)
    error = math.hypot(
        float(batches.std(ddof=1)) / 5.0 / one.mean(), other.std() / other.mean() / math.sqrt(len(other))
    )
    return value, error


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["race", "evidence", "one"])
    parser.add_argument("case", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--scans", type=int, default=SCANS)
    parser.add_argument("--before", help="sources of another version to compare with")
    given = parser.parse_args()
    if given.part == "race":
        race(given.seeds, given.scans, given.before)
    elif given.part == "evidence":
        evidence(given.scans)
    else:
        one(given.case[0], int(given.case[1]), int(given.case[2]))


if __name__ == "__main__":
    main()
