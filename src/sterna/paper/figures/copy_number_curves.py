"""Reads and the posterior of the curve through them, and two explanations of one chromosome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sterna.paper.figure import Claim, PaperFigure, Table, Tables, select
from sterna.paper.figures.shared import copy_number_methods
from sterna.paper.figures.shared.copy_number_methods import in_upper_mode
from sterna.paper.figures.shared.footers import footer
from sterna.paper.figures.shared.hidden_states import most_probable_states
from sterna.plots.draws import plot_joint
from sterna.plots.library import BLUE, GREY, ORANGE, label_once, new_figure
from sterna.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHROMOSOME = 2
LINES = 150
TEMPERED = ("NRPT, 50 chains", "NRPT, 25 chains")


def draw(tables: Tables) -> Figure:
    """Draw data, curves of two methods, and chromosome 2 in both modes."""
    figure, axes = new_figure(1, 5, 16.0, 3.4)
    _draw_bins(axes[0, 0], tables)
    for panel, method in zip(axes[0, 1:3], ("NRPT, 50 chains", "single chain"), strict=True):
        _draw_curves(panel, tables, method)
    titles = ("tetraploid", "diploid")
    for panel, upper, title in zip(axes[0, 3:], (True, False), titles, strict=True):
        _draw_chromosome(panel, tables, upper, title)
    label_once(figure, footer(tables))
    return figure


def observed(bins: Table) -> Table:
    """Return the bins with reads and a GC content."""
    kept = (bins["reads"] > 0) & (bins["gc"] > 0)
    return {name: column[kept] for name, column in bins.items()}


def curve(row: dict[str, float], log_gc: FloatArray) -> FloatArray:
    """Return the curve f of the model at the logarithm of the GC content."""
    at = log_gc + 1.0
    return np.asarray(row["f_0"] + row["f_1"] * at + 0.5 * row["f_2"] * at * at)


def _draw_bins(axes: Axes, tables: Tables) -> None:
    bins = observed(tables["bins"])
    plot_joint(axes, np.log(bins["gc"]), np.log(bins["reads"]), color=GREY, alpha=0.3, rasterized=True)
    axes.set_title("data")
    axes.set_xlabel("log GC content")
    axes.set_ylabel("log reads")


def _draw_curves(axes: Axes, tables: Tables, method: str) -> None:
    part = select(tables["draws"], method=method)
    bins = observed(tables["bins"])
    low, high = np.quantile(np.log(bins["gc"]), [0.01, 0.99])
    grid = np.linspace(low, high, 40)
    upper = in_upper_mode(tables, method)
    for k in np.unique(np.linspace(0, len(upper) - 1, LINES).astype(int)):
        axes.plot(grid, curve(row_of(part, k), grid), color=ORANGE if upper[k] else BLUE, alpha=0.1, linewidth=0.8)
    axes.set_title(f"f, {method}")
    axes.set_xlabel("log GC content")


def row_of(part: Table, k: int) -> dict[str, float]:
    """Return the numbers of one draw."""
    return {name: float(column[k]) for name, column in part.items() if name != "method"}


def _draw_chromosome(axes: Axes, tables: Tables, upper: bool, title: str) -> None:
    axes.set_title(f"chromosome {CHROMOSOME}, {title}")
    axes.set_xlabel("bin")
    axes.set_ylabel("reads / exp f")
    found = explanation(tables, upper)
    if found is None:
        axes.text(0.5, 0.5, "no draw in this mode", ha="center", transform=axes.transAxes, fontsize=8)
        return
    at, corrected, states = found
    plot_joint(axes, at, corrected, color=GREY, alpha=0.5)
    axes.step(at, states, color=ORANGE if upper else BLUE, linewidth=1.2, where="mid")
    axes.set_ylim(0, 1.25 * max(float(np.quantile(corrected, 0.99)), states.max()))


def best_draw(tables: Tables, upper: bool) -> dict[str, float] | None:
    """Return the draw of NRPT in a mode that has the largest likelihood."""
    found: list[dict[str, float]] = []
    for method in TEMPERED:
        part, chosen = select(tables["draws"], method=method), in_upper_mode(tables, method) == upper
        if chosen.any():
            found.append(row_of(part, int(np.flatnonzero(chosen)[part["log_likelihood"][chosen].argmax()])))
    return max(found, key=lambda row: row["log_likelihood"], default=None)


def explanation(tables: Tables, upper: bool) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return bins, corrected reads and copy numbers of a chromosome, by the best draw in a mode."""
    row, bins = best_draw(tables, upper), tables["bins"]
    # a file of bins has names, such as X, among the numbers
    own = np.flatnonzero(bins["chromosome"].astype(str) == str(CHROMOSOME))
    if row is None:
        return None
    kept = np.flatnonzero((bins["reads"][own] > 0) & (bins["gc"][own] > 0))
    if len(kept) == 0:
        return None
    log_gc, reads = np.log(bins["gc"][own][kept]), bins["reads"][own][kept]
    mean = curve(row, log_gc)
    states = most_probable_states(
        np.log(reads) - mean,
        np.diff(kept, prepend=kept[:1]),
        int(row[f"m_{CHROMOSOME - 1}"]),
        row["switch_rate"],
        (row["sd"], row["sd_slope"]),
    )
    return kept.astype(np.float64), reads / np.exp(mean), states.astype(np.float64)


def claims(tables: Tables) -> list[Claim]:
    """Check for two modes of f, and for odd copy numbers in the tetraploid one."""
    shares = [float(in_upper_mode(tables, name).mean()) for name in ("NRPT, 50 chains", "single chain")]
    found = [
        Claim("The posterior of f is bimodal", f"share of the lower mode {shares[0]:.3f}", 0.02 < shares[0] < 0.98),
        Claim("A single chain misses a mode", f"share of the lower mode {shares[1]:.3f}", not 0.0 < shares[1] < 1.0),
    ]
    doubled = explanation(tables, True)
    odd = 0.0 if doubled is None else float((doubled[2] % 2 == 1).mean())
    text = f"share of bins of chromosome {CHROMOSOME} with odd copy numbers {odd:.3f}"
    found.append(Claim("Small regions have odd copy numbers in the tetraploid mode", text, 0.0 < odd < 0.2))
    return found


FIGURE = PaperFigure(
    name="copy-number-curves",
    label="fig:chromo",
    caption="Copy numbers: data, posterior of the curve f by NRPT and by a single chain, chromosome 2 in both modes.",
    quick_seconds=50,
    full_seconds=1800,
    share=f"{copy_number_methods.SHARE}. Copy numbers are the most probable ones given a draw.",
    compute=copy_number_methods.compute,
    draw=draw,
    claims=claims,
)
