"""A target: a log-likelihood and a reference, ready for the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from numpy.typing import ArrayLike, NDArray

from sterna.engine.callback import Entry
from sterna.engine.interrupts import keeps_interrupts
from sterna.engine.program import Program
from sterna.explorers.base import Explorer
from sterna.explorers.cost import Cost
from sterna.ground.attributes import by_name, explains_attributes
from sterna.ground.keywords import explains_keywords
from sterna.reference.reference import given_reference
from sterna.reference.space import Space, View
from sterna.target.batch_function import BatchFunction
from sterna.target.definition import Definition, Given
from sterna.target.prepared import PreparedTarget, refuse_pickling
from sterna.target.user_function import PythonForm
from sterna.target.vectorized import Vectorized
from sterna.types import FloatArray, IntArray

MAX_NAMES_SHOWN = 8

# What users of other libraries may call the arguments of a target.
HINTS = {
    **dict.fromkeys(
        ("loglikelihood", "loglike", "log_like", "likelihood", "log_prob", "log_prob_fn", "logp", "lnlike"),
        "the function is the first argument, log_likelihood",
    ),
    **dict.fromkeys(("grad", "log_likelihood_gradient", "dlogp", "jac"), "give gradient="),
    **dict.fromkeys(("args", "kwargs", "observed", "observations", "y"), 'give data by name, as in data={"y": y}'),
    **dict.fromkeys(("vectorize", "batch", "batched"), "give vectorized=True for a function of many points at once"),
    **dict.fromkeys(("jit", "njit"), "functions are compiled if they can be; compile=False runs them as Python"),
    **dict.fromkeys(
        ("n_chains", "n_rounds", "n_scans", "n_copies", "seed", "workers", "progress", "schedule", "scheme", "keep"),
        "it is an option of sterna.sample",
    ),
}

# What users look for in a target, and what there is instead.
OTHER_NAMES = by_name(
    ("sample run fit", "sterna.sample(target) samples it"),
    (
        "log_likelihood log_prob logp log_density log_prior loglike lnprob",
        "target.log_densities(mu=1.0) returns the log-densities of the reference and the likelihood at a point",
    ),
    ("grad dlogp", "it is called gradient"),
    ("variables names parameters", "they are in target.space.names"),
)


@explains_attributes("sterna.Target", OTHER_NAMES)
class Target:
    """A distribution to sample: its density is the reference's times exp(log_likelihood).

    A target does not change once it is made, and can be sampled by several threads at the same time.

    Parameters
    ----------
    log_likelihood
        A function of variables and data by name, or of one flat vector first and then data by name. It is compiled if
        Numba can compile it; otherwise it runs as Python, and `notes` says why.
    reference
        A dict of named distributions (`{"mu": sterna.Normal(0, 10)}`), of sterna, `scipy.stats`, NumPyro or PyMC
        (`pm.Normal.dist(0, 10)`), or a `sterna.Reference`, `sterna.PriorTransform` or `sterna.FittedReference`. May
        also be given as `prior`.
    data
        Observed arrays and numbers, passed to the functions by name. Lists and tuples of numbers become arrays. An
        object that may behave differently from an array, such as a Series, is passed as it is, and functions that take
        it run as Python.
    local_change
        `local_change(x, i, new)` (and data by name) returns the change of the log-likelihood when coordinate i of the
        flat state x becomes `new`. Coordinate-wise explorers then evaluate local terms only.
    gradient
        The gradient of the log-likelihood, for explorers that follow it: a function with the same kind of parameters.
        It returns a tuple with one entry for each real variable among them, in their order and shapes, or the entry
        alone if there is only one; for a flat vector, a vector of the same length.
    vectorized
        Whether `log_likelihood` and `gradient` take many points at once, every variable with one more axis in front,
        and return a number (a gradient) for each. They run as Python, once for a step of all chains. "padded" always
        passes as many points as a copy has chains, for functions that are compiled again for each number of points.
    compile
        False runs all functions as Python, so that `print` and a debugger work, or because Numba itself fails.
    explorer
        The explorer to use by default.
    kernels
        The target's own kernels, by the kernel that each replaces: the same algorithm with the likelihood compiled into
        it (see `sterna.models.normal`).
    view
        How results name what states hold, for models of other libraries (see `sterna.bridges`).
    name
        A name for reports.

    Examples
    --------
    >>> import numpy as np, sterna
    >>> def log_likelihood(mu, y):
    ...     return -0.5 * np.sum((y - mu) ** 2)
    >>> target = sterna.Target(log_likelihood, {"mu": sterna.Normal(0, 10)}, data={"y": np.array([1.0, 2.0])})
    >>> target.log_densities(mu=0.0)
    (-3.2215236261987186, -2.5)
    """

    @explains_keywords("sterna.Target", HINTS)
    @keeps_interrupts
    def __init__(
        self,
        log_likelihood: Callable[..., Any] | BatchFunction,
        reference: object = None,
        data: Mapping[str, Any] | None = None,
        *,
        prior: object = None,
        local_change: Callable[..., Any] | None = None,
        gradient: Callable[..., Any] | BatchFunction | None = None,
        vectorized: Vectorized = False,
        compile: bool = True,
        explorer: Explorer | None = None,
        kernels: Mapping[Any, Any] | None = None,
        view: View | None = None,
        name: str | None = None,
    ) -> None:
        given = Given(
            log_likelihood,
            given_reference(reference, prior),
            data,
            local_change,
            gradient,
            vectorized,
            compile,
            explorer,
            kernels,
            view,
            name,
        )
        self._set(given.define())

    def _set(self, definition: Definition) -> None:
        self._definition = definition
        # for evaluations and explorers outside of a run; every run has its own
        self._own = PreparedTarget(definition)

    def prepare(self, cost: Cost | None = None, rejects: bool = False) -> PreparedTarget:
        """Make the target ready for one run, which may change what it gets; a cost that is given is not measured.

        With `rejects`, log-densities that are NaN or +inf or raise count as -inf.
        """
        return PreparedTarget(self._definition, cost, rejects)

    def with_notes(self, *notes: str) -> Target:
        """Return the same target with more notes for reports."""
        target = object.__new__(Target)
        target._set(replace(self._definition, notes=(*self._definition.notes, *notes)))
        return target

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self.name)

    def __repr__(self) -> str:
        names = self.space.names
        shown = ", ".join(names[:MAX_NAMES_SHOWN]) + (", ..." if len(names) > MAX_NAMES_SHOWN else "")
        how = "compiled" if self.compiled else "not all compiled"
        return f"<sterna.Target {self.name} of {shown}: dimension {self.dimension}, {how}>"

    def __copy__(self) -> Target:
        return self

    def __deepcopy__(self, _: object) -> Target:
        return self

    @property
    def name(self) -> str:
        """The name for reports."""
        return self._definition.name

    @property
    def space(self) -> Space:
        """The variables."""
        return self._definition.inputs.space

    @property
    def dimension(self) -> int:
        """Number of coordinates of a state."""
        return self.space.dimension

    @property
    def data(self) -> dict[str, Any]:
        """The data by name; arrays cannot be written to."""
        return self._own.data

    @property
    def explorer(self) -> Explorer | None:
        """The explorer to use by default."""
        return self._definition.explorer

    @property
    def kernels(self) -> Mapping[Any, Any]:
        """The target's own kernels, by the kernel that each replaces."""
        return self._definition.kernels

    @property
    def view(self) -> View | None:
        """How results name what states hold, for models of other libraries."""
        return self._definition.view

    @property
    def build_seconds(self) -> float:
        """Seconds that it took to build the target."""
        return self._definition.build_seconds

    @property
    def notes(self) -> list[str]:
        """What reports say about the target, such as why a function is not compiled."""
        return self._own.notes

    @property
    def compiled(self) -> bool:
        """Whether no part of the target runs as Python."""
        return self._own.compiled

    @property
    def has_gradient(self) -> bool:
        """Whether the gradient of both log-densities is known."""
        return self._own.has_gradient

    @property
    def cost(self) -> Cost:
        """What an evaluation costs, measured when first asked for."""
        return self._own.cost

    @property
    def program(self) -> Program:
        """Addresses of functions and tables of coordinates."""
        return self._own.program

    @property
    def block(self) -> IntArray:
        """The program as compiled code reads it."""
        return self._own.block

    def log_densities(self, state: FloatArray | None = None, **values: ArrayLike) -> tuple[float, float]:
        """Return (log-reference, log-likelihood) at a flat state or at variables given by name.

        Variables by name must be stored in their own coordinates, as all are except simplices and normal vectors.
        """
        return self._own.log_densities(state, **values)

    def gradient(self, state: FloatArray, beta: float = 1.0) -> FloatArray:
        """Return the gradient of log-reference + beta * log-likelihood at a flat state, by stored coordinate."""
        return self._own.gradient(state, beta)

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """Return all variables by name, in their own shapes, from states of shape (..., dimension)."""
        return self._own.values(states)

    def describe_point(self, state: FloatArray) -> str:
        """Name the variables and values of a state, for messages."""
        return self._own.describe_point(state)

    @property
    def mixture(self) -> None:
        """None, because the path begins with the reference; a run may let it begin with a mixture."""

    def prepare_gradient(self) -> None:
        """Compile the gradient, for explorers that are bound outside of a run."""
        self._own.prepare_gradient()

    def conditional(self, function: Callable[..., Any]) -> tuple[Entry, PythonForm]:
        """Make conditional distributions ready, for explorers that are bound outside of a run."""
        return self._own.conditional(function)

    def move(self, function: Callable[..., Any], what: str, count: int) -> Entry:
        """Make a user's own move ready, for explorers that are bound outside of a run."""
        return self._own.move(function, what, count)
