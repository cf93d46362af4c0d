"""The barrier of Gaussian models, estimated and in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select, table
from sterna.paper.figures.shared.areas import area_between
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.barrier import plot_local_barrier
from sterna.plots.library import BLACK, CYCLE, label_once, new_figure
from sterna.plots.rounds import plot_estimates
from sterna.theory.barriers import normal_barrier, normal_local_barrier

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_CHAINS = 61
# One over the target's standard deviations; that of the reference is 1.
RATIOS = (2, 10, 100)
DIMENSION = 8
DIMENSIONS = (1, 2, 4, 8, 16, 32, 64)
GRID = np.geomspace(1e-5, 1.0, 120)


def compute(study: Study) -> Tables:
    """Run all dimensions and widths, 8 dimensions among them."""
    rounds, scans = study.choose((12, 10_000), (8, 1000))
    runs = [
        Run(f"d = {d}, σ = 1/{ratio}", "normal", N_CHAINS, rounds, scans, {"dim": d, "precision": float(ratio) ** 2})
        for ratio in RATIOS
        for d in DIMENSIONS
    ]
    curves: list[tuple[object, ...]] = []
    totals: list[tuple[object, ...]] = []
    for run, result in study.results(runs):
        d, precision = run.options["dim"], run.options["precision"]
        ratio, exact = round(precision**0.5), float(normal_barrier(dim=d, precision=precision))
        totals.append((ratio, d, result.global_barrier, float(result.rejection.sum()), exact))
        if d == DIMENSION:
            local, closed = result.local_barrier(GRID), normal_local_barrier(GRID, d, precision)
            curves += [(ratio, *row) for row in zip(GRID, local, closed, strict=True)]
    return {
        "local": table(("ratio", "beta", "estimated", "exact"), curves),
        "global": table(("ratio", "dim", "barrier", "rejections", "exact"), totals),
    }


def draw(tables: Tables) -> Figure:
    """Draw the local barriers on the left and the global ones on the right."""
    figure, axes = new_figure(1, 2, 9.5, 3.8)
    left, right = axes[0]
    for ratio, colour in zip(distinct(tables["global"]["ratio"]), CYCLE, strict=False):
        local, total = select(tables["local"], ratio=ratio), select(tables["global"], ratio=ratio)
        name = f"σ = 1/{ratio}"
        plot_local_barrier(left, local["beta"], local["estimated"], color=colour, label=name)
        plot_local_barrier(left, local["beta"], local["exact"], color=BLACK, linestyle=":", linewidth=1.6)
        plot_estimates(right, total["dim"], total["barrier"], color=colour, label=name)
        plot_estimates(right, total["dim"], total["exact"], color=BLACK, linestyle=":", marker="", linewidth=1.6)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_title(f"d = {DIMENSION}")
    right.set_xscale("log", base=2)
    right.set_xlabel("dimension d")
    right.set_ylabel("global barrier Λ")
    right.set_title(f"N = {N_CHAINS - 1}")
    right.plot([], [], ":", color=BLACK, label="closed form")
    right.legend()
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare every estimate with its closed form."""
    totals, found = tables["global"], []
    off = totals["barrier"] / totals["exact"] - 1.0
    found.append(
        Claim(
            "Estimates of Λ agree with the closed form",
            f"largest relative difference {np.abs(off).max():.3f} of {len(off)}",
            bool(np.abs(off).max() < 0.05),
        )
    )
    for ratio in distinct(totals["ratio"]):
        part = select(tables["local"], ratio=ratio)
        share = area_between(part["beta"], part["estimated"], part["exact"])
        found.append(
            Claim(f"σ = 1/{ratio}: λ agrees with the closed form", f"area between them: {share:.3f} of Λ", share < 0.1)
        )
    return found


FIGURE = PaperFigure(
    name="gaussian-barrier",
    label="fig_gaussian_communication",
    caption="Local barrier of Gaussian models with d = 8, and global barrier against d, beside the closed form.",
    quick_seconds=15,
    full_seconds=120,
    share="the paper's scans; tuning is added. Its τ = 2, 10, 100 is taken for 1/σ.",
    compute=compute,
    draw=draw,
    claims=claims,
)
