"""What users of other programs may call the options of `sterna run`, and what it has instead."""

import re

import click

from sterna.ground.attributes import by_name

_SCANS = "give --scans, the number of sampling scans, each of which yields one draw per copy"
_ROUNDS = "give --rounds: the run tunes itself in rounds of 2, 4, 8, ... scans, whose draws are not kept"
_COPIES = "independent runs are called copies: give --copies; --chains is the number of annealed chains in each of them"
_CHAINS = "give --chains, the number of annealed chains from the reference to the target; by default the run finds it"
_OUTPUT = "--out DIR writes the run to a folder, --save FILE.nc the draws, and --json prints a summary for programs"
_IN_PYTHON = "it is an option of sterna.sample in Python only"

OPTIONS = by_name(
    (
        "draws samples n-samples num-samples nsamples n-draws iter iterations steps nsteps n-steps num-steps n-scans "
        "nscans iter-sampling n",
        _SCANS,
    ),
    ("tune warmup n-warmup num-warmup iter-warmup burn burnin burn-in n-burn discard n-rounds nrounds", _ROUNDS),
    ("n-copies ncopies walkers nwalkers n-walkers n-runs runs num-chains parallel-chains", _COPIES),
    ("n-chains nchains temps ntemps n-temps temperatures replicas n-replicas betas", _CHAINS),
    ("random-seed rng-seed random-state rng", "give --seed"),
    (
        "cores jobs threads processes n-workers n-jobs nprocs num-threads parallel j",
        "give --workers, the number of threads, or of processes if the target runs as Python",
    ),
    ("sampler algorithm method kernel step proposal engine", "give --explorer NAME, such as slice or hmc"),
    ("output output-file file o write save-draws csv netcdf nc to-netcdf trace export", _OUTPUT),
    ("format as-json", "give --json for one JSON object"),
    ("param params parameter parameters arg args option p", "give --set KEY=VALUE for a parameter of the model"),
    ("model target", "name the model after run, without an option: sterna run normal, or sterna run file.py:name"),
    (
        "quiet q silent no-progress progress verbose v",
        "the progress goes to standard error; 2> /dev/null hides it",
    ),
    ("thin keep schedule keep-log-likelihoods vectorized", _IN_PYTHON),
    ("prior reference", "a reference is part of the target, which is a sterna.Target in file.py:name"),
)
COMMANDS = by_name(
    ("sample fit start", "sterna run TARGET samples a model"),
    ("list model ls", "sterna models lists the built-in models"),
    ("verify validate test lint doctor diagnose", "sterna check TARGET checks a model, and sterna check DIR a run"),
    ("version", "sterna --version shows versions"),
    ("continue restart extend", "sterna resume DIR goes on with the run in a folder"),
    ("table table1 table2 tables", "sterna paper table1 reproduces a table"),
)


def explained(error: click.ClickException) -> str:
    """Return the message of a mistake on the command line, with what sterna calls the option that was meant."""
    text = error.format_message()
    if isinstance(error, click.NoSuchOption):
        hint = OPTIONS.get(error.option_name.lstrip("-").lower().replace("_", "-"))
        return text if hint is None else f"No such option '{error.option_name}': {hint}."
    command = re.fullmatch(r"No such command '(.*?)'\..*", text)
    hint = COMMANDS.get(command[1].lower()) if command else None
    return text if hint is None or command is None else f"No such command '{command[1]}': {hint}."
