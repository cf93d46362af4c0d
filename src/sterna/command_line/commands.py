"""The command line: thin wrappers around the library."""

import contextlib
import importlib.util
import inspect
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.exceptions import Exit

from sterna.command_line.other_options import explained
from sterna.command_line.output import OutputError, close_streams, is_from, prepare_streams, write_error, write_out
from sterna.command_line.paper import paper
from sterna.command_line.spelling import for_command_line, result_for_command_line
from sterna.command_line.versions import print_versions

if TYPE_CHECKING:
    from sterna.result.result import Result
    from sterna.target.target import Target

Value = TypeVar("Value")

# The exit status after Ctrl-C.
INTERRUPTED = 130


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
@click.option("--json", "as_json", is_flag=True, help="Print only one JSON object to standard output.")
def run(target: str, pairs: tuple[str, ...], save: str | None, as_json: bool, **options: Any) -> None:
    """Sample TARGET: the name of a built-in model (see `sterna models`), or file.py:name.

    A name in a file must be a sterna.Target, a PyMC model, or a function that returns one; --set gives its arguments.
    """
    from sterna.result.ending import INTERRUPT
    from sterna.result.report import report_for_output

    path = None if save is None else Path(save)
    _check_outputs(path, stdout_is_open=click.get_current_context().obj is not False)
    # with --json nothing else may reach standard output, including the output of the user's own file
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        result = result_for_command_line(_sample(target, pairs, options, path))
    # a report on the same terminal shows the warnings
    if as_json or not (sys.stdout.isatty() and sys.stderr.isatty()):
        for warning in result.warnings:
            write_error(click.style(f"sterna: warning: {warning}", fg="yellow"))
    # the file comes first, because nothing can go wrong with it that a terminal or a pipe does
    problem = None if path is None else _save(result, path)
    text = json.dumps(result.to_dict(), allow_nan=False) if as_json else report_for_output(result)
    try:
        write_out(text)
    except OutputError as error:
        write_error(text)
        problem = f"{error}: the result is above. {problem or ''}"
    if problem is not None:
        raise OutputError(problem)
    if result.ended_by == INTERRUPT:
        write_error("sterna: interrupted: the result is that of the scans so far")
        raise Exit(INTERRUPTED)


def _check_outputs(path: Path | None, stdout_is_open: bool) -> None:
    """Refuse, before the run, what would lose its result."""
    from sterna.errors import OptionError

    if path is not None:
        from sterna.result.netcdf import check_file

        check_file(path)
    elif not stdout_is_open:
        raise OptionError("Standard output is closed, so the result would be lost: open it, or use --save FILE.nc.")


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


def _sample(target: str, pairs: tuple[str, ...], options: dict[str, Any], path: Path | None) -> "Result":
    from sterna.models.data import FOLDER
    from sterna.run.display import make_display
    from sterna.run.sample import sample

    if options["data"] is not None:
        os.environ[FOLDER] = options["data"]
    found = find_target(target, dict(_pair(pair) for pair in pairs))
    if path is not None:
        from sterna.result.netcdf import choose_engine, names_in_file

        choose_engine(names_in_file(found.space, found.view))
    return sample(
        found,
        n_chains=_number_or_auto(options["chains"]),
        n_rounds=options["rounds"],
        n_scans=options["scans"],
        until=goals_of(options["goals"]),
        max_seconds=options["max_seconds"],
        n_copies=_number_or_auto(options["copies"]),
        explorer=options["explorer"],
        explorations=_number_or_auto(options["explorations"]),
        scheme=options["scheme"],
        path=options["path"],
        search=options["search"],
        seed=options["seed"],
        workers=options["workers"],
        progress=make_display(True, warnings=False),
    )


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


def built_in_models() -> dict[str, Callable[..., "Target"]]:
    """Return the built-in models by name."""
    from sterna import models as package

    return {name: getattr(package, name) for name in package.__all__}


def find_target(text: str, values: Mapping[str, str]) -> "Target":
    """Return the target that the command line names, built with the values of --set."""
    from sterna.errors import OptionError
    from sterna.run.given import as_target, is_pymc
    from sterna.target.target import Target

    if ".py:" in text:
        path, _, name = text.rpartition(":")
        module = _load(path)
        found = getattr(module, name, None)
        if isinstance(found, Target) or is_pymc(found):
            if values:
                raise OptionError(f"{text} is a finished target; --set needs a function that returns one.")
            return as_target(found, None, None)
        if found is None:
            near = "".join(f", but {one!r}" for one in get_close_matches(name, vars(module), 1))
            raise OptionError(f"{path} has nothing named {name!r}{near}.")
        expected = "a sterna.Target or a PyMC model"
        if not callable(found):
            raise OptionError(
                f"{text} is {type(found).__name__}; it must be {expected}, or a function that returns one."
            )
        built = _call(text, found, values)
        if not isinstance(built, Target) and not is_pymc(built):
            raise OptionError(f"{text} returned {type(built).__name__}; it must return {expected}.")
        return as_target(built, None, None)
    if Path(text).suffix == ".py" and Path(text).is_file():
        raise OptionError(f"{text} is a file: write {text}:name, with the name of its target, or of a function.")
    available = built_in_models()
    if text not in available:
        raise OptionError(
            f"There is no built-in model {text!r}; choose one of {', '.join(sorted(available))}. "
            "For your own target write file.py:name."
        )
    return _call(text, available[text], values)


def _call(what: str, function: Callable[..., Value], values: Mapping[str, str]) -> Value:
    """Call a model's function with values converted to the types of the defaults."""
    from sterna.errors import OptionError

    parameters = inspect.signature(function).parameters
    converted = {}
    for key, text in values.items():
        if key not in parameters:
            have = ", ".join(parameters) or "none"
            raise OptionError(f"--set {key}={text}: {what} has no parameter {key!r}; it has {have}.")
        converted[key] = _convert(key, text, parameters[key].default)
    missing = [p.name for p in parameters.values() if p.default is p.empty and p.name not in converted]
    if missing:
        raise OptionError(
            f"{what} needs {', '.join(missing)}: give values with --set, "
            "or name a sterna.Target or a function that returns one."
        )
    return _watched(what, lambda: function(**converted))


def _watched(what: str, action: Callable[[], Value]) -> Value:
    """Run code from a user's file; an exception becomes a one-line error that says where it was raised."""
    from sterna.errors import Error, OptionError

    try:
        return action()
    except Error:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        # the message of a SyntaxError names its line, and a single frame is the call above
        in_user_code = len(frames) > 1 and not isinstance(error, SyntaxError)
        location = f" (line {frames[-1].lineno} of {frames[-1].filename})" if in_user_code else ""
        raise OptionError(f"{what} raised {type(error).__name__}: {error}{location}") from error


def _convert(key: str, text: str, default: object) -> bool | int | float | str:
    from sterna.errors import OptionError

    if isinstance(default, bool):
        answers = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if text.lower() in answers:
            return answers[text.lower()]
        raise OptionError(f"--set {key}={text}: give true or false.")
    converters: list[Callable[[str], int | float | str]] = [int, float, str]
    if isinstance(default, int | float | str):
        converters = [type(default)]
    for convert in converters:
        try:
            return convert(text)
        except ValueError:
            continue
    raise OptionError(f"--set {key}={text}: give a number like the default {default!r}.")


def _load(path: str) -> ModuleType:
    from sterna.errors import OptionError

    if not Path(path).is_file():
        raise OptionError(f"There is no file {path}.")
    specification = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    loader = specification.loader
    _watched(path, lambda: loader.exec_module(module))
    return module


def _pair(text: str) -> tuple[str, str]:
    from sterna.errors import OptionError

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise OptionError(f"--set {text}: write KEY=VALUE, such as --set size=20.")
    return key, value


def goals_of(texts: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the goals of --until as `sterna.sample` takes them."""
    from sterna.errors import OptionError

    goals: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise OptionError(
                f"--until {text}: write GOAL=VALUE, such as --until log_evidence=0.05 or --until ess.mu=400."
            )
        name, dot, variable = key.partition(".")
        if dot and name == "ess":
            goals["ess"] = (goals["ess"] if isinstance(goals.get("ess"), dict) else {}) | {variable: number}
        else:
            goals[key] = number
    return goals or None


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
