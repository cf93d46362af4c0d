"""The round-trip rate and its bound against the number of chains, if half of the spins are updated per scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.library import BLUE, GREY, doubling, label_once, new_figure
from sterna.plots.rounds import plot_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (10, 20, 40, 80, 160, 320, 640)
QUICK_SIZES = SIZES[:5]
PASSES = 0.5


def compute(study: Study) -> Tables:
    """Run the Ising model in a magnetic field with more and more chains."""
    (rounds, scans), sizes = study.choose((13, 33_618), (9, 4000)), study.choose(SIZES, QUICK_SIZES)
    runs = [Run(f"{n} chains", "magnetic", n, rounds, scans, passes=PASSES) for n in sizes]
    rows = [
        (run.n_chains, result.global_barrier, result.optimal_round_trip_rate, result.round_trip_rate, result.restarts)
        for run, result in study.results(runs)
    ]
    return {"rates": table(("chains", "barrier", "bound", "rate", "restarts"), rows)}


def draw(tables: Tables) -> Figure:
    """Draw the bound on the left, and the rate on the right."""
    rates = tables["rates"]
    figure, axes = new_figure(1, 2, 9.0, 3.5)
    left, right = axes[0]
    plot_estimates(left, rates["chains"], rates["bound"], color=BLUE, markersize=4)
    left.set_ylabel("estimate of the bound, 1/(2 + 2Λ)")
    plot_estimates(right, rates["chains"], rates["rate"], rates["rate"] / np.sqrt(rates["restarts"]), markersize=4)
    right.axhline(rates["bound"][-1], color=GREY, linestyle=":", label="bound")
    right.set_ylabel("restarts per scan")
    right.legend(loc="lower right")
    for panel in (left, right):
        doubling(panel, rates["chains"].tolist())
        panel.set_xlabel("number of chains")
        panel.set_ylim(0, 1.1 * rates["bound"].max())
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Check that the bound does not depend on N, and that the rate approaches it."""
    rates = tables["rates"]
    width = float(np.ptp(rates["bound"]) / rates["bound"].mean())
    share = rates["rate"] / rates["bound"]
    return [
        Claim("The bound is well estimated for any N", f"largest relative difference {width:.3f}", width < 0.06),
        Claim(
            "The rate approaches its bound as N increases",
            f"share of the bound {share[0]:.2f} with {rates['chains'][0]} chains, {share[-1]:.2f} with "
            f"{rates['chains'][-1]}",
            bool(share[-1] > share[0] and share[-1] > 0.85),
        ),
    ]


FIGURE = PaperFigure(
    name="slow-exploration",
    label="fig:tau-and-tau-bar",
    caption="Bound and round-trip rate of the Ising model in a field against N; half of the spins move per scan.",
    quick_seconds=5,
    full_seconds=30,
    compute=compute,
    draw=draw,
    claims=claims,
)
