"""Making figures: files, the command line, and what is said of mistakes."""

import csv
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from figure_tables import tables_of

import sterna
from sterna.command_line.commands import commands
from sterna.paper.catalogue import FIGURES
from sterna.paper.figure import Claim, table
from sterna.paper.files import read_tables, write_claims, write_tables
from sterna.paper.make import make_figure
from sterna.paper.study import Run, Study, span, with_passes

CHEAPEST = "limit-trajectories"


def test_tables_survive_their_files(tmp_path):
    tables = tables_of("swaps") | {"odd": table(("name", "x"), [("a, b", np.nan), ('"c"', 0.25)])}
    write_tables(tmp_path, "swaps", tables)
    again = read_tables(tmp_path, "swaps")
    assert set(again) == set(tables)
    for name, columns in tables.items():
        for column, values in columns.items():
            assert np.array_equal(again[name][column], values, equal_nan=values.dtype.kind == "f")


def test_claims_are_no_table(tmp_path):
    write_tables(tmp_path, "one", {"numbers": table(("x",), [(1,)])})
    path = write_claims(tmp_path, "one", [Claim("It is so", "3.0", True), Claim("It is not", "1.0", False)])
    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["claim", "found", "holds"],
            ["It is so", "3.0", "yes"],
            ["It is not", "1.0", "no"],
        ]
    assert set(read_tables(tmp_path, "one")) == {"numbers"}


def test_figures_of_the_same_runs_compute_once(tmp_path):
    known = {}
    for name in ("mixture-means", "mixture-traces"):
        known[FIGURES[name].compute] = tables_of(name)
        made = make_figure(FIGURES[name], tmp_path, Study(), known)
        assert {path.name for path in made.files} >= {f"{name}.svg", f"{name}.png", f"{name}.claims.csv"}
        assert all(path.stat().st_size > 0 for path in made.files)
    assert len(known) == 1


def test_the_same_tables_give_the_same_files(tmp_path):
    known = {FIGURES["slow-exploration"].compute: tables_of("slow-exploration")}
    files = []
    for folder in ("a", "b"):
        make_figure(FIGURES["slow-exploration"], tmp_path / folder, Study(), known)
        files.append((tmp_path / folder / "slow-exploration.svg").read_bytes())
    assert files[0] == files[1]


def test_the_command_makes_a_figure_and_draws_it_again(tmp_path):
    given = ["paper", CHEAPEST, "--quick", "--out", str(tmp_path / "new" / "folder")]
    found = CliRunner().invoke(commands, given)
    assert found.exit_code == 0, found.output
    assert "holds" in found.stdout
    assert "about" in found.stderr
    picture = tmp_path / "new" / "folder" / f"{CHEAPEST}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    again = CliRunner().invoke(commands, [*given, "--redraw"])
    assert again.exit_code == 0
    assert picture.exists()
    assert [line for line in again.stdout.splitlines() if "holds" in line] == [
        line for line in found.stdout.splitlines() if "holds" in line
    ]


def test_the_list_names_everything():
    found = CliRunner().invoke(commands, ["paper", "list"])
    assert found.exit_code == 0
    assert [name for name in ("table1", "table2", *FIGURES) if name not in found.stdout] == []


def test_an_unknown_name_is_explained():
    found = CliRunner().invoke(commands, ["paper", "swap"])
    assert isinstance(found.exception, sterna.OptionError)
    assert "Did you mean swaps? sterna paper list" in str(found.exception)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["swaps", "--only", "ising"], "--only and --format are for tables"),
        (["list", "--format", "csv"], "--only and --format are for tables"),
        (["table1", "--redraw"], "--out and --redraw are for figures"),
    ],
)
def test_options_without_effect_are_refused(given, message):
    found = CliRunner().invoke(commands, ["paper", *given])
    assert isinstance(found.exception, sterna.OptionError)
    assert message in str(found.exception)


def test_nothing_to_draw_again(tmp_path):
    with pytest.raises(sterna.OptionError, match="has no tables of the figure swaps: run sterna paper swaps first"):
        make_figure(FIGURES["swaps"], tmp_path, Study(), {}, redraw=True)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(sterna.OptionError, match=r"--out .*file.* the folder cannot be made"):
        make_figure(FIGURES["swaps"], tmp_path / "file", Study(), {})


def test_without_matplotlib_nothing_is_computed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(sterna.MissingLibraryError, match=r"pip install 'sterna\[plots\]'"):
        make_figure(FIGURES["swaps"], tmp_path, Study(), {})


def test_runs_are_listed_with_the_source_of_their_data(monkeypatch):
    monkeypatch.delenv("STERNA_DATA", raising=False)
    said = []
    study = Study(say=said.append)
    runs = [
        Run("a", "discrete", 4, 3, 10),
        Run("b", "change_point", 4, 3, 10, scheme="seo", others={"explorer": "slice"}),
    ]
    assert [(run.label, len(result.schedule)) for run, result in study.results(runs)] == [("a", 4), ("b", 4)]
    assert [row["data"] for row in study.rows] == ["the paper's or none", "simulated"]
    assert [row["method"] for row in study.rows] == ["NRPT", "SEO"]
    assert said[0] == "run 1 of 2: a"
    assert "left" in said[1]


@pytest.mark.parametrize("passes", [0.0, 0.5, 2.0])
def test_passes_of_a_model_with_and_without_its_own_explorer(passes):
    assert with_passes(sterna.models.ising(3), passes).passes == passes
    assert with_passes(sterna.models.normal(2), passes) == sterna.Slice(passes=passes)
    assert with_passes(sterna.models.ising(3), None) is None


def test_spans():
    assert [span(s) for s in (3.2, 89, 600, 7200)] == ["3 s", "89 s", "10 min", "2.0 h"]
