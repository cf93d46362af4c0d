"""Communication barriers and the schedules that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.plots.library import BLUE, GREY, ORANGE, shades, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_local_barrier(axes: Axes, beta: ArrayLike, local: ArrayLike, **style: Any) -> Axes:
    """Draw lambda(beta)."""
    axes.plot(beta, local, **{"linewidth": 1.3, **style})
    axes.set_xlabel("β")
    axes.set_ylabel("local barrier λ(β)")
    return axes


def plot_cumulative_barrier(axes: Axes, beta: ArrayLike, cumulative: ArrayLike, **style: Any) -> Axes:
    """Draw Lambda(beta)."""
    axes.plot(beta, cumulative, **{"linewidth": 1.3, "color": BLUE, **style})
    axes.set_xlabel("β")
    axes.set_ylabel("cumulative barrier Λ(β)")
    return axes


def plot_inversion(axes: Axes, schedule: ArrayLike, heights: ArrayLike) -> Axes:
    """Draw how a regular grid of the barrier becomes a schedule: lines from the ordinate to the abscissa."""
    for beta, height in zip(np.asarray(schedule), np.asarray(heights), strict=True):
        axes.plot([0.0, beta, beta], [height, height, 0.0], color=GREY, linewidth=0.5, zorder=1)
    axes.plot(schedule, np.zeros(np.size(schedule)), "|", color=ORANGE, markersize=9, clip_on=False, zorder=3)
    return axes


def plot_schedules(axes: Axes, rounds: ArrayLike, schedules: ArrayLike) -> Axes:
    """Draw how each beta but 0 moves from round to round; `schedules` has a row for each round."""
    betas = np.asarray(schedules)
    for chain, colour in zip(range(1, betas.shape[1]), shades(betas.shape[1] - 1), strict=True):
        axes.plot(rounds, betas[:, chain], color=colour, linewidth=0.9)
    axes.set_yscale("log")
    axes.set_xlabel("round")
    axes.set_ylabel("β of each chain")
    return whole_numbers(axes)


def plot_generator(axes: Axes, schedule: ArrayLike, **style: Any) -> Axes:
    """Draw a schedule as the function G of the normalised index."""
    betas = np.asarray(schedule)
    axes.plot(np.linspace(0.0, 1.0, len(betas)), betas, **{"linewidth": 1.3, "color": BLUE, **style})
    axes.set_xlabel("k / N")
    axes.set_ylabel("β = G(k / N)")
    return axes
