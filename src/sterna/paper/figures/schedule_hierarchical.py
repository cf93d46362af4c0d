"""The tuning phase of the hierarchical model of rocket launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select
from sterna.paper.figures.shared.footers import footer
from sterna.paper.figures.shared.round_tables import round_tables
from sterna.paper.figures.shared.tuning_panels import draw_schedules, spread
from sterna.paper.study import Run, Study
from sterna.plots.barrier import plot_local_barrier
from sterna.plots.library import label_once, new_figure, shades, whole_numbers
from sterna.plots.rounds import plot_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_BARRIER = 12.03


def compute(study: Study) -> Tables:
    """Run the model with 30 chains."""
    rounds, scans = study.choose((11, 5000), (8, 510))
    run = Run("hierarchical", "hierarchical", 30, rounds, scans)
    return round_tables([(one.label, result) for one, result in study.results([run])])


def draw(tables: Tables) -> Figure:
    """Draw schedules, rejections and local barriers by round."""
    figure, axes = new_figure(1, 3, 12.5, 3.6)
    left, centre, right = axes[0]
    draw_schedules(left, tables["pairs"])
    rounds = tables["rounds"]
    plot_estimates(centre, rounds["round"], rounds["rejections"] / (rounds["chains"] - 1), rounds["deviation"])
    whole_numbers(centre).set_xlabel("round")
    centre.set_ylabel("rejection, mean ± standard deviation")
    centre.set_ylim(0, 1)
    numbers = distinct(rounds["round"])
    for number, colour in zip(numbers, shades(len(numbers)), strict=True):
        curve = select(tables["curves"], round=number)
        plot_local_barrier(right, curve["beta"], curve["local"], color=colour, label=f"{number}")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlim(1e-4, 1.0)
    right.legend(title="round", ncols=2, title_fontsize=8)
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare the barrier with the paper's, and check that rejections become equal."""
    rounds, pairs = tables["rounds"], tables["pairs"]
    means = rounds["rejections"] / (rounds["chains"] - 1)
    total, last = float(rounds["rejections"][-1]), int(rounds["round"].max())
    early, late = float(means[last // 2]), float(means[-1])
    before, after = spread(pairs, 1), spread(pairs, last)
    return [
        Claim(
            f"The estimate of Λ is {PAPER_BARRIER}",
            f"sum of rejections {total:.2f}",
            abs(total / PAPER_BARRIER - 1.0) < 0.05,
        ),
        Claim(
            "The mean rejection stabilises quickly",
            f"{early:.3f} in round {last // 2 + 1}, {late:.3f} in round {last}",
            abs(early - late) < 0.05,
        ),
        Claim(
            "Rejections converge to their mean",
            f"standard deviation {before:.3f} in round 1, {after:.3f} in round {last}",
            after < 0.25 * before,
        ),
    ]


FIGURE = PaperFigure(
    name="schedule-hierarchical",
    label="fig_adapt_example",
    caption="Tuning of the hierarchical model with 30 chains: schedules, rejections and local barrier by round.",
    quick_seconds=10,
    full_seconds=50,
    compute=compute,
    draw=draw,
    claims=claims,
)
