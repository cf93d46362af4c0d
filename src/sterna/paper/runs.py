"""Runs of the paper's models, beside the paper's own figures, and how they are printed."""

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sterna import models
from sterna.errors import OptionError
from sterna.result import Result
from sterna.sampling import sample

# The paper's 10 000 scans, of which the last half is sampled; a minute for all models; and that for the largest.
ROUNDS, SCANS = 11, 5000
QUICK_ROUNDS, QUICK_SCANS = 7, 254
HEAVY_QUICK_ROUNDS, HEAVY_QUICK_SCANS = 3, 14


@dataclass(frozen=True)
class Case:
    """A row of a table of the paper."""

    label: str
    model: str
    n: int | None
    """Observations."""
    d: int
    """Latent variables, as the paper counts them."""
    barrier: float
    n_chains: int
    options: dict[str, Any] = field(default_factory=dict)
    """Parameters of the model: numerics as the paper's software has them, where they matter."""
    acceptance: float | None = None
    heavy: bool = False
    """Whether a scan takes so long that a quick look must be quicker."""


@dataclass(frozen=True)
class Row:
    """What a run showed, beside the paper."""

    label: str
    n: int | None
    d: int
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
    explorer: str
    explorations: int
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
    rounds, scans = (QUICK_ROUNDS, QUICK_SCANS) if quick else (ROUNDS, SCANS)
    if quick and case.heavy:
        rounds, scans = HEAVY_QUICK_ROUNDS, HEAVY_QUICK_SCANS
    result = sample(target, n_chains=case.n_chains, n_rounds=rounds, n_scans=scans, seed=seed, progress=False)
    return row_of(case, result)


def row_of(case: Case, result: Result) -> Row:
    """Take what a table needs from a result."""
    return Row(
        label=case.label,
        n=case.n,
        d=case.d,
        n_chains=case.n_chains,
        paper_barrier=case.barrier,
        rejections=float(result.rejection.sum()),
        barrier=result.global_barrier,
        log_evidence=result.log_evidence.value,
        error=result.log_evidence.error,
        acceptance=float(1.0 - result.rejection.mean()),
        paper_acceptance=case.acceptance,
        restarts=result.restarts,
        explorer=result.explorer,
        explorations=result.explorations,
        n_scans=result.settings.n_scans,
        seconds=result.timing["tuning"] + result.timing["sampling"],
        simulated=any("simulated" in note for note in result.notes),
    )


def run_cases(cases: Sequence[Case], only: Sequence[str], quick: bool, seed: int) -> Iterator[Row]:
    """Run those of the cases that are named, or all."""
    unknown = sorted(set(only) - {case.label for case in cases})
    if unknown:
        known = ", ".join(case.label for case in cases)
        raise OptionError(f"--only {', '.join(unknown)}: this table has {known}.")
    for case in cases:
        if not only or case.label in only:
            yield run_case(case, quick, seed)


HEAD = (
    f"{'model':<16}{'n':>7}{'d':>8}{'N':>5}{'paper':>7}{'sum r':>8}{'off':>7}{'barrier':>9}"
    f"{'log evidence':>22}{'accept':>8}{'restarts':>9}{'seconds':>9}  explorer"
)


def as_line(row: Row) -> str:
    """Return a row as a line of text."""
    n = "-" if row.n is None else str(row.n)
    found = f"{row.log_evidence:.3f} ± {row.error:.3f}"
    explorer = row.explorer if len(row.explorer) <= 40 else row.explorer[:37] + "..."
    times = "" if row.explorations == 1 else f" x{row.explorations}"
    data = ", simulated data" if row.simulated else ""
    return (
        f"{row.label:<16}{n:>7}{row.d:>8}{row.n_chains:>5}{row.paper_barrier:>7.4g}{row.rejections:>8.2f}{row.off:>+7.1%}"
        f"{row.barrier:>9.2f}{found:>22}{row.acceptance:>8.3f}{row.restarts:>9}{row.seconds:>9.1f}"
        f"  {explorer}{times}{data}"
    )


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
