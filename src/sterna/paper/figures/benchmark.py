"""Effective draws per second of four methods on four models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna import models
from sterna.paper.comparison import METHODS, ess_per_second, run_method
from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.ladder import MAX_STEPS
from sterna.paper.study import Study
from sterna.paper.tables import TABLE2
from sterna.plots.library import label_once, new_figure
from sterna.plots.rounds import plot_boxes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEW, RIVALS = "NRPT", ("ARR", "MMV")


def compute(study: Study) -> Tables:
    """Run all methods on all models."""
    (rounds, scans), steps = study.choose((11, 5000), (6, 200)), study.choose(MAX_STEPS, 1000)
    rates: list[tuple[object, ...]] = []
    for number, case in enumerate(TABLE2, 1):
        target = getattr(models, case.model)(**case.options)
        study.say(f"run {number} of {len(TABLE2)}: {case.label}, {case.method}")
        result = run_method(
            case.method,
            target,
            n_chains=case.n_chains,
            seed=study.seed,
            n_rounds=rounds,
            n_scans=scans,
            workers=None,
            max_steps=steps,
        )
        study.note(
            label=f"{case.label}, {case.method}",
            model=case.model,
            method=case.method,
            n_chains=result.settings.n_chains,
            n_copies=1,
            tuning_scans=sum(one.n_scans for one in result.rounds[:-1]),
            n_scans=result.settings.n_scans,
            seconds=result.timing["tuning"] + result.timing["sampling"],
            notes=result.notes,
        )
        journeys, series = ess_per_second(result), ess_per_second(result, "ess_series")
        # evaluations do not depend on what else the machine does
        seconds_each = (result.timing["tuning"] + result.timing["sampling"]) / result.evaluations
        rates += [
            (case.label, case.method, name, journeys[name], series[name], series[name] * seconds_each)
            for name in journeys
        ]
    heads = ("model", "method", "variable", "ess_per_second", "series_per_second", "series_per_evaluation")
    return {"rates": table(heads, rates)}


def draw(tables: Tables) -> Figure:
    """Draw a panel for each model, with a box for each method."""
    rates = tables["rates"]
    names = distinct(rates["model"])
    figure, axes = new_figure(1, len(names), 12.0, 3.8)
    for panel, model in zip(axes[0], names, strict=True):
        part = select(rates, model=model)
        groups = [select(part, method=method)["series_per_second"] for method in METHODS]
        plot_boxes(panel, np.arange(len(METHODS)), [group[group > 0] for group in groups])
        panel.set_yscale("log")
        panel.set_xticks(np.arange(len(METHODS)), METHODS, rotation=35)
        panel.set_title(model)
        panel.set_xlabel("method")
    axes[0, 0].set_ylabel("effective draws per second")
    label_once(figure, footer(tables))
    return figure


def medians(tables: Tables, column: str) -> dict[tuple[str, str], float]:
    """Return the median over variables for each model and method."""
    rates = tables["rates"]
    return {
        (model, method): float(np.median(select(rates, model=model, method=method)[column]))
        for model in distinct(rates["model"])
        for method in METHODS
    }


def claims(tables: Tables) -> list[Claim]:
    """Compare the medians of the methods."""
    found = []
    series, journeys = medians(tables, "series_per_second"), medians(tables, "ess_per_second")
    counted = medians(tables, "series_per_evaluation")
    for model in distinct(tables["rates"]["model"]):
        for rival in RIVALS:
            ratio = series[model, NEW] / max(series[model, rival], 1e-12)
            known = journeys[model, NEW] / max(journeys[model, rival], 1e-12)
            each = counted[model, NEW] / max(counted[model, rival], 1e-300)
            text = f"{ratio:.3g} times ({each:.3g} per evaluation); {known:.3g} if draws of a journey are dependent"
            found.append(Claim(f"{model}: NRPT is 10 to 100 times faster than {rival}", text, 10.0 <= ratio <= 200.0))
        ratio = series[model, "NRPT+SCM"] / series[model, NEW]
        found.append(
            Claim(f"{model}: a start by SCM makes little difference", f"{ratio:.2f} times", 1.0 / 3.0 < ratio < 3.0)
        )
    return found


FIGURE = PaperFigure(
    name="benchmark",
    label="fig:benchmarking",
    caption="Effective sample size per second of NRPT, NRPT+SCM, ARR and MMV on four models.",
    quick_seconds=25,
    full_seconds=1200,
    share="two cores instead of 20 threads.",
    compute=compute,
    draw=draw,
    claims=claims,
)
