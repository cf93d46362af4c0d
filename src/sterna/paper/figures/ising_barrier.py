"""Local and global barrier of the Ising model by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.models.ising import CRITICAL_COUPLING
from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.barrier import plot_local_barrier
from sterna.plots.library import BLUE, GREY, label_once, new_figure, shades
from sterna.plots.rounds import plot_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (5, 10, 20, 30)
# Chains for each size, at least three for each unit of the barrier.
CHAINS = {5: 30, 10: 40, 20: 60, 30: 80}
GRID = np.linspace(0.0, 1.0, 201)
# At the first rounds, with few scans, most local barriers of large lattices are noise.
NEAR = 0.1


def compute(study: Study) -> Tables:
    """Run all sizes; beta is the coupling, which ends at 1."""
    rounds, scans = study.choose((12, 10_000), (8, 500))
    runs = [
        Run(f"M = {size}", "ising", CHAINS[size], rounds, scans, {"size": size}, passes=study.choose(4.0, 2.0))
        for size in SIZES
    ]
    curves: list[tuple[float, ...]] = []
    totals: list[tuple[float, ...]] = []
    for run, result in study.results(runs):
        size = run.options["size"]
        curves += [(size, *row) for row in zip(GRID, result.local_barrier(GRID), strict=True)]
        totals.append((size, result.global_barrier, float(result.rejection.sum())))
    return {"local": table(("size", "beta", "local"), curves), "global": table(("size", "barrier", "sum"), totals)}


def draw(tables: Tables) -> Figure:
    """Draw local barriers on the left, and global ones against the size on the right."""
    figure, axes = new_figure(1, 2, 9.5, 3.8)
    left, right = axes[0]
    totals, sizes = tables["global"], distinct(tables["global"]["size"])
    for size, colour in zip(sizes, shades(len(sizes)), strict=True):
        curve = select(tables["local"], size=size)
        plot_local_barrier(left, curve["beta"], curve["local"], color=colour, label=f"M = {size}")
    left.axvline(CRITICAL_COUPLING, color=GREY, linestyle=":", label="phase transition")
    left.set_ylim(bottom=0)
    left.legend()
    plot_estimates(right, totals["size"], totals["barrier"], color=BLUE, markersize=4)
    right.set_xlabel("size M of the M x M lattice")
    right.set_ylabel("global barrier Λ")
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Check the place of the maxima, and that the barrier is linear in the size."""
    totals, found = tables["global"], []
    for size in distinct(totals["size"]):
        curve = select(tables["local"], size=size)
        at = float(curve["beta"][curve["local"].argmax()])
        found.append(
            Claim(
                f"M = {size}: λ is largest near the critical β = {CRITICAL_COUPLING:.3f}",
                f"at β = {at:.3f}",
                abs(at - CRITICAL_COUPLING) < NEAR,
            )
        )
    sizes, barrier = totals["size"].astype(np.float64), totals["barrier"]
    line = np.polyfit(sizes, barrier, 1)
    off = float(np.abs(np.polyval(line, sizes) - barrier).max() / barrier.max())
    found.append(
        Claim(
            "Λ increases roughly linearly in M",
            f"{', '.join(f'{one:.2f}' for one in barrier)}; from the line by at most {off:.1%} of the largest",
            off < 0.05,
        )
    )
    at_20 = float(select(totals, size=20)["barrier"].item())
    found.append(Claim("Λ = 13.33 for M = 20", f"{at_20:.2f}", abs(at_20 / 13.33 - 1.0) < 0.05))
    small = float(select(totals, size=5)["barrier"].item())
    found.append(Claim("M = 5: the exact Λ is 3.0414", f"{small:.3f}", abs(small / 3.0414 - 1.0) < 0.05))
    return found


FIGURE = PaperFigure(
    name="ising-barrier",
    label="fig:ising_communication",
    caption="Local and global barrier of the M x M Ising model without field, M = 5, 10, 20, 30.",
    quick_seconds=5,
    full_seconds=60,
    share="the paper does not state the number of scans.",
    compute=compute,
    draw=draw,
    claims=claims,
)
