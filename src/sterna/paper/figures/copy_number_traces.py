"""Traces of the number of states of every chromosome by four methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select
from sterna.paper.figures.shared import copy_number_methods
from sterna.paper.figures.shared.copy_number_methods import in_upper_mode
from sterna.paper.figures.shared.footers import footer
from sterna.plots.draws import plot_trace
from sterna.plots.library import label_once, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Jumps between the modes in all draws that make a method "frequently" jump.
FREQUENT = 3


def draw(tables: Tables) -> Figure:
    """Draw a row for each chromosome, and a column for each method."""
    draws = tables["draws"]
    names, methods = [name for name in draws if name.startswith("m_")], distinct(draws["method"])
    options = {"sharex": "col", "sharey": True}
    figure, axes = new_figure(len(names), len(methods), 11.0, 0.62 * len(names) + 1.0, **options)
    for column, method in enumerate(methods):
        part = select(draws, method=method)
        for row, name in enumerate(names):
            plot_trace(axes[row, column], part["draw"], part[name], markersize=1.8)
            axes[row, column].tick_params(labelsize=6)
        axes[0, column].set_title(method)
        axes[-1, column].set_xlabel("scan")
    for row, name in enumerate(names):
        axes[row, 0].set_ylabel(chromosome(name), rotation=0, labelpad=10, va="center")
    label_once(figure, "; ".join(filter(None, ["number of states m of each chromosome", footer(tables)])))
    return figure


def chromosome(name: str) -> str:
    """Return the name of a chromosome from that of its column, m_0 to m_23."""
    number = int(name.removeprefix("m_")) + 1
    return {23: "X", 24: "Y"}.get(number, str(number))


def claims(tables: Tables) -> list[Claim]:
    """Count the jumps between a genome and its double."""
    found, methods = [], tables["methods"]
    for method in distinct(methods["method"]):
        upper = in_upper_mode(tables, method)
        jumps, row = int(np.abs(np.diff(upper.astype(int))).sum()), select(methods, method=method)
        text = f"{jumps} jumps in {len(upper)} draws, {row['restarts'].item()} restarts"
        if method.startswith("NRPT"):
            found.append(Claim(f"{method}: jumps frequently between both modes", text, jumps >= FREQUENT))
        else:
            found.append(Claim(f"{method}: no jump", text, jumps == 0))
    many, few = (select(methods, method=f"NRPT, {n} chains") for n in (50, 25))
    rates = [float((row["restarts"] / row["draws"]).item()) for row in (few, many)]
    accepted = [float(row["acceptance"].item()) for row in (few, many)]
    text = f"{rates[0]:.2g} and {rates[1]:.2g} (paper: 9e-4 and 6e-3)"
    found.append(Claim("50 chains have more than twice the round-trip rate of 25", text, rates[1] > 2.0 * rates[0]))
    text = f"{accepted[0]:.1%} and {accepted[1]:.1%}"
    near = abs(accepted[0] - 0.488) < 0.03 and abs(accepted[1] - 0.735) < 0.03
    found.append(Claim("Mean acceptance with 25 and 50 chains is 48.8 % and 73.5 %", text, near))
    worst = float(select(methods, method="MMV")["worst_pair"].item())
    found.append(Claim("The smallest acceptance of MMV is nearly zero", f"{worst:.3g}", worst < 0.03))
    return found


FIGURE = PaperFigure(
    name="copy-number-traces",
    label="fig:nstates-traces-small, fig:nstates-traces",
    caption="Traces of the numbers of states of all chromosomes by NRPT (50, 25 chains), a single chain and MMV.",
    quick_seconds=50,
    full_seconds=1800,
    share=copy_number_methods.SHARE,
    compute=copy_number_methods.compute,
    draw=draw,
    claims=claims,
)
