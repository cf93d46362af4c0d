"""Copies against chains: how to divide a number of cores among independent runs of parallel tempering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.library import BLACK, BLUE, GREY, SKY, label_once, new_figure, whole_numbers
from sterna.plots.rounds import plot_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CORES = 40
COPIES = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Model:
    """A model of the figure."""

    title: str
    options: dict[str, int | float | bool]
    passes: float
    """Passes over the variables per scan with which the paper's script begins."""
    best: int
    """The paper's optimal number of copies."""


MODELS = {
    "ode": Model("ODE parameters", {"naive": True}, 4.0, 3),
    "ising": Model("Ising", {"size": 5, "coupling": 1.0}, 2.0, 4),
    "mixture": Model("mixture, 150 observations", {"size": 150}, 0.1, 2),
}
FACTORS = (0.5, 1.0, 2.0)
COLOURS = (SKY, BLUE, BLACK)


def compute(study: Study) -> Tables:
    """Run all numbers of copies with three amounts of exploration."""
    rounds, scans = study.choose((13, 33_618), (5, 200))
    runs = [
        Run(
            f"{model}, {copies} x {CORES // copies}, x{factor:g}",
            model,
            CORES // copies,
            rounds,
            scans,
            one.options,
            passes=one.passes * factor,
            n_copies=copies,
        )
        for model, one in MODELS.items()
        for factor in FACTORS
        for copies in COPIES
    ]
    rows: list[tuple[object, ...]] = []
    for run, result in study.results(runs):
        factor = (run.passes or 0.0) / MODELS[run.model].passes
        all_restarts, acceptance = result.restarts, float(1.0 - result.rejection.mean())
        rate = all_restarts / run.n_scans
        rows.append(
            (run.model, factor, run.n_copies, run.n_chains, all_restarts, rate, acceptance, result.global_barrier)
        )
    heads = ("model", "factor", "copies", "chains", "restarts", "rate", "acceptance", "barrier")
    return {"rates": table(heads, rows)}


def draw(tables: Tables) -> Figure:
    """Draw rates of all copies together above, and acceptance below."""
    models = distinct(tables["rates"]["model"])
    figure, axes = new_figure(2, len(models), 11.0, 5.0, sharex=True, height_ratios=[2, 1])
    for column, model in enumerate(models):
        upper, lower = axes[:, column]
        one = MODELS[model]
        for factor, colour in zip(FACTORS, COLOURS, strict=True):
            part = select(tables["rates"], model=model, factor=factor)
            errors = part["rate"] / np.sqrt(np.maximum(part["restarts"], 1))
            name = f"{one.passes * factor:g} passes"
            plot_estimates(upper, part["copies"], part["rate"], errors, color=colour, markersize=4, label=name)
            plot_estimates(lower, part["copies"], part["acceptance"], color=colour, markersize=4)
        upper.axvline(one.best, ymax=0.72, color=GREY, linestyle=":", label="the paper's optimum")
        upper.set_title(one.title)
        # room for the legend
        whole = select(tables["rates"], model=model)
        upper.set_ylim(0, 1.4 * (whole["rate"] * (1.0 + 1.0 / np.sqrt(np.maximum(whole["restarts"], 1)))).max())
        upper.legend(fontsize=7.5, loc="upper center", ncols=2)
        lower.set_ylim(0, 1)
        whole_numbers(lower).set_xlabel(f"copies k, of {CORES}/k chains each")
    axes[0, 0].set_ylabel("restarts of all copies per scan")
    axes[1, 0].set_ylabel("acceptance of swaps")
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare the optimal number of copies with the paper's."""
    found = []
    for model in distinct(tables["rates"]["model"]):
        title, paper = MODELS[model].title, MODELS[model].best
        most = select(tables["rates"], model=model, factor=FACTORS[-1])
        least = select(tables["rates"], model=model, factor=FACTORS[0])
        best = int(most["copies"][most["rate"].argmax()])
        at_paper = float(select(most, copies=paper)["rate"].item() / most["rate"].max())
        found.append(
            Claim(
                f"{title}: k* = {paper} with most exploration",
                f"best k = {best}; the paper's k has {at_paper:.0%} of the best rate",
                best == paper or at_paper > 0.95,
            )
        )
        below = int(least["copies"][least["rate"].argmax()])
        found.append(
            Claim(
                f"{title}: with least exploration the optimum has no fewer chains, and rejects less than half",
                f"best k = {below}, rejection {1.0 - float(least['acceptance'][least['rate'].argmax()]):.2f}",
                below <= best and float(least["acceptance"][least["rate"].argmax()]) > 0.5,
            )
        )
    return found


FIGURE = PaperFigure(
    name="copies",
    label="fig:vary-n-independent-chains",
    caption="Copies against chains on 40 cores, with three amounts of exploration, for three models.",
    quick_seconds=40,
    full_seconds=3600,
    compute=compute,
    draw=draw,
    claims=claims,
)
