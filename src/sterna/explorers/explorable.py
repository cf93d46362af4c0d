"""What explorers may ask of a target, and no more."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from sterna.engine.callback import Entry
from sterna.engine.program import Program
from sterna.reference.space import Space
from sterna.types import FloatArray, IntArray

if TYPE_CHECKING:
    from sterna.explorers.base import Explorer
    from sterna.explorers.cost import Cost


class ExplorableTarget(Protocol):
    """A target as explorers see it when they are bound to it."""

    @property
    def name(self) -> str:
        """The target's name, for messages."""

    @property
    def space(self) -> Space:
        """The variables."""

    @property
    def program(self) -> Program:
        """Addresses of functions and tables of coordinates."""

    @property
    def block(self) -> IntArray:
        """The program as compiled code reads it."""

    @property
    def kernels(self) -> Mapping[Any, Any]:
        """The target's own kernels, by the kernel that each replaces."""

    @property
    def explorer(self) -> "Explorer | None":
        """The target's own default."""

    @property
    def dimension(self) -> int:
        """Number of coordinates of a state."""

    @property
    def has_gradient(self) -> bool:
        """Whether the gradient of both log-densities is known."""

    @property
    def cost(self) -> "Cost":
        """What an evaluation costs, measured when first asked for."""

    def prepare_gradient(self) -> None:
        """Compile the gradient, for explorers that follow it."""

    def log_densities(self, state: FloatArray) -> tuple[float, float]:
        """Return (log-reference, log-likelihood) at a state."""

    def describe_point(self, state: FloatArray) -> str:
        """Name the variables and values of a state, for messages."""

    def conditional(self, function: Callable[..., Any]) -> tuple[Entry, Callable[..., None]]:
        """Make a user's conditional distributions ready to be called, with their Python form."""

    def move(self, function: Callable[..., Any], what: str, count: int) -> Entry:
        """Make a user's own move of `count` coordinates ready to be called."""
