"""Runs of the paper's models, compared with the paper's figures, and how they are printed."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from sterna import models
from sterna.errors import OptionError
from sterna.paper.comparison import run_method
from sterna.paper.ladder import MAX_STEPS
from sterna.paper.sizes import sizes
from sterna.result.result import Result
from sterna.run.sample import sample
from sterna.target.target import Target

# Quick runs: of all models in about a minute, and shorter ones of the largest models.
QUICK_ROUNDS, QUICK_SCANS = 7, 254
HEAVY_QUICK_ROUNDS, HEAVY_QUICK_SCANS = 3, 14

# In quick runs a rival's chain that is not done after so many steps ends the ladder.
QUICK_STEPS = 5000


@dataclass(frozen=True)
class Case:
    """A row of a table of the paper."""

    label: str
    model: str
    n: int | None
    """Number of observations in the paper."""
    d: int
    """Number of latent variables in the paper."""
    barrier: float
    """The paper's estimate of the barrier."""
    n_chains: int
    """Number of chains in the paper, which rivals of NRPT find themselves."""
    options: dict[str, int | float | bool] = field(default_factory=dict)
    """Parameters of the model: the numerics of the paper's software, if they matter."""
    acceptance: float | None = None
    """The paper's swap acceptance probability, averaged over pairs."""
    n_rounds: int = 11
    n_scans: int = 5000
    """The paper runs 10 000 scans and samples from the last half; eleven tuning rounds have 4094."""
    explorations: int | str = "auto"
    method: str = ""
    """Of the table of comparisons: `sterna.paper.comparison.METHODS`."""
    heavy: bool = False
    """Whether a scan takes so long that quick runs must be shorter."""


@dataclass(frozen=True)
class Row:
    """The results of a run, beside the paper's."""

    label: str
    method: str
    n: int | None
    """Number of observations in this run."""
    d: int
    paper_n: int | None
    paper_d: int
    n_chains: int
    paper_n_chains: int
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
    """Restarts that the rejections allow if exploration were efficient."""
    explorer: str
    explorations: int
    tuning_scans: int
    n_scans: int
    seconds: float
    simulated: bool
    """Whether the data were simulated."""

    @property
    def off(self) -> float:
        """Relative difference between this run's estimate of the barrier and the paper's."""
        return self.rejections / self.paper_barrier - 1.0


def run_case(case: Case, quick: bool, seed: int) -> Row:
    """Run a model with the paper's number of chains, or with a method of the paper that finds it."""
    target = getattr(models, case.model)(**case.options)
    rounds, scans = case.n_rounds, case.n_scans
    if quick:
        rounds, scans = (HEAVY_QUICK_ROUNDS, HEAVY_QUICK_SCANS) if case.heavy else (QUICK_ROUNDS, QUICK_SCANS)
    if case.method:
        return row_of(case, target, _compared(case, target, rounds, scans, QUICK_STEPS if quick else MAX_STEPS, seed))
    result = sample(
        target,
        n_chains=case.n_chains,
        n_rounds=rounds,
        n_scans=scans,
        explorations=case.explorations,
        path="prior",
        seed=seed,
        progress=False,
    )
    return row_of(case, target, result)


def _compared(case: Case, target: Target, rounds: int, scans: int, max_steps: int, seed: int) -> Result:
    """Run a method of the comparison."""
    return run_method(
        case.method,
        target,
        n_chains=case.n_chains,
        n_rounds=rounds,
        n_scans=scans,
        max_steps=max_steps,
        seed=seed,
        workers=None,
    )


def row_of(case: Case, target: Target, result: Result) -> Row:
    """Return the row of a table for a result."""
    n, d = sizes(target)
    return Row(
        label=case.label,
        method=case.method,
        n=n,
        d=d,
        paper_n=case.n,
        paper_d=case.d,
        n_chains=result.settings.n_chains,
        paper_n_chains=case.n_chains,
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
    """Return the cases of the named models and methods; all models, or all methods, if none is named."""
    models_named = [name for name in only if name in {case.label for case in cases}]
    methods = {case.method.lower(): case.method for case in cases if case.method}
    methods_named = [methods[name.lower()] for name in only if name.lower() in methods]
    unknown = sorted(name for name in {*only} if name not in models_named and name.lower() not in methods)
    if unknown:
        names = ", ".join([*methods, *dict.fromkeys(case.label for case in cases)])
        raise OptionError(f"--only {', '.join(unknown)} is unknown; the rows of this table are {names}.")
    return [
        case
        for case in cases
        if case.label in (models_named or [case.label]) and case.method in (methods_named or [case.method])
    ]


# Heading, width and text of a column; a width of 0 or below means text that is aligned to the left.
Column = tuple[str, int, Callable[[Row], str]]

COLUMNS: list[Column] = [
    ("model", -14, lambda row: row.label),
    ("method", -8, lambda row: row.method),
    ("n", 7, lambda row: "-" if row.n is None else str(row.n)),
    ("d", 7, lambda row: str(row.d)),
    ("N", 4, lambda row: str(row.n_chains)),
    ("paper", 5, lambda row: str(row.paper_n_chains)),
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
# Columns of the table of comparisons alone: methods, and what the paper says of them.
OF_COMPARISON = (1, 5, 11)


def columns_of(cases: Sequence[Case]) -> list[Column]:
    """Return the columns of a table."""
    compared = any(case.method for case in cases)
    return [column for k, column in enumerate(COLUMNS) if compared or k not in OF_COMPARISON]


def as_line(columns: Sequence[Column], row: Row | None) -> str:
    """Return a row, or the headings, as a line of text."""
    cells = [(heading if row is None else text(row), width) for heading, width, text in columns]
    return " ".join(cell.ljust(-width) if width <= 0 else cell.rjust(width) for cell, width in cells).rstrip()


def remarks(row: Row) -> str:
    """Return the explorer, and how the data differ from the paper's."""
    times = "" if row.explorations == 1 else f" x{row.explorations}"
    explorer = row.explorer if len(row.explorer) <= 24 else row.explorer[:21] + "..."
    pairs = {"n": (row.n, row.paper_n), "d": (row.d, row.paper_d)}
    others = ", ".join(f"{name}={there}" for name, (here, there) in pairs.items() if here != there)
    data = ["simulated data"] * row.simulated + [f"paper: {others}"] * bool(others)
    return ", ".join([explorer + times, *data])


def as_csv(rows: Sequence[Row]) -> str:
    """Return rows as comma-separated values."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(asdict(rows[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def as_json(rows: Sequence[Row]) -> str:
    """Return rows as JSON; NaN and infinities become null."""

    def finite(value: object) -> object:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps([{name: finite(value) for name, value in asdict(row).items()} for row in rows], indent=1)
