"""Healthy and sick problems with exact answers, each run with default settings (`make honesty`).

A run is right if every answer is within 4 of its standard errors (honesty_outcome.py). Otherwise it was warned of with
the right reason, or with another, or was silently wrong. A warning about a healthy problem is a false alarm. Seeds
count from 1. The explorer that a run chooses depends on measured times, so a run may differ between machines.
"""

import argparse
import json
import re
import signal
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import honesty_data
import honesty_geometry
import honesty_healthy
import honesty_mistakes
import honesty_modes
from honesty_outcome import OUTCOMES, RIGHT, RIGHT_REASON, SILENT, Outcome, Problem, TooLong, outcome_of

FAMILIES = (
    honesty_healthy.FAMILIES
    | honesty_data.FAMILIES
    | honesty_modes.FAMILIES
    | honesty_geometry.FAMILIES
    | honesty_mistakes.FAMILIES
)
# A handful of problems of each kind: the first of each of these families.
QUICK = {
    *("normal", "egg box", "equal widths", "label switching", "conjugate", "Ising", "categories"),
    *("unequal widths", "spike on slab", "unvisited value", "heavy tails"),
    *("wrong local change", "wrong reference draws", "integers", "names and types"),
}
# CPU seconds after which a run is given up, such as one whose replicas have run away.
MAX_SECONDS = 40.0
FILE = Path(__file__).parents[1] / ".cache" / "honesty.json"


@cache
def problems_of(family: str) -> list[Problem]:
    """Make a family once per process, because some exact answers take a second."""
    return FAMILIES[family]()


def selected(pattern: str, quick: bool) -> list[tuple[str, int]]:
    """Return families and places of the problems whose "family: name" contains the pattern, a regular expression."""
    return [
        (family, place)
        for family in FAMILIES
        if not quick or family in QUICK
        for place, problem in enumerate(problems_of(family)[: 1 if quick else None])
        if re.search(pattern, f"{family}: {problem.name}")
    ]


def run_one(family: str, place: int, seed: int) -> Outcome:
    """Run one problem in at most MAX_SECONDS of CPU time."""
    problem = problems_of(family)[place]

    def give_up(*_: object) -> None:
        raise TooLong(f"more than {MAX_SECONDS:g} s of CPU time")

    before, began = signal.signal(signal.SIGVTALRM, give_up), time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    try:
        outcome = outcome_of(problem, seed)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    outcome.name = f"{family}: {problem.name}"
    outcome.seconds = time.process_time() - began
    return outcome


def run_all(chosen: list[tuple[str, int]], seeds: int, jobs: int) -> list[Outcome]:
    """Run problems in several processes; outcomes are in the order of the problems."""
    runs = [(family, place, seed) for family, place in chosen for seed in range(1, seeds + 1)]
    if jobs == 1:
        return [run_one(*run) for run in runs]
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_one, *run) for run in runs]
        for done, _ in enumerate(as_completed(futures), 1):
            print(f"\r{done} of {len(runs)} runs", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return [future.result() for future in futures]


def show_table(outcomes: list[Outcome]) -> None:
    """Print counts by family, and totals."""
    heads = ("runs", *OUTCOMES, "false alarms", "CPU s")
    print(f"\n{'family':<26}" + "".join(f"{head:>15}" for head in heads))
    for healthy in (True, False):
        group = [one for one in outcomes if one.healthy == healthy]
        families = dict.fromkeys(one.name.partition(":")[0] for one in group)
        for family in families:
            show_row(family, [one for one in group if one.name.partition(":")[0] == family])
        if group:
            show_row("ALL HEALTHY" if healthy else "ALL SICK", group)
            print()


def show_row(name: str, outcomes: list[Outcome]) -> None:
    """Print one line of the table."""
    counts = [sum(one.outcome == outcome for one in outcomes) for outcome in OUTCOMES]
    alarms = sum(one.false_alarm for one in outcomes) if outcomes[0].healthy else "-"
    cells = (len(outcomes), *counts, alarms, f"{sum(one.seconds for one in outcomes):.1f}")
    print(f"{name:<26}" + "".join(f"{cell:>15}" for cell in cells))


def show_list(title: str, outcomes: Iterable[Outcome]) -> None:
    """Print the numbers and the warnings of single runs."""
    for k, one in enumerate(outcomes):
        if k == 0:
            print(f"{title}:")
        print(f"  {one.name}, seed {one.seed}, {one.restarts} restarts; {', '.join(one.kinds) or 'no warning'}")
        for answer in one.answers:
            mark = "" if answer.right else "  WRONG"
            print(
                f"      {answer.name:<28}{answer.exact:>12.5g} exact{answer.value:>12.5g} ± {answer.error:<10.2g}"
                f"{answer.deviation:>8.1f} errors off{mark}"
            )
        if not one.answers:
            print(f"      {one.texts[0][:200]}")


def show_changes(outcomes: list[Outcome], before: Path) -> None:
    """Print what has changed since an earlier run of the battery."""
    earlier = {(one["name"], one["seed"]): one for one in json.loads(before.read_text())}
    print(f"Changes since {before}:")
    for now in outcomes:
        then = earlier.get((now.name, now.seed))
        was = "absent" if then is None else then["outcome"] + ", false alarm" * then["false_alarm"]
        new = now.outcome + ", false alarm" * now.false_alarm
        if was != new:
            print(f"  {now.name}, seed {now.seed}: {was} -> {new}")


def show(outcomes: list[Outcome]) -> None:
    """Print the table, what is silently wrong, and false alarms."""
    show_table(outcomes)
    show_list("Silently wrong", (one for one in outcomes if one.outcome == SILENT))
    show_list("False alarms", (one for one in outcomes if one.false_alarm))
    wrong = (one for one in outcomes if not one.healthy and one.outcome not in (RIGHT, RIGHT_REASON, SILENT))
    show_list("Warned with another reason", wrong)


def main() -> None:
    """Run the battery, print its tables and write all outcomes as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only a handful of problems of each kind")
    parser.add_argument("--only", default="", metavar="PATTERN", help='problems whose "family: name" contains this')
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each problem")
    parser.add_argument("--json", type=Path, default=FILE, help="where to write all outcomes")
    parser.add_argument("--before", type=Path, help="an earlier JSON file to compare with")
    given = parser.parse_args()
    outcomes = run_all(selected(given.only, given.quick), given.seeds, given.jobs)
    if not outcomes:
        sys.exit(f"No problem's name contains {given.only!r}.")
    show(outcomes)
    if given.before:
        show_changes(outcomes, given.before)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps([one.to_dict() for one in outcomes], indent=1))
    print(f"All outcomes: {given.json}")


if __name__ == "__main__":
    main()
