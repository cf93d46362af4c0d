"""Trajectories of the limit of the non-reversible index process, for a small and a large barrier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Table, Tables, select, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Study
from sterna.plots.index_process import plot_path
from sterna.plots.library import BLUE, label_once, new_figure
from sterna.theory.piecewise_deterministic import piecewise_deterministic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARRIERS = (1.0, 10.0)
SHOWN = 20.0


def compute(study: Study) -> Tables:
    """Simulate one long path for each barrier, and keep its beginning."""
    paths, counts, until = [], [], study.choose(20_000.0, 4000.0)
    for barrier in BARRIERS:
        study.say(f"path for a barrier of {barrier:g}")
        path = piecewise_deterministic_path(barrier, until, seed=study.seed)
        # with the first turn that is not shown
        shown = np.arange(len(path.time)) <= np.searchsorted(path.time, SHOWN)
        paths += [(barrier, *row) for row in zip(path.time[shown], path.place[shown], strict=True)]
        inside = int(((path.place[1:-1] > 0) & (path.place[1:-1] < 1)).sum())
        at_ends = path.place[(path.place == 0) | (path.place == 1)]
        trips = int((np.diff(at_ends) == 1).sum())
        counts.append((barrier, until, inside / until, trips / until))
        study.note(
            label=f"barrier {barrier:g}",
            model="limit",
            method="simulated",
            n_chains=0,
            n_copies=1,
            tuning_scans=0,
            n_scans=0,
            seconds=0.0,
            notes=[],
        )
    return {
        "paths": table(("barrier", "time", "place"), paths),
        "rates": table(("barrier", "time", "turns_per_time", "restarts_per_time"), counts),
    }


def draw(tables: Tables) -> Figure:
    """Draw both paths, one above the other."""
    figure, axes = new_figure(2, 1, 9.0, 4.0, sharex=True)
    for panel, barrier in zip(axes[:, 0], BARRIERS, strict=True):
        part: Table = select(tables["paths"], barrier=barrier)
        plot_path(panel, part["time"], part["place"], color=BLUE, linewidth=1.2)
        panel.set_title(f"Λ = {barrier:g}")
        panel.set_ylabel("W(t)")
        panel.set_ylim(-0.03, 1.03)
        panel.set_xlim(0, SHOWN)
    axes[1, 0].set_xlabel("time t")
    label_once(figure, footer(tables))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare the rates of turns and of restarts with the theory."""
    found = []
    for barrier, until, turns, restarts in zip(*tables["rates"].values(), strict=True):
        exact = 1.0 / (2.0 + 2.0 * barrier)
        found.append(
            Claim(
                f"Λ = {barrier:g}: W turns inside at the rate Λ",
                f"{turns:.3f}",
                abs(turns - barrier) < 5.0 * np.sqrt(barrier / until),
            )
        )
        found.append(
            Claim(
                f"Λ = {barrier:g}: restarts at the rate 1/(2 + 2 Λ) = {exact:.4f}",
                f"{restarts:.4f}",
                # restarts are more regular than a Poisson process
                abs(restarts - exact) < 5.0 * np.sqrt(exact / until),
            )
        )
    return found


FIGURE = PaperFigure(
    name="limit-trajectories",
    label="fig_trajectory_Z",
    caption="Trajectories of the scaling limit of non-reversible PT for Λ = 1 and Λ = 10.",
    quick_seconds=2,
    full_seconds=4,
    compute=compute,
    draw=draw,
    claims=claims,
)
