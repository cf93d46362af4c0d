"""What a run needs of this process besides its state: machine code, threads, workers, the display."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sterna.engine.program import EXPLORE
from sterna.engine.round import Copy, Plan, draw_states, new_copy
from sterna.engine.schemes import SCHEMES
from sterna.explorers.base import Bound, Explorer
from sterna.ground.compilation import address_of
from sterna.ground.streams import new_stream
from sterna.run.display import Display
from sterna.run.state import FittedDistribution, RunState
from sterna.target.prepared import PreparedTarget
from sterna.types import FloatArray, IntArray, WordArray
from sterna.workers.choice import Teams
from sterna.workers.point_errors import NOWHERE, Place, errors_at_point


@dataclass(frozen=True)
class Runtime:
    """Everything that lives only in this process; rebuilt when a run is continued elsewhere."""

    target: PreparedTarget
    explorer: Explorer
    bound: Bound
    """The explorer bound to the target; its arrays must live as long as their addresses are in use."""
    teams: Teams
    display: Display
    one_thread: bool
    """Whether only one thread may call the user's functions."""
    explorer_is_default: bool = False
    """Whether sterna has chosen the explorer, not the user."""
    prior: "Runtime | None" = None
    """What runs along the path from the prior, if this runs along the path from a mixture."""
    fitted: "list[Runtime]" = field(default_factory=list)
    """What runs along the path from a mixture, once it is needed."""
    explore: int = field(init=False)
    explorer_data: IntArray = field(init=False)
    streams: list[WordArray] = field(init=False)
    """One for each copy."""

    def __post_init__(self) -> None:
        addresses = [array.ctypes.data for array in self.bound.data] or [0]
        object.__setattr__(self, "explore", address_of(self.bound.kernel, EXPLORE))
        object.__setattr__(self, "explorer_data", np.array(addresses, dtype=np.int64))
        object.__setattr__(self, "streams", [new_stream() for _ in self.teams.teams])

    def quiet(self) -> "Runtime":
        """Return the same without a display."""
        copy = object.__new__(Runtime)
        copy.__dict__.update(self.__dict__ | {"display": Display()})
        return copy

    @property
    def evaluates_elsewhere(self) -> bool:
        """Whether threads only wait for evaluations that are made elsewhere."""
        return any(team is not None and team.takes_every_scan for team in self.teams.teams)

    def on_replicas(self, number: int, copy: Copy, function: Callable[..., None], place: Place = NOWHERE) -> None:
        """Call a function of some replicas of a copy on all of them, with the copy's team if it has one."""
        team = self.teams.teams[number]
        if team is not None:
            team.apply(copy, function, place)
            return
        with errors_at_point(self.target, copy, place):
            function(copy, 0, copy.chain_of.size, self.streams[number])

    def draw_reference(self, seed: int, n: int) -> FloatArray:
        """Return n independent draws from the reference."""
        draws = np.zeros((n, self.target.dimension))
        copy = new_copy(1, self.target.dimension)._replace(states=draws)
        with errors_at_point(self.target, copy, Place("while drawing from the reference")):
            draw_states(self.target.block, seed, draws, copy.at_work, self.streams[0])
        return draws

    def plan(self, state: RunState) -> Plan:
        """Return all that is fixed during the round under way, as compiled code reads it."""
        settings, tuned = state.settings, state.tuned
        return Plan(
            block=self.target.block,
            explore=self.explore,
            explorer_data=self.explorer_data,
            explorations=tuned.explorations,
            scheme=SCHEMES[settings.scheme].code,
            schedule=tuned.schedule,
            parameters=np.ascontiguousarray(tuned.parameters),
            pivot=tuned.pivot,
            centre=tuned.centre,
            seed=settings.seed,
            round_number=state.round_number,
            batch_scans=state.layout.scans,
            batches=state.layout.batches,
            thin=state.thin,
        )

    def fitted_distribution(self) -> FittedDistribution | None:
        """Return the present distribution of a fitted reference."""
        fitted = self.target.fitted
        if fitted is None:
            return None
        return FittedDistribution(*fitted.parameters())

    def restore_fitted(self, distribution: FittedDistribution | None) -> None:
        """Give a fitted reference the distribution of a saved run; compiled code reads these arrays."""
        fitted = self.target.fitted
        if fitted is None or distribution is None:
            return
        fitted.set_parameters(distribution.mean, distribution.factor)
        self.teams.send_functions_again()
