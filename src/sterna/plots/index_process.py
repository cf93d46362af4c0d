"""The index process: which chain each replica is at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.plots.library import BLACK, BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_swaps(axes: Axes, chains: ArrayLike, bold: int = 0) -> Axes:
    """Draw the paths of all replicas, (scans, replicas): swaps blue, scans without one orange, one path bold."""
    places = np.asarray(chains)
    for replica in range(places.shape[1]):
        path = places[:, replica]
        moved = np.diff(path) != 0
        for colour, kept in ((ORANGE, ~moved), (BLUE, moved)):
            axes.plot(*_segments(path, kept), color=colour, linewidth=0.7, solid_capstyle="round")
    axes.plot(np.arange(len(places)), places[:, bold], color=BLACK, linewidth=2.2, solid_joinstyle="round")
    axes.set_xlim(0, len(places) - 1)
    return axes


def _segments(path: Any, kept: Any) -> tuple[Any, Any]:
    """Return the chosen steps of a path as one line with gaps."""
    at = np.flatnonzero(kept)
    gap = np.full(len(at), np.nan)
    return np.column_stack([at, at + 1, gap]).ravel(), np.column_stack([path[at], path[at + 1], gap]).ravel()


def plot_path(axes: Axes, time: ArrayLike, place: ArrayLike, **style: Any) -> Axes:
    """Draw the path of one replica, or of its scaling limit."""
    axes.plot(time, place, **{"linewidth": 0.8, "color": BLUE, **style})
    return axes
