"""All figures of the paper by name, in the paper's order."""

from sterna.paper.figure import PaperFigure
from sterna.paper.figures import (
    all_models,
    copies,
    copy_number_diagnostics,
    exploration,
    gaussian_barrier,
    gaussian_index,
    generators,
    ising_barrier,
    ising_rates,
    limit_trajectories,
    mixture_diagnostics,
    round_trips_ess,
    schedule_hierarchical,
    schedule_mixture,
    slow_exploration,
    spike_slab_posterior,
    swaps,
)

_MODULES = (
    swaps,
    round_trips_ess,
    schedule_mixture,
    all_models,
    exploration,
    copies,
    limit_trajectories,
    schedule_hierarchical,
    gaussian_index,
    gaussian_barrier,
    ising_barrier,
    ising_rates,
    slow_exploration,
    generators,
    spike_slab_posterior,
    mixture_diagnostics,
    copy_number_diagnostics,
)

FIGURES: dict[str, PaperFigure] = {module.FIGURE.name: module.FIGURE for module in _MODULES}
