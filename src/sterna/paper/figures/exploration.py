"""The local barrier for different amounts of exploration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select, table
from sterna.paper.figures.shared.areas import area_between
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.paper.tables import TABLE1
from sterna.plots.barrier import plot_local_barrier
from sterna.plots.library import RED, label_once, new_figure, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Models whose explorers update one coordinate after the other, so that half a pass means something.
MODELS = (
    "change_point", "elliptic", "glm", "ising", "magnetic", "mixture_150", "normal", "ode", "product", "rotor",
    "spike_slab",
)  # fmt: skip
PASSES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
QUICK_PASSES = (0.0, 0.5, 1.0, 4.0)
N_CHAINS = 20
GRID = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 160)])
# Sums of rejections of one model that differ by less are "consistent".
CONSISTENT = 0.12


def compute(study: Study) -> Tables:
    """Run every model with every amount of exploration."""
    (rounds, scans), passes = study.choose((11, 5000), (6, 126)), study.choose(PASSES, QUICK_PASSES)
    runs = [
        Run(f"{case.label}, {count:g} passes", case.model, N_CHAINS, rounds, scans, case.options, passes=count)
        for case in TABLE1
        for count in passes
        if case.label in MODELS
    ]
    curves: list[tuple[object, ...]] = []
    totals: list[tuple[object, ...]] = []
    for run, result in study.results(runs):
        label = run.label.split(",")[0]
        curves += [(label, run.passes, *row) for row in zip(GRID, result.local_barrier(GRID), strict=True)]
        memory = float(np.nanmax(result.energy_autocorrelation[1:]))
        totals.append((label, run.passes, float(result.rejection.sum()), result.global_barrier, memory))
    return {
        "local": table(("model", "passes", "beta", "local"), curves),
        "totals": table(("model", "passes", "sum", "barrier", "autocorrelation"), totals),
    }


def draw(tables: Tables) -> Figure:
    """Draw a panel for each model."""
    models = distinct(tables["totals"]["model"])
    columns = 4
    figure, axes = new_figure(math.ceil(len(models) / columns), columns, 13.0, 8.0)
    counts = distinct(tables["totals"]["passes"])
    colours = [RED, *shades(len(counts) - 1)] if counts[0] == 0 else shades(len(counts))
    for panel, model in zip(axes.flat, models, strict=False):
        for count, colour in zip(counts, colours, strict=True):
            curve = select(tables["local"], model=model, passes=count)
            line = "--" if count == 0 else "-"
            plot_local_barrier(panel, curve["beta"], curve["local"], color=colour, linestyle=line, label=f"{count:g}")
        panel.set_title(model)
        panel.set_xscale("symlog", linthresh=1e-3)
        panel.set_xticks([0.0, 1e-3, 1e-2, 1e-1, 1.0])
        panel.set_xlim(0, 1)
        shown = select(tables["local"], model=model)
        inside = (shown["beta"] > 5e-3) & (shown["passes"] > 0)
        panel.set_ylim(0, 1.3 * shown["local"][inside].max())
    for spare in axes.flat[len(models) :]:
        spare.set_axis_off()
    handles, names = axes.flat[0].get_legend_handles_labels()
    axes.flat[-1].legend(handles, names, title="passes over all variables per scan", loc="center", ncols=2)
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare barriers of all amounts of exploration with that of most."""
    found: list[Claim] = []
    wrong: list[bool] = []
    for model in distinct(tables["totals"]["model"]):
        totals = select(tables["totals"], model=model)
        some = totals["passes"] > 0
        sums, most = totals["sum"], totals["passes"].max()
        width = float(np.ptp(sums[some]) / sums[some].mean())
        local = select(tables["local"], model=model)
        beta, reference = (select(local, passes=most)[name] for name in ("beta", "local"))
        gap = max(area_between(beta, select(local, passes=k)["local"], reference) for k in totals["passes"][some])
        memory = totals["autocorrelation"][some].max()
        found.append(
            Claim(
                f"{model}: the estimates are consistent if there is any exploration",
                f"sums of rejections {sums[some].min():.2f} to {sums[some].max():.2f}; local barriers differ by at "
                f"most {gap:.2f} of the area; autocorrelation of energies up to {memory:.2f}",
                width < CONSISTENT,
            )
        )
        if (~some).any():
            wrong.append(abs(float(sums[~some].item() / sums[some].mean()) - 1.0) > CONSISTENT)
    text = f"sums of rejections differ by more than {CONSISTENT:.0%} for {sum(wrong)} of {len(wrong)} models"
    found.append(
        Claim("Without exploration the estimates of most models are others", text, sum(wrong) > 0.5 * len(wrong))
    )
    return found


FIGURE = PaperFigure(
    name="exploration",
    label="fig:lambda-robustness-composite",
    caption="Local barrier of 11 models with 0 to 32 passes over all variables per scan.",
    quick_seconds=45,
    full_seconds=4500,
    share="one seed, where the paper's scripts have ten; models whose explorers have no partial passes are left out.",
    compute=compute,
    draw=draw,
    claims=claims,
)
