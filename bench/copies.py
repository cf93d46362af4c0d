"""How many copies serve best: runs of 1, 2 and 4 copies at the same total cost, and with the same number of rounds.

`python bench/copies.py --seeds 60 --file copies.jsonl` prints, for each problem and each pair of copies and rounds, how
many runs were wrong (as in `make honesty`), how many of these had no warning, how many right ones had one, and the CPU
time. Every run is kept as a line, and runs that are there are not run again.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import sterna

sys.path.insert(0, str(Path(__file__).parent))
from calibration_cases import Case, mixture, normal, ten_modes, two_widths
from honesty_outcome import MAX_EVIDENCE_ERROR, MAX_RELATIVE_ERROR, Answer, kind_of_warning, stated, stated_mean


def many_chains() -> Case:
    """Two narrow modes in 16 dimensions: some ten restarts in a default run."""
    return mixture("few restarts", [0.6, 0.4], [[3.0] * 16, [-3.0] * 16], [0.01, 0.01], 10.0)


def in_python() -> Case:
    """Two modes of the same width, by a function that runs as Python; about 20 microseconds each."""
    case = mixture("python", [0.7, 0.3], [[3.0] * 3, [-3.0] * 3], [0.3, 0.3], 10.0)

    def target() -> sterna.Target:
        compiled = case.target()
        centres, heights = compiled.data["centres"], compiled.data["log_heights"]
        memory: dict[str, float] = {}

        def log_likelihood(x: Any) -> float:
            memory["last"] = x[0]
            return float(np.logaddexp.reduce(heights - 0.5 * np.square((x - centres) / 0.3).sum(axis=1)))

        return sterna.Target(log_likelihood, {"x": sterna.Uniform(-10, 10, shape=3)}, name="python")

    return Case(case.name, target, case.log_evidence, case.quantities)


def problems() -> dict[str, Callable[[], Case]]:
    """Return makers of all problems by name."""
    return {
        "widths 1 : 3": lambda: two_widths(3.0),
        "normal": normal,
        "few restarts": many_chains,
        "ten modes": ten_modes,
        "python": in_python,
    }


def answers(case: Case, result: sterna.Result) -> list[Answer]:
    """Read the answers that a case asks for."""
    found = [Answer("log Z", case.log_evidence, *stated(result.log_evidence), MAX_EVIDENCE_ERROR)]
    for name, (of, exact) in case.quantities.items():
        draws = of(result.values)
        spread = math.sqrt(exact * (1.0 - exact)) if draws.dtype == np.bool_ else float(draws.std())
        found.append(Answer(name, exact, *stated_mean(result, draws), MAX_RELATIVE_ERROR * max(spread, 1e-300)))
    return found


def one_run(name: str, copies: int, rounds: int, seed: int) -> dict[str, Any]:
    """Run a problem once."""
    case = problems()[name]()
    begin = process_time()
    result = sterna.sample(case.target(), n_copies=copies, n_rounds=rounds, seed=seed, workers=1, progress=False)
    seconds = process_time() - begin
    found = answers(case, result)
    return {
        "name": name, "copies": copies, "rounds": rounds, "seed": seed, "seconds": seconds,
        "wrong": [one.name for one in found if not one.right],
        "values": {one.name: (one.value, one.exact, one.error) for one in found},
        "warnings": [kind_of_warning(text) for text in result.warnings],
        "restarts": result.last.restarts_of_copies, "evaluations": result.evaluations,
    }  # fmt: skip


def row(runs: list[dict[str, Any]]) -> str:
    """Summarise runs of one problem and one number of copies and rounds."""
    wrong = [run for run in runs if run["wrong"]]
    silent = sum(not run["warnings"] for run in wrong)
    falsely = sum(bool(run["warnings"]) for run in runs if not run["wrong"])
    kinds: dict[str, int] = {}
    for run in runs:
        for kind in set(run["warnings"]):
            kinds[kind] = kinds.get(kind, 0) + 1
    seconds = np.median([run["seconds"] for run in runs])
    evaluations = np.mean([run["evaluations"] for run in runs])
    restarts = np.mean([sum(run["restarts"]) for run in runs])
    return (
        f"{len(runs):>4} {len(wrong):>6} {silent:>7} {falsely:>12} {seconds:>8.2f} {evaluations:>11.3g} "
        f"{restarts:>9.0f}  {kinds}"
    )


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="problems; all by default")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--file", type=Path, default=Path("copies.jsonl"), help="JSON lines, one for every run")
    parser.add_argument("--shapes", default="1x10 2x9 4x8 1x11 2x10 4x9 1x12 2x11 4x10", help="copies x rounds")
    given = parser.parse_args()
    kept = [json.loads(line) for line in given.file.read_text().splitlines()] if given.file.exists() else []
    print(f"{'':<14} copies rounds runs  wrong  silent warned falsely seconds evaluations restarts  warnings")
    for name in given.names or problems():
        for shape in given.shapes.split():
            copies, rounds = (int(part) for part in shape.split("x"))
            runs = [run for run in kept if (run["name"], run["copies"], run["rounds"]) == (name, copies, rounds)]
            for seed in sorted(set(range(given.first, given.first + given.seeds)) - {run["seed"] for run in runs}):
                runs.append(one_run(name, copies, rounds, seed))
                with given.file.open("a") as stream:
                    stream.write(json.dumps(runs[-1]) + "\n")
            print(f"{name:<14} {copies:>6} {rounds:>6} {row(runs)}", flush=True)


if __name__ == "__main__":
    main()
