"""The paper's figures: they draw what their tables say, and their claims fail on tables that contradict them."""

import numpy as np
import pytest
from drawn_data import lines_of, shows_line
from figure_tables import FAULTS, TABLES, tables_of

from sterna.paper.catalogue import FIGURES
from sterna.paper.figure import PaperFigure, distinct, select
from sterna.paper.figures.shared.round_tables import schedule_of
from sterna.paper.tables import TABLES as PAPER_TABLES


def of(name, *columns, **where):
    """Return the columns of some rows of a table, as a function of the tables."""

    def find(tables):
        part = select(tables[name], **where) if where else tables[name]
        return tuple(part[column] for column in columns)

    return find


def last_barrier(name):
    return lambda tables: of("curves", "beta", "local", label=name, round=6)(tables)


def bold_path(tables):
    chains = select(tables["paths"], n=30, scheme="deo")["chain"].reshape(-1, 31)
    path = chains[:, np.ptp(chains, axis=0).argmax()]
    return np.arange(len(path)), path


def curve_of_draw(tables):
    row = {name: column[0] for name, column in select(tables["draws"], method="single chain").items()}
    gc = np.log(tables["bins"]["gc"][tables["bins"]["reads"] > 0])
    at = np.linspace(*np.quantile(gc, [0.01, 0.99]), 40)
    return at, row["f_0"] + row["f_1"] * (at + 1.0) + 0.5 * row["f_2"] * (at + 1.0) * (at + 1.0)


# A line that each figure must have, point by point.
LINES = {
    "swaps": bold_path,
    "round-trips-ess": of("runs_by_size", "n", "rate", flips=25),
    "traces": of("traces", "scan", "v", model="ising", method="NRPT"),
    "schedule-mixture": of("curves", "beta", "placement", round=4),
    "all-models": last_barrier("ising"),
    "exploration": of("local", "beta", "local", passes=0.5),
    "copies": of("rates", "copies", "acceptance", model="ode", factor=1.0),
    "limit-trajectories": of("paths", "time", "place", barrier=10.0),
    "schedule-hierarchical": of("curves", "beta", "local", round=3),
    "gaussian-index": of("paths", "scan", "chain", n=100, scheme="seo"),
    "gaussian-barrier": of("local", "beta", "estimated", ratio=10),
    "ising-barrier": of("global", "size", "barrier"),
    "ising-rates": of("rates", "n", "rate", scheme="seo", schedule="uniform"),
    "slow-exploration": of("rates", "chains", "bound"),
    "generators": lambda t: (
        np.linspace(0.0, 1.0, 30),
        schedule_of(select(t["pairs"], label="ising", round=6)),
    ),
    "spike-slab-posterior": of("draws", "age", "siblings_spouses"),
    "scm-diagnostics": of("steps", "step", "ess"),
    "mixture-traces": of("draws", "draw", "mu_1", method="MMV"),
    "mixture-diagnostics": of("rounds", "round", "rejections"),
    "copy-number-curves": curve_of_draw,
    "copy-number-traces": of("draws", "draw", "m_2", method="NRPT, 25 chains"),
    "copy-number-diagnostics": of("rounds", "round", "rejections"),
}


@pytest.fixture(scope="module")
def figures():
    return {name: figure.draw(tables_of(name)) for name, figure in FIGURES.items()}


def test_every_figure_has_tables_to_draw():
    assert set(TABLES) == set(FIGURES)
    # tables and figures share one argument of the command line
    assert not set(FIGURES) & {*PAPER_TABLES, "list", "figures"}


@pytest.mark.parametrize("name", FIGURES)
def test_claims_hold_where_they_should(name):
    found = FIGURES[name].claims(tables_of(name))
    assert found
    assert [one for one in found if not one.holds] == []
    assert all(isinstance(one.holds, bool) for one in found)


@pytest.mark.parametrize(("name", "words", "fault"), FAULTS, ids=[f"{n}: {w}" for n, w, _ in FAULTS])
def test_claims_fail_where_they_should(name, words, fault):
    found = [one for one in FIGURES[name].claims(fault(tables_of(name))) if words in one.claim]
    assert found, "no such claim"
    assert not all(one.holds for one in found)


def test_every_claim_has_a_fault():
    """A claim about several models or methods needs one for one of them."""
    for name, figure in FIGURES.items():
        words = [words for one, words, _ in FAULTS if one == name]
        for one in figure.claims(tables_of(name)):
            assert any(word in one.claim for word in words), (name, one.claim)


@pytest.mark.parametrize("name", LINES)
def test_lines_are_the_numbers_of_the_tables(name, figures):
    x, y = LINES[name](tables_of(name))
    assert len(x) > 1
    assert shows_line(figures[name], x, y)
    # a number that is a little different is seen
    assert not shows_line(figures[name], x, np.asarray(y, dtype=float) + 1e-6)


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_panel_with_data_is_labelled(name, figures):
    assert lines_of(figures[name]) or name in ("ising-marginals", "mixture-means", "copy-number-marginals")
    axes = [one for one in figures[name].axes if one.has_data()]
    assert axes
    assert any(one.get_xlabel() for one in axes)
    assert any(one.get_ylabel() for one in axes)
    texts = [text.get_text() for text in figures[name].texts] + [figures[name].get_supxlabel()]
    assert any("simulated data: mixture" in text for text in texts)


def test_histograms_and_bars_are_the_numbers_of_the_tables(figures):
    tables = tables_of("mixture-means")
    panel = figures["mixture-means"].axes[0]
    (method, *_) = distinct(tables["draws"]["method"])
    heights, edges = panel.patches[0].get_data()[:2]
    mu = select(tables["draws"], method=method)["mu_0"]
    inside = ((mu >= edges[0]) & (mu <= edges[-1])).sum()
    assert (heights * np.diff(edges)).sum() * len(mu) == pytest.approx(inside)
    up = tables_of("ising-marginals")["marginals"]["up"][:20]
    assert [patch.get_width() for patch in figures["ising-marginals"].axes[0].patches[20:]] == up.tolist()
    shares = [patch.get_height() for patch in figures["copy-number-marginals"].axes[0].patches]
    assert shares[2] == pytest.approx(0.75)
    assert shares[4] == pytest.approx(0.25)


def test_boxes_are_the_numbers_of_the_tables(figures):
    tables = tables_of("benchmark")
    groups = select(tables["rates"], method="ARR")["series_per_second"]
    medians = [y[0] for _, y in lines_of(figures["benchmark"]) if len(y) == 2 and y[0] == y[1]]
    assert float(np.median(groups)) in medians


def test_descriptions():
    labels = [figure.label for figure in FIGURES.values()]
    assert len(set(labels)) == len(labels)
    for figure in FIGURES.values():
        assert isinstance(figure, PaperFigure)
        assert figure.caption.endswith(".")
        assert 0 < figure.quick_seconds <= 120
        assert figure.full_seconds <= 7200
