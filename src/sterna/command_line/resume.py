"""`sterna resume DIR`: go on with the run in a folder."""

import contextlib
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sterna.command_line.find_target import built_in_models, find_target, pair_of
from sterna.command_line.goals import goals_of
from sterna.command_line.show_result import check_outputs, show_result
from sterna.command_line.spelling import result_for_command_line

if TYPE_CHECKING:
    from sterna.result.result import Result
    from sterna.run.folder import RunFolder
    from sterna.target.target import Target


@click.command(short_help="Go on with the run in a folder.")
@click.argument("folder", metavar="DIR")
@click.argument("target", required=False)
@click.option(
    "--until", "goals", multiple=True, metavar="GOAL=VALUE", help="Sample until these new goals hold, as in sterna run."
)
@click.option("--scans", default=None, type=int, metavar="+S", help="Sample so many further scans.")
@click.option(
    "--rounds",
    default=None,
    type=int,
    metavar="+R",
    help="Tune for so many further rounds; sampling scans so far are discarded.",
)
@click.option("--max-seconds", default=None, type=float, help="End the run in good order after this time.")
@click.option("--workers", default=None, type=int, help="As in sterna run; no bit depends on it.")
@click.option("--data", default=None, metavar="DIR", help="Folder with data of the built-in models, if it has moved.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="With file.py:name, what it was begun with.")
@click.option("--save", default=None, metavar="FILE.nc", help="Write the draws to a netCDF file.")
@click.option("--json", "as_json", is_flag=True, help="Print only one JSON object to standard output.")
def resume(
    folder: str, target: str | None, pairs: tuple[str, ...], save: str | None, as_json: bool, **options: Any
) -> None:
    """Go on with the run that `sterna run ... --out DIR` began: the same bits as if it had never stopped.

    TARGET must be given again if it is file.py:name, because no code is run only because a file in DIR names it.
    """
    path = None if save is None else Path(save)
    check_outputs(path, click.get_current_context().obj is not False, folder)
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        result = result_for_command_line(_resume(folder, target, pairs, options))
    show_result(result, path, as_json, target or "")


def _resume(folder: str, target: str | None, pairs: tuple[str, ...], options: dict[str, Any]) -> "Result":
    from sterna.run.display import make_display
    from sterna.run.folder import RunFolder
    from sterna.run.resume import More, existing, resumed
    from sterna.storage.lock import locked

    more = More(goals_of(options["goals"]), options["scans"], options["rounds"])
    root = existing(folder)
    with locked(root):
        run = RunFolder(root, {})
        read_target = partial(_target_of, run, target, pairs, options["data"])
        shown = make_display(True, warnings=False)
        return resumed(run, read_target, None, more, options["max_seconds"], options["workers"], shown)


def _target_of(folder: "RunFolder", target: str | None, pairs: tuple[str, ...], data: str | None) -> "Target":
    """Return the target of a run whose folder was read; only a built-in model is known from there."""
    from sterna.errors import OptionError
    from sterna.models.data import FOLDER

    root, command = folder.root, folder.origin.get("command")
    before = command if isinstance(command, dict) else {}
    name = str(before.get("target", ""))
    if target is None and not name:
        raise OptionError(
            f"The run in {root} was begun in Python, where its target lives: go on with it there by "
            f"sterna.resume({str(root)!r}, target), or give its target as file.py:name."
        )
    if target is None and name not in built_in_models():
        raise OptionError(
            f"The run in {root} was begun with {name}: give that again, as in sterna resume {root} {name}."
        )
    if data is None and before.get("data") is not None:
        data = str(before["data"])
    if data is not None:
        os.environ[FOLDER] = data
    given = pairs if pairs or target not in (None, name) else tuple(map(str, before.get("set", ())))
    return find_target(target or name, dict(pair_of(pair) for pair in given))
