"""Optimal schedule of a 20 x 20 Ising model, and round-trip rates against the number of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.models.ising import CRITICAL_COUPLING
from sterna.paper.figure import Claim, PaperFigure, Tables, select, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.library import BLUE, GREY, ORANGE, RED, label_once, new_figure
from sterna.plots.rounds import plot_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 20
SHOWN_N = 30
SIZES = (15, 20, 30, 45, 60, 90, 120)
QUICK_SIZES = (15, 30, 60, 90)
STYLES = {
    ("deo", "optimal"): ("non-reversible, optimal", BLUE, "-"),
    ("deo", "uniform"): ("non-reversible, uniform", BLUE, "--"),
    ("seo", "optimal"): ("reversible, optimal", RED, "-"),
    ("seo", "uniform"): ("reversible, uniform", RED, "--"),
}


def compute(study: Study) -> Tables:
    """Run both schemes with both schedules."""
    (rounds, scans), sizes = study.choose((11, 20_000), (8, 1000)), study.choose(SIZES, QUICK_SIZES)
    passes = study.choose(4.0, 2.0)
    rates: list[tuple[object, ...]] = []
    schedules: list[tuple[object, ...]] = []
    runs = [
        Run(
            f"N = {n}, {scheme}, {schedule}",
            "ising",
            n + 1,
            # a uniform schedule stays so if nothing is tuned, and then the first scans are discarded
            rounds if schedule == "optimal" else 0,
            scans,
            {"size": SIZE},
            scheme=scheme,
            passes=passes,
        )
        for n in sizes
        for scheme, schedule in STYLES
    ]
    for run, result in study.results(runs):
        n, schedule = run.n_chains - 1, "optimal" if run.n_rounds else "uniform"
        rates.append((n, run.scheme, schedule, result.round_trip_rate, result.restarts, result.global_barrier))
        if (n, run.scheme, schedule) == (SHOWN_N, "deo", "optimal"):
            schedules += list(enumerate(result.schedule))
    heads = ("n", "scheme", "schedule", "rate", "restarts", "barrier")
    return {"rates": table(heads, rates), "schedule": table(("chain", "beta"), schedules)}


def draw(tables: Tables) -> Figure:
    """Draw the schedule on the left, and rates on the right."""
    figure, axes = new_figure(1, 2, 10.0, 3.8)
    left, right = axes[0]
    schedule = tables["schedule"]
    left.plot(schedule["chain"], schedule["beta"], "o-", color=ORANGE, markersize=3, linewidth=1.0)
    left.axhline(CRITICAL_COUPLING, color=GREY, linestyle=":", label="phase transition")
    left.set_xlabel("chain")
    left.set_ylabel("β")
    left.legend()
    for (scheme, kind), (name, colour, line) in STYLES.items():
        part = select(tables["rates"], scheme=scheme, schedule=kind)
        plot_estimates(right, part["n"], part["rate"], color=colour, linestyle=line, markersize=4, label=name)
    right.axhline(limit(tables), color=GREY, linestyle=":", label="1/(2 + 2Λ)")
    right.set_xlabel("N")
    right.set_ylabel("restarts per scan")
    right.legend(loc="upper right", bbox_to_anchor=(1.0, 0.93))
    label_once(figure, footer(tables))
    return figure


def limit(tables: Tables) -> float:
    """Return the optimal rate for the barrier that the largest run found."""
    part = select(tables["rates"], scheme="deo", schedule="optimal")
    return float(1.0 / (2.0 + 2.0 * part["barrier"][part["n"].argmax()]))


def claims(tables: Tables) -> list[Claim]:
    """Check the density of the schedule, and how rates change with N."""
    rates, betas = tables["rates"], tables["schedule"]["beta"]
    part = {key: select(rates, scheme=key[0], schedule=key[1]) for key in STYLES}
    barrier = float(part["deo", "optimal"]["barrier"][-1])
    steps, middle = np.diff(betas), 0.5 * (betas[1:] + betas[:-1])
    densest = float(middle[steps.argmin()])
    best, bound = part["deo", "optimal"]["rate"], limit(tables)
    reversible = part["seo", "optimal"]["rate"]
    uniform = part["deo", "uniform"]["rate"]
    return [
        Claim("Λ = 13.33", f"{barrier:.2f}", abs(barrier / 13.33 - 1.0) < 0.05),
        Claim(
            f"The schedule is densest near the phase transition, β = {CRITICAL_COUPLING:.3f}",
            f"shortest step around β = {densest:.3f}",
            abs(densest - CRITICAL_COUPLING) < 0.1,
        ),
        Claim(
            "The rate of reversible PT decays at large N",
            f"largest {reversible.max():.5f}, {reversible[-1]:.5f} at the largest N",
            bool(reversible[-1] < best[-1] / 2.0 and reversible[-1] <= reversible.max()),
        ),
        Claim(
            "The rate of non-reversible PT increases towards 1/(2 + 2 Λ)",
            f"{best[0]:.4f} to {best[-1]:.4f}, limit {bound:.4f}",
            bool(best[-1] > best[0] and 0.5 * bound < best[-1] < 1.15 * bound),
        ),
        Claim(
            "The optimal schedule has more round trips than the uniform one",
            f"at the largest N: {best[-1]:.4f} and {uniform[-1]:.4f}",
            bool(best[-1] > uniform[-1]),
        ),
    ]


FIGURE = PaperFigure(
    name="ising-rates",
    label="fig:ising_rtr",
    caption="Optimal schedule of the 20 x 20 Ising model, and rates of both schemes with two schedules against N.",
    quick_seconds=15,
    full_seconds=240,
    share="the paper does not state the number of scans.",
    compute=compute,
    draw=draw,
    claims=claims,
)
