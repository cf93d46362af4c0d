"""Traces of both means of the mixture model by four methods of Markov chain Monte Carlo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sterna.paper.figure import Claim, PaperFigure, Tables, select
from sterna.paper.figures.shared import mixture_methods
from sterna.paper.figures.shared.footers import footer
from sterna.plots.draws import plot_trace
from sterna.plots.library import BLUE, ORANGE, label_once, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("NRPT", "MMV", "MMV-DEO", "single chain")


def draw(tables: Tables) -> Figure:
    """Draw a column for each method, and a row for each mean."""
    figure, axes = new_figure(2, len(METHODS), 12.5, 4.2, sharey=True)
    for column, method in enumerate(METHODS):
        part = select(tables["draws"], method=method)
        for row, (name, colour) in enumerate((("mu_0", BLUE), ("mu_1", ORANGE))):
            plot_trace(axes[row, column], part["draw"], part[name], color=colour)
        axes[0, column].set_title(method)
        axes[1, column].set_xlabel("scan")
    axes[0, 0].set_ylabel("first mean")
    axes[1, 0].set_ylabel("second mean")
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Count how often the labels switch."""
    found = []
    for method in METHODS:
        switches = int(select(tables["modes"], method=method)["switches"].item())
        draws = int(select(tables["methods"], method=method)["draws"].item())
        restarts = int(select(tables["methods"], method=method)["restarts"].item())
        text = f"{switches} switches in {draws} draws, {restarts} restarts"
        if method == "NRPT":
            found.append(Claim("NRPT switches labels", text, switches > 0))
        else:
            found.append(Claim(f"{method} does not switch labels", text, switches == 0))
    return found


FIGURE = PaperFigure(
    name="mixture-traces",
    label="fig:trace-plots-mcmcs",
    caption="Traces of both means of the mixture by four methods; correct exploration switches labels.",
    quick_seconds=25,
    full_seconds=600,
    share=f"{mixture_methods.CAPTION}. Budgets are equal in explorations.",
    compute=mixture_methods.compute,
    draw=draw,
    claims=claims,
)
