"""Posterior distributions of the number of states of every chromosome by four methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select
from sterna.paper.figures.copy_number_traces import chromosome
from sterna.paper.figures.shared import copy_number_methods
from sterna.paper.figures.shared.copy_number_methods import in_upper_mode
from sterna.paper.figures.shared.footers import footer
from sterna.plots.draws import plot_probabilities
from sterna.plots.library import label_once, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 20
# A mode is captured with at least this share of the draws.
CAPTURED = 0.02


def draw(tables: Tables) -> Figure:
    """Draw a row for each chromosome, and a column for each method."""
    draws = tables["draws"]
    names, methods = [name for name in draws if name.startswith("m_")], distinct(draws["method"])
    figure, axes = new_figure(len(names), len(methods), 9.0, 0.62 * len(names) + 1.0, sharex=True, sharey=True)
    for column, method in enumerate(methods):
        part = select(draws, method=method)
        for row, name in enumerate(names):
            counts = np.bincount(part[name], minlength=MOST + 1)[1:]
            plot_probabilities(axes[row, column], np.arange(1, MOST + 1), counts / counts.sum())
            axes[row, column].tick_params(labelsize=6)
        axes[0, column].set_title(method)
        axes[-1, column].set_xlabel("number of states m")
    for row, name in enumerate(names):
        axes[row, 0].set_ylabel(chromosome(name), rotation=0, labelpad=10, va="center")
    label_once(figure, "; ".join(filter(None, ["probability, by chromosome", footer(tables)])))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Check which methods have draws in both modes."""
    found = []
    for method in distinct(tables["methods"]["method"]):
        share = float(in_upper_mode(tables, method).mean())
        both, text = CAPTURED < share < 1.0 - CAPTURED, f"share of draws with the doubled genome {share:.3f}"
        if method.startswith("NRPT"):
            found.append(Claim(f"{method} captures both modes", text, both))
        else:
            found.append(Claim(f"{method} misses a mode", text, not both))
    return found


FIGURE = PaperFigure(
    name="copy-number-marginals",
    label="fig:multimodality-chromo",
    caption="Posterior of the numbers of states of all chromosomes by NRPT (50, 25 chains), a single chain and MMV.",
    quick_seconds=50,
    full_seconds=1800,
    share=copy_number_methods.SHARE,
    compute=copy_number_methods.compute,
    draw=draw,
    claims=claims,
)
