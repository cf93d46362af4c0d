"""Swaps of the change-point model, reversible and not, with few and with many chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables, select, table
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.index_process import plot_swaps
from sterna.plots.library import label_once, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (8, 30)
SCHEMES = {"seo": "reversible (SEO)", "deo": "non-reversible (DEO)"}
SHOWN = 100


def compute(study: Study) -> Tables:
    """Run both schemes with equally spaced betas, which are not tuned."""
    scans = study.choose(40_000, 10_000)
    runs = [
        Run(f"N = {n}, {scheme}", "change_point", n + 1, 0, scans, scheme=scheme, others={"explorer": "slice"})
        for n in SIZES
        for scheme in SCHEMES
    ]
    paths: list[tuple[object, ...]] = []
    rates: list[tuple[object, ...]] = []
    for run, result in study.results(runs):
        n = run.n_chains - 1
        last = result.index_process[0, -SHOWN:]
        paths += [(n, run.scheme, scan, k, chain) for scan, row in enumerate(last) for k, chain in enumerate(row)]
        rate = result.round_trips / result.settings.n_scans
        rates.append((n, run.scheme, rate, result.predicted_round_trip_rate, float(result.rejection.mean())))
    return {
        "paths": table(("n", "scheme", "scan", "replica", "chain"), paths),
        "rates": table(("n", "scheme", "round_trip_rate", "predicted_rate", "mean_rejection"), rates),
    }


def draw(tables: Tables) -> Figure:
    """Draw a panel for each scheme and number of chains."""
    figure, axes = new_figure(2, 2, 11.0, 6.0, width_ratios=[1, 1], sharex=True)
    for row, (scheme, title) in enumerate(SCHEMES.items()):
        for column, n in enumerate(SIZES):
            part, panel = select(tables["paths"], n=n, scheme=scheme), axes[row, column]
            chains = part["chain"].reshape(-1, n + 1)
            # the path of the replica that travels most
            plot_swaps(panel, chains, bold=int(np.ptp(chains, axis=0).argmax()))
            panel.set_title(f"{title}, N = {n}")
            panel.set_ylabel("chain")
    for panel in axes[1]:
        panel.set_xlabel("scan")
    note = "blue: swapped; orange: stayed; black: the path of one replica"
    label_once(figure, "; ".join(filter(None, [note, footer(tables)])))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Compare how the rates of round trips change with the number of chains."""
    few, many = (
        {scheme: select(tables["rates"], n=n, scheme=scheme)["round_trip_rate"].item() for scheme in SCHEMES}
        for n in SIZES
    )
    change = {scheme: many[scheme] / max(few[scheme], 1e-12) for scheme in SCHEMES}
    return [
        Claim(
            "Reversible and non-reversible PT scale differently with N",
            f"round-trip rate at N = 30 over that at N = 8: SEO {change['seo']:.2f}, DEO {change['deo']:.2f}",
            change["deo"] > 1.5 * change["seo"],
        ),
        Claim(
            "Non-reversible PT has more round trips",
            ", ".join(f"N = {n}: {r['deo']:.4f} and {r['seo']:.4f}" for n, r in zip(SIZES, (few, many), strict=True)),
            few["deo"] >= few["seo"] and many["deo"] > many["seo"],
        ),
    ]


FIGURE = PaperFigure(
    name="swaps",
    label="fig:swaps",
    caption="Swaps of the change-point model with equally spaced betas, N = 8 and 30, reversible and not.",
    quick_seconds=5,
    full_seconds=10,
    compute=compute,
    draw=draw,
    claims=claims,
)
