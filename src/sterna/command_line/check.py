"""`sterna check TARGET` and `sterna check DIR`: what is wrong with a model, or with a run on disk."""

import contextlib
import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from sterna.command_line.find_target import find_target, pair_of
from sterna.command_line.goals import goals_of
from sterna.command_line.output import write_out
from sterna.command_line.spelling import for_command_line

if TYPE_CHECKING:
    from sterna.result.check_report import CheckReport

# The exit status if there is a problem.
PROBLEM_STATUS = 1


@click.command(short_help="Find what is wrong with a model before a long run, or with a run on disk.")
@click.argument("target", metavar="TARGET|DIR")
@click.option(
    "--until",
    "goals",
    multiple=True,
    metavar="GOAL=VALUE",
    help="The goals for which the time is predicted, as in sterna run.  [default: log_evidence=0.1]",
)
@click.option("--cores", default=None, type=int, help="Predict the time on so many cores, too.  [default: those here]")
@click.option("--max-seconds", default=10.0, type=float, show_default=True, help="About how long the check may take.")
@click.option("--explorer", default=None, metavar="NAME", help="As in sterna run.")
@click.option("--seed", default=1, type=int, show_default=True, help="Of the draws and of the run that is begun.")
@click.option("--workers", default=None, type=int, help="As in sterna run.")
@click.option(
    "--data", default=None, metavar="DIR", help="Folder with data of the built-in models.  [default: simulated]"
)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A parameter of the model; can be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print only one JSON object to standard output.")
def check(target: str, pairs: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Check TARGET, a built-in model or file.py:name as in sterna run, or DIR, the folder of a run.

    The exit status is 0 if no problem was found, 1 if there is a problem, and 2 if the command itself was wrong.
    """
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        report = _respelled(_check(target, pairs, options))
    write_out(json.dumps(report.to_dict(), allow_nan=False) if as_json else report.for_output())
    if not report.ok:
        raise Exit(PROBLEM_STATUS)


def _respelled(report: "CheckReport") -> "CheckReport":
    """Return the report with the command line's options."""
    return replace(report, rows=tuple(replace(row, text=for_command_line(row.text)) for row in report.rows))


def _check(target: str, pairs: tuple[str, ...], options: dict[str, Any]) -> "CheckReport":
    from sterna.run.check.check import check_target_of
    from sterna.run.check.run_on_disk import check_run

    if Path(target).is_dir() or (os.sep in target and ".py:" not in target and not pairs):
        return check_run(Path(target))
    from sterna.models.data import FOLDER
    from sterna.run.display import make_display
    from sterna.run.options import Options

    if options["data"] is not None:
        os.environ[FOLDER] = options["data"]
    values = dict(pair_of(pair) for pair in pairs)
    chosen = Options(
        until=goals_of(options["goals"]) or {"log_evidence": 0.1}, seed=options["seed"], workers=options["workers"]
    )
    read_target = partial(find_target, target, values)
    shown = make_display(True, warnings=False)
    return check_target_of(read_target, chosen, options["explorer"], options["cores"], options["max_seconds"], shown)
