"""A target made ready for one run, which alone changes it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sterna.engine.callback import GRADIENT, Entry
from sterna.engine.circles import wrap_states
from sterna.engine.evaluation import evaluate, evaluate_gradient, evaluate_reference
from sterna.engine.interrupts import uninterruptible
from sterna.engine.program import N_LOG_DENSITIES, NotANumber, Program
from sterna.engine.stop import new_stop
from sterna.errors import EvaluationError, OptionError, TargetError
from sterna.explorers.base import Explorer
from sterna.explorers.cost import Cost, measured
from sterna.ground.numbers import float_array, real_number
from sterna.ground.values import BINARY, REAL
from sterna.reference.fitted_reference import FittedMap
from sterna.reference.space import Space, View, by_python_names
from sterna.target.batch_function import BatchFunction, SinglePoint
from sterna.target.conditional import conditional_distribution
from sterna.target.data import Inputs, suspicious_entries, with_captured
from sterna.target.definition import Definition
from sterna.target.failures import find_failure
from sterna.target.gradient import LIKELIHOOD_GRADIENT, REFERENCE_GRADIENT
from sterna.target.guarded import guarded
from sterna.target.move import own_move
from sterna.target.user_function import EnteredFunction, PythonForm, UserFunction, enter
from sterna.types import FloatArray, IntArray

NO_ADDRESSES = dict.fromkeys(
    (
        "log_likelihood",
        "likelihood_change",
        "log_reference",
        "reference_change",
        "draw_reference",
        "likelihood_gradient",
        "reference_gradient",
        "whole_gradient",
    ),
    0,
)


class PreparedTarget:
    """A target for one run: its own program and data block, its own moves, and its own fitted reference.

    All else is shared with the `sterna.Target` that it was prepared from, which does not change. So two runs of one
    target, in two threads, do not affect each other.
    """

    mixture: FloatArray | None = None
    """The fitted mixture with which the path begins, if it begins with one (`MixtureTarget`)."""

    def __init__(self, definition: Definition, cost: Cost | None = None, rejects: bool = False) -> None:
        self._definition = definition
        self.rejects = rejects
        """Whether a log-density that fails at a point counts as zero there, and is counted."""
        self._inputs = definition.inputs.for_one_run()
        self.measured_cost = cost
        """What an evaluation costs, if that was given or has been asked for."""
        self.moves: list[str] = []
        """The user's own moves, for messages."""
        self._functions: list[EnteredFunction] = []
        self._functions_of_explorers: list[EnteredFunction] = []
        self._data_of_explorers: list[tuple[Inputs, IntArray]] = []
        self._data_block = self._inputs.data.block(self.dimension)
        fields: dict[str, Any] = {"is_ratio": 0, **NO_ADDRESSES, **definition.tables}
        self.stop = new_stop(rejects)
        """By which the run is interrupted inside compiled code."""
        self.program = Program(dimension=self.dimension, data=self._data_block.ctypes.data, stop=self.stop, **fields)
        self.block = self.program.block()
        self._add(definition.functions)

    def _add(self, functions: Sequence[EnteredFunction]) -> None:
        """Put functions into the program, and the handles of those that run as Python into the data block."""
        if self._inputs is not self._definition.inputs:
            functions = [one.with_inputs(self._inputs) for one in functions]
        if self.rejects:
            functions = [guarded(one, self._data_block) for one in functions]
        self._functions += functions
        for one in functions:
            if one.entry.handle != 0:
                self._data_block[one.function.entry_point.slot] = one.entry.handle
        addresses: dict[str, Any] = {one.function.entry_point.field: one.entry.address for one in functions}
        self.program = self.program._replace(**addresses)
        self.block[:] = self.program.block()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self.name)

    def __copy__(self) -> "PreparedTarget":
        return self

    def __deepcopy__(self, _: object) -> "PreparedTarget":
        return self

    @property
    def name(self) -> str:
        """The target's name, for messages."""
        return self._definition.name

    @property
    def space(self) -> Space:
        """The variables."""
        return self._inputs.space

    @property
    def view(self) -> View | None:
        """How results name what states hold, for models of other libraries."""
        return self._definition.view

    @property
    def dimension(self) -> int:
        """Number of coordinates of a state."""
        return self._inputs.space.dimension

    @property
    def data(self) -> dict[str, Any]:
        """The data by name; arrays cannot be written to."""
        return dict(self._inputs.data.given)

    @property
    def kernels(self) -> Mapping[Any, Any]:
        """The target's own kernels, by the kernel that each replaces."""
        return self._definition.kernels

    @property
    def explorer(self) -> Explorer | None:
        """The target's own default."""
        return self._definition.explorer

    @property
    def tables(self) -> Mapping[str, NDArray[Any]]:
        """What the engine reads of the reference of each coordinate."""
        return self._definition.tables

    @property
    def build_seconds(self) -> float:
        """Seconds that it took to build the target."""
        return self._definition.build_seconds

    @property
    def notes(self) -> list[str]:
        """What reports say about the target, such as why a function is not compiled."""
        of_functions = [note for function in self._functions for note in function.notes]
        return list(dict.fromkeys([*self._definition.notes, *of_functions]))

    @property
    def unnormalized(self) -> str:
        """Why the reference's density may not integrate to one; empty if it does."""
        return self._definition.unnormalized

    @property
    def says_normalized(self) -> bool:
        """Whether the density of the reference is a user's, who says that it integrates to one."""
        return self._definition.says_normalized

    @property
    def fitted(self) -> FittedMap | None:
        """The reference that the run fits to its draws, if there is one."""
        return self._inputs.fitted

    @property
    def cost(self) -> Cost:
        """What an evaluation costs, measured when first asked for, once for all runs of a target."""
        if self.measured_cost is None:
            self.measured_cost = self._definition.cost.get(lambda: uninterruptible(measured, self))
        return self.measured_cost

    @property
    def inputs(self) -> Inputs:
        """Variables and data, as functions are called with them."""
        return self._inputs

    @property
    def given_functions(self) -> list[UserFunction]:
        """The user's functions, with gradients that no explorer has asked for yet."""
        entered = [one.function for one in self.functions]
        return [*entered, *(one for one in self._definition.gradients.functions if one not in entered)]

    @property
    def functions(self) -> list[EnteredFunction]:
        """The user's functions, with those that explorers keep."""
        return [*self._functions, *self._functions_of_explorers]

    @property
    def _python_functions(self) -> list[EnteredFunction]:
        return [function for function in self._functions if function.python_form is not None]

    @property
    def compiled(self) -> bool:
        """Whether no part of the target runs as Python."""
        return not self._python_functions

    @property
    def one_thread(self) -> bool:
        """Whether only one thread may call the target: a user's Python function may keep a buffer.

        Prior draws of another library's model do not, and come without a note.
        """
        return any(one.entry.notes or one.function.entry_point.movable for one in self._python_functions)

    @property
    def movable(self) -> dict[int, PythonForm]:
        """The Python functions that workers may evaluate, by handle."""
        return {
            one.entry.handle: one.python_form
            for one in self._python_functions
            if one.function.entry_point.movable and one.python_form is not None
        }

    @property
    def batch_functions(self) -> dict[int, BatchFunction]:
        """The functions of many points, by the handles of the functions that they stand in for."""
        return {
            one.entry.handle: one.python_form.function
            for one in self._python_functions
            if isinstance(one.python_form, SinglePoint)
        }

    def handles(self, slots: tuple[int, ...]) -> tuple[int, ...]:
        """Return the handles in some slots of the data block; 0 if a function does not run as Python."""
        return tuple(int(self._data_block[slot]) for slot in slots)

    @property
    def gradient_handle(self) -> int:
        """Handle of a gradient that runs as Python, or 0."""
        return int(self._data_block[GRADIENT])

    @property
    def odd_data(self) -> str:
        """A sentence about data that are not numbers, for messages; empty if there are none."""
        found = suspicious_entries(self._inputs.data)
        return f" Note that {'; '.join(found)}." if found else ""

    def failure(self, state: FloatArray, error: Exception) -> tuple[str, Exception]:
        """Return the name of the user's function that failed, and the error as Python raises it, which says more."""
        return find_failure(error, self.functions, state, self._inputs)

    def remark(self, label: str) -> str:
        """Return what may be the reason for an error of the user's function of this name; empty if nothing is odd."""
        return next((f" {one.function.remark}" for one in self._functions if one.function.label == label), "").rstrip()

    def label(self, handle: int) -> str:
        """Return the name, for messages, of a function that runs as Python."""
        return next(one.function.label for one in self._python_functions if one.entry.handle == handle)

    @property
    def has_gradient(self) -> bool:
        """Whether the gradient of both log-densities is known."""
        gradients, is_joint = self._definition.gradients, self.program.log_reference != 0
        return gradients.knows(LIKELIHOOD_GRADIENT) and (not is_joint or gradients.knows(REFERENCE_GRADIENT))

    def prepare_gradient(self) -> None:
        """Compile the gradient, once; explorers that follow it call this when they are bound."""
        if not self.has_gradient:
            raise TargetError(f"The gradient of {self.name} is not known: give gradient= to sterna.Target.")
        if self.program.likelihood_gradient == self.program.whole_gradient == 0:
            self._add(self._definition.gradients.entered())

    def conditional(self, function: Callable[..., Any]) -> tuple[Entry, PythonForm]:
        """Make the conditional distributions of `sterna.Gibbs` ready; with their Python form.

        That form writes into its last argument: `form(state, i, beta, log_probabilities)`.
        """
        read = conditional_distribution(function, self._inputs)
        return self._enter_for_explorer(read), read.python_form(self._inputs)

    def move(self, function: Callable[..., Any], what: str, count: int) -> Entry:
        """Make a user's own move of `count` coordinates ready, `function(x, log_density, rng, ...)`."""
        read = own_move(function, what, count, self._inputs)
        if (name := what.replace("The", "the", 1)) not in self.moves:
            self.moves.append(name)
        return self._enter_for_explorer(read)

    def _enter_for_explorer(self, function: UserFunction) -> Entry:
        """Enter a function whose address, handle and data block an explorer keeps; they live as long as this.

        Its block is the target's, followed by the numbers that it captures: explorers are not known to the target.
        """
        inputs = with_captured(self._inputs, [function.given])
        block = inputs.data.block(self.dimension)
        entered = enter(function, inputs, self._definition.compile)
        self._functions_of_explorers.append(entered)
        self._data_of_explorers.append((inputs, block))
        return entered.entry._replace(data=block.ctypes.data)

    def log_densities(self, state: FloatArray | None = None, **values: ArrayLike) -> tuple[float, float]:
        """Return (log-reference, log-likelihood) at a flat state or at variables given by name."""
        if state is None:
            state = self._state_of(values)
        x = self._one_state(state)
        log_densities = np.zeros(N_LOG_DENSITIES)
        if not self._is_inside(x):
            return -math.inf, -math.inf
        try:
            evaluate(self.block, x, log_densities)
        except NotANumber as error:
            raise EvaluationError(f"The {error} at {self.describe_point(x)}.") from None
        return float(log_densities[0]), float(log_densities[1])

    def log_reference(self, state: FloatArray) -> float:
        """Return the reference's log-density at a flat state."""
        x = self._one_state(state)
        return evaluate_reference(self.block, x) if self._is_inside(x) else -math.inf

    def gradient(self, state: FloatArray, beta: float = 1.0) -> FloatArray:
        """Return the gradient of log-reference + beta * log-likelihood at a flat state, by stored coordinate."""
        x, power = self._one_state(state), real_number(beta)
        if power is None or not math.isfinite(power):
            raise OptionError(f"gradient(beta={beta!r}): give a number, from 0 (the reference) to 1 (the target).")
        if not self._is_inside(x):
            raise TargetError(f"There is no gradient at {self.describe_point(x)}, which is outside of the support.")
        self.prepare_gradient()
        gradient, scratch = np.zeros(self.dimension), np.zeros(self.dimension)
        evaluate_gradient(self.block, x, power, np.zeros(N_LOG_DENSITIES), gradient, scratch)
        return gradient

    def _one_state(self, state: ArrayLike) -> FloatArray:
        """Return a state that compiled code can read, after a check of its shape."""
        x = self.space.checked(state, self.name)
        if x.ndim != 1:
            raise TargetError(f"A state of {self.name} has {self.dimension} coordinates, not {x.shape}.")
        return np.ascontiguousarray(wrap_states(self.program.circles, x))

    def _state_of(self, values: Mapping[str, ArrayLike]) -> FloatArray:
        values = by_python_names(values, "log_densities")
        if set(values) != set(self.space.names):
            raise TargetError(
                f"log_densities got values for {', '.join(values) or 'nothing'}; "
                f"{self.name} has the variables {', '.join(self.space.names)}."
            )
        if self.space.map is not None:
            raise TargetError(f"{self.name} is stored in other coordinates than its variables: give the flat state.")
        parts = []
        for v in self.space.variables:
            part = float_array(values[v.name])
            if part is None:
                raise TargetError(f"{v.name!r} must be a number or an array of numbers, not {values[v.name]!r}.")
            if v.transform != "none":
                raise TargetError(f"{v.name!r} is stored in other coordinates than its own: give the flat state.")
            if part.shape != v.shape:
                raise TargetError(f"{v.name!r} has shape {v.shape}, not {part.shape}.")
            parts.append(part.ravel())
        return np.concatenate(parts)

    def _is_inside(self, x: FloatArray) -> bool:
        """Whether a state lies in the support of the reference's coordinates."""
        program = self.program
        whole = (program.value_type == REAL) | (x == np.floor(x))
        two = (program.value_type != BINARY) | (x == program.lower) | (x == program.upper)
        return bool(np.all(whole & two & (program.lower <= x) & (x <= program.upper)))

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """Return all variables by name, in their own shapes, from states of shape (..., dimension)."""
        x = self.space.checked(states, self.name)
        return self.space.values(x) if self.view is None else self.view.values(x)

    def describe_point(self, state: FloatArray) -> str:
        """Name the variables and values of a state, for messages."""
        parts = []
        for name, value in self.values(state).items():
            text = np.array2string(value, precision=17, threshold=12, max_line_width=10**6).replace("\n", "")
            parts.append(f"{name}={text if np.ndim(value) else repr(np.asarray(value).item())}")
        return ", ".join(parts)


def refuse_pickling(name: str) -> NoReturn:
    """Raise the error of a target that is pickled."""
    raise TargetError(
        f"The target {name} holds addresses of this process and cannot be pickled: build it again in the other "
        "process. Its results can be pickled."
    )
