"""What tuning rounds find: acceptance of swaps, and estimates with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sterna.plots.library import BLACK, BLUE, SKY, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_boxes(axes: Axes, positions: ArrayLike, groups: Sequence[ArrayLike], width: float = 0.6) -> Axes:
    """Draw a box for the numbers of each group: quartiles, and whiskers to the smallest and the largest."""
    axes.boxplot(
        [np.asarray(group) for group in groups],
        positions=np.asarray(positions, dtype=np.float64).tolist(),
        widths=width,
        whis=(0, 100),
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": SKY, "linewidth": 0.6},
        medianprops={"color": BLACK, "linewidth": 1.0},
        whiskerprops={"linewidth": 0.6},
        capprops={"linewidth": 0.6},
    )
    return axes


def plot_acceptance(axes: Axes, rounds: ArrayLike, acceptance: Sequence[ArrayLike]) -> Axes:
    """Draw the acceptance of swaps of all pairs, by round."""
    plot_boxes(axes, rounds, acceptance)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("round")
    axes.set_ylabel("acceptance")
    return whole_numbers(axes)


def plot_estimates(axes: Axes, at: ArrayLike, value: ArrayLike, error: ArrayLike | None = None, **style: Any) -> Axes:
    """Draw estimates; errors that are known become bars."""
    given = {"color": BLUE, "linewidth": 1.0, "marker": "o", "markersize": 2.5, **style}
    if error is None:
        axes.plot(at, value, **given)
    else:
        axes.errorbar(at, value, yerr=np.nan_to_num(np.asarray(error, dtype=np.float64)), capsize=1.5, **given)
    return axes
