"""Matplotlib, imported when a figure is drawn, and what all plots share: colours, and how a figure is saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.errors import MissingLibraryError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any colour vision can tell apart.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
GREY = "#8C8C8C"
# In the order in which they are used; yellow is too light for lines on white.
CYCLE = (BLUE, ORANGE, GREEN, RED, SKY, PINK, BLACK)

DOTS_PER_INCH = 150
STYLE: dict[Any, Any] = {
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
# Without these, two drawings of the same numbers differ in their bytes.
SVG_SETTINGS: dict[Any, Any] = {"svg.hashsalt": "sterna", "svg.fonttype": "none"}


def check_matplotlib() -> None:
    """Refuse to draw without matplotlib, before anything is computed."""
    try:
        import matplotlib as _  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise MissingLibraryError(
            "Figures are drawn by matplotlib, which is not installed: pip install 'sterna[plots]'.", name="matplotlib"
        ) from error


def new_figure(
    rows: int = 1, columns: int = 1, width: float = 8.0, height: float = 3.2, **options: Any
) -> tuple[Figure, NDArray[Any]]:
    """Return a figure outside of pyplot, which would keep it, and its rows x columns of axes."""
    check_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, np.asarray(figure.subplots(rows, columns, squeeze=False, **options))


@contextmanager
def plain_style() -> Iterator[None]:
    """Draw in sterna's style within a `with` block: small letters, no frame above and to the right."""
    check_matplotlib()
    from matplotlib import rc_context

    with rc_context(STYLE):
        yield


def shades(count: int) -> list[tuple[float, ...]]:
    """Return colours from dark to light, for series that have an order."""
    from matplotlib import colormaps

    return [tuple(colormaps["viridis"](share)) for share in np.linspace(0.0, 0.88, max(count, 2))[:count]]


def whole_numbers(axes: Axes) -> Axes:
    """Let the abscissa have ticks at whole numbers only, such as rounds."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    return axes


def doubling(axes: Axes, ticks: Sequence[float]) -> Axes:
    """Let the abscissa be logarithmic with plain numbers at the given places."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    return axes


def label_once(figure: Figure, text: str) -> None:
    """Write a line below all panels, such as where data come from."""
    if text:
        figure.supxlabel(text, fontsize=7.5, color="0.35")


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as SVG and PNG; return their paths."""
    from matplotlib import rc_context

    svg, png = (path.with_name(f"{path.name}.{form}") for form in ("svg", "png"))
    with rc_context(SVG_SETTINGS):
        figure.savefig(svg, metadata={"Date": None})
    figure.savefig(png, dpi=DOTS_PER_INCH)
    return [svg, png]
