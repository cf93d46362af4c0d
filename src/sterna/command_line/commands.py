"""The command line: thin wrappers around the library."""

import contextlib
import inspect
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sterna.command_line.check import check
from sterna.command_line.find_target import built_in_models, find_target, pair_of
from sterna.command_line.goals import goals_of
from sterna.command_line.other_options import explained
from sterna.command_line.output import OutputError, close_streams, is_from, prepare_streams, write_error, write_out
from sterna.command_line.paper import paper
from sterna.command_line.resume import resume
from sterna.command_line.show_result import INTERRUPTED, check_outputs, show_result
from sterna.command_line.spelling import for_command_line, result_for_command_line
from sterna.command_line.versions import print_versions

if TYPE_CHECKING:
    from sterna.result.result import Result


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_versions,
    help="Show versions, for bug reports, and exit.",
)
@click.pass_context
def commands(context: click.Context) -> None:
    """Non-reversible parallel tempering: samples many modes, computes the evidence, tunes itself."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@commands.command(short_help="Sample a built-in model, or your own target.")
@click.argument("target")
@click.option(
    "--chains",
    default="auto",
    metavar="N|auto",
    help="Number of chains, with both ends.",
    show_default=True,
)
@click.option("--rounds", default=10, type=int, help="Tuning rounds; round r has 2**r scans.", show_default=True)
@click.option(
    "--scans",
    default=None,
    type=int,
    help="Sampling scans.  [default: as many as in tuning, and more for small errors]",
)
@click.option(
    "--until",
    "goals",
    multiple=True,
    metavar="GOAL=VALUE",
    help="Sample until log_evidence (its error), ess, ess.VARIABLE, restarts, or seconds; can be repeated.",
)
@click.option("--max-seconds", default=None, type=float, help="End the run in good order after this time.")
@click.option(
    "--copies", default="1", metavar="K|auto", help="Independent copies; auto: one per worker.", show_default=True
)
@click.option(
    "--explorer", default=None, metavar="NAME", help="slice, metropolis, hmc, ...  [default: selected by the run]"
)
@click.option(
    "--explorations", default="auto", metavar="K|auto", show_default=True, help="Explorations of each chain per scan."
)
@click.option("--scheme", default="deo", metavar="deo|seo", help="Even and odd swaps, alternating or at random.")
@click.option(
    "--path",
    default="auto",
    metavar="auto|prior|fitted",
    show_default=True,
    help="Begin at the prior, or at a mixture fitted to the modes.",
)
@click.option(
    "--search",
    default=None,
    type=float,
    help="Evaluations of the search for modes, relative to the run's, such as 0.1.",
)
@click.option(
    "--on-error",
    default="raise",
    metavar="raise|reject",
    show_default=True,
    help="A log-density that is NaN or +inf or raises ends the run, or counts as -inf.",
)
@click.option("--seed", default=1, type=int, show_default=True, help="The same seed gives the same bits.")
@click.option(
    "--workers",
    default=None,
    type=int,
    help="Threads, or processes if the target runs as Python.  [default: one thread per core, no processes]",
)
@click.option(
    "--data", default=None, metavar="DIR", help="Folder with data of the built-in models.  [default: simulated]"
)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A parameter of the model; can be repeated.")
@click.option(
    "--save",
    default=None,
    metavar="FILE.nc",
    help="Write the draws to a netCDF file, which xarray.open_dataset reads.",
)
@click.option(
    "--out", default=None, metavar="DIR", help="Write the run to a folder while it goes on: sterna resume DIR."
)
@click.option("--json", "as_json", is_flag=True, help="Print only one JSON object to standard output.")
def run(target: str, pairs: tuple[str, ...], save: str | None, as_json: bool, **options: Any) -> None:
    """Sample TARGET: the name of a built-in model (see `sterna models`), or file.py:name.

    A name in a file must be a sterna.Target, a PyMC model, or a function that returns one; --set gives its arguments.
    """
    path = None if save is None else Path(save)
    check_outputs(path, click.get_current_context().obj is not False, options["out"])
    # with --json nothing else may reach standard output, including the output of the user's own file
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        result = result_for_command_line(_sample(target, pairs, options, path))
    show_result(result, path, as_json, target)


def _sample(target: str, pairs: tuple[str, ...], options: dict[str, Any], path: Path | None) -> "Result":
    from sterna.models.data import FOLDER
    from sterna.run.display import make_display
    from sterna.run.options import Options
    from sterna.run.sample import sample_into

    if options["data"] is not None:
        os.environ[FOLDER] = options["data"]
    found = find_target(target, dict(pair_of(pair) for pair in pairs))
    if path is not None:
        from sterna.result.netcdf import choose_engine, names_in_file

        choose_engine(names_in_file(found.space, found.view))
    chosen = Options(
        n_chains=_number_or_auto(options["chains"]),
        n_rounds=options["rounds"],
        n_scans=options["scans"],
        until=goals_of(options["goals"]),
        max_seconds=options["max_seconds"],
        n_copies=_number_or_auto(options["copies"]),
        explorations=_number_or_auto(options["explorations"]),
        scheme=options["scheme"],
        path=options["path"],
        search=options["search"],
        seed=options["seed"],
        workers=options["workers"],
        on_error=options["on_error"],
    )
    command = {"target": target, "set": list(pairs), "data": options["data"]}
    shown = make_display(True, warnings=False)
    return sample_into(options["out"], False, lambda: found, chosen, options["explorer"], shown, command=command)


commands.add_command(resume)
commands.add_command(check)
commands.add_command(paper)


@commands.command()
def models() -> None:
    """List the built-in models and their parameters."""
    from rich.table import Table

    from sterna.result.report import console_like_output

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("model", "parameters (--set)", "description"):
        table.add_column(heading, overflow="fold")
    for name, function in built_in_models().items():
        parameters = inspect.signature(function).parameters.values()
        given = ", ".join(f"{p.name}={_short(p.default)}" for p in parameters)
        table.add_row(name, given, (inspect.getdoc(function) or "").split("\n")[0])
    console, written = console_like_output()
    console.print(table)
    write_out(written.getvalue().rstrip("\n"))


def _number_or_auto(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Run the command and exit: with status 2 after a user's mistake, 1 if a result could not be written.

    Either gives one line on standard error.
    """
    from sterna.errors import Error

    status = 0
    try:
        # the status of a command that has ended by `Exit`, and otherwise None
        status = commands(standalone_mode=False, obj=prepare_streams()) or 0
    except (click.ClickException, Error) as error:
        text = explained(error) if isinstance(error, click.ClickException) else for_command_line(str(error))
        write_error(f"sterna: {' '.join(text.split())}")
        status = 2
    except OutputError as error:
        write_error(f"sterna: {str(error).strip()}")
        status = 1
    except (click.Abort, KeyboardInterrupt):
        write_error("sterna: interrupted")
        status = INTERRUPTED
    except OSError as error:
        # click's own output, such as its help
        if not is_from(error, click):
            raise
        write_error(f"sterna: standard output cannot be written to ({error.strerror})")
        status = 1
    close_streams()
    if status:
        sys.exit(status)
