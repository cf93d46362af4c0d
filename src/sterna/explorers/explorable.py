"""All that explorers may ask of a target."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from sterna.engine.callback import Entry
from sterna.engine.program import Program
from sterna.reference.space import Space
from sterna.types import FloatArray, IntArray

if TYPE_CHECKING:
    from sterna.explorers.base import Explorer, Kernel
    from sterna.explorers.cost import Cost


class ExplorableTarget(Protocol):
    """A target as seen by the explorers that are bound to it."""

    @property
    def name(self) -> str:
        """The target's name, for messages."""

    @property
    def space(self) -> Space:
        """The variables."""

    @property
    def program(self) -> Program:
        """Addresses of functions, and tables of coordinates."""

    @property
    def block(self) -> IntArray:
        """The program in the form that compiled code reads."""

    @property
    def kernels(self) -> "Mapping[Kernel, Kernel]":
        """The target's own kernels, keyed by the kernel that each replaces."""

    @property
    def explorer(self) -> "Explorer | None":
        """The target's own default explorer, if it has one."""

    @property
    def mixture(self) -> FloatArray | None:
        """The fitted mixture with which the path begins (`sterna.engine.mixture`), if it begins with one."""

    @property
    def dimension(self) -> int:
        """Number of coordinates of a state."""

    @property
    def has_gradient(self) -> bool:
        """Whether both log-densities have a gradient."""

    @property
    def cost(self) -> "Cost":
        """The cost of an evaluation, measured on first use."""

    def prepare_gradient(self) -> None:
        """Compile the gradient, for explorers that follow it."""

    def log_densities(self, state: FloatArray) -> tuple[float, float]:
        """Return (log-reference, log-likelihood) at a state."""

    def describe_point(self, state: FloatArray) -> str:
        """Name the variables and values of a state, for messages."""

    def conditional(self, function: Callable[..., object]) -> tuple[Entry, Callable[..., None]]:
        """Prepare a user's conditional distributions for compiled code; also return their Python form."""

    def move(self, function: Callable[..., object], what: str, count: int) -> Entry:
        """Prepare a user's own move of `count` coordinates for compiled code."""
