"""Marginal distributions of the spins of an Ising model by four methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna import models
from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select, table
from sterna.paper.figures.shared import methods
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Study
from sterna.plots.draws import plot_shares
from sterna.plots.library import BLACK, label_once, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERTICES = 20
CHAINS = 10
# Every spin is +1 with probability 1/2.
NEAR_HALF = 0.1


def compute(study: Study) -> Tables:
    """Run all methods on the 5 x 5 model with coupling 1."""
    rounds, scans = study.choose((11, 5000), (9, 2000))
    particles, threshold = study.choose(1000, 500), study.choose(0.999, 0.99)
    chosen = [
        methods.annealed_importance(particles, threshold),
        methods.chain_alone(rounds, CHAINS * scans),
        methods.nrpt(CHAINS, rounds, scans),
        methods.sequential(particles, threshold, 5, "SMC"),
    ]
    found = methods.run_methods(study, "ising", models.ising(), chosen)
    rows: list[tuple[object, ...]] = []
    for one in found:
        spins = one.values["spin"].reshape(len(one.log_likelihood), -1)[:, :VERTICES]
        rows += [(one.method, vertex, float(share)) for vertex, share in enumerate((spins > 0).mean(axis=0))]
    return {"marginals": table(("method", "vertex", "up"), rows), "methods": methods.methods_table(found)}


def draw(tables: Tables) -> Figure:
    """Draw a panel for each method, with a bar for each vertex."""
    names = distinct(tables["marginals"]["method"])
    figure, axes = new_figure(1, len(names), 11.0, 4.4, sharey=True)
    for panel, name in zip(axes[0], names, strict=True):
        part = select(tables["marginals"], method=name)
        plot_shares(panel, part["vertex"], part["up"])
        panel.axvline(0.5, color=BLACK, linestyle=":", linewidth=1.2)
        panel.set_title(f"{name} ({select(tables['methods'], method=name)['seconds'].item():.3g} s)")
        panel.set_xlabel("probability")
    axes[0, 0].set_ylabel("vertex")
    axes[0, 0].set_yticks(range(0, VERTICES, 2))
    axes[0, 0].invert_yaxis()
    note = "blue: spin −1; orange: spin +1; each is 1/2 by symmetry"  # noqa: RUF001
    label_once(figure, "; ".join(filter(None, [note, footer(tables)])))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare marginals with 1/2."""
    found = []
    for name in distinct(tables["marginals"]["method"]):
        up = select(tables["marginals"], method=name)["up"]
        off = float(np.abs(up - 0.5).max())
        text = f"probabilities of +1 from {up.min():.3f} to {up.max():.3f}"
        if name == "NRPT":
            found.append(Claim("NRPT captures both modes in their proportions", text, off < NEAR_HALF))
        elif name == "SMC":
            detected = bool(up.min() > 0.01 and up.max() < 0.99)
            found.append(Claim("SMC detects both modes, but not their proportions", text, detected and off > NEAR_HALF))
        else:
            found.append(Claim(f"{name} misses a mode", text, bool(off > 0.45)))
    return found


FIGURE = PaperFigure(
    name="ising-marginals",
    label="fig:multimodality-ising",
    caption="Marginals of 20 spins of the 5 x 5 Ising model by AIS, a single chain, NRPT and SMC.",
    quick_seconds=10,
    full_seconds=30,
    compute=compute,
    draw=draw,
    claims=claims,
)
