"""Schedule generators, and estimates of the barrier by round, for 16 models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select
from sterna.paper.figures.shared import sixteen_models
from sterna.paper.figures.shared.footers import footer
from sterna.paper.figures.shared.round_tables import schedule_of
from sterna.paper.tables import TABLE1
from sterna.plots.barrier import plot_generator
from sterna.plots.library import GREY, label_once, new_figure, whole_numbers
from sterna.plots.rounds import plot_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 8
PAPER = {case.label: case.barrier for case in TABLE1}


def draw(tables: Tables) -> Figure:
    """Draw the generators in two rows, and the barriers in two more."""
    labels = distinct(tables["rounds"]["label"])
    bands, columns = math.ceil(len(labels) / COLUMNS), min(len(labels), COLUMNS)
    figure, axes = new_figure(2 * bands, columns, 2.0 * columns, 4.0 * bands)
    for k, label in enumerate(labels):
        band, column = divmod(k, COLUMNS)
        upper, lower = axes[band, column], axes[band + bands, column]
        pairs, rounds = select(tables["pairs"], label=label), select(tables["rounds"], label=label)
        plot_generator(upper, schedule_of(select(pairs, round=pairs["round"].max())))
        upper.set_title(label)
        plot_estimates(lower, rounds["round"], rounds["rejections"])
        lower.axhline(PAPER[label], color=GREY, linestyle=":", linewidth=1.2)
        lower.set_title(label)
        lower.set_ylim(0, 1.1 * max(rounds["rejections"].max(), PAPER[label]))
        whole_numbers(lower).set_xlabel("round")
        lower.set_ylabel("" if column else "sum of rejections")
        if column:
            upper.set_ylabel("")
    label_once(figure, "; ".join(filter(None, ["dotted: the paper's Λ", footer(tables)])))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare barriers with the paper's, and with those of the round before."""
    found = []
    for label in distinct(tables["rounds"]["label"]):
        sums = select(tables["rounds"], label=label)["rejections"]
        before, after = float(sums[-2]), float(sums[-1])
        found.append(
            Claim(
                f"{label}: Λ is {PAPER[label]:g}",
                f"sum of rejections {after:.2f} ({after / PAPER[label] - 1.0:+.1%})",
                abs(after - PAPER[label]) < 0.06 * PAPER[label],
            )
        )
        text = f"{before:.2f} in the last tuning round, {after:.2f} while sampling"
        found.append(Claim(f"{label}: estimates of Λ converge", text, bool(np.abs(before - after) < 0.1 * after)))
    return found


FIGURE = PaperFigure(
    name="generators",
    label="fig:Gs",
    caption="Schedule generators of 16 models, and their estimates of the barrier by round.",
    quick_seconds=45,
    full_seconds=1800,
    share=sixteen_models.SHARE,
    compute=sixteen_models.compute,
    draw=draw,
    claims=claims,
)
