"""Runs of the paper's models, beside the paper's own figures, and how they are printed."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sterna import models
from sterna.errors import OptionError
from sterna.paper.sizes import sizes
from sterna.result.result import Result
from sterna.run.sample import sample

# A look at all models that takes a minute, and one at the largest of them.
QUICK_ROUNDS, QUICK_SCANS = 7, 254
HEAVY_QUICK_ROUNDS, HEAVY_QUICK_SCANS = 3, 14

# A name for all rows of the table of comparisons, which has other methods too.
ALL = "nrpt"


@dataclass(frozen=True)
class Case:
    """A row of a table of the paper."""

    label: str
    model: str
    n: int | None
    """Observations, in the paper."""
    d: int
    """Latent variables, in the paper."""
    barrier: float
    """The paper's, as all that follows."""
    n_chains: int
    options: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model: numerics as the paper's software has them, where they matter."""
    acceptance: float | None = None
    """Mean over pairs of the acceptance of swaps."""
    n_rounds: int = 11
    n_scans: int = 5000
    """The paper has 10 000 scans, of which it samples the last half; eleven rounds have 4094."""
    explorations: int | str = "auto"
    heavy: bool = False
    """Whether a scan takes so long that a quick look must be quicker."""


@dataclass(frozen=True)
class Row:
    """What a run showed, beside the paper."""

    label: str
    n: int | None
    """Observations that this run had."""
    d: int
    paper_n: int | None
    paper_d: int
    n_chains: int
    paper_barrier: float
    rejections: float
    """Sum of rejections, which is the paper's estimate of the barrier."""
    barrier: float
    """The barrier, corrected for saturation."""
    log_evidence: float
    error: float
    acceptance: float
    paper_acceptance: float | None
    restarts: int
    predicted_restarts: float
    """Restarts that the rejections allow if exploration were perfect."""
    explorer: str
    explorations: int
    tuning_scans: int
    n_scans: int
    seconds: float
    simulated: bool
    """Whether the model had to simulate its data."""

    @property
    def off(self) -> float:
        """How far the paper's estimate is from that of this run, as a share."""
        return self.rejections / self.paper_barrier - 1.0


def run_case(case: Case, quick: bool, seed: int) -> Row:
    """Run a model with the paper's number of chains."""
    target = getattr(models, case.model)(**case.options)
    rounds, scans = case.n_rounds, case.n_scans
    if quick:
        rounds, scans = (HEAVY_QUICK_ROUNDS, HEAVY_QUICK_SCANS) if case.heavy else (QUICK_ROUNDS, QUICK_SCANS)
    result = sample(
        target,
        n_chains=case.n_chains,
        n_rounds=rounds,
        n_scans=scans,
        explorations=case.explorations,
        seed=seed,
        progress=False,
    )
    return row_of(case, result)


def row_of(case: Case, result: Result) -> Row:
    """Take what a table needs from a result."""
    n, d = sizes(result.target)
    return Row(
        label=case.label,
        n=n,
        d=d,
        paper_n=case.n,
        paper_d=case.d,
        n_chains=case.n_chains,
        paper_barrier=case.barrier,
        rejections=float(result.rejection.sum()),
        barrier=result.global_barrier,
        log_evidence=result.log_evidence.value,
        error=result.log_evidence.error,
        acceptance=float(1.0 - result.rejection.mean()),
        paper_acceptance=case.acceptance,
        restarts=result.restarts,
        predicted_restarts=result.predicted_restarts,
        explorer=result.explorer,
        explorations=result.explorations,
        tuning_scans=sum(one.n_scans for one in result.rounds[:-1]),
        n_scans=result.settings.n_scans,
        seconds=result.timing["tuning"] + result.timing["sampling"],
        simulated=any("simulated" in note for note in result.notes),
    )


def choose(cases: Sequence[Case], only: Sequence[str]) -> list[Case]:
    """Return those of the cases that are named, or all."""
    named = {*only}
    # only the table of comparisons has the paper's acceptances
    names = [*([ALL] if cases[0].acceptance is not None else []), *(case.label for case in cases)]
    unknown = sorted(named.difference(names))
    if unknown:
        raise OptionError(f"--only {', '.join(unknown)}: this table has {', '.join(names)}.")
    return [case for case in cases if not named or ALL in named or case.label in named]


# Headings, widths and texts of a table's columns; a width below 0 is that of a text, which is put to the left.
Column = tuple[str, int, Callable[[Row], str]]

COLUMNS: list[Column] = [
    ("model", -14, lambda row: row.label),
    ("n", 7, lambda row: "-" if row.n is None else str(row.n)),
    ("d", 7, lambda row: str(row.d)),
    ("N", 4, lambda row: str(row.n_chains)),
    ("sum r", 6, lambda row: f"{row.rejections:.2f}"),
    ("paper", 6, lambda row: f"{row.paper_barrier:.4g}"),
    ("off", 6, lambda row: f"{row.off:+.1%}"),
    ("barrier", 7, lambda row: f"{row.barrier:.2f}"),
    ("accept", 6, lambda row: f"{row.acceptance:.3f}"),
    ("paper", 6, lambda row: "" if row.paper_acceptance is None else f"{row.paper_acceptance:.3f}"),
    ("log evidence", 20, lambda row: f"{row.log_evidence:.3f} ± {row.error:.3f}"),
    ("restarts", 10, lambda row: f"{row.restarts}/{row.predicted_restarts:.0f}"),
    ("seconds", 7, lambda row: f"{row.seconds:.1f}"),
    ("explorer, data", 0, lambda row: remarks(row)),
]
PAPER_ACCEPTANCE = 9


def columns_of(cases: Sequence[Case]) -> list[Column]:
    """Return the columns of a table; only the comparisons have the paper's acceptance."""
    compared = any(case.acceptance is not None for case in cases)
    return [column for k, column in enumerate(COLUMNS) if compared or k != PAPER_ACCEPTANCE]


def as_line(columns: Sequence[Column], row: Row | None) -> str:
    """Return a row as a line of text, or the headings."""
    cells = [(heading if row is None else text(row), width) for heading, width, text in columns]
    return " ".join(cell.ljust(-width) if width <= 0 else cell.rjust(width) for cell, width in cells).rstrip()


def remarks(row: Row) -> str:
    """Name the explorer, and how the data differ from the paper's."""
    times = "" if row.explorations == 1 else f" x{row.explorations}"
    explorer = row.explorer if len(row.explorer) <= 24 else row.explorer[:21] + "..."
    pairs = {"n": (row.n, row.paper_n), "d": (row.d, row.paper_d)}
    others = ", ".join(f"{name}={there}" for name, (here, there) in pairs.items() if here != there)
    data = ["simulated data"] * row.simulated + [f"paper: {others}"] * bool(others)
    return ", ".join([explorer + times, *data])


def as_csv(rows: Sequence[Row]) -> str:
    """Return rows as a table of comma-separated values."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(asdict(rows[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def as_json(rows: Sequence[Row]) -> str:
    """Return rows as JSON, in which what is not a number is null."""

    def finite(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps([{name: finite(value) for name, value in asdict(row).items()} for row in rows], indent=1)
