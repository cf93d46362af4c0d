"""The Metropolis-adjusted Langevin algorithm (Roberts and Tweedie 1996)."""

from dataclasses import dataclass

from sterna.explorers.base import Bound
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.hamiltonian import bind_walk
from sterna.explorers.shared.options import as_typed, check_metric, take_whole
from sterna.types import IntArray


@dataclass(frozen=True)
class MALA:
    """The Metropolis-adjusted Langevin algorithm: Hamiltonian Monte Carlo with trajectories of one leapfrog step.

    Every chain learns its metric and its step size, for an acceptance of about 0.57, from round to round.

    Parameters
    ----------
    metric
        "diagonal", or "dense" to learn correlations too, at a cost that grows with the squared number of coordinates.
    trajectories
        Steps per scan; by default d^0.35 for d coordinates.

    Examples
    --------
    >>> import sterna
    >>> from sterna.explorers.mala import MALA
    >>> target = sterna.Target(
    ...     lambda x: -8.0 * x**4, {"x": sterna.Normal(0, 1)}, gradient=lambda x: -32.0 * x**3
    ... )
    >>> sterna.sample(target, explorer=MALA(), n_chains=4, n_rounds=8, progress=False).explorer
    'mala'
    """

    metric: str = "diagonal"
    trajectories: int | None = None
    name = "mala"

    def __post_init__(self) -> None:
        check_metric(self)
        if self.trajectories is not None:
            take_whole(self, "trajectories", 1, "give a positive whole number")

    def __repr__(self) -> str:
        return as_typed(self)

    def bind(self, target: ExplorableTarget, coordinates: IntArray | None = None) -> Bound:
        """Bind to a target, with a metric and a step size for each chain."""
        return bind_walk("MALA", target, coordinates, self.metric, self.trajectories, 0.57, 3.0, lambda row: row)
