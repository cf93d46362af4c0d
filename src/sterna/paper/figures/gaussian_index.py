"""Paths of one replica of a Gaussian model with its optimal schedule, N = 10 and 100."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, select, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.index_process import plot_path
from sterna.plots.library import BLUE, RED, label_once, new_figure
from sterna.theory.barriers import normal_barrier
from sterna.theory.rates import optimal_round_trip_rate
from sterna.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (10, 100)
SCHEMES = {"seo": ("reversible (SEO)", RED), "deo": ("non-reversible (DEO)", BLUE)}
BARRIER = 5.0
# The paper does not state the dimension.
DIMENSION = 8
SHOWN = 100
"""Scans of each path, over N."""


def precision_for(barrier: float, dim: int) -> float:
    """Return the precision at which the normal model has a barrier: Lambda is proportional to its logarithm."""
    return math.exp(barrier / float(normal_barrier(dim=dim, precision=math.e)))


def optimal_schedule(n: int, precision: float) -> FloatArray:
    """Return betas whose standard deviations form a geometric sequence."""
    betas = np.expm1(np.linspace(0.0, math.log(precision), n + 1)) / (precision - 1.0)
    betas[0], betas[-1] = 0.0, 1.0
    return betas


def compute(study: Study) -> Tables:
    """Run both schemes with the optimal schedule, which is known."""
    precision = precision_for(BARRIER, DIMENSION)
    runs = [
        Run(
            f"N = {n}, {scheme}",
            "normal",
            n + 1,
            0,
            study.choose(200, 100) * n,
            {"dim": DIMENSION, "precision": precision},
            scheme=scheme,
            passes=2.0,
            others={"schedule": optimal_schedule(n, precision)},
        )
        for n in SIZES
        for scheme in SCHEMES
    ]
    paths: list[tuple[object, ...]] = []
    rates: list[tuple[object, ...]] = []
    for run, result in study.results(runs):
        n = run.n_chains - 1
        path = result.index_process[0, : SHOWN * n, 0]
        paths += [(n, run.scheme, scan, chain) for scan, chain in enumerate(path)]
        sums = float(result.rejection.sum()), result.round_trip_rate, result.predicted_round_trip_rate
        rates.append((n, run.scheme, run.n_scans, *sums))
    heads = ("n", "scheme", "scans", "rejections", "restart_rate", "predicted_rate")
    return {"paths": table(("n", "scheme", "scan", "chain"), paths), "rates": table(heads, rates)}


def draw(tables: Tables) -> Figure:
    """Draw a panel for each scheme and number of chains."""
    figure, axes = new_figure(2, 2, 11.0, 4.6)
    for row, (scheme, (title, colour)) in enumerate(SCHEMES.items()):
        for column, n in enumerate(SIZES):
            part, panel = select(tables["paths"], n=n, scheme=scheme), axes[row, column]
            plot_path(panel, part["scan"], part["chain"], color=colour, linewidth=0.7)
            panel.set_title(f"{title}, N = {n}")
            panel.set_ylabel("chain of replica 0")
            panel.set_xlim(0, len(part["scan"]))
    for panel in axes[1]:
        panel.set_xlabel("scan")
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare barriers and rates with their limits."""
    rates, best = tables["rates"], optimal_round_trip_rate(BARRIER)

    def of(n: int, scheme: str, column: str = "restart_rate") -> float:
        return float(select(rates, n=n, scheme=scheme)[column].item())

    total = of(100, "deo", "rejections")
    slower, faster = of(100, "seo") / of(10, "seo"), of(100, "deo") / of(10, "deo")
    return [
        Claim("The model has Λ = 5", f"sum of rejections with N = 100: {total:.2f}", abs(total - BARRIER) < 0.25),
        Claim("The rate of reversible PT decays with N", f"N = 100 over N = 10: {slower:.2f}", slower < 0.6),
        Claim("The rate of non-reversible PT grows with N", f"N = 100 over N = 10: {faster:.2f}", faster > 1.0),
        Claim(
            f"Non-reversible PT approaches 1/(2 + 2 Λ) = {best:.4f}",
            f"{of(100, 'deo'):.4f}",
            0.8 * best < of(100, "deo") < 1.15 * best,
        ),
    ]


FIGURE = PaperFigure(
    name="gaussian-index",
    label="fig_trajectory",
    caption="Path of replica 0 over 100 N scans of a Gaussian model with Λ = 5 (8 dimensions), N = 10 and 100.",
    quick_seconds=6,
    full_seconds=10,
    compute=compute,
    draw=draw,
    claims=claims,
)
