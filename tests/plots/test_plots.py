"""Plots draw the arrays they are given on the axes they are given."""

import sys

import numpy as np
import pytest
from drawn_data import lines_of, shows_line

import sterna
from sterna.plots.barrier import (
    plot_cumulative_barrier,
    plot_generator,
    plot_inversion,
    plot_local_barrier,
    plot_schedules,
)
from sterna.plots.draws import plot_density, plot_joint, plot_probabilities, plot_shares, plot_trace
from sterna.plots.index_process import plot_path, plot_swaps
from sterna.plots.library import CYCLE, doubling, new_figure, plain_style, save_figure, shades, whole_numbers
from sterna.plots.rounds import plot_acceptance, plot_estimates

X, Y = np.array([0.0, 0.3, 1.0]), np.array([2.0, 5.0, 3.0])


@pytest.fixture
def axes():
    return new_figure()[1][0, 0]


@pytest.mark.parametrize(
    "plot", [plot_local_barrier, plot_cumulative_barrier, plot_trace, plot_joint, plot_path, plot_estimates]
)
def test_lines(plot, axes):
    assert plot(axes, X, Y) is axes
    assert shows_line(axes.figure, X, Y)


def test_style_can_be_given(axes):
    plot_trace(axes, X, Y, color="#123456", markersize=7)
    (line,) = axes.get_lines()
    assert (line.get_color(), line.get_markersize()) == ("#123456", 7)


def test_swaps_are_told_from_stays(axes):
    chains = np.array([[0, 1, 2], [1, 0, 2], [1, 0, 2], [1, 2, 0]])
    plot_swaps(axes, chains, bold=1)
    lines = lines_of(axes.figure)
    assert shows_line(axes.figure, np.arange(4), chains[:, 1])
    # replica 0 swaps once and stays twice
    assert np.array_equal(lines[1][0], [0, 1, np.nan], equal_nan=True)
    assert np.array_equal(lines[0][1], [1, 1, np.nan, 1, 1, np.nan], equal_nan=True)


def test_schedules(axes):
    schedules = np.array([[0.0, 0.5, 1.0], [0.0, 0.2, 1.0]])
    plot_schedules(axes, [1, 2], schedules)
    assert shows_line(axes.figure, [1, 2], schedules[:, 1])
    assert axes.get_yscale() == "log"


def test_generators_and_inversions():
    axes = new_figure(1, 2)[1][0]
    plot_generator(axes[0], X)
    assert shows_line(axes[0].figure, [0.0, 0.5, 1.0], X)
    plot_inversion(axes[1], X, Y)
    assert shows_line(axes[1].figure, [0.0, 0.3, 0.3], [5.0, 5.0, 0.0])


def test_errors_that_are_unknown_are_not_drawn(axes):
    plot_estimates(axes, X, Y, np.array([0.1, np.nan, 0.2]))
    (bars,) = axes.collections
    lengths = [np.ptp(segment[:, 1]) for segment in bars.get_segments()]
    assert lengths == pytest.approx([0.2, 0.0, 0.4])


def test_acceptance(axes):
    plot_acceptance(axes, [1, 2], [[0.0, 0.5, 1.0], [0.6, 0.7, 0.8]])
    medians = [y[0] for _, y in lines_of(axes.figure) if len(y) == 2 and y[0] == y[1]]
    assert {0.5, 0.7} <= set(medians)


def test_bars():
    axes = new_figure(1, 3)[1][0]
    plot_probabilities(axes[0], [1, 2], [0.25, 0.75])
    assert [patch.get_height() for patch in axes[0].patches] == [0.25, 0.75]
    plot_shares(axes[1], [0, 1], [0.25, 0.75])
    assert [patch.get_width() for patch in axes[1].patches] == [0.75, 0.25, 0.25, 0.75]
    plot_density(axes[2], [0.0, 1.0, 2.0], [0.4, 0.6])
    assert axes[2].patches[0].get_data()[0].tolist() == [0.4, 0.6]


def test_ticks(axes):
    plot_estimates(doubling(axes, [10, 640]), [10, 640], [1, 2])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "640"]
    other = new_figure()[1][0, 0]
    plot_estimates(whole_numbers(other), [1, 3], [1, 2])
    assert all(tick == int(tick) for tick in other.get_xticks())


def test_colours_are_different():
    assert len(set(CYCLE)) == len(CYCLE)
    assert len(set(shades(30))) == 30
    assert len(shades(1)) == 1


def test_files(tmp_path):
    with plain_style():
        figure, axes = new_figure()
        plot_trace(axes[0, 0], X, Y)
        paths = save_figure(figure, tmp_path / "a.b")
    assert [path.name for path in paths] == ["a.b.svg", "a.b.png"]
    assert b"<svg" in paths[0].read_bytes()


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(sterna.MissingLibraryError, match=r"pip install 'sterna\[plots\]'"):
        new_figure()


def test_importing_plots_does_not_import_matplotlib():
    import subprocess

    code = (
        "import sys, sterna, sterna.plots.rounds, sterna.plots.barrier, sterna.plots.draws, "
        "sterna.plots.index_process, sterna.paper.catalogue; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
