"""The text report: a verdict, the posterior, what parallel tempering measured, warnings and notes, the rounds."""

import io
import itertools
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sterna.result import rounds, summary
from sterna.result.ending import ending_line, price_line
from sterna.result.evidence_table import is_comparable
from sterna.result.failed_evaluations import failures_line
from sterna.result.missed_mass import search_line
from sterna.result.other_path import path_lines
from sterna.result.summary import table_of
from sterna.result.text import count
from sterna.tuning.chains import explores_slowly, saturated

if TYPE_CHECKING:
    from sterna.result.result import Result

# Wide enough that lines in a file are not broken.
FILE_WIDTH = 200


def report(result: "Result", max_rows: int = 20) -> str:
    """Return the report as plain text."""
    file = io.StringIO()
    # plain text also if the environment asks for colours, and in a notebook, where rich would display it at once
    console = Console(
        file=file, highlight=False, width=FILE_WIDTH, force_terminal=False, force_jupyter=False, color_system=None
    )
    _write(result, console, max_rows)
    return "\n".join(map(str.rstrip, file.getvalue().splitlines()))


def report_for_output(result: "Result", max_rows: int = 20) -> str:
    """Return the report as it suits standard output: in colour on a terminal, and plain text elsewhere."""
    console, written = console_like_output()
    if not console.is_terminal:
        return report(result, max_rows)
    _write(result, console, max_rows)
    return written.getvalue().rstrip("\n")


def console_like_output() -> tuple[Console, io.StringIO]:
    """Return a console as wide and colourful as standard output, and the text to which it writes instead."""
    real, written = Console(force_jupyter=False), io.StringIO()
    console = Console(
        file=written,
        highlight=False,
        width=real.width,
        force_terminal=real.is_terminal,
        force_jupyter=False,
        color_system="auto" if real.is_terminal else None,
    )
    return console, written


def _write(result: "Result", console: Console, max_rows: int) -> None:
    # lines of a text in a file are not broken
    long = not console.is_terminal
    console.print(verdict(result), style="yellow" if result.warnings else "", soft_wrap=long, markup=False)
    console.print()
    console.print(table_of(itertools.islice(result.summary_rows(), max_rows)), soft_wrap=True, markup=False)
    others = rows_left_out(result, max_rows)
    if others > 0:
        console.print(f"... and {others} more")
    console.print(summary.explanation_of(result), style="dim", soft_wrap=long)
    console.print()
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in facts(result):
        grid.add_row(name, text)
    console.print(grid)
    if len(result.modes) > 1:
        console.print()
        console.print(str(result.modes), soft_wrap=True, markup=False)
    for warning in result.warnings:
        console.print(f"\n[yellow]Warning:[/yellow] {escape(warning)}", soft_wrap=long)
    for note in dict.fromkeys(result.notes):
        console.print(f"\n[bold]Note:[/bold] {escape(note)}", soft_wrap=long)
    console.print()
    console.print(result.rounds.table(), soft_wrap=True, markup=False)
    console.print(rounds.EXPLANATION, style="dim", soft_wrap=long)


def verdict(result: "Result") -> str:
    """Return in one line what was run and whether there are warnings."""
    settings = result.settings
    copies = f" in {settings.n_copies} copies" if settings.n_copies > 1 else ""
    found = f"{count(len(result.warnings), 'warning')}, see below" if result.warnings else "no warnings"
    return f"{result.target.name}, {count(settings.n_scans, 'scan')} of {settings.n_chains} chains{copies}: {found}."


def rows_left_out(result: "Result", max_rows: int) -> int:
    """Return how many scalars a table of so many rows leaves out."""
    return int(sum(values[0, 0].size for values in result.values.values())) - max_rows


def facts(result: "Result") -> list[tuple[str, str]]:
    """Return what parallel tempering measured, as pairs of a name and a text, the evidence first."""
    settings, seconds, acceptance = result.settings, result.timing, 1 - result.rejection
    copies = f" of {settings.n_copies} copies" if settings.n_copies > 1 else ""
    return [
        ("log evidence", _evidence(result)),
        ("", _estimators(result)),
        ("KL divergence", f"{result.divergences['kl_target_to_reference']} nats, of the target from the reference"),
        ("global barrier", _barrier(result)),
        ("swaps accepted", f"{acceptance.min():.2f} in the worst pair, {acceptance.mean():.2f} on average"),
        ("restarts", f"{result.restarts} in {count(settings.n_scans, 'scan')}{copies}; {_first_restart(result)}"),
        (
            "round-trip rate",
            f"{result.round_trip_rate:.4f} (the rejections allow {result.predicted_round_trip_rate:.4f}, "
            f"more chains at best {result.optimal_round_trip_rate:.4f})",
        ),
        *path_lines(result),
        ("missed mass", search_line(result)),
        ("explorer", f"{result.explorer}, {_times(result.explorations)} per scan"),
        *([("failed evaluations", failures_line(result))] if settings.on_error == "reject" else []),
        ("ended", ending_line(result)),
        *([("a stricter goal", price)] if (price := price_line(result)) else []),
        ("memory", _memory(result)),
        (
            "seconds",
            f"{seconds['compile']:.1f} compiling, {seconds['tuning']:.1f} tuning, {seconds['sampling']:.1f} sampling, "
            f"{seconds['search']:.1f} searching for missed mass",
        ),
    ]


def _evidence(result: "Result") -> str:
    """Return value and error, and the interval if the error is known."""
    found = result.log_evidence
    low, high = found.interval()
    return f"{found} (95 %: {low:.3f} to {high:.3f})" if np.isfinite(found.error) else str(found)


def _estimators(result: "Result") -> str:
    """Name the estimator that is reported, and the ones of similar precision that are exact for every schedule."""
    others = [
        f"{name.replace('_', ' ')} {estimate}"
        for name, estimate in result.evidence.items()
        if name != result.evidence_name
        and not name.startswith("thermodynamic")
        and is_comparable(estimate, result.log_evidence)
    ]
    return f"by {result.evidence_name.replace('_', ' ')}" + (f"; {', '.join(others)}" if others else "")


def _barrier(result: "Result") -> str:
    if saturated(result.last):
        return f"at least {result.global_barrier:.2f}; there are too few chains to measure it"
    best = "would be best if exploration were fast" if explores_slowly(result.last) else "are best"
    return f"{result.global_barrier:.3f}, for which {result.recommended_n_chains} chains {best}"


def _first_restart(result: "Result") -> str:
    scans = [scan for scan in result.first_restart if scan is not None]
    without = len(result.first_restart) - len(scans)
    if not scans:
        return "none since the start of the run"
    first = f"the first within {count(max(scans), 'scan')} of the start"
    return first + (f", none in {without} {'copy' if without == 1 else 'copies'}" if without else "")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _memory(result: "Result") -> str:
    """Describe the chain that explores worst."""
    memory = result.energy_autocorrelation[1:]
    if not np.isfinite(memory).any():
        return "unknown, because log-likelihoods do not vary"
    worst = int(np.nanargmax(memory))
    return (
        f"log-likelihoods before and after a scan's exploration correlate by {memory[worst]:.2f} at beta "
        f"{result.schedule[worst + 1]:.3g}, the worst (0: independent)"
    )
