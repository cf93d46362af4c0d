"""What the command does with a finished result: a file, a report or JSON, warnings, and the exit status."""

import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from sterna.command_line.output import OutputError, write_error, write_out

if TYPE_CHECKING:
    from sterna.result.result import Result

# The exit status after Ctrl-C.
INTERRUPTED = 130


def check_outputs(path: Path | None, stdout_is_open: bool, folder: str | None) -> None:
    """Refuse, before the run, what would lose its result."""
    from sterna.errors import OptionError

    if path is not None:
        from sterna.result.netcdf import check_file

        check_file(path)
    elif not stdout_is_open and folder is None:
        raise OptionError("Standard output is closed, so the result would be lost: open it, or use --out DIR.")


def show_result(result: "Result", save: Path | None, as_json: bool, target: str = "") -> None:
    """Write a result where it was asked for; what goes wrong with that must not lose it.

    `target` is what must be given again to go on with the run.
    """
    from sterna.result.ending import INTERRUPT
    from sterna.result.report import report_for_output

    # a report on the same terminal shows the warnings
    if as_json or not (sys.stdout.isatty() and sys.stderr.isatty()):
        for warning in result.warnings:
            write_error(click.style(f"sterna: warning: {warning}", fg="yellow"))
    # the file comes first, because nothing can go wrong with it that a terminal or a pipe does
    problem = None if save is None else _save(result, save)
    text = json.dumps(result.to_dict(), allow_nan=False) if as_json else report_for_output(result)
    try:
        write_out(text)
    except OutputError as error:
        write_error(text)
        problem = f"{error}: the result is above. {problem or ''}"
    if result.not_saved:
        problem = f"{problem or ''} {result.not_saved}".strip()
    if problem is not None:
        raise OutputError(problem)
    if result.ended_by == INTERRUPT:
        command = shlex.join(["sterna", "resume", result.folder, *([target] if ".py:" in target else [])])
        go_on = f"; `{command}` goes on with the run" if result.folder else ""
        write_error(f"sterna: interrupted: the result is that of the scans so far{go_on}")
        raise Exit(INTERRUPTED)


def _save(result: "Result", path: Path) -> str | None:
    """Write the draws to a file, or elsewhere if that fails; return what went wrong."""
    from sterna.result.netcdf import save_posterior

    try:
        save_posterior(result, path)
    except Exception as error:  # whatever it is, the run is finished and its result is to be kept
        spare = Path(tempfile.gettempdir()) / f"sterna-{os.getpid()}.nc"
        problem = f"{path} could not be written ({error})"
        try:
            save_posterior(result, spare)
        except Exception:
            return f"{problem}: the draws are lost."
        return f"{problem}: the draws are in {spare} instead."
    return None
