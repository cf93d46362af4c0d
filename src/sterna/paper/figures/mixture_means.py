"""Posterior distributions of both means of the mixture model by eight methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select
from sterna.paper.figures.shared import mixture_methods
from sterna.paper.figures.shared.footers import footer
from sterna.plots.draws import plot_density
from sterna.plots.library import BLUE, ORANGE, label_once, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Methods that see both orders of the labels in the paper.
CAPTURING = ("NRPT", "SCM-100")
# Both orders have probability 1/2 by symmetry. A share within this distance counts as captured.
NEAR_HALF = 0.15
BINS = 60


def draw(tables: Tables) -> Figure:
    """Draw a panel for each method, with the histograms of both means."""
    draws = tables["draws"]
    methods = distinct(draws["method"])
    figure, axes = new_figure(2, (len(methods) + 1) // 2, 12.5, 5.0, sharex=True)
    both = np.concatenate([draws["mu_0"], draws["mu_1"]])
    low, high = np.quantile(both, [0.001, 0.999])
    edges = np.linspace(low, high, BINS + 1)
    for panel, method in zip(axes.flat, methods, strict=False):
        part = select(draws, method=method)
        for name, colour, label in (("mu_0", BLUE, "first mean"), ("mu_1", ORANGE, "second mean")):
            heights = np.histogram(part[name], edges)[0] / (len(part[name]) * np.diff(edges))
            plot_density(panel, edges, heights, color=colour, alpha=0.55, label=label)
        row = select(tables["methods"], method=method)
        panel.set_title(f"{method} ({row['seconds'].item():.3g} s)")
    for panel in axes[-1]:
        panel.set_xlabel("mean of a component")
    for panel in axes[:, 0]:
        panel.set_ylabel("density")
    axes[0, 0].legend()
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Check who captures both orders of the labels, and that no rival had less to spend."""
    found = []
    modes, methods = tables["modes"], tables["methods"]
    for method in distinct(modes["method"]):
        share = float(select(modes, method=method)["share_of_first_order"].item())
        captured = abs(share - 0.5) < NEAR_HALF
        expected = method in CAPTURING
        text = f"share of draws with the first order {share:.3f} (exact 0.5)"
        found.append(
            Claim(f"{method} {'captures' if expected else 'does not capture'} both modes", text, captured == expected)
        )
    own = int(select(methods, method="NRPT")["explorations"].item())
    least = int(methods["explorations"].argmin())
    found.append(
        Claim(
            "Rivals have at least the budget of NRPT",
            f"explorations: NRPT {own}, least {methods['explorations'][least]} ({methods['method'][least]})",
            # a ladder with fewer chains than expected has used less
            bool(methods["explorations"][least] >= own),
        )
    )
    acceptance = float(select(methods, method="NRPT")["acceptance"].item())
    found.append(Claim("Acceptance of NRPT is 72 %", f"{acceptance:.1%}", abs(acceptance - 0.72) < 0.02))
    chains = int(select(methods, method="MMV")["chains"].item())
    found.append(Claim("MMV selects 8 chains", f"{chains}", abs(chains - 8) <= 1))
    return found


FIGURE = PaperFigure(
    name="mixture-means",
    label="fig:mixture-means",
    caption="Posterior of both means of the mixture by eight methods; both marginals are equal by symmetry.",
    quick_seconds=25,
    full_seconds=600,
    share=f"{mixture_methods.CAPTION}. Budgets are equal in explorations.",
    compute=mixture_methods.compute,
    draw=draw,
    claims=claims,
)
