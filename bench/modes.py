"""Modes of unequal width and shape: right, warned of or silently wrong, and what the path from a mixture costs.

`python bench/modes.py two --seeds 20` runs three modes in 12 dimensions, and a spike on a slab; `family --seeds 60` a
family of random problems, one for each seed; `one --seeds 1` problems with a single mode, where no warning about the
mixture is due; `coverage --seeds 400` counts how often 95 % intervals of log Z cover; `expensive --seeds 5` prints
evaluations until the error of log Z is 0.1; `lost --seeds 10` compares the costs of path="auto" and path="prior";
`growth` shows how the costs of searches, fits and mixtures grow.
A run is right if every share of a mode is within 0.05 and log Z within 4 standard errors, which is at most 0.1.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sterna
from sterna.result.other_path import disagreeing_paths, draws_outside_the_mixture

sys.path.insert(0, str(Path(__file__).parent))
from modes_cases import Case, family, single_modes, spike_on_slab, three_modes
from modes_cost import coverage_cases, easy_cases, expensive_cases
from modes_growth import growth

RIGHT, WARNED, IMPRECISE, SILENT = "right", "warned", "imprecise", "SILENTLY WRONG"
MAX_ERROR, MAX_ERRORS_OFF = 0.1, 4.0

# A mode that holds less than this part of its share counts as lost.
LOST = 0.25


@dataclass(frozen=True)
class Given:
    """What the command line says."""

    seeds: range
    rounds: int | None
    path: str
    only: str


def run(target: sterna.Target, seed: int, rounds: int, path: str) -> tuple[sterna.Result, float]:
    """Run a target; also return the CPU seconds."""
    began = time.process_time()
    result = sterna.sample(target, n_rounds=rounds, seed=seed, path=path, progress=False)
    return result, time.process_time() - began


def mixture_warnings(result: sterna.Result) -> list[str]:
    """Return the warnings about the mixture."""
    return [text for check in (disagreeing_paths, draws_outside_the_mixture) if (text := check(result))]


def outcome(case: Case, result: sterna.Result) -> tuple[str, str]:
    """Judge a run, and describe it in a line."""
    draws = result.states.reshape(-1, result.states.shape[-1])
    shares = case.shares_of(draws)
    off, error = result.log_evidence.value - case.log_evidence, result.log_evidence.error
    close = bool(((case.allowed[:, 0] <= shares) & (shares <= case.allowed[:, 1])).all())
    close = close and abs(off) <= MAX_ERRORS_OFF * error
    lost = int((shares < LOST * case.shares).sum())
    judged = RIGHT if close and error <= MAX_ERROR else WARNED if result.warnings else IMPRECISE if close else SILENT
    text = (
        f"{judged:14} log Z off {off:+.3f} ± {error:.3f}, shares {np.round(shares, 3)} exact {np.round(case.shares, 3)}"
    )
    text += f", {lost} lost, {'fitted' if result.other_path else 'prior'}, {result.settings.n_chains} chains, "
    text += f"{result.evaluations} evaluations"
    for warning in result.warnings:
        text += f"\n        {warning[:160]}"
    return judged, text


def judge(cases: list[tuple[Case, int]], given: Given, rounds: int) -> None:
    """Run cases with their seeds, and print and count outcomes."""
    counts: Counter[str] = Counter()
    false_alarms = 0
    for case, seed in cases:
        result, seconds = run(case.target(), seed, given.rounds or rounds, given.path)
        judged, text = outcome(case, result)
        counts[judged] += 1
        false_alarms += judged == RIGHT and bool(result.warnings)
        print(f"{case.name}, seed {seed}: {text}, {seconds:.1f} s", flush=True)
    print(f"n_rounds={given.rounds or rounds}: {dict(counts)}; of those right, {false_alarms} have a warning\n")


def two(given: Given) -> None:
    """Three modes of unequal widths, and a spike on a slab."""
    for case in (three_modes(), spike_on_slab()):
        if given.only in case.name:
            judge([(case, seed) for seed in given.seeds], given, 12)


def families(given: Given) -> None:
    """One random problem for each seed."""
    cases = [(family(seed), seed) for seed in given.seeds]
    judge([one for one in cases if given.only in one[0].name], given, 10)


def one(given: Given) -> None:
    """Problems with a single mode: no warning about the mixture is due."""
    counts: Counter[str] = Counter()
    for case in single_modes():
        for seed in given.seeds if given.only in case.name else ():
            result, seconds = run(case.target(), seed, given.rounds or 10, given.path)
            new = mixture_warnings(result)
            counts["runs"] += 1
            counts["fitted"] += result.other_path is not None
            counts["mixture warnings"] += bool(new)
            counts["other warnings"] += len(result.warnings) > len(new)
            off = result.log_evidence.value - case.log_evidence
            print(
                f"{case.name}, seed {seed}: {'fitted' if result.other_path else 'prior'}, log Z off {off:+.3f} ± "
                f"{result.log_evidence.error:.3f}, {seconds:.1f} s {[text[:160] for text in result.warnings]}",
                flush=True,
            )
    print(dict(counts))


def coverage(given: Given) -> None:
    """Count how often the 95 % interval of log Z covers, over all runs and over those without a warning."""
    for case in coverage_cases():
        if given.only not in case.name:
            continue
        target, rows = case.target(), []
        for seed in given.seeds:
            found, _ = run(target, seed, given.rounds or 8, "fitted")
            low, high = found.log_evidence.interval(0.95)
            off = found.log_evidence.value - case.log_evidence
            rows.append((low <= case.log_evidence <= high, off, found.log_evidence.error, bool(found.warnings)))
        covered, off, error, warned = np.array(rows, dtype=float).T
        silent = warned == 0
        print(
            f"{case.name}: covered {covered.mean():.3f} of {len(covered)}, {covered[silent].mean():.3f} of the "
            f"{int(silent.sum())} without a warning; mean {off.mean():+.4f}, rmse {np.sqrt((off**2).mean()):.4f}, "
            f"stated {np.sqrt((error**2).mean()):.4f}",
            flush=True,
        )


def expensive(given: Given) -> None:
    """Print evaluations, scaled to an error of 0.1, for likelihoods that run as Python."""
    for name, (build, exact, rounds, goal) in expensive_cases().items():
        scaled = []
        for seed in given.seeds if given.only in name else ():
            found, _ = run(build(), seed, given.rounds or rounds, given.path)
            error = found.log_evidence.error
            scaled.append(found.evaluations * (error / MAX_ERROR) ** 2)
            print(
                f"{name}, seed {seed}, n_rounds={given.rounds or rounds}: {found.evaluations} evaluations, log Z "
                f"{found.log_evidence} (off {found.log_evidence.value - exact:+.3f}), scaled {scaled[-1]:.0f}, "
                f"path {found.why_path[:150]!r}, {found.settings.n_chains} chains, {found.explorer} "
                f"{[text[:100] for text in found.warnings]}",
                flush=True,
            )
        if scaled:
            print(f"{name}: median {np.median(scaled):.0f}, largest {max(scaled):.0f}, goal {goal:.0f}\n", flush=True)


def cost(build: Callable[[], sterna.Target], seed: int, rounds: int, path: str) -> tuple[float, float, list[str], str]:
    """Return evaluations and CPU seconds, both for an error of 1, the kinds of warnings, and the path."""
    found, _ = run(build(), seed, rounds, path)
    seconds = sum(found.timing[phase] for phase in ("tuning", "sampling", "search"))
    square = found.log_evidence.error**2 if math.isfinite(found.log_evidence.error) else math.inf
    evaluations = found.evaluations + 2 * found.gradient_evaluations
    return evaluations * square, seconds * square, [text[:60] for text in found.warnings], found.why_path


def lost(given: Given) -> None:
    """Compare costs to the same error along path="auto" and path="prior"."""
    for name, build in easy_cases().items():
        if given.only not in name:
            continue
        rows = {
            path: [cost(build, seed, given.rounds or 10, path) for seed in given.seeds] for path in ("auto", "prior")
        }
        ratios = [
            float(np.median([row[k] for row in rows["auto"]]) / np.median([row[k] for row in rows["prior"]]))
            for k in (0, 1)
        ]
        alarms = [Counter(text for row in rows[path] for text in row[2]) for path in ("auto", "prior")]
        chosen = sum(not row[3].startswith("from the reference") for row in rows["auto"])
        print(
            f"{name}: evaluations x {ratios[0]:.2f}, time x {ratios[1]:.2f}, fitted in {chosen} of {len(given.seeds)}; "
            f"warnings {dict(alarms[0])} before {dict(alarms[1])}\n        {rows['auto'][0][3][:200]}",
            flush=True,
        )


PARTS = {
    "two": two,
    "family": families,
    "one": one,
    "coverage": coverage,
    "expensive": expensive,
    "lost": lost,
    "growth": lambda given: growth(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--rounds", type=int, help="n_rounds, otherwise that of the part")
    parser.add_argument("--path", default="auto", choices=["auto", "prior", "fitted"])
    parser.add_argument("--only", default="", help="problems whose name contains this")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    PARTS[given.part](Given(seeds, given.rounds, given.path, given.only))


if __name__ == "__main__":
    main()
