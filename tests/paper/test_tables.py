"""The paper's tables: their cases are runnable as they stand, and print in every form."""

import csv
import io
import json
import math

import pytest
from click.testing import CliRunner

import sterna
from sterna.cli import commands
from sterna.paper.runs import as_csv, as_json, as_line, run_cases
from sterna.paper.tables import TABLE1, TABLES


@pytest.fixture(scope="module")
def rows():
    return list(run_cases(TABLE1, ["normal", "ising"], quick=True, seed=1))


@pytest.mark.parametrize("case", [case for table in TABLES.values() for case in table], ids=lambda case: case.label)
def test_every_model_exists_and_takes_its_options(case):
    assert callable(getattr(sterna.models, case.model))
    if not case.heavy:
        assert getattr(sterna.models, case.model)(**case.options).dimension > 0


def test_all_models_of_the_paper_are_there():
    assert len(TABLE1) == 18


def test_a_quick_look_is_near_the_exact_barriers(rows):
    """Sums of rejections over 254 scans are known to about 0.1."""
    exact = {"ising": 3.0414, "normal": 1.3661}
    for row in rows:
        assert abs(row.rejections - exact[row.label]) < 0.3
        assert row.off == pytest.approx(row.rejections / row.paper_barrier - 1)


def test_the_forms_hold_the_same_numbers(rows):
    table = list(csv.DictReader(io.StringIO(as_csv(rows))))
    loaded = json.loads(as_json(rows))
    for row, one, other in zip(rows, table, loaded, strict=True):
        assert float(one["rejections"]) == other["rejections"] == row.rejections
        assert f"{row.rejections:.2f}" in as_line(row)


def test_what_is_no_number_is_null(rows):
    from dataclasses import replace

    assert json.loads(as_json([replace(rows[0], error=math.nan)]))[0]["error"] is None


def test_the_command_prints_rows():
    found = CliRunner().invoke(commands, ["paper", "table1", "--quick", "--only", "normal"])
    assert found.exit_code == 0
    assert found.output.splitlines()[1].startswith("normal")
    whole = CliRunner().invoke(commands, ["paper", "table1", "--quick", "--only", "normal", "--format", "json"])
    assert json.loads(whole.stdout)[0]["label"] == "normal"


@pytest.mark.parametrize("given", [["paper", "table9"], ["paper", "table1", "--only", "nothing"]])
def test_mistakes_are_named(given):
    found = CliRunner().invoke(commands, given)
    assert isinstance(found.exception, sterna.OptionError)
