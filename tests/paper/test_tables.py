"""The paper's tables: their cases are runnable as they stand, and print in every form."""

import csv
import io
import json
import math

import pytest
from click.testing import CliRunner

import sterna
from sterna.command_line.commands import commands
from sterna.paper.comparison import METHODS
from sterna.paper.runs import as_csv, as_json, as_line, choose, columns_of, run_case
from sterna.paper.sizes import sizes
from sterna.paper.tables import TABLE1, TABLE2, TABLES


@pytest.fixture(scope="module")
def rows():
    return [run_case(case, quick=True, seed=1) for case in choose(TABLE1, ["normal", "ising"])]


ONCE = [case for table in TABLES.values() for case in table if case.method in ("", "NRPT")]


@pytest.mark.parametrize("case", ONCE, ids=lambda case: case.label)
def test_every_model_exists_and_takes_its_options(case):
    assert callable(getattr(sterna.models, case.model))
    if not case.heavy:
        target = getattr(sterna.models, case.model)(**case.options)
        # simulated data have the paper's sizes, but for launches, which are drawn, and sites, which it miscounts
        own = {"hierarchical": (sizes(target)[0], 369), "phylo_species": (245, 10395)}
        assert sizes(target) == own.get(case.model, (case.n, case.d))


def test_sizes_are_those_of_the_data_at_hand():
    cells = sterna.models.phylo_cancer([[1, 0], [1, 1], [0, 0]])
    assert sizes(cells) == (6, 8)
    species = sterna.models.phylo_species(dict.fromkeys("abcde", "ACGT"))
    assert sizes(species) == (4, 15)
    bins = sterna.models.copy_number(reads=[90, 110, 200], gc=[0.4, -1, 0.5], chromosomes=["1", "1", "X"])
    assert sizes(bins) == (3, 9)


def test_budgets_are_the_papers():
    """10 000 scans, of which half are sampled; 5000 for copy numbers."""
    for case in TABLE1:
        tuning = 2 ** (case.n_rounds + 1) - 2
        assert tuning + case.n_scans == (5000 if case.label == "copy_number" else 9094)


def test_rows_of_the_comparison_are_chosen_by_model_and_method():
    assert choose(TABLE2, []) == TABLE2
    assert [case.method for case in TABLE2] == 4 * list(METHODS)
    assert [case.label for case in choose(TABLE2, ["nrpt"])] == ["spike_slab", "hierarchical", "wright_fisher", "ising"]
    assert [case.method for case in choose(TABLE2, ["ising"])] == list(METHODS)
    both = choose(TABLE2, ["ising", "MMV", "spike_slab", "nrpt+scm"])
    assert [(case.label, case.method) for case in both] == [
        (label, method) for label in ("spike_slab", "ising") for method in ("NRPT+SCM", "MMV")
    ]


def test_the_papers_acceptance_of_a_rival_counts_a_pair_that_always_swaps():
    """That of NRPT does not, so that the mean over N - 1 pairs gives its barrier; printed figures are rounded."""
    for case in TABLE2:
        if case.label == "hierarchical" and case.method == "ARR":
            continue
        pairs, counted = case.n_chains - 1, case.n_chains - case.method.startswith("NRPT")
        assert counted * (1 - case.acceptance) == pytest.approx(case.barrier, rel=0.01)
        assert 0 < case.barrier / pairs < 1


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
        assert f"{row.rejections:.2f}" in as_line(columns_of(TABLE1), row)


def test_what_differs_from_the_paper_is_said(rows):
    from dataclasses import replace

    columns = columns_of(TABLE2)
    assert as_line(columns, rows[0]).endswith("heat_bath")
    other = replace(rows[0], n=15_000, paper_n=192_763, simulated=True, explorations=4)
    assert as_line(columns, other).endswith("heat_bath x4, simulated data, paper: n=192763")


def test_what_is_no_number_is_null(rows):
    from dataclasses import replace

    assert json.loads(as_json([replace(rows[0], error=math.nan)]))[0]["error"] is None


def test_the_command_prints_rows():
    found = CliRunner().invoke(commands, ["paper", "table1", "--quick", "--only", "normal"])
    assert found.exit_code == 0
    assert found.output.splitlines()[1].startswith("normal")
    whole = CliRunner().invoke(commands, ["paper", "table1", "--quick", "--only", "normal", "--format", "json"])
    assert json.loads(whole.stdout)[0]["label"] == "normal"


def test_the_comparison_prints_all_its_methods():
    found = CliRunner().invoke(commands, ["paper", "table2", "--quick", "--only", "ising", "--format", "json"])
    rows = json.loads(found.stdout)
    assert [row["method"] for row in rows] == list(METHODS)
    assert [row["paper_n_chains"] for row in rows] == [15, 15, 4, 4]
    assert [row["n_chains"] for row in rows[:2]] == [15, 15]
    # the barrier of 3.04 is that of 3.2 pairs at 23 %; a quick ladder may end too early
    assert {row["n_chains"] for row in rows[2:]} <= {3, 4, 5}


@pytest.mark.parametrize(
    "given", [["paper", "table9"], ["paper", "table1", "--only", "nothing"], ["paper", "table1", "--only", "nrpt"]]
)
def test_mistakes_are_named(given):
    found = CliRunner().invoke(commands, given)
    assert isinstance(found.exception, sterna.OptionError)
    assert found.output == ""
