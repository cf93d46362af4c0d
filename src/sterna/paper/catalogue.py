"""All figures of the paper by name, in the paper's order."""

from sterna.paper.figure import PaperFigure
from sterna.paper.figures import (
    gaussian_barrier,
    gaussian_index,
    limit_trajectories,
    swaps,
)

_MODULES = (
    swaps,
    limit_trajectories,
    gaussian_index,
    gaussian_barrier,
)

FIGURES: dict[str, PaperFigure] = {module.FIGURE.name: module.FIGURE for module in _MODULES}
