"""What `sterna.check` has found: a row for each kind of check, and for a target what a run of it will take."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sterna.result import notebook
from sterna.result.report import FILE_WIDTH, console_like_output
from sterna.result.text import count

# Outcomes of a check: a fault, something worth knowing, nothing wrong, or why nothing can be said.
PROBLEM, NOTE, OK, NOT_CHECKED = "problem", "note", "ok", "not checked"
# Rows about what a run takes, which come last.
ESTIMATES = ("cost", "barrier", "time")

STYLES = {PROBLEM: "bold red", NOTE: "yellow", OK: "green", NOT_CHECKED: "dim"}


@dataclass(frozen=True)
class CheckRow:
    """One kind of check and its outcome."""

    name: str
    outcome: str
    """ "ok", "note", "problem" or "not checked"."""
    text: str
    """The numbers, and what to do."""


@dataclass(frozen=True)
class CheckReport:
    """What `sterna.check` has found; it prints as a table.

    Estimates are NaN if they are not known, as they all are in the check of a folder.

    Examples
    --------
    >>> import sterna
    >>> report = sterna.check(sterna.models.normal(2), progress=False)
    >>> report.ok, report["zero likelihood"].outcome
    (True, 'ok')
    """

    what: str
    """What was checked: the name of a target, or a folder."""
    rows: tuple[CheckRow, ...]
    seconds: float = float("nan")
    """What a run until the goal probably takes on this machine, without compilation."""
    seconds_range: tuple[float, float] = (float("nan"), float("nan"))
    """Between what times that probably is; the second is infinite if the run that was begun was too short to tell."""
    cores: int = 1
    """The number of cores for which `seconds_on_cores` is."""
    seconds_on_cores: float = float("nan")
    """The same on so many cores like those of this machine."""
    seconds_per_evaluation: float = float("nan")
    """Of the log-likelihood, at a draw of the reference."""
    zero_share: float = float("nan")
    """The share of the reference's draws at which the likelihood is zero."""
    barrier: float = float("nan")
    """Global communication barrier, from a short run."""
    n_chains: int = 0
    """The number of chains that the barrier needs; 0 if it is not known."""
    goal: dict[str, Any] = field(default_factory=dict)
    """What the run shall reach, as `until` of `sterna.sample`."""

    @property
    def problems(self) -> list[str]:
        """The problems, in words."""
        return [f"{row.name}: {row.text}" for row in self.rows if row.outcome == PROBLEM]

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def __getitem__(self, name: str) -> CheckRow:
        """Return the row of a name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"{name!r} is no row of this report; its rows are {', '.join(row.name for row in self.rows)}.")

    def __iter__(self) -> Iterator[CheckRow]:
        return iter(self.rows)

    def __contains__(self, name: object) -> bool:
        return any(row.name == name for row in self.rows)

    @property
    def verdict(self) -> str:
        """In one line, what was checked and whether there are problems."""
        found = "no problem was found" if self.ok else f"{count(len(self.problems), 'problem')}, see below"
        return f"{self.what}: {found}."

    def __str__(self) -> str:
        file = io.StringIO()
        # plain text also if the environment asks for colours
        console = Console(
            file=file, highlight=False, width=FILE_WIDTH, force_terminal=False, force_jupyter=False, color_system=None
        )
        self._write(console)
        return "\n".join(map(str.rstrip, file.getvalue().splitlines()))

    __repr__ = __str__

    def for_output(self) -> str:
        """Return the report as it suits standard output: in colour on a terminal, and plain text elsewhere."""
        console, written = console_like_output()
        if not console.is_terminal:
            return str(self)
        self._write(console)
        return written.getvalue().rstrip("\n")

    def _write(self, console: Console) -> None:
        console.print(self.verdict, style="green" if self.ok else "bold red", soft_wrap=True, markup=False)
        console.print()
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        rows = _worst_first(row for row in self.rows if row.name not in ESTIMATES)
        for row in (*rows, None, *(row for row in self.rows if row.name in ESTIMATES)):
            if row is None:
                grid.add_row("", "", "")
                continue
            style = STYLES[row.outcome]
            grid.add_row(row.name, f"[{style}]{row.outcome}[/{style}]", escape(row.text))
        console.print(grid)

    def _repr_html_(self) -> str:
        """Return the report for a notebook."""
        heading = notebook.heading(self.verdict, self.problems)
        others = [(row.name, f"{row.outcome}: {row.text}") for row in self.rows if row.outcome != PROBLEM]
        return notebook.page([heading, notebook.facts_table(others)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; what is not known, or infinite, is None."""
        found = asdict(self)
        found["rows"] = [asdict(row) for row in self.rows]
        found |= {"ok": self.ok, "problems": self.problems, "seconds_range": list(self.seconds_range)}
        found["n_chains"] = self.n_chains or None
        return {name: _without_nan(value) for name, value in found.items()}


def _worst_first(rows: Iterable[CheckRow]) -> list[CheckRow]:
    order = [PROBLEM, NOTE, OK, NOT_CHECKED]
    return sorted(rows, key=lambda row: order.index(row.outcome))


def _without_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
