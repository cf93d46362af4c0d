"""Draws of the target: traces, marginal and joint distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.plots.library import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_trace(axes: Axes, scan: ArrayLike, values: ArrayLike, **style: Any) -> Axes:
    """Draw a variable against the scan; points, because a line would hide jumps between modes."""
    axes.plot(scan, values, **{"color": BLUE, "marker": ".", "markersize": 1.5, "linestyle": "none", **style})
    return axes


def plot_joint(axes: Axes, x: ArrayLike, y: ArrayLike, **style: Any) -> Axes:
    """Draw pairs of draws as translucent points."""
    shown = {"color": BLUE, "marker": ".", "markersize": 2.5, "alpha": 0.25, "linestyle": "none", "mew": 0}
    axes.plot(x, y, **{**shown, **style})
    return axes


def plot_density(axes: Axes, edges: ArrayLike, density: ArrayLike, **style: Any) -> Axes:
    """Draw a histogram, given the edges of its bins and their densities."""
    axes.stairs(np.asarray(density), np.asarray(edges), **{"fill": True, "color": BLUE, "alpha": 0.7, **style})
    # a second histogram may be higher
    axes.set_ylim(bottom=0, auto=None)
    return axes


def plot_shares(axes: Axes, at: ArrayLike, upper: ArrayLike) -> Axes:
    """Draw a bar for each variable with two values: the share of the lower value blue, of the upper one orange."""
    places, share = np.asarray(at), np.asarray(upper, dtype=np.float64)
    axes.barh(places, 1.0 - share, color=BLUE, height=0.85)
    axes.barh(places, share, left=1.0 - share, color=ORANGE, height=0.85)
    axes.set_xlim(0, 1)
    return axes


def plot_probabilities(axes: Axes, values: ArrayLike, probabilities: ArrayLike, **style: Any) -> Axes:
    """Draw the probabilities of a variable with few values."""
    axes.bar(np.asarray(values), np.asarray(probabilities), **{"color": BLUE, "width": 0.8, **style})
    axes.set_ylim(0, 1)
    return axes
