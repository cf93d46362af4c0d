"""The figure: seconds to log Z within 0.1, by problem and package."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from table import Line

# Okabe and Ito's colours, which the colour-blind tell apart, with shapes that differ as well.
STYLES = {
    "sterna": ("#000000", "*"),
    "sterna (Python)": ("#666666", "*"),
    "dynesty": ("#E69F00", "o"),
    "UltraNest": ("#56B4E9", "s"),
    "nautilus": ("#009E73", "D"),
    "pocoMC": ("#CC79A7", "^"),
    "reddemcee": ("#0072B2", "v"),
    "ptemcee": ("#0072B2", "<"),
    "PyMC SMC": ("#D55E00", "P"),
    "BlackJAX SMC": ("#D55E00", "X"),
}


def draw(lines: list[Line], file: Path) -> None:
    """Draw filled marks for right answers, hollow ones for wrong ones; packages without log Z are not shown."""
    problems = list(dict.fromkeys(line.problem for line in lines))
    figure, axes = plt.subplots(figsize=(9.0, max(4.0, 1.5 + 0.42 * len(problems))), layout="constrained")
    for row in range(0, len(problems), 2):
        axes.axhspan(row - 0.5, row + 0.5, color="#f2f2f2", zorder=0)
    # runs that were all ended are beyond the right-most answer
    edge = 5.0 * max((line.to_goal for line in lines if line.to_goal), default=1.0)
    if any(line.ended == line.runs for line in lines):
        axes.axvline(edge / 2.2, color="#888888", linewidth=0.8, linestyle=":")
        axes.text(edge, -0.6, "ended", ha="center", va="bottom", color="#555555")
    for place, (package, (colour, shape)) in enumerate(STYLES.items()):
        shown = [line for line in lines if line.package == package and (line.to_goal or line.ended == line.runs)]
        rows = np.array([problems.index(line.problem) for line in shown]) + 0.07 * (place - len(STYLES) / 2)
        values = np.array([line.to_goal or edge for line in shown])
        wrong = np.array([line.wrong for line in shown], dtype=bool)
        size = 90 if shape == "*" else 40
        for mask, face in ((~wrong, colour), (wrong, "none")):
            if mask.any():
                axes.scatter(values[mask], rows[mask], size, facecolors=face, edgecolors=colour, marker=shape, zorder=3)
        axes.scatter([], [], size, color=colour, marker=shape, label=package)
    axes.scatter([], [], 40, facecolors="none", edgecolors="black", label="hollow: wrong answer")
    axes.set(xscale="log", xlabel="seconds to log Z within 0.1, extrapolated", ylim=(len(problems) - 0.5, -0.5))
    axes.set_yticks(range(len(problems)), problems)
    axes.grid(axis="x", color="#cccccc", linewidth=0.5)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    figure.savefig(file, dpi=150)
    plt.close(figure)
