"""A target: a log-likelihood and a reference, ready for the engine."""

import inspect
import math
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.engine import callback, moves
from sterna.engine.callback import Entry
from sterna.engine.program import (
    CHANGE,
    CONDITIONAL,
    DRAW,
    GRADIENT,
    LOG_DENSITY,
    N_LOG_DENSITIES,
    WHOLE_GRADIENT,
    NotANumber,
    Program,
    evaluate,
    evaluate_gradient,
)
from sterna.errors import EvaluationError, TargetError
from sterna.explorers.base import Explorer
from sterna.ground.compilation import address_of
from sterna.ground.user_function import Bridged, CannotCompile, compile_user_function
from sterna.ground.values import BINARY, REAL
from sterna.reference.fitted_reference import NOTE, FittedMap
from sterna.reference.reference import Reference, coordinate_tables, space_and_distributions
from sterna.reference.space import Space, View, break_sticks, check_view
from sterna.reference.sticks import add_stick_jacobian_slope, stick_log_jacobian
from sterna.target import binding
from sterna.target.batch_function import BatchFunction
from sterna.target.binding import as_number
from sterna.target.gradients import gradient_lines, store_gradient
from sterna.target.vectorized import as_numbers, batch_function
from sterna.types import FloatArray

if TYPE_CHECKING:
    from sterna.explorers.cost import Cost


# What may cost much: priors and draws from them are evaluated where the run is.
MOVABLE = (callback.LIKELIHOOD, callback.CHANGE, callback.GRADIENT)

# What calls back a function of many points, and its signature, by place.
TOGETHER: dict[int, tuple[Any, Any]] = {
    callback.LIKELIHOOD: (callback.python_log_likelihood, LOG_DENSITY),
    callback.REFERENCE: (callback.python_log_reference, LOG_DENSITY),
    callback.GRADIENT: (callback.python_gradient, GRADIENT),
    callback.REFERENCE_GRADIENT: (callback.python_reference_gradient, GRADIENT),
}


class Target:
    """A distribution to sample: its density is the reference's times exp(log_likelihood).

    Parameters
    ----------
    log_likelihood
        A function of variables and data by name, or of one flat vector first and then data by name. Compiled if Numba
        can compile it; else it runs as Python, and `notes` says why.
    reference
        A dict of named distributions (`{"mu": sterna.Normal(0, 10)}`), of sterna, `scipy.stats`, NumPyro or PyMC
        (`pm.Normal.dist(0, 10)`), or a `sterna.Reference`, `sterna.PriorTransform` or `sterna.FittedReference`.
    data
        Observed arrays and numbers, passed to the functions by name. Lists and tuples of numbers become arrays; what
        may do otherwise than an array, such as a Series, is passed as it is, to functions that then run as Python.
    local_change
        `local_change(x, i, new)` (and data by name) returns the change of the log-likelihood when coordinate i of the
        flat state x becomes `new`. Coordinate-wise explorers then pay for local terms only.
    gradient
        The gradient of the log-likelihood, for explorers that follow it: a function of the same kind of parameters. It
        returns a tuple with one entry for each real variable among them, in their order and shapes, or the entry alone
        if there is but one; for a flat vector, a vector of the same length.
    vectorized
        Whether `log_likelihood` and `gradient` take many points at once: every variable with one more axis in front,
        and return a number (a gradient) for each. They run as Python, once for a step of all chains. "padded" always
        passes as many points as a copy has chains, for functions that are compiled anew for each number of points.
    compile
        False runs all functions as Python, where `print` and a debugger work, or where Numba itself fails.
    explorer
        The explorer to use by default.
    kernels
        Kernels of the target's own, by the kernel whose place they take: the same algorithm with the likelihood
        compiled in place (see `sterna.models.normal`).
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

    def __init__(
        self,
        log_likelihood: Callable[..., Any],
        reference: Any,
        data: Mapping[str, Any] | None = None,
        *,
        local_change: Callable[..., Any] | None = None,
        gradient: Callable[..., Any] | None = None,
        vectorized: bool | str = False,
        compile: bool = True,
        explorer: Explorer | None = None,
        kernels: Mapping[Any, Any] | None = None,
        view: View | None = None,
        name: str | None = None,
    ) -> None:
        if not callable(log_likelihood):
            raise TargetError(f"log_likelihood={log_likelihood!r} is not a function.")
        began = time.perf_counter()
        self.name: str = name or str(getattr(log_likelihood, "__name__", type(log_likelihood).__name__))
        self.explorer = explorer
        self.view = view
        if view is not None:
            check_view(view)
        self.kernels = dict(kernels or {})
        self.space, distributions = space_and_distributions(reference, data)
        if self.space.map is not None:
            _check_map_alone(self.space, gradient, local_change)
        self.notes: list[str] = [NOTE] if isinstance(self.space.map, FittedMap) else []
        # moves of the user's own that were made ready for this target, for messages
        self.moves: list[str] = []
        self._data, self._block = binding.read_data(data, self.space)
        # with the data as they are now
        self._anew = partial(
            Target, log_likelihood, reference, {given: self._data.given[given] for given in data or {}},
            local_change=local_change, gradient=gradient, vectorized=vectorized, compile=compile, explorer=explorer,
            kernels=kernels, view=view, name=name,
        )  # fmt: skip
        self._alive: list[Any] = []
        # densities as Python, which explain their errors better than compiled code does
        self._plain: list[Callable[[FloatArray], float]] = []
        # how to compile a gradient, which only some explorers ask for
        self._gradients: dict[str, Callable[[], int]] = {}
        self._handles: list[int] = []
        # functions that run as Python, by handle: those that may be evaluated elsewhere, those that take many points
        self.movable: dict[int, Callable[..., Any]] = {}
        # a user's Python function may keep a buffer; the prior draws of a bridge do not, and have nothing to note
        self.one_thread = False
        self.batch_functions: dict[int, BatchFunction] = {}
        if vectorized not in (False, True, "padded"):
            raise TargetError(f'vectorized={vectorized!r} is not known: give True, False or "padded".')
        self._vectorized, self._compile = vectorized, compile
        weakref.finalize(self, callback.forget, self._handles)
        functions = {
            "log_likelihood": self._density(
                log_likelihood, "log_likelihood", callback.LIKELIHOOD, independent=isinstance(reference, Mapping)
            )
        }
        if local_change is not None:
            functions["likelihood_change"] = self._change(local_change, "local_change", callback.CHANGE)
        self._compile_whole = gradient.compile_whole if isinstance(gradient, Bridged) else None
        if gradient is not None:
            self._gradients["likelihood_gradient"] = self._gradient(gradient, "gradient", callback.GRADIENT)
        if isinstance(reference, Reference):
            functions |= self._reference_functions(reference)
        tables = coordinate_tables(self.space, distributions)
        self.program = Program(
            dimension=self.dimension,
            log_likelihood=functions["log_likelihood"],
            likelihood_change=functions.get("likelihood_change", 0),
            log_reference=functions.get("log_reference", 0),
            reference_change=functions.get("reference_change", 0),
            draw_reference=functions.get("draw_reference", 0),
            likelihood_gradient=0,
            reference_gradient=0,
            whole_gradient=0,
            data=self._block.ctypes.data,
            **tables,
        )
        self.block = self.program.block()
        self.build_seconds = time.perf_counter() - began

    def _reference_functions(self, reference: Reference) -> dict[str, int]:
        """Make the functions of a joint reference ready; its gradient only when it is asked for."""
        if reference.gradient is not None:
            self._gradients["reference_gradient"] = self._gradient(
                reference.gradient, "the reference's gradient", callback.REFERENCE_GRADIENT
            )
        functions = {
            "log_reference": self._density(reference.log_density, "the reference's log_density", callback.REFERENCE)
        }
        if reference.local_change is not None:
            functions["reference_change"] = self._change(
                reference.local_change, "the reference's local_change", callback.REFERENCE_CHANGE
            )
        return functions | {"draw_reference": self._draw(reference.draw)}

    def __reduce__(self) -> Any:
        raise TargetError(
            f"The target {self.name} holds addresses of this process and cannot be pickled: build it anew in the other "
            "process, and send arrays such as result.posterior instead of a result."
        )

    def __repr__(self) -> str:
        names = ", ".join(self.space.names[:8]) + (", ..." if len(self.space.names) > 8 else "")
        how = "compiled" if self.compiled else "not all compiled"
        return f"<sterna.Target {self.name} of {names}: dimension {self.dimension}, {how}>"

    def __copy__(self) -> "Target":
        return self

    def __deepcopy__(self, _: Any) -> "Target":
        return self

    @property
    def data(self) -> dict[str, Any]:
        """The data by name; arrays cannot be written to."""
        return dict(self._data.given)

    @property
    def odd_data(self) -> str:
        """A sentence about data that are no numbers, for messages; empty if there are none."""
        odd = binding.not_numbers(self._data)
        return f" Note that {'; '.join(odd)}." if odd else ""

    def python_error(self, state: FloatArray, error: Exception) -> Exception:
        """Return the error of the same kind that Python raises where compiled code did: its message says more."""
        for plain in self._plain if self.compiled and not self.moves else []:
            try:
                plain(state)
            except Exception as found:
                if type(found) is type(error):
                    return found
        return error

    @property
    def fitted(self) -> FittedMap | None:
        """The reference that a run fits to its draws, if there is one."""
        return self.space.map if isinstance(self.space.map, FittedMap) else None

    def for_a_run(self, cost: Any = None) -> "Target":
        """Return the target itself, or one built anew if a run is going to change it."""
        made = self if self.fitted is None else self._anew()
        if cost is not None:
            made.__dict__["cost"] = cost
        return made

    @property
    def measured_cost(self) -> Any:
        """The cost, if it was measured."""
        return self.__dict__.get("cost")

    @property
    def dimension(self) -> int:
        """Number of coordinates of a state."""
        return self.space.dimension

    @property
    def compiled(self) -> bool:
        """Whether no part of the target runs as Python."""
        return not self._handles

    def log_densities(self, state: FloatArray | None = None, **values: Any) -> tuple[float, float]:
        """Return (log-reference, log-likelihood) at a flat state or at variables given by name.

        Variables by name must be stored in their own coordinates, which all but simplices and normal vectors are.
        """
        if state is None:
            state = self._state_of(values)
        x = np.ascontiguousarray(state, dtype=np.float64)
        if x.shape != (self.dimension,):
            raise TargetError(f"A state of {self.name} has {self.dimension} coordinates, not {x.shape}.")
        log_densities = np.zeros(N_LOG_DENSITIES)
        if not self._inside(x):
            return -math.inf, -math.inf
        try:
            evaluate(self.block, x, log_densities)
        except NotANumber as error:
            raise EvaluationError(f"The {error} at {self.describe_point(x)}.") from None
        return float(log_densities[0]), float(log_densities[1])

    @property
    def gradient_handle(self) -> int:
        """Handle of a gradient that runs as Python, or 0."""
        return int(self._block[callback.GRADIENT])

    @property
    def has_gradient(self) -> bool:
        """Whether the gradient of both log-densities is known."""
        joint = self.program.log_reference != 0
        return "likelihood_gradient" in self._gradients and (not joint or "reference_gradient" in self._gradients)

    @cached_property
    def cost(self) -> "Cost":
        """What an evaluation costs, measured when first asked for."""
        from sterna.explorers.cost import measured

        return measured(self)

    def handles(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """Handles of the functions in some places that run as Python; 0 where one does not."""
        return tuple(int(self._block[place]) for place in places)

    def prepare_gradient(self) -> None:
        """Compile the gradient, once; explorers that follow it call this when they are bound."""
        if not self.has_gradient:
            raise TargetError(f"The gradient of {self.name} is not known: give gradient= to sterna.Target.")
        if self.program.likelihood_gradient == self.program.whole_gradient == 0:
            addresses = self._whole_gradient() or {name: build() for name, build in self._gradients.items()}
            self.program = self.program._replace(**addresses)
            self.block[:] = self.program.block()

    def _whole_gradient(self) -> dict[str, Any]:
        """Compile one function for the gradients of both log-densities, where another library makes one."""
        if self._compile_whole is None:
            return {}
        body = [
            f"    x = carray(as_pointer(state, float64), {self.dimension})",
            f"    out = carray(as_pointer(gradient, float64), {self.dimension})",
            "    out[:] = function(frozen(x), beta)",
            "    return 0",
        ]
        header = "def entry(state, beta, gradient, data):"
        try:
            entry = binding.compile_entry(self._compile_whole(), header, [], body, {}, WHOLE_GRADIENT)
        except CannotCompile:
            return {}
        self._alive.append(entry)
        return {"whole_gradient": address_of(entry, WHOLE_GRADIENT)}

    def gradient(self, state: FloatArray, beta: float = 1.0) -> FloatArray:
        """Return the gradient of log-reference + beta * log-likelihood at a flat state, by stored coordinate."""
        self.prepare_gradient()
        x = np.ascontiguousarray(state, dtype=np.float64)
        gradient, scratch = np.zeros(self.dimension), np.zeros(self.dimension)
        evaluate_gradient(self.block, x, beta, np.zeros(N_LOG_DENSITIES), gradient, scratch)
        return gradient

    def _state_of(self, values: Mapping[str, Any]) -> FloatArray:
        if set(values) != set(self.space.names):
            raise TargetError(
                f"log_densities got values for {', '.join(values) or 'nothing'}; "
                f"{self.name} has the variables {', '.join(self.space.names)}."
            )
        if self.space.map is not None:
            raise TargetError(f"{self.name} is stored in other coordinates than its variables: give the flat state.")
        parts = []
        for v in self.space.variables:
            part = np.asarray(values[v.name], dtype=np.float64)
            if v.transform != "none":
                raise TargetError(f"{v.name!r} is stored in other coordinates than its own: give the flat state.")
            if part.shape != v.shape:
                raise TargetError(f"{v.name!r} has shape {v.shape}, not {part.shape}.")
            parts.append(part.ravel())
        return np.concatenate(parts)

    def _inside(self, x: FloatArray) -> bool:
        """Whether a state lies in the support of the reference's coordinates."""
        program = self.program
        whole = (program.value_type == REAL) | (x == np.floor(x))
        two = (program.value_type != BINARY) | (x == program.lower) | (x == program.upper)
        return bool(np.all(whole & two & (program.lower <= x) & (x <= program.upper)))

    def _entry(
        self,
        build: Callable[[], Any],
        what: str,
        fallback: Any,
        place: int,
        plain: Any,
        signature: Any,
    ) -> int:
        """Address of a compiled function, or of the callback to its Python form, whose handle is put in its place."""
        address, handle, notes = self._enter(build, what, fallback, plain, signature)
        if handle != 0:
            self._block[place] = handle
            self._handles.append(handle)
            self.one_thread = self.one_thread or bool(notes) or place in MOVABLE
            self.notes.extend(note for note in notes if note not in self.notes)
        if handle != 0 and place in MOVABLE:
            self.movable[handle] = plain
        return address

    def _enter(self, build: Callable[[], Any], what: str, fallback: Any, plain: Any, signature: Any) -> Entry:
        """Make a function ready to be called by compiled code."""
        handle, notes = 0, tuple[str, ...]()
        try:
            if not self._compile:
                raise CannotCompile("compile=False")
            entry = build()
        except CannotCompile as reason:
            notes = (f"{what} runs as Python, not compiled: {reason}.",) if str(reason) else ()
            handle = callback.register(plain)
            entry = fallback
        self._alive.append(entry)
        return Entry(address_of(entry, signature), handle, notes)

    def _density(self, function: Callable[..., Any], what: str, place: int, independent: bool = False) -> int:
        if isinstance(function, BatchFunction):
            return self._batch_function_entry(function, what, place)
        arguments = binding.arguments_of(function, what, self.space, self._data.given)
        if any(a.source == "flat" and a.name != "x" for a in arguments):
            names = ", ".join(self.space.names)
            self.notes.append(
                f"{what}: {arguments[0].name} is no variable, so it receives all of them ({names}) as one vector."
            )
        if place == callback.LIKELIHOOD and independent:
            self.notes.extend(binding.not_taken(arguments, what, self.space))
        if self._vectorized and place == callback.LIKELIHOOD:
            fitted = self.fitted

            def read(values: Any, points: FloatArray) -> FloatArray:
                found = as_numbers(values, points, what)
                return found if fitted is None else found + [fitted.log_term(x) for x in points]

            return self._batch_entry(function, arguments, read, what, place)
        take = binding.python_arguments(arguments, self.space, self._data)
        reference = place == callback.REFERENCE
        # the Python form must not hold on to the target, or neither would ever be freed
        sticks, fitted = self._sticks(), self.fitted

        def build() -> Any:
            user = compile_user_function(function)
            lines, names, needed = binding.source_of(arguments, self.space, self._data)
            terms = [f"float64(function({', '.join(names)}))"]
            if fitted is not None:
                terms.append(fitted.term)
            if reference:
                terms += [f"stick_log_jacobian(x[{a}:{b}])" for a, b in sticks]
            body = [f"    return {' + '.join(terms)}"]
            return binding.compile_entry(user, "def entry(state, data):", lines, body, needed, LOG_DENSITY)

        def plain(x: FloatArray) -> float:
            value = as_number(_call(function, take(x)), what)
            if fitted is not None:
                value += fitted.log_term(x)
            if reference:
                value += sum(stick_log_jacobian(x[a:b]) for a, b in sticks)
            return value

        self._plain.append(plain)
        fallback = callback.python_log_reference if reference else callback.python_log_likelihood
        return self._entry(build, what, fallback, place, plain, LOG_DENSITY)

    def _batch_entry(
        self, function: Callable[..., Any], arguments: Any, read: Callable[..., Any], what: str, place: int
    ) -> int:
        """Address of the callback to a user's function of many points, which a lone point calls as a batch of one."""
        padded = self._vectorized == "padded"
        batch = batch_function(function, arguments, self.space, self._data, read, what, padded)
        return self._batch_function_entry(BatchFunction(batch, (place,)), what, place)

    def _batch_function_entry(self, function: BatchFunction, what: str, place: int) -> int:
        """Address of the callback to a function of many points."""

        def plain(x: FloatArray, out: FloatArray | None = None) -> Any:
            answer = function.one(place, x)
            if out is None:
                return float(answer)
            out[:] = answer
            return None

        def build() -> Any:
            raise CannotCompile(function.reason)

        fallback, signature = TOGETHER[place]
        address = self._entry(build, what, fallback, place, plain, signature)
        self.batch_functions[int(self._block[place])] = function
        return address

    def _change(self, function: Callable[..., Any], what: str, place: int) -> int:
        if not callable(function):
            raise TargetError(f"{what}={function!r} is not a function.")
        arguments = binding.arguments_of(function, what, self.space, self._data.given, leading=3)
        take = binding.python_arguments(arguments, self.space, self._data)

        def build() -> Any:
            user = compile_user_function(function)
            lines, names, needed = binding.source_of(arguments, self.space, self._data)
            body = [f"    return float64(function({', '.join(['frozen(x)', 'coordinate', 'new', *names])}))"]
            header = "def entry(state, coordinate, new, data):"
            return binding.compile_entry(user, header, lines, body, needed, CHANGE)

        def plain(x: FloatArray, coordinate: int, new: float) -> float:
            return as_number(_call(function, take(x), x.copy(), coordinate, new), what)

        fallback = callback.python_change if place == callback.CHANGE else callback.python_reference_change
        return self._entry(build, what, fallback, place, plain, CHANGE)

    def conditional(self, function: Callable[..., Any]) -> tuple[Entry, Callable[..., None]]:
        """Make a user's conditional laws ready, `conditional(i, beta, ...)` of `sterna.Gibbs`; with its Python form.

        The Python form writes into its last argument: `plain(state, i, beta, log_probabilities)`.
        """
        what = "conditional"
        arguments = binding.arguments_of(function, what, self.space, self._data.given, leading=2)
        take = binding.python_arguments(arguments, self.space, self._data)

        def build() -> Any:
            user = compile_user_function(function)
            lines, names, needed = binding.source_of(arguments, self.space, self._data)
            body = [
                f"    values = function({', '.join(['place', 'beta', *names])})",
                "    if values.size != count:",
                "        raise ValueError('conditional returned another number of log-probabilities than of values')",
                "    carray(as_pointer(weights, float64), count)[:] = values",
                "    return 0",
            ]
            header = "def entry(state, place, beta, weights, count, data, handle):"
            return binding.compile_entry(user, header, lines, body, needed, CONDITIONAL)

        def plain(x: FloatArray, place: int, beta: float, out: FloatArray) -> None:
            values = np.asarray(_call(function, take(x), place, beta), dtype=np.float64)
            if values.shape != out.shape:
                raise TargetError(
                    f"{what} returned an array of shape {values.shape}; it must return the log-probabilities of all "
                    f"{out.size} values of the coordinate."
                )
            out[:] = values

        return self._enter(build, what, callback.python_conditional, plain, CONDITIONAL), plain

    def move(self, function: Callable[..., Any], what: str, count: int) -> Entry:
        """Make a user's own move of `count` coordinates ready, `function(x, log_density, rng, ...)`."""
        taken = {*self.space.names, *self._data.given}
        second, third = list(inspect.signature(getattr(function, "py_func", function)).parameters)[1:3]
        if {second, third} & taken:
            raise TargetError(
                f"{what} takes {second} and {third} in the places of the log-density and the generator: begin with "
                "(x, log_density, rng), whatever their names, and put variables and data behind."
            )
        known = {**self._data.given, "beta": None}
        arguments = binding.arguments_of(function, what, self.space, known, leading=3)
        wants_beta = "beta" not in taken and any(a.name == "beta" for a in arguments)
        # by name, as beta may stand anywhere between them
        arguments = tuple(replace(a, keyword=True) for a in arguments if a.name in taken)
        take = binding.python_arguments(arguments, self.space, self._data)

        def build() -> Any:
            user = compile_user_function(function)
            lines, names, needed = binding.source_of(arguments, self.space, self._data)
            names = ["own", "log_density", "generator", *names, *(["beta=beta"] if wants_beta else [])]
            body = [*moves.argument_lines(count), f"    return function({', '.join(names)})"]
            header = "def entry(state, record, beta, data, handle):"
            return binding.compile_entry(user, header, lines, body, needed, moves.MOVE)

        def plain(x: Any, own: Any, stream: Any, record: int, beta: float) -> None:
            values, keywords = take(x)
            keywords |= {"beta": beta} if wants_beta else {}
            move = partial(_call, function, (values, keywords))
            moves.run_python_move(move, what, own, stream, record)

        if (name := what.replace("The", "the", 1)) not in self.moves:
            self.moves.append(name)
        return self._enter(build, what, moves.python_move, plain, moves.MOVE)

    def _gradient(self, function: Callable[..., Any], what: str, place: int) -> Callable[[], int]:
        """Check a gradient's parameters, and return how to compile it."""
        if not callable(function):
            raise TargetError(f"{what}={function!r} is not a function.")
        if isinstance(function, BatchFunction):
            return partial(self._batch_function_entry, function, what, place)
        arguments = binding.arguments_of(function, what, self.space, self._data.given)
        take = binding.python_arguments(arguments, self.space, self._data)
        flat = arguments[0].source == "flat"
        named = [a.name for a in arguments if a.source == "variable"]
        variables = [v for v in self.space.variables if v.value_type == REAL and (flat or v.name in named)]
        variables.sort(key=lambda v: v.start if flat else named.index(v.name))
        space, sticks, reference = self.space, self._sticks(), place == callback.REFERENCE_GRADIENT
        fitted = self.fitted
        if not variables:
            raise TargetError(f"{what} takes no real variable as a parameter, so there is nothing to differentiate.")

        def build() -> Any:
            user = compile_user_function(function)
            lines, names, needed = binding.source_of(arguments, self.space, self._data)
            body = [f"    out = carray(as_pointer(gradient, float64), {space.dimension})", "    out[:] = 0.0"]
            body += [f"    values = function({', '.join(names)})"]
            body += [f"    {line}" for line in gradient_lines(space, variables, flat, self._data, needed)]
            if reference:
                body += [f"    add_stick_jacobian_slope(x[{a}:{b}], out[{a}:{b}])" for a, b in sticks]
            if fitted is not None:
                body += [f"    {line}" for line in fitted.pullback]
            header = "def entry(state, gradient, data):"
            return binding.compile_entry(user, header, lines, [*body, "    return 0"], needed, GRADIENT)

        def plain(x: FloatArray, out: FloatArray) -> None:
            store(_call(function, take(x)), x, out)
            if reference:
                for a, b in sticks:
                    add_stick_jacobian_slope(x[a:b], out[a:b])

        def store(values: Any, x: FloatArray, out: FloatArray) -> None:
            store_gradient(space, variables, flat, values, space.prepared(x), out, what)
            if fitted is not None:
                fitted.pull_back(x, out)

        def read(values: Any, points: FloatArray) -> FloatArray:
            out = np.zeros_like(points)
            alone = flat or len(variables) == 1
            for k, x in enumerate(points):
                own = values[k] if alone else tuple(part[k] for part in values)
                store(own, x, out[k])
            return out

        if self._vectorized and not reference:
            return lambda: self._batch_entry(function, arguments, read, what, place)
        fallback = callback.python_reference_gradient if reference else callback.python_gradient
        return lambda: self._entry(build, what, fallback, place, plain, GRADIENT)

    def _draw(self, function: Callable[..., Any]) -> int:
        what = "the reference's draw"
        arguments = binding.arguments_of(function, what, self.space, self._data.given, leading=1)
        take = binding.python_arguments(arguments, self.space, self._data)
        for argument in arguments:
            if argument.source == "variable":
                raise TargetError(
                    f"{what} has a parameter {argument.name!r}, which is a variable: a draw is independent of the "
                    "state, so it takes a generator and entries of data alone."
                )
        example = _call(
            getattr(function, "py_func", function), take(np.zeros(self.dimension)), np.random.default_rng(0)
        )
        by_variable = isinstance(example, tuple)
        space = self.space
        _check_draw(space, example)

        def build() -> Any:
            user = compile_user_function(function)
            lines, names, needed = binding.source_of(arguments, self.space, self._data)
            body = [f"    values = function({', '.join(['generator', *names])})"]
            body += [f"    {line}" for line in self._draw_lines(by_variable, not by_variable and np.ndim(example) == 0)]
            header = "def entry(state, data, generator):"
            return binding.compile_entry(user, header, lines, [*body, "    return 0"], needed, DRAW)

        def plain(x: FloatArray, generator: np.random.Generator) -> None:
            values = _call(function, take(x), generator)
            _check_draw(space, values)
            flat = np.concatenate([np.ravel(v) for v in values]) if by_variable else np.ravel(values)
            x[:] = break_sticks(space, np.asarray(flat, dtype=np.float64))

        return self._entry(build, what, callback.python_draw, callback.DRAW, plain, DRAW)

    def _draw_lines(self, by_variable: bool, scalar: bool) -> list[str]:
        """Code that stores what a draw returned."""
        if scalar:
            return ["x[0] = values"]
        lines = []
        begin = 0
        for place, v in enumerate(self.space.variables):
            size = v.natural_size
            value = f"values[{place}]" if by_variable else f"values[{begin}:{begin + size}]"
            if v.transform == "simplex":
                lines.append(f"break_stick({value}, x[{v.start}:{v.stop}])")
            elif by_variable and v.shape == ():
                lines.append(f"x[{v.start}] = {value}")
            elif by_variable and len(v.shape) > 1:
                lines.append(f"x[{v.start}:{v.stop}] = np.ascontiguousarray({value}).reshape({v.size})")
            else:
                lines.append(f"x[{v.start}:{v.stop}] = {value}")
            begin += size
        return lines

    def _sticks(self) -> list[tuple[int, int]]:
        return [(v.start, v.stop) for v in self.space.variables if v.transform == "simplex"]

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """All variables by name, in their own shapes, from states of shape (..., dimension)."""
        return self.space.values(states) if self.view is None else self.view.values(states)

    def describe_point(self, state: FloatArray) -> str:
        """Name the variables and values of a state, for messages."""
        parts = []
        for name, value in self.values(state).items():
            text = np.array2string(value, precision=17, threshold=12, max_line_width=10**6)
            parts.append(f"{name}={text}")
        return ", ".join(parts)


def _call(function: Callable[..., Any], arguments: tuple[list[Any], dict[str, Any]], *leading: Any) -> Any:
    values, keywords = arguments
    return function(*leading, *values, **keywords)


def _check_map_alone(space: Space, gradient: Any, local_change: Any) -> None:
    """Refuse functions of stored coordinates where these are not the variables' own."""
    gradient = None if isinstance(space.map, FittedMap) else gradient
    for name, function in (("gradient", gradient), ("local_change", local_change)):
        if function is not None:
            raise TargetError(
                f"{name}= is of no use with this reference, whose variables {', '.join(space.names)} are computed from "
                f"other coordinates: leave {name} out, or give distributions that sterna has itself."
            )


def _check_draw(space: Space, example: Any) -> None:
    variables = space.variables
    shapes = [v.shape for v in variables]
    if isinstance(example, tuple):
        given = [np.shape(part) for part in example]
        if given != shapes:
            raise TargetError(
                f"The reference's draw returned values of shapes {given}; "
                f"the variables {', '.join(space.names)} have shapes {shapes}."
            )
        _check_values(space, [np.ravel(np.asarray(part, dtype=np.float64)) for part in example])
        return
    size = sum(v.natural_size for v in variables)
    if example is None:
        raise TargetError("The reference's draw returned None: return the values drawn.")
    if np.size(example) != size or np.ndim(example) > 1:
        raise TargetError(
            f"The reference's draw returned an array of shape {np.shape(example)}; return a tuple with one entry "
            f"for each of {', '.join(space.names)}, or one flat vector of {size} numbers."
        )
    ends = np.cumsum([v.natural_size for v in variables])[:-1]
    _check_values(space, np.split(np.ravel(np.asarray(example, dtype=np.float64)), ends))


def _check_values(space: Space, parts: list[FloatArray]) -> None:
    for v, part in zip(space.variables, parts, strict=True):
        good = np.isfinite(part).all() and (part >= v.lower).all() and (part <= v.upper).all()
        if good and v.value_type != REAL:
            good = (part == np.floor(part)).all()
        if good and v.transform == "simplex":
            good = abs(part.sum() - 1.0) < 1e-6
        if not good:
            raise TargetError(f"The reference's draw returned {v.name}={part}, which is not in its space.")
