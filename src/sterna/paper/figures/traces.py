"""Traces of the energy and of a variable, for a single chain and for parallel tempering, on four models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sterna import models
from sterna.paper.figure import Claim, PaperFigure, Tables, distinct, select, table
from sterna.paper.figures.shared import methods
from sterna.paper.figures.shared.footers import footer
from sterna.paper.study import Study
from sterna.plots.draws import plot_trace
from sterna.plots.library import BLUE, ORANGE, label_once, new_figure
from sterna.result.diagnostics import ess_bulk
from sterna.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 1000
Values = dict[str, FloatArray]


@dataclass(frozen=True)
class Example:
    """A multimodal model, and how to see its modes."""

    title: str
    component: str
    x: Callable[[Values], FloatArray]
    """The variable that is shown."""
    apart: float
    """Variables whose draws span less than this have one mode."""
    n_chains: int
    full: tuple[int, int]
    quick: tuple[int, int]
    options: dict[str, int | float | bool] = field(default_factory=dict)


EXAMPLES = {
    "mixture": Example(
        "Bayesian mixture", "mean of component 1", lambda v: v["mu"][:, 0], 40.0, 30, (11, 5000), (7, 400)
    ),
    "ode": Example(
        "ODE parameters", "log10 β", lambda v: np.log10(v["beta"]), 0.3, 50, (11, 5000), (7, 400), {"naive": True}
    ),
    "ising": Example("Ising", "magnetisation", lambda v: v["spin"].mean(axis=(1, 2)), 1.0, 30, (11, 5000), (7, 400)),
    "copy_number": Example(
        "copy numbers", "mean of the m", lambda v: v["n_states"].mean(axis=1), 1.0, 50, (10, 2954), (4, 40)
    ),
}


def compute(study: Study) -> Tables:
    """Run both methods on all models."""
    traces: list[tuple[object, ...]] = []
    sizes: list[tuple[object, ...]] = []
    for model, one in EXAMPLES.items():
        rounds, scans = study.choose(one.full, one.quick)
        target = getattr(models, model)(**one.options)
        chosen = [methods.chain_alone(rounds, scans), methods.nrpt(one.n_chains, rounds, scans)]
        found = methods.run_methods(study, model, target, chosen)
        modes = modes_of(one.x(found[-1].values), -found[-1].log_likelihood, one.apart)
        for drawn in found:
            values, energies = one.x(drawn.values), -drawn.log_likelihood
            jumps, above = jumps_between(modes, values, energies)
            share = ess_bulk(energies[None]) / len(values)
            sizes.append((model, drawn.method, len(values), jumps, above, share))
            kept = methods.thinned(len(values), SHOWN)
            traces += [(model, drawn.method, k, values[k], energies[k]) for k in kept]
    heads = ("model", "method", "draws", "jumps", "share_above", "ess_of_v_per_draw")
    return {"traces": table(("model", "method", "scan", "x", "v"), traces), "mixing": table(heads, sizes)}


@dataclass(frozen=True)
class Modes:
    """Two modes of a variable, as parallel tempering found them."""

    middle: float
    """Between them; NaN if there is one mode."""
    highest_energy: float
    """A chain whose energy is higher has not reached any of them."""


def modes_of(values: FloatArray, energies: FloatArray, apart: float) -> Modes:
    """Return the modes that the draws of parallel tempering show."""
    low, high = np.quantile(values, [0.01, 0.99])
    spread = energies.max() - energies.min()
    return Modes(0.5 * (low + high) if high - low > apart else np.nan, float(energies.max() + spread))


def jumps_between(modes: Modes, values: FloatArray, energies: FloatArray) -> tuple[int, float]:
    """Return how often draws change from one mode to the other, and the share of draws in the upper one."""
    inside = values[energies <= modes.highest_energy]
    if np.isnan(modes.middle) or len(inside) == 0:
        return 0, 0.0
    upper = inside > modes.middle
    return int(np.abs(np.diff(upper.astype(int))).sum()), float(upper.mean())


def draw(tables: Tables) -> Figure:
    """Draw four panels for each model: a component of X above V(X), a single chain beside parallel tempering."""
    names = distinct(tables["traces"]["model"])
    figure, axes = new_figure(4, 4, 13.0, 8.0)
    for place, model in enumerate(names):
        top, left = 2 * (place // 2), 2 * (place % 2)
        for column, (method, colour) in enumerate((("single chain", ORANGE), ("NRPT", BLUE))):
            part = select(tables["traces"], model=model, method=method)
            upper, lower = axes[top : top + 2, left + column]
            plot_trace(upper, part["scan"], part["x"], color=colour, markersize=2)
            plot_trace(lower, part["scan"], part["v"], color=colour, markersize=2)
            upper.set_title(f"{EXAMPLES[model].title}: {method}")
            lower.set_xlabel("scan")
        for row in (top, top + 1):
            _same_range(axes[row, left : left + 2])
        axes[top, left].set_ylabel(EXAMPLES[model].component)
        axes[top + 1, left].set_ylabel("V(X)")
    label_once(figure, footer(tables))
    return figure


def _same_range(panels: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> None:
    limits = [panel.get_ylim() for panel in panels]
    for panel in panels:
        panel.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def claims(tables: Tables) -> list[Claim]:
    """Check that energies mix in a single chain while its modes do not, and that parallel tempering visits all."""
    found, mixing = [], tables["mixing"]
    for model in distinct(mixing["model"]):
        alone = select(mixing, model=model, method="single chain")
        tempered = select(mixing, model=model, method="NRPT")
        share, jumps = float(alone["ess_of_v_per_draw"].item()), int(alone["jumps"].item())
        found.append(
            Claim(
                f"{model}: V mixes well in the single chain", f"effective draws of V per draw {share:.3f}", share > 0.02
            )
        )
        found.append(Claim(f"{model}: X does not mix in the single chain", f"{jumps} jumps between modes", jumps <= 2))
        jumps, above = int(tempered["jumps"].item()), float(tempered["share_above"].item())
        text = f"{jumps} jumps in {tempered['draws'].item()} draws, {above:.2f} of them in the upper mode"
        found.append(Claim(f"{model}: NRPT jumps between modes", text, jumps > 2))
    return found


FIGURE = PaperFigure(
    name="traces",
    label="fig:mixture-V_vs_X",
    caption="Traces of a component of X and of V(X) on four models, for a single chain and for NRPT.",
    quick_seconds=40,
    full_seconds=1000,
    share="the component of the Ising model is its magnetisation, and that of copy numbers the mean of m.",
    compute=compute,
    draw=draw,
    claims=claims,
)
