"""Acceptance by round, local barrier, and evidence by round, for 16 models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Table, Tables, distinct, select
from sterna.paper.figures.shared import sixteen_models
from sterna.paper.figures.shared.footers import footer
from sterna.paper.figures.shared.peaks import peaks
from sterna.plots.barrier import plot_local_barrier
from sterna.plots.library import BLUE, label_once, new_figure, whole_numbers
from sterna.plots.rounds import plot_acceptance, plot_estimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Models that the paper names for further peaks away from the reference.
WITH_PEAKS = ("mixture", "ode", "phylo_cancer", "spike_slab", "ising", "magnetic", "rotor")
AWAY = 0.02
# Of these the paper says nothing; most others have a high and narrow peak near the reference.
ARTIFICIAL = ("discrete", "normal")
HIGH = 5.0
# Equal rejections up to this standard deviation are "well approximated".
EQUAL = 0.1
COLUMNS = 8


def draw(tables: Tables) -> Figure:
    """Draw three panels for each model, in two bands of eight models."""
    labels = distinct(tables["rounds"]["label"])
    bands, columns = math.ceil(len(labels) / COLUMNS), min(len(labels), COLUMNS)
    figure, axes = new_figure(3 * bands, columns, 2.0 * columns, 5.5 * bands)
    for k, label in enumerate(labels):
        band, column = divmod(k, COLUMNS)
        upper, middle, lower = axes[3 * band : 3 * band + 3, column]
        rounds, pairs = select(tables["rounds"], label=label), select(tables["pairs"], label=label)
        numbers = distinct(rounds["round"])
        plot_acceptance(upper, numbers, [1.0 - select(pairs, round=one)["rejection"] for one in numbers])
        upper.set_title(label)
        _draw_barrier(middle, select(tables["curves"], label=label))
        _draw_evidence(lower, rounds)
        if column:
            for panel in (upper, middle, lower):
                panel.set_ylabel("")
    label_once(figure, footer(tables))
    return figure


def _draw_barrier(axes: Axes, curve: Table) -> None:
    plot_local_barrier(axes, curve["beta"], curve["local"], color=BLUE)
    axes.set_ylabel("λ(β)")
    axes.set_ylim(0, 1.25 * curve["local"][curve["beta"] > AWAY].max())


def _draw_evidence(axes: Axes, rounds: Table) -> None:
    # the first rounds of two and four scans can be off by thousands
    known = np.isfinite(rounds["evidence"]) & (rounds["round"] > 2)
    value, later = rounds["evidence"][known], rounds["round"][known] > 0.4 * rounds["round"].max()
    plot_estimates(axes, rounds["round"][known], value, rounds["error"][known])
    low, high = value[later].min(), value[later].max()
    margin = 0.3 * (high - low) + 2.0 * np.nan_to_num(rounds["error"][-1])
    axes.set_ylim(low - margin, high + margin)
    whole_numbers(axes).set_xlabel("round")
    axes.set_ylabel("log evidence")


def claims(tables: Tables) -> list[Claim]:
    """Check equal rejections, peaks and convergence of the evidence of every model."""
    found = []
    for label in distinct(tables["rounds"]["label"]):
        rounds = select(tables["rounds"], label=label)
        pairs = select(tables["pairs"], label=label, round=rounds["round"].max())
        last = pairs["rejection"]
        # no schedule can divide the first step if draws of the reference have likelihood zero
        possible = last[1:] if rounds["zero_share"][-1] > 0 else last
        found.append(
            Claim(
                f"{label}: rejections are about equal",
                f"standard deviation {possible.std():.3f}" + " without the first pair" * (len(possible) < len(last)),
                bool(possible.std() < EQUAL),
            )
        )
        if label in WITH_PEAKS:
            at = [beta for beta in peaks(pairs) if beta > AWAY]
            text = f"at β = {', '.join(f'{beta:.2f}' for beta in at)}" if at else "none"
            found.append(Claim(f"{label}: λ has a peak away from β = 0", text, bool(at)))
        elif label not in ARTIFICIAL:
            height = float(select(tables["curves"], label=label)["local"][0] / rounds["barrier"][-1])
            claim = f"{label}: λ has a high and narrow peak near β = 0"
            found.append(Claim(claim, f"λ(0) is {height:.3g} times its mean", height > HIGH))
        found.append(_settled(label, rounds))
    return found


def _settled(label: str, rounds: Table) -> Claim:
    """Check that the last tuning round and the sampling phase agree about the evidence."""
    (before, after), errors = rounds["evidence"][-2:], rounds["error"][-2:]
    text = f"{before:.3f} ± {errors[0]:.3f} in the last tuning round, {after:.3f} ± {errors[1]:.3f} while sampling"
    # an unknown error is no reason to believe anything
    return Claim(f"{label}: the evidence converges", text, bool(abs(before - after) < 4.0 * np.hypot(*errors)))


FIGURE = PaperFigure(
    name="all-models",
    label="fig:all-models",
    caption="Acceptance of swaps by round, local barrier, and log evidence by round of 16 models.",
    quick_seconds=45,
    full_seconds=1800,
    share=sixteen_models.SHARE,
    compute=sixteen_models.compute,
    draw=draw,
    claims=claims,
)
