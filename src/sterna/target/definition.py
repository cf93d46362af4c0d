"""What a target is made of, as read from what its user gave; nothing of it changes once it is made."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from sterna.errors import TargetError
from sterna.explorers.base import Explorer
from sterna.explorers.cost import Cost
from sterna.ground.user_function import Bridged
from sterna.reference.fitted_reference import NOTE
from sterna.reference.reference import Reference, coordinate_tables, space_and_distributions
from sterna.reference.space import View, by_python_names, check_view
from sterna.target.batch_function import BatchFunction
from sterna.target.change import LIKELIHOOD_CHANGE, REFERENCE_CHANGE, local_change
from sterna.target.data import Inputs, read_data, with_captured
from sterna.target.density import likelihood, reference_density
from sterna.target.draw import reference_draw
from sterna.target.gradient import Gradients, likelihood_gradient, reference_gradient
from sterna.target.user_function import EnteredFunction, UserFunction, check_callable, enter
from sterna.target.vectorized import Vectorized

Function = Callable[..., Any]


class SharedCost:
    """The cost of an evaluation, measured once for all runs of a target."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cost: Cost | None = None

    def get(self, measure: Callable[[], Cost]) -> Cost:
        """Return the cost, and measure it if nobody has asked before."""
        with self._lock:
            if self._cost is None:
                self._cost = measure()
            return self._cost


@dataclass(frozen=True, eq=False)
class Definition:
    """The parts of a target, shared by all of its runs."""

    name: str
    inputs: Inputs
    tables: Mapping[str, NDArray[Any]]
    """The engine's tables of coordinates."""
    functions: tuple[EnteredFunction, ...]
    gradients: Gradients
    compile: bool
    explorer: Explorer | None
    kernels: Mapping[Any, Any]
    view: View | None
    notes: tuple[str, ...]
    build_seconds: float
    unnormalized: str = ""
    """Why the reference's density may not integrate to one; empty if it does."""
    says_normalized: bool = False
    """Whether its user says that it does."""
    cost: SharedCost = field(default_factory=SharedCost)


@dataclass(frozen=True)
class Given:
    """What a user gave, by the names of `sterna.Target`."""

    log_likelihood: Function | BatchFunction
    reference: object
    data: Mapping[str, Any] | None
    local_change: Function | None
    gradient: Function | BatchFunction | None
    vectorized: Vectorized
    compile: bool
    explorer: Explorer | None
    kernels: Mapping[Any, Any] | None
    view: View | None
    name: str | None

    def define(self) -> Definition:
        """Check everything, and compile what can be compiled, except for gradients."""
        began = time.perf_counter()
        check_callable(self.log_likelihood, "log_likelihood")
        if self.data is not None and not isinstance(self.data, Mapping):
            raise TargetError(
                f"data= is of type {type(self.data).__name__}: give a dict of arrays and numbers by name."
            )
        data = by_python_names(self.data or {}, "data")
        self._check_options()
        space, distributions = space_and_distributions(self.reference, data)
        inputs = with_captured(Inputs(space, read_data(data, space)), self._given_functions())
        self._check_state_map(inputs)
        functions = tuple(enter(function, inputs, self.compile) for function in self._functions(inputs))
        notes = [] if inputs.fitted is None else [NOTE]
        notes += [note for function in functions for note in function.notes]
        default_name = getattr(self.log_likelihood, "__name__", type(self.log_likelihood).__name__)
        return Definition(
            name=self.name or str(default_name),
            inputs=inputs,
            tables=coordinate_tables(space, distributions),
            functions=functions,
            gradients=Gradients(self.gradient, self._gradients(inputs), inputs, self.compile),
            compile=self.compile,
            explorer=self.explorer,
            kernels=dict(self.kernels or {}),
            view=self.view,
            notes=tuple(dict.fromkeys(notes)),
            build_seconds=time.perf_counter() - began,
            unnormalized=self.reference.reason_unnormalized if isinstance(self.reference, Reference) else "",
            says_normalized=self._says_normalized(),
        )

    def _says_normalized(self) -> bool:
        """Whether a user says that a density of theirs is normalised; models of other libraries are known."""
        joint = self.reference if isinstance(self.reference, Reference) else None
        known = joint is None or isinstance(joint.log_density, (Bridged, BatchFunction))
        return joint is not None and joint.normalized and not known

    def _given_functions(self) -> list[object]:
        """Return the functions that the engine calls, as they were given."""
        found: list[object] = [self.log_likelihood, self.local_change, self.gradient]
        if isinstance(self.gradient, Bridged) and self.gradient.whole is not None:
            found.append(self.gradient.whole)
        if isinstance(self.reference, Reference):
            joint = self.reference
            found += [joint.log_density, joint.local_change, joint.draw, joint.gradient]
        return found

    def _check_options(self) -> None:
        """Refuse options of wrong types."""
        if not isinstance(self.vectorized, (bool, str)) or self.vectorized not in (False, True, "padded"):
            raise TargetError(f'vectorized={self.vectorized!r} is not known: give True, False or "padded".')
        if not isinstance(self.compile, bool):
            raise TargetError(f"compile={self.compile!r}: give True or False.")
        if self.explorer is not None and (isinstance(self.explorer, type) or not hasattr(self.explorer, "bind")):
            raise TargetError(
                f"explorer={self.explorer!r}: give a target an explorer such as sterna.Slice(passes=3); names, dicts "
                "and functions can be given to sterna.sample."
            )
        if self.kernels is not None and not isinstance(self.kernels, Mapping):
            raise TargetError(f"kernels={self.kernels!r}: give a dict of kernels by the kernel that each replaces.")
        if self.view is not None:
            check_view(self.view)

    def _functions(self, inputs: Inputs) -> list[UserFunction]:
        """Read the functions that every run needs."""
        independent = isinstance(self.reference, Mapping)
        found = [likelihood(self.log_likelihood, inputs, self.vectorized, independent)]
        if self.local_change is not None:
            found.append(local_change(self.local_change, "local_change", LIKELIHOOD_CHANGE, inputs))
        if isinstance(self.reference, Reference):
            found.append(reference_density(self.reference.log_density, inputs))
            if self.reference.local_change is not None:
                label = "the reference's local_change"
                found.append(local_change(self.reference.local_change, label, REFERENCE_CHANGE, inputs))
            found.append(reference_draw(self.reference.draw, inputs))
        return found

    def _gradients(self, inputs: Inputs) -> list[UserFunction]:
        """Read the gradients, which are compiled only for explorers that follow them."""
        found = [] if self.gradient is None else [likelihood_gradient(self.gradient, inputs, self.vectorized)]
        if isinstance(self.reference, Reference) and self.reference.gradient is not None:
            found.append(reference_gradient(self.reference.gradient, inputs))
        return found

    def _check_state_map(self, inputs: Inputs) -> None:
        """Refuse functions of stored coordinates if these are not the variables' own."""
        if inputs.space.map is None:
            return
        gradient = None if inputs.fitted is not None else self.gradient
        for name, function in (("gradient", gradient), ("local_change", self.local_change)):
            if function is not None:
                names = ", ".join(inputs.space.names)
                raise TargetError(
                    f"{name}= cannot be used with this reference, whose variables {names} are computed from "
                    f"other coordinates: leave {name} out, or give distributions that sterna has itself."
                )
