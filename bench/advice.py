"""Does the advice of a warning help? It is followed to the letter, and the number that the warning names compared.

Every option that a warning names with a value is followed alone, or together with another if the warning says "and".
What is no option, such as another reference, is a second target of the same posterior (advice_cases.py). Seeds without
the warning are left out. Last, runs that are merely short follow the largest number of rounds that they are told.
"""

import argparse
import math
import re
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from advice_case import Case
from advice_cases import cases, short_runs

import sterna
from sterna.result import convergence, warnings
from sterna.result.diagnostics import ess_bulks, r_hats
from sterna.tuning.journeys import sizes_of

OPTION = r'\b(n_rounds|n_scans|n_chains|n_copies|explorations|explorer)="?(\w+)"?'


def worst(result: sterna.Result, measure: Callable[[np.ndarray], np.ndarray], pick: Callable[..., float]) -> float:
    """Return the worst of a measure over all scalars."""
    return float(pick([pick(measure(draws)) for _, draws in convergence.all_scalars(result)]))


def largest_journey(result: sterna.Result) -> float:
    """Return the largest share of a journey in its copy."""
    return max(float(sizes_of(one - one.min()).max()) for one in result.journeys) / result.journeys.shape[1]


def unknown(result: sterna.Result) -> float:
    """Return the error of the evidence, or infinity."""
    return float(np.nan_to_num(result.log_evidence.error, nan=math.inf)) if result.log_evidence.valid else math.inf


def disagreement(result: sterna.Result) -> float:
    """Return the largest difference of two estimators in units of its error."""
    found = result.last.evidence.differences.values()
    return max((abs(one.value) / one.error for one in found if one.valid and one.error > 0), default=0.0)


def missed(result: sterna.Result) -> float:
    """Return by how much the log mass of a place exceeds what draws and evidence allow."""
    return max((one.log_mass - one.log_allowed for one in result.search.discrepancies if one.missed), default=0.0)


def claimed(result: sterna.Result) -> float:
    """Return by how much draws and evidence exceed the log mass of a place."""
    return max((one.log_allowed - one.log_mass for one in result.search.discrepancies if not one.missed), default=0.0)


def tail(result: sterna.Result) -> float:
    """Return the probability of a tail that the draws have missed, or the Pareto shape above its normal values."""
    if result.search.tails:
        return result.search.tails[0].probability
    return result.search.upper_tail.shape if result.search.upper_tail.is_heavy else 0.0


# What each warning names, and whether more of it is better.
NUMBERS: dict[str, tuple[str, Callable[[sterna.Result], float], bool]] = {
    "unknown_evidence": ("error of log Z", unknown, False),
    "constant_likelihood": ("range of log L", lambda result: float(np.ptp(result.log_likelihood)), True),
    "too_few_chains": ("largest rejection", lambda result: float(result.last.rejection_of_possible.max()), False),
    "few_restarts": ("restarts", lambda result: min(result.last.restarts_of_copies), True),
    "slow_exploration": ("share of restarts", lambda result: result.restarts / result.predicted_restarts, True),
    "diverging_trajectories": ("share diverged", lambda result: float(result.diverged.max()), False),
    "disagreeing_estimators": ("difference in errors", disagreement, False),
    "few_journeys": ("largest journey", largest_journey, False),
    "disagreeing_copies": ("R-hat", lambda result: worst(result, r_hats, np.nanmax), False),
    "few_effective_draws": ("effective draws", lambda result: worst(result, ess_bulks, np.nanmin), True),
    "draws_outside_the_reference": ("range of log L", lambda result: float(np.ptp(result.log_likelihood)), False),
    "missed_mass": ("log mass too large by", missed, False),
    "evidence_too_large": ("log mass too small by", claimed, False),
    "light_tails": ("tail missed", tail, False),
}


def chunked(found: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return pairs of an option and its value."""
    return [(name, value) for name, value in zip(found[::2], found[1::2], strict=True) if name]


def followed(case: Case, text: str) -> dict[str, Callable[[int], sterna.Result]]:
    """Return the runs that follow each piece of advice."""

    def run(build, options):
        return lambda seed: sterna.sample(build(), seed=seed, progress=False, **options)

    runs = {}
    for together in re.findall(rf"{OPTION}(?: and {OPTION})?", text):
        options = {name: int(value) if value.isdigit() else value for name, value in chunked(together)}
        if options == {"n_chains": "auto"} and "n_chains" not in case.options:
            continue
        runs[", ".join(f"{name}={value}" for name, value in options.items())] = run(case.build, case.options | options)
    return runs | {label: run(build, case.options) for label, build in case.others.items()}


def try_case(case: Case, seeds: int, tries: int) -> list[tuple[str, str, bool, bool]]:
    """Follow all advice of one sick run, for so many seeds with the warning; return warning, advice, better, gone."""
    name, number, more = NUMBERS[case.warning]
    check, rows, warned = {**vars(convergence), **vars(warnings)}[case.warning], [], 0
    for seed in range(1, tries + 1):
        try:
            before = sterna.sample(case.build(), seed=seed, progress=False, **case.options)
        except sterna.InitialStateError:
            continue
        text = check(before)
        if text is None:
            continue
        warned += 1
        for label, run in followed(case, text).items():
            try:
                after = run(seed)
            except sterna.Error as error:
                print(f"{case.warning:<28}{case.problem:<34}{seed:>3}  {label:<32} cannot be followed: {error}")
                rows.append((case.warning, label, False, False))
                continue
            old, new = number(before), number(after)
            better, gone = new > old if more else new < old, check(after) is None
            words = f"{'better' if better else 'NOT BETTER':<12}{'gone' if gone else 'still warned'}"
            print(
                f"{case.warning:<28}{case.problem:<34}{seed:>3}  {label:<32}{name:<24}{old:>9.3g}{new:>9.3g}  {words}"
            )
            rows.append((case.warning, label, better, gone))
        if warned == seeds:
            break
    if not warned:
        print(f"{case.warning:<28}{case.problem:<34}     no warning with {tries} seeds")
    return rows


def show_totals(rows: list[tuple[str, str, bool, bool]]) -> None:
    """Print how often each piece of advice helped."""
    totals: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for warning, label, better, gone in rows:
        totals[warning, label.partition("=")[0]].append((better, gone))
    print(f"\n{'warning':<28}{'advice':<32}{'runs':>6}{'better':>8}{'gone':>6}")
    for (warning, label), found in totals.items():
        better, gone = (sum(one) for one in zip(*found, strict=True))
        print(f"{warning:<28}{label:<32}{len(found):>6}{better:>8}{gone:>6}")


def show_short_runs(seeds: int) -> None:
    """Follow the largest number of rounds that any warning of a short run names, and count runs without a warning."""
    print(f"\n{'short runs, n_rounds':<44}{'warned':>8}{'n_rounds named':>20}{'without a warning then':>24}")
    for case in short_runs():
        named, quiet = [], 0
        for seed in range(1, seeds + 1):
            before = sterna.sample(case.build(), seed=seed, progress=False, **case.options)
            rounds = [int(one) for text in before.warnings for one in re.findall(r"n_rounds=(\d+)", text)]
            if rounds:
                named.append(max(rounds))
                after = sterna.sample(case.build(), seed=seed, progress=False, **case.options | {"n_rounds": named[-1]})
                quiet += not after.warnings
        label, counts = f"{case.problem}, {case.options['n_rounds']}", f"{min(named)} to {max(named)}" if named else "-"
        print(f"{label:<44}{f'{len(named)} of {seeds}':>8}{counts:>20}{quiet:>24}")


def main() -> None:
    """Follow all advice and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="warnings whose name contains this")
    parser.add_argument("--seeds", type=int, default=2, help="runs with the warning of each problem")
    parser.add_argument("--tries", type=int, default=8, help="seeds that are tried until there are so many")
    parser.add_argument("--short", type=int, default=10, help="seeds of each run that is merely short")
    given = parser.parse_args()
    chosen = [case for case in cases() if re.search(given.only, case.warning)]
    show_totals([row for case in chosen for row in try_case(case, given.seeds, given.tries)])
    show_short_runs(given.short)


if __name__ == "__main__":
    main()
