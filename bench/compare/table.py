"""Tables and a figure from finished runs: `python bench/compare/table.py [FOLDER]`."""

import csv
import json
import math
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from catalogue import ORDER, PACKAGES, skipped

Row = dict[str, Any]
DASH = "-"
GOAL = 0.1
# An error that is so many stated errors large, and no smaller than WRONG, is a wrong answer.
WRONG_ERRORS, WRONG = 4.0, 0.1
# For packages that state no error.
WRONG_UNSTATED = 0.5


@dataclass(frozen=True)
class Line:
    """One package on one problem: medians over seeds, unless it says otherwise."""

    problem: str
    package: str
    runs: int
    ended: int
    failed: int
    log_z_error: float | None = None
    """Root mean square over seeds."""
    stated: float | None = None
    errors: float | None = None
    """The largest error in stated errors."""
    weight_error: float | None = None
    """The largest."""
    ess_per_second: float | None = None
    ess_per_evaluation: float | None = None
    evaluations: float | None = None
    seconds: float | None = None
    with_compilation: float | None = None
    """With the largest compilation of all seeds: later runs may find compiled code on disk."""
    to_goal: float | None = None
    warnings: int = 0
    """Runs that warn."""
    why: str = ""
    wrong_weights: bool = False
    """Whether the effective size of a run does not explain the error of its weights."""

    @property
    def wrong(self) -> bool:
        """Whether more time of the same would not give the right answer."""
        if self.wrong_weights:
            return True
        if self.log_z_error is None or self.log_z_error < WRONG:
            return False
        return self.log_z_error > WRONG_UNSTATED if self.errors is None else self.errors > WRONG_ERRORS


def read(file: Path) -> list[Row]:
    """Return the last run of every key, without a line that was cut off."""
    found = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[row["problem"], row["package"], row["seed"], row["quick"]] = row
    return list(found.values())


def has_wrong_weights(row: Row) -> bool:
    """Whether a share is further off than its standard error allows, which is at most that of one half."""
    error = 0.5 / math.sqrt(row["ess"]) if row["ess"] else 0.0
    return row["weight_error"] is not None and row["weight_error"] > max(WRONG, WRONG_ERRORS * error)


def line_of(problem: str, package: str, rows: list[Row]) -> Line:
    """Summarise the runs of all seeds."""
    finished = [row for row in rows if row["status"] == "done"]
    ended = [row for row in rows if row["status"] == "ended"]
    failed = [row for row in rows if row["status"] == "failed"]
    why = "; ".join(sorted({row["why"] for row in [*ended, *failed]}))
    line = Line(problem, package, len(rows), len(ended), len(failed), why=why)
    if not finished:
        return line

    def all_of(name: str) -> list[float]:
        return [row[name] for row in finished if row[name] is not None]

    def middle(values: list[float]) -> float | None:
        return median(values) if values else None

    errors, stated, weights, sizes = (all_of(name) for name in ("log_z_error", "stated", "weight_error", "ess"))
    scatter = math.sqrt(sum(error**2 for error in errors) / len(errors)) if errors else None
    seconds = median(all_of("seconds"))
    known = [row for row in finished if row["log_z_error"] is not None and row["stated"]]
    to_goal = seconds * (max(scatter, *stated, 0.0) / GOAL) ** 2 if scatter is not None else None
    return Line(
        problem,
        package,
        len(rows),
        len(ended),
        len(failed),
        scatter,
        middle(stated),
        max((abs(row["log_z_error"]) / row["stated"] for row in known), default=None),
        max(weights, default=None),
        middle([row["ess"] / row["seconds"] for row in finished if row["ess"] is not None and row["seconds"] > 0]),
        middle([row["ess"] / row["evaluations"] for row in finished if row["ess"] is not None]) if sizes else None,
        median(all_of("evaluations")),
        seconds,
        seconds + max(all_of("compile")),
        to_goal,
        sum(bool(row["warnings"]) for row in finished),
        why,
        any(map(has_wrong_weights, finished)),
    )


def lines_of(rows: list[Row]) -> list[Line]:
    """Return one line per problem and package, in the order of the catalogue."""
    found = []
    for problem in ORDER:
        for package in PACKAGES:
            some = [row for row in rows if row["problem"] == problem and row["package"] == package]
            if some:
                found.append(line_of(problem, package, some))
    return found


def number(value: float | None, digits: int = 2) -> str:
    """Write a number shortly."""
    if value is None:
        return DASH
    if not math.isfinite(value):
        return "inf"
    if value == 0.0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits}g}" if abs(value) < 100 else f"{value:.0f}"
    return f"{value:.{digits}g}"


def cells(line: Line) -> list[str]:
    """Return the cells of one line of the Markdown table."""
    notes = [f"{line.ended} of {line.runs} ended ({line.why})"] if line.ended else []
    notes += [f"{line.failed} of {line.runs} failed: {line.why}"] if line.failed else []
    notes += ["**wrong**"] if line.wrong else []
    notes += [f"{line.warnings} warned"] if line.warnings else []
    values = [
        number(line.log_z_error), number(line.stated), number(line.errors), number(line.weight_error),
        number(line.ess_per_second), number(line.ess_per_evaluation), number(line.evaluations, 3), number(line.seconds),
        number(line.with_compilation), number(line.to_goal),
    ]  # fmt: skip
    return [line.package, *values, "; ".join(notes)]


HEAD = (
    "package", "error of log Z", "stated", "error / stated", "error of weights", "ESS / s", "ESS / evaluation",
    "evaluations", "seconds", "with compilation", "seconds to 0.1", "",
)  # fmt: skip


def markdown(rows: list[Row]) -> str:
    """Return the tables, one per problem."""
    lines = lines_of(rows)
    limits = sorted({f"{row['limit']:g} s" for row in rows})
    clocks = " and ".join(sorted({row["clock"] for row in rows}))
    parts = [
        "# Comparison",
        f"{len(rows)} runs, each of at most {', '.join(limits)} of {clocks} time. See bench/compare/README.md.",
    ]
    for problem in ORDER:
        some = [line for line in lines if line.problem == problem]
        if not some:
            continue
        table = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
        table += ["| " + " | ".join(cells(line)) + " |" for line in some]
        for package in PACKAGES:
            reason = skipped(problem, package)
            if reason:
                table.append(f"| {package} |" + f" {DASH} |" * (len(HEAD) - 2) + f" {reason} |")
        parts += [f"## {problem}", "\n".join(table)]
    return "\n\n".join(parts) + "\n"


def write_csv(lines: list[Line], file: Path) -> None:
    """Write all lines with all digits."""
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Line)] + ["wrong"])
        writer.writeheader()
        writer.writerows(asdict(line) | {"wrong": line.wrong} for line in lines)


def in_short(row: Row) -> str:
    """Return one line about a run."""
    if row["status"] != "done":
        return f"{row['status']}: {row['why']}"
    error = f"log Z off by {row['log_z_error']:+.3f}" if row["log_z_error"] is not None else "no log Z"
    stated = f" ± {row['stated']:.3f}" if row["stated"] is not None else ""
    weights = f", weights by {row['weight_error']:.3f}" if row["weight_error"] is not None else ""
    times = f"{row['seconds']:.1f} s + {row['compile']:.1f} s"
    return f"{error}{stated}{weights}, {row['evaluations']} evaluations, {times}"


def write(file: Path, folder: Path) -> None:
    """Write all tables and the figure beside the runs."""
    from figure import draw

    rows = read(file)
    if not rows:
        return
    lines = lines_of(rows)
    (folder / "table.md").write_text(markdown(rows))
    write_csv(lines, folder / "table.csv")
    draw(lines, folder / "figure.png")
    print(f"{folder / 'table.md'}, table.csv, figure.png")


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "results" / "compare"
    write(given / "runs.jsonl", given)
