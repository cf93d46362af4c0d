"""Plot the scaling limits: paths of the index process for increasing N, and paths of the limits."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from sterna import theory

HERE = Path(__file__).parent
BARRIER, START = 3.0, 0.3
CHAINS = (10, 100, 1000)
TIMES = {"deo": 6.0, "seo": 1.0}
COLOURS = {"deo": "tab:red", "seo": "tab:blue"}
NAMES = {"deo": "DEO\nnon-reversible", "seo": "SEO\nreversible"}
LIMITS = {"deo": "limit: piecewise deterministic", "seo": "limit: Brownian motion"}
SEEDS = (1, 2)


def show_index_process(axis, scheme, last):
    """Plot two paths of the scaled index process, the first in bold."""
    rejection = np.full(last, BARRIER / last)
    for seed in SEEDS[::-1]:
        path = theory.scaled_index_path(rejection, TIMES[scheme], START, 1, scheme, seed)
        axis.step(path.time, path.place, where="post", **style(scheme, seed))


def show_limit(axis, scheme):
    """Plot two paths of the limit."""
    for seed in SEEDS[::-1]:
        if scheme == "deo":
            path = theory.piecewise_deterministic_path(BARRIER, TIMES[scheme], START, 1, seed)
            axis.plot(path.time, path.place, **style(scheme, seed))
        else:
            times = np.linspace(0.0, TIMES[scheme], 5001)
            axis.plot(times, theory.brownian_motion_path(times, START, seed), **style(scheme, seed))


def style(scheme, seed):
    """One path in colour, the other behind it in grey."""
    if seed == SEEDS[0]:
        return {"color": COLOURS[scheme], "linewidth": 1.1}
    return {"color": "0.78", "linewidth": 0.9}


def main():
    """Save the figure next to this file."""
    figure, axes = plt.subplots(2, 4, figsize=(12, 5.4), sharex="row", sharey=True, layout="constrained")
    for row, scheme in zip(axes, ("deo", "seo")):
        for axis, last in zip(row, CHAINS):
            show_index_process(axis, scheme, last)
            axis.set_title(f"index process, N = {last}", fontsize=10)
        show_limit(row[-1], scheme)
        row[-1].set_title(LIMITS[scheme], fontsize=10)
        row[0].set_ylabel(NAMES[scheme] + "\n\nplace $I/N$", fontsize=10)
        unit = "N" if scheme == "deo" else "N^2"
        for axis in row:
            axis.set(xlim=(0, TIMES[scheme]), ylim=(-0.03, 1.03), yticks=[0, 0.5, 1])
            axis.set_xlabel(f"time in ${unit}$ scans", fontsize=9)
            axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"A replica between reference (0) and target (1), barrier $\\Lambda$ = {BARRIER:g}", fontsize=11)
    figure.savefig(HERE / "scaling_limits.png", dpi=110)


if __name__ == "__main__":
    main()
