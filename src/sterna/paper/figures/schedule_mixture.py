"""How a schedule is optimised: barrier, its inverse, and the schedules of all rounds, for the mixture model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, select
from sterna.paper.figures.shared.footers import footer
from sterna.paper.figures.shared.round_tables import round_tables, schedule_of
from sterna.paper.figures.shared.tuning_panels import draw_schedules, settling, spread
from sterna.paper.study import Run, Study
from sterna.plots.barrier import plot_cumulative_barrier, plot_inversion
from sterna.plots.library import BLUE, RED, label_once, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The first round of the panels; earlier ones have too few scans to be worth a look.
FIRST, SECOND = 4, 5


def compute(study: Study) -> Tables:
    """Run the mixture with 300 observations and 30 chains."""
    rounds, scans = study.choose((11, 5000), (8, 510))
    run = Run("mixture", "mixture", 30, rounds, scans)
    return round_tables([(one.label, result) for one, result in study.results([run])])


def draw(tables: Tables) -> Figure:
    """Draw the barrier of a round, the schedule that follows, the same of the next round, and all schedules."""
    figure, axes = new_figure(1, 4, 13.0, 3.4)
    _draw_barrier(axes[0, 0], tables, FIRST, points=True)
    axes[0, 0].set_title(f"1. estimate after round {FIRST}")
    for panel, number in zip(axes[0, 1:3], (FIRST, SECOND), strict=True):
        _draw_barrier(panel, tables, number)
        schedule = schedule_of(select(tables["pairs"], round=number + 1))
        plot_inversion(panel, schedule, _heights(tables, number, len(schedule)))
    axes[0, 1].set_title(f"2. schedule of round {FIRST + 1}")
    axes[0, 2].set_title(f"3. schedule of round {SECOND + 1}")
    draw_schedules(axes[0, 3], tables["pairs"])
    axes[0, 3].set_title("4. schedules by round")
    label_once(figure, footer(tables))
    return figure


def _draw_barrier(axes: Axes, tables: Tables, number: int, points: bool = False) -> None:
    curve, pairs = select(tables["curves"], round=number), select(tables["pairs"], round=number)
    plot_cumulative_barrier(axes, curve["beta"], curve["placement"], color=BLUE)
    if points:
        heights = np.interp(schedule_of(pairs), curve["beta"], curve["placement"])
        axes.plot(schedule_of(pairs), heights, "o", color=RED, markersize=3.5)
    axes.set_ylim(bottom=0)
    axes.set_xlim(-0.02, 1.02)


def _heights(tables: Tables, number: int, chains: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the regular grid of the barrier of a round."""
    total = select(tables["curves"], round=number)["placement"][-1]
    return np.asarray(np.linspace(0.0, total, chains))


def claims(tables: Tables) -> list[Claim]:
    """Check the inversion, and that rejections become equal."""
    pairs, curve = tables["pairs"], select(tables["curves"], round=FIRST)
    schedule = schedule_of(select(pairs, round=FIRST + 1))
    heights = np.interp(schedule, curve["beta"], curve["placement"])
    off = float(np.abs(heights / heights[-1] - np.linspace(0.0, 1.0, len(schedule))).max())
    last = int(pairs["round"].max())
    before, after, change = spread(pairs, 1), spread(pairs, last), settling(pairs)
    return [
        Claim(
            "The new schedule is the inverse of Λ at a regular grid",
            f"largest difference {off:.4f} of Λ (interpolation of the table included)",
            off < 0.01,
        ),
        Claim(
            "Rejections become equal",
            f"standard deviation {before:.3f} in round 1, {after:.3f} at the end",
            after < 0.5 * before and after < 0.1,
        ),
        Claim("The schedules converge", f"largest change of log β at the end: {change:.2f}", change < 1.0),
    ]


FIGURE = PaperFigure(
    name="schedule-mixture",
    label="fig:tuning",
    caption="Optimisation of the schedule of the mixture model: barrier, inversion, and schedules by round.",
    quick_seconds=10,
    full_seconds=50,
    compute=compute,
    draw=draw,
    claims=claims,
)
