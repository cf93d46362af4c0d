"""The command line, run as a user would run it."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest
import xarray
from terminal import read_terminal

from sterna.command_line.commands import main
from sterna.version import __version__

pytestmark = pytest.mark.usefixtures("measured_processes")

KEYS = """
    target seed scheme explorer n_chains n_copies n_rounds n_scans schedule rejection global_barrier log_evidence
    evidence restarts round_trips round_trip_rate predicted_round_trip_rate optimal_round_trip_rate timing
    summary warnings
"""


def sterna(*arguments, directory=None):
    command = [sys.executable, "-m", "sterna", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=directory, check=False)


def test_json_is_one_object_and_nothing_else():
    done = sterna(
        "run", "normal", "--set", "dim=2", "--set", "precision=10", "--rounds", "7", "--chains", "6", "--json"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(KEYS.split()) <= set(result)
    assert result["n_chains"] == 6 == len(result["schedule"]) == len(result["rejection"]) + 1
    assert result["n_scans"] == 254
    assert set(result["log_evidence"]) == {"value", "error", "interval", "bias"} == set(result["evidence"]["bennett"])
    assert set(result["timing"]) == {"compile", "tuning", "sampling", "search"}
    assert set(result["summary"]) == {"x[0]", "x[1]"}
    assert set(result["summary"]["x[0]"]) == {
        "mean", "mcse", "sd", "q5", "median", "q95", "ess", "ess_bulk", "r_hat", "mcse_series", "ess_series",
        "ess_within", "r_hat_within",
    }  # fmt: skip
    assert result["warnings"] == []
    assert "round 5" in done.stderr


def test_tables_for_people():
    done = sterna("run", "discrete", "--rounds", "6", "--copies", "2", "--scheme", "seo", "--explorer", "slice")
    assert done.returncode == 0, done.stderr
    for text in ("log evidence", "global barrier", "restarts", "of 2 copies", "r-hat"):
        assert text in done.stdout


FAILS = """
import math
import sterna


def log_likelihood(x):
    return math.nan if x < 0.0 else -x


def target():
    return sterna.Target(log_likelihood, {"x": sterna.Normal(0, 1)})
"""


def test_failures_may_be_rejected(tmp_path):
    (tmp_path / "fails.py").write_text(FAILS)
    command = ("run", "fails.py:target", "--rounds", "4", "--chains", "3", "--explorer", "slice", "--json")
    done = sterna(*command, directory=tmp_path)
    assert done.returncode == 2
    assert "log-likelihood is NaN at x=-" in done.stderr
    assert "while looking for starting points (copy 0, chain" in done.stderr
    done = sterna(*command, "--on-error", "reject", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["on_error"] == "reject"
    assert found["failed_evaluations"]["likelihood"]["nan"] > 0
    assert any("--on-error raise stops at the first" in text for text in found["warnings"])
    done = sterna(*command, "--on-error", "ignore", directory=tmp_path)
    assert done.returncode == 2
    assert "ignore" in done.stderr


def test_models_are_listed():
    done = sterna("models")
    for name in ("normal", "discrete", "ising", "magnetic", "rotor", "coupling=0.440687"):
        assert name in done.stdout


MODEL = """
import numpy as np
import sterna

print("a user's file may print")

def log_likelihood(mu, y):
    return -0.5 * np.sum((y - mu) ** 2)

def model(shift=0.0, size=3):
    y = shift + np.arange(float(size))
    return sterna.Target(log_likelihood, {"mu": sterna.Normal(0, 5)}, {"y": y}, name="mine")

target = model()
number = 7
"""


def test_a_target_in_a_file(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    done = sterna("run", "model.py:target", "--rounds", "6", "--json", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"] == "mine"
    done = sterna(
        "run", "model.py:model", "--set", "shift=100", "--set", "size=9", "--rounds", "9", "--json", directory=tmp_path
    )
    assert json.loads(done.stdout)["summary"]["mu"]["mean"] > 50


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", "nromal"], "no built-in model 'nromal'"),
        (["run", "normal", "--chains", "1"], "--chains 1 must be from 2"),
        (["run", "normal", "--rounds", "0", "--scans", "9"], '--chains auto learns the number of chains'),
        (["run", "normal", "--chains", "many"], "--chains many is not a whole number"),
        (["run", "normal", "--set", "dim"], "write KEY=VALUE"),
        (["run", "normal", "--set", "colour=red"], "no parameter 'colour'"),
        (["run", "normal", "--set", "dim=five"], "like the default 5"),
        (["run", "normal", "--set", "dim=0"], "dim must be at least 1"),
        (["run", "ising", "--set", "periodic=perhaps"], "give true or false"),
        (["run", "normal", "--scheme", "neo"], "--scheme neo is not known"),
        (["run", "normal", "--explorer", "magic"], "--explorer magic is not known"),
        (["run", "normal", "--rounds", "ten"], "ten"),
        (["run", "normal", "--frobnicate"], "frobnicate"),
        (["run", "normal", "--draws", "9"], "'--draws': give --scans, the number"),
        (["run", "normal", "--N_chains=9"], "'--N_chains': give --chains, the number"),
        (["sample", "normal"], "'sample': sterna run TARGET"),
        (["run", "nowhere.py:target"], "no file nowhere.py"),
        (["run", "model.py"], "model.py is a file: write model.py:name"),
        (["run", "model.py:nothing"], "has nothing named 'nothing'"),
        (["run", "model.py:tagret"], "has nothing named 'tagret', but 'target'"),
        (["run", "model.py:number"], "is int; it must be a sterna.Target"),
        (["run", "model.py:target", "--set", "a=1"], "--set needs a function"),
        (["run", "model.py:log_likelihood"], "needs mu, y"),
        (["run", "broken.py:target"], "broken.py raised NameError"),
        (["frobnicate"], "frobnicate"),
        (["run", "normal", "--save", "nowhere/posterior.nc"], "there is no folder"),
        (["run", "normal", "--save", "."], "is a folder"),
        (["run", "normal", "--save", "draws.csv"], "use one that ends in .nc"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_status_2(arguments, text, tmp_path, monkeypatch, capsys):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "broken.py").write_text("x = 1\ntarget = x + undefined\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["sterna", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert shown.out in ("", "a user's file may print\n")
    assert text in shown.err
    assert shown.err.count("\n") == 1, shown.err


def test_the_bare_command_shows_its_help():
    done = sterna()
    assert done.returncode == 0
    assert "Commands:" in done.stdout
    assert done.stdout.count("\n") > 5


# ----------------------------------------------------------------------------------------------- where output goes

RUN = ["run", "discrete", "--rounds", "5", "--chains", "3", "--explorer", "slice"]


def shell(line, **environment):
    """Run a line of the shell, in which `sterna` is the command."""
    command = f'sterna() {{ "{sys.executable}" -m sterna "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_draws_are_saved(tmp_path):
    done = sterna(*RUN, "--seed", "7", "--save", "draws.nc", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    with xarray.open_dataset(tmp_path / "draws.nc") as draws:
        assert draws["x"].dims == ("copy", "draw")
        assert draws["x"].shape == (1, 62)
        assert f"{draws['x'].mean().item():.4g}" in done.stdout
        assert draws.attrs["seed"] == 7
        assert f"{draws.attrs['log_evidence']:.4f}" in done.stdout


def test_names_that_a_file_cannot_hold_are_refused_before_the_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "model.py").write_text(MODEL.replace("mu", "β"))
    found = importlib.util.find_spec
    # SciPy alone writes names in Latin letters only
    absent = ("netCDF4", "h5netcdf")
    monkeypatch.setattr("sterna.result.netcdf.find_spec", lambda name: None if name in absent else found(name))
    options = ["--save", str(tmp_path / "draws.nc"), "--rounds", "30"]
    monkeypatch.setattr("sys.argv", ["sterna", "run", f"{tmp_path / 'model.py'}:target", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "cannot hold a variable called 'β': install h5netcdf" in capsys.readouterr().err


def test_draws_that_cannot_be_written_in_the_end_are_written_elsewhere(tmp_path, monkeypatch, capsys):
    """The folder disappears during the run; the report is printed all the same."""
    folder, spare = tmp_path / "folder", tmp_path / "spare"
    folder.mkdir()
    spare.mkdir()
    (tmp_path / "model.py").write_text(MODEL + f"import os; os.rmdir({str(folder)!r})")
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    options = ["--rounds", "4", "--chains", "3", "--explorer", "slice", "--save", str(folder / "draws.nc")]
    monkeypatch.setattr("sys.argv", ["sterna", "run", f"{tmp_path / 'model.py'}:target", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code == 1
    assert "log evidence" in shown.out
    (file,) = spare.iterdir()
    assert shown.err.splitlines()[-1].endswith(f"the draws are in {file} instead.")
    with xarray.open_dataset(file) as draws:
        assert draws["mu"].size == 30


def test_an_ascii_terminal():
    done = shell(f"sterna {' '.join(RUN)}", LANG="C", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "+- error" in done.stdout
    assert "\\x" not in done.stdout


def test_without_standard_error_the_result_is_printed():
    done = shell(f"sterna {' '.join(RUN)} 2>&-")
    assert done.returncode == 0
    assert "log evidence" in done.stdout


@pytest.mark.parametrize(
    ("form", "where", "reason"), [("", "> /dev/full", "No space left on device"), ("--json", "| true", "Broken pipe")]
)
def test_a_result_that_cannot_be_printed_goes_to_standard_error(form, where, reason):
    # the reader of the pipe ends long before the run
    done = shell(f"set -o pipefail; sterna {' '.join(RUN)} {form} {where}")
    assert done.returncode == 1
    assert ("log_evidence" if form else "log evidence") in done.stderr
    expected = f"sterna: standard output cannot be written to ({reason}): the result is above."
    assert done.stderr.splitlines()[-1] == expected
    assert "Traceback" not in done.stderr


def test_a_reader_of_one_line_is_no_problem():
    done = shell(f"set -o pipefail; sterna {' '.join(RUN)} | head -1")
    assert done.returncode == 0
    assert done.stdout == "discrete, 62 scans of 3 chains: no warnings.\n"


def test_a_closed_standard_output_is_refused_unless_draws_are_saved(tmp_path):
    done = shell(f"sterna {' '.join(RUN)} >&-")
    assert done.returncode == 2
    assert done.stderr.startswith("sterna: Standard output is closed, so the result would be lost")
    done = shell(f"sterna {' '.join(RUN)} --save {tmp_path / 'draws.nc'} >&-")
    assert done.returncode == 0
    assert (tmp_path / "draws.nc").exists()


@pytest.mark.parametrize("arguments", ["models", "--help"])
def test_lists_that_cannot_be_printed(arguments):
    done = shell(f"sterna {arguments} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "sterna: standard output cannot be written to (No space left on device)\n"


def test_warnings_are_shown_once_on_a_terminal():
    command = [sys.executable, "-m", "sterna", "run", "discrete", "--rounds", "2", "--explorer", "slice"]
    text = read_terminal(command, output=True, COLUMNS="400")
    assert text.count("travelled from the reference to the target") == 1


def test_version_names_what_results_depend_on():
    """And imports nothing large for it: xarray and SciPy's statistics take a second."""
    code = (
        "import sys; sys.argv = ['sterna', '--version']; from sterna.command_line.commands import main\n"
        "try: main()\n"
        "finally: print(*{'xarray', 'scipy.stats', 'rich.table', 'arviz'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(
        rf"sterna {re.escape(__version__)} \(Python 3\S+, NumPy \S+, Numba \S+, SciPy \S+, \w+ \w+\)",
        done.stdout.strip(),
    )
    assert done.stderr.strip() == ""
