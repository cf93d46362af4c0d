"""Joint posterior distributions of coefficients of the spike-and-slab model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Tables
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Run, Study
from sterna.plots.draws import plot_joint
from sterna.plots.library import label_once, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Covariates by their places in the model.
COVARIATES = {"passenger_class": 0, "age": 1, "siblings_spouses": 2, "passenger_class_2": 7}
PAIRS = (("age", "passenger_class"), ("age", "siblings_spouses"), ("passenger_class", "passenger_class_2"))
# A mode is a combination of coefficients that are and are not 0; each has to have this share of the draws.
SHARE = 0.03


def compute(study: Study) -> Tables:
    """Run the model with 30 chains, and keep the coefficients of the target's draws."""
    rounds, scans = study.choose((11, 5000), (8, 1000))
    run = Run("spike_slab", "spike_slab", 30, rounds, scans, {"naive": True})
    ((_, result),) = study.results([run])
    coefficients = (result.values["switch"] * result.values["weight"]).reshape(scans, -1)
    return {"draws": {name: coefficients[:, k] for name, k in COVARIATES.items()}}


def draw(tables: Tables) -> Figure:
    """Draw a panel for each pair of coefficients."""
    figure, axes = new_figure(1, len(PAIRS), 11.0, 3.7)
    draws = tables["draws"]
    for panel, (x, y) in zip(axes[0], PAIRS, strict=True):
        plot_joint(panel, draws[x], draws[y], markersize=4, alpha=0.35)
        for name, scale in ((x, panel.set_xlim), (y, panel.set_ylim)):
            # Cauchy tails would leave nothing to see
            low, high = np.quantile(draws[name], [0.005, 0.995])
            margin = 0.08 * (high - low)
            scale(low - margin, high + margin)
        panel.set_xlabel(f"coefficient of {x.replace('_', ' ')}")
        panel.set_ylabel(f"coefficient of {y.replace('_', ' ')}")
    label_once(figure, "; ".join(filter(None, ["axes hold 99 % of the draws", footer(tables)])))
    return figure


def claims(tables: Tables) -> list[Claim]:
    """Count the combinations of coefficients that are and are not 0."""
    draws, found = tables["draws"], []
    for x, y in PAIRS:
        kinds = 2 * (draws[x] != 0).astype(int) + (draws[y] != 0)
        shares = np.bincount(kinds, minlength=4) / len(kinds)
        names = ("neither", f"only {y}", f"only {x}", "both")
        text = ", ".join(f"{name} {share:.2f}" for name, share in zip(names, shares, strict=True))
        found.append(Claim(f"{x} and {y} are multimodal", text, int((shares > SHARE).sum()) >= 2))
    first, second = ((draws[name] != 0).mean() for name in ("passenger_class", "passenger_class_2"))
    found.append(
        Claim(
            "Both copies of the duplicated covariate are treated alike",
            f"probabilities of a coefficient {first:.3f} and {second:.3f}",
            bool(abs(first - second) < 0.1),
        )
    )
    return found


FIGURE = PaperFigure(
    name="spike-slab-posterior",
    label="fig:multimodality-spike-slab",
    caption="Joint posterior distributions of coefficients in the spike-and-slab model of the Titanic.",
    quick_seconds=30,
    full_seconds=270,
    compute=compute,
    draw=draw,
    claims=claims,
)
