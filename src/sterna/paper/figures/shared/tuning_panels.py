"""Panels that show what the tuning rounds of one run found, which three figures of the paper share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Table, Tables, distinct, select
from sterna.paper.figures.shared.footers import footer
from sterna.paper.figures.shared.round_tables import schedule_of
from sterna.plots.barrier import plot_local_barrier, plot_schedules
from sterna.plots.library import BLUE, label_once, new_figure, whole_numbers
from sterna.plots.rounds import plot_acceptance, plot_estimates
from sterna.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def schedules(pairs: Table) -> tuple[list[int], FloatArray]:
    """Return the numbers of the rounds, and the schedule of each as a row."""
    rounds = distinct(pairs["round"])
    return rounds, np.array([schedule_of(select(pairs, round=one)) for one in rounds])


def draw_schedules(axes: Axes, pairs: Table) -> None:
    """Draw how the betas move from round to round."""
    plot_schedules(axes, *schedules(pairs))


def draw_diagnostics(tables: Tables) -> Figure:
    """Draw barrier and acceptance by round, the final local barrier, and schedules by round."""
    figure, axes = new_figure(1, 4, 12.5, 3.2)
    total, acceptance, local, betas = axes[0]
    rounds, pairs, curves = tables["rounds"], tables["pairs"], tables["curves"]
    plot_estimates(total, rounds["round"], rounds["rejections"])
    whole_numbers(total).set_xlabel("round")
    total.set_ylabel("sum of rejections")
    numbers = distinct(pairs["round"])
    plot_acceptance(acceptance, numbers, [1.0 - select(pairs, round=one)["rejection"] for one in numbers])
    last = select(curves, round=curves["round"].max())
    plot_local_barrier(local, last["beta"], last["local"], color=BLUE)
    # a peak at 0 can be so narrow that nothing else would be seen
    local.set_ylim(0, 1.15 * last["local"][last["beta"] > 0.02].max())
    draw_schedules(betas, pairs)
    label_once(figure, footer(tables))
    return figure


def settling(pairs: Table) -> float:
    """Return the largest change of log beta between the last two schedules, over the betas in between."""
    _, betas = schedules(pairs)
    return float(np.abs(np.diff(np.log(betas[-2:, 1:-1]), axis=0)).max())


def spread(pairs: Table, number: int) -> float:
    """Return the standard deviation of the rejections of a round."""
    return float(select(pairs, round=number)["rejection"].std())
