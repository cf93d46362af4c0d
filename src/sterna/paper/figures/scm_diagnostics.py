"""Diagnostics of adaptive sequential Monte Carlo on the mixture model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna import models
from sterna.paper.figure import Claim, PaperFigure, Tables, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Study
from sterna.particles.smc import smc
from sterna.plots.index_process import plot_path
from sterna.plots.library import GREY, label_once, new_figure
from sterna.plots.rounds import plot_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESAMPLED_BELOW = 0.5


def compute(study: Study) -> Tables:
    """Run sequential Monte Carlo with 2000 particles."""
    particles, threshold = study.choose(2000, 300), study.choose(0.9999, 0.99)
    study.say(f"{particles} particles")
    target = models.mixture()
    result = smc(
        target,
        n_particles=particles,
        threshold=threshold,
        resample_below=RESAMPLED_BELOW,
        n_pilot=0,
        seed=study.seed,
        progress=False,
    )
    study.note(
        label="mixture, SCM",
        model="mixture",
        method="SCM",
        n_chains=0,
        n_copies=1,
        tuning_scans=result.n_steps,
        n_scans=particles,
        seconds=result.timing["tuning"] + result.timing["sampling"],
        notes=target.notes,
    )
    columns = (result.schedule[1:], result.ess, result.resampled.astype(int), result.evidence_curve[1:])
    steps = [(k + 1, *row) for k, row in enumerate(zip(*columns, strict=True))]
    estimate = result.log_evidence
    total = (particles, result.n_steps, estimate.value, estimate.error)
    return {
        "steps": table(("step", "beta", "ess", "resampled", "log_evidence"), steps),
        "total": table(("particles", "steps", "log_evidence", "error"), [total]),
    }


def draw(tables: Tables) -> Figure:
    """Draw ESS, beta and the evidence at each resampling."""
    steps = tables["steps"]
    figure, axes = new_figure(1, 3, 11.0, 3.3)
    left, centre, right = axes[0]
    plot_path(left, steps["step"], steps["ess"], linewidth=1.0)
    left.axhline(RESAMPLED_BELOW, color=GREY, linestyle=":")
    left.set_ylabel("effective share of the particles")
    left.set_ylim(0, 1.02)
    plot_path(centre, steps["step"], steps["beta"], linewidth=1.2)
    centre.set_yscale("log")
    centre.set_ylabel("β")
    chosen = steps["resampled"] == 1
    plot_estimates(right, steps["step"][chosen], steps["log_evidence"][chosen], markersize=4)
    right.set_ylabel("log evidence at each resampling")
    for panel in axes[0]:
        panel.set_xlabel("step")
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Check when particles are resampled, and that betas grow."""
    steps = tables["steps"]
    chosen, ess = steps["resampled"] == 1, steps["ess"]
    increase = bool((np.diff(steps["beta"]) > 0).all())
    highest, lowest = ess[chosen].max(initial=0.0), ess[~chosen][:-1].min(initial=1.0)
    return [
        Claim(
            "Particles are resampled when the ESS drops below 1/2",
            f"{int(chosen.sum())} times, at ESS up to {highest:.3f}; elsewhere at least {lowest:.3f}",
            highest < RESAMPLED_BELOW <= lowest,
        ),
        Claim(
            "Betas increase to 1",
            f"{len(ess)} steps to β = {steps['beta'][-1]:g}",
            increase,
        ),
    ]


FIGURE = PaperFigure(
    name="scm-diagnostics",
    label="fig:scm-diag",
    caption="Sequential Monte Carlo on the mixture model: ESS, beta and evidence by step.",
    quick_seconds=15,
    full_seconds=400,
    compute=compute,
    draw=draw,
    claims=claims,
)
