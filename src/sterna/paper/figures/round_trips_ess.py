"""Rate of round trips and effective sample size against the number of chains and the amount of exploration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Table, Tables, distinct, select, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.library import GREY, doubling, label_once, new_figure, shades
from sterna.plots.rounds import plot_estimates
from sterna.result.diagnostics import ess_bulk
from sterna.result.result import Result
from sterna.theory.rates import optimal_round_trip_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPINS = 25
FLIPS = (1, 5, 25, 100, 400)
SIZES = (3, 5, 10, 20, 40, 80, 160, 320)
QUICK_SIZES = (3, 5, 10, 20, 40, 80)
PAPER_CORRELATION = 0.81
HEADS = ("flips", "n", "scans", "rate", "predicted_rate", "optimal_rate", "ess", "cost_per_scan")


def compute(study: Study) -> Tables:
    """Run the Ising model in a magnetic field with all amounts of exploration and numbers of chains."""
    (rounds, scans), sizes = study.choose((13, 25_000), (8, 2000)), study.choose(SIZES, QUICK_SIZES)
    runs = [
        Run(f"{flips} flips, N = {n}", "magnetic", n + 1, rounds, scans, passes=flips / SPINS)
        for flips in FLIPS
        for n in sizes
    ]
    return {"runs_by_size": table(HEADS, [_row(run, result) for run, result in study.results(runs)])}


def _row(run: Run, result: Result) -> tuple[float, ...]:
    flips, n = round((run.passes or 0.0) * SPINS), run.n_chains - 1
    magnetisation = result.values["spin"].mean(axis=(-2, -1))
    rates = result.round_trip_rate, result.predicted_round_trip_rate, result.optimal_round_trip_rate
    return (flips, n, run.n_scans, *rates, ess_bulk(magnetisation), flips * run.n_chains)


def per_cost(rows: Table) -> tuple[Table, Table]:
    """Return restarts and effective draws per flip, of the runs that had any."""
    rate, ess = rows["rate"] / rows["cost_per_scan"], rows["ess"] / rows["scans"] / rows["cost_per_scan"]
    known = (rate > 0) & np.isfinite(ess)
    part = {name: column[known] for name, column in rows.items()}
    return part, {"rate": rate[known], "ess": ess[known]}


def draw(tables: Tables) -> Figure:
    """Draw rates against N, and effective draws against restarts, per flip."""
    rows = tables["runs_by_size"]
    figure, axes = new_figure(1, 2, 10.5, 4.0)
    left, right = axes[0]
    part, costs = per_cost(rows)
    flips = distinct(rows["flips"])
    for count, colour in zip(flips, shades(len(flips)), strict=True):
        one = select(rows, flips=count)
        plot_estimates(left, one["n"], one["rate"], color=colour, markersize=4, label=f"{count}")
        chosen = part["flips"] == count
        right.plot(costs["rate"][chosen], costs["ess"][chosen], "o", color=colour, markersize=4.5, label=f"{count}")
    left.axhline(best_rate(rows), color=GREY, linestyle=":", label="1/(2 + 2Λ)")
    doubling(left, distinct(rows["n"]))
    left.set_xlabel("N")
    left.set_ylabel("restarts per scan")
    left.set_ylim(bottom=0)
    left.legend(handles=left.get_lines()[-1:], loc="upper left", bbox_to_anchor=(0.0, 0.93))
    right.legend(title="flips per scan", title_fontsize=8)
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel("restarts per flip")
    right.set_ylabel("effective draws of the magnetisation per flip")
    label_once(figure, footer(tables))
    return figure


def best_rate(rows: Table) -> float:
    """Return the optimal rate as the run with most chains and exploration estimates it."""
    most = select(rows, flips=rows["flips"].max(), n=rows["n"].max())
    return float(most["optimal_rate"].item())


def claims(tables: Tables) -> list[Claim]:
    """Check the correlation, and both ways towards the optimal rate."""
    rows = tables["runs_by_size"]
    _, costs = per_cost(rows)
    plain = float(np.corrcoef(costs["rate"], costs["ess"])[0, 1])
    logs = float(np.corrcoef(np.log(costs["rate"]), np.log(costs["ess"]))[0, 1])
    few, many, best = rows["n"].min(), rows["n"].max(), best_rate(rows)
    least, most = rows["flips"].min(), rows["flips"].max()
    top = float(select(rows, flips=most, n=many)["rate"].item())
    by_flips = select(rows, n=20)["rate"]
    by_size = select(rows, flips=least)["rate"]
    return [
        Claim(
            f"ESS per cost correlates with round trips per cost (paper: {PAPER_CORRELATION})",
            f"correlation {plain:.2f}, of logarithms {logs:.2f}",
            plain > 0.7,
        ),
        Claim(
            "The rate approaches its limit with exploration and N",
            f"N = {many}, {most} flips: {top:.4f}, limit {best:.4f}",
            0.85 * best < top < 1.1 * best,
        ),
        Claim(
            "More exploration brings the rate closer to its limit (N = 20)",
            f"{by_flips[0]:.4f} to {by_flips[-1]:.4f}",
            by_flips[-1] > by_flips[0],
        ),
        Claim(
            f"So do more chains ({least} flip per scan)",
            f"{by_size[0]:.4f} for N = {few}, {by_size[-1]:.4f} for N = {many}",
            by_size[-1] > by_size[0],
        ),
        Claim(
            "The limit is 1/(2 + 2 Λ) of the exact Λ = 2.3456",
            f"{best:.4f}, exact {optimal_round_trip_rate(2.3456):.4f}",
            abs(best / optimal_round_trip_rate(2.3456) - 1.0) < 0.05,
        ),
    ]


FIGURE = PaperFigure(
    name="round-trips-ess",
    label="fig_ESSvsRoundTrip",
    caption="Round-trip rate and ESS of a 5 x 5 Ising model in a field, by chains and flips between swaps.",
    quick_seconds=15,
    full_seconds=300,
    share="25 000 sampling scans, and 16 382 instead of 25 000 for tuning.",
    compute=compute,
    draw=draw,
    claims=claims,
)
