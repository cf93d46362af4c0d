"""The gradient of a log-density, by stored coordinate."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from sterna.engine import callback
from sterna.engine.program import GRADIENT, WHOLE_GRADIENT
from sterna.errors import TargetError
from sterna.ground.user_function import Bridged, CannotCompile
from sterna.ground.values import REAL
from sterna.reference.fitted_reference import FittedMap
from sterna.reference.space import Space
from sterna.reference.sticks import add_stick_jacobian_slope
from sterna.target.arguments import Argument, arguments_of, python_caller
from sterna.target.batch_function import BatchFunction
from sterna.target.code import EntryCode
from sterna.target.data import Inputs
from sterna.target.pullback import Pullback
from sterna.target.user_function import (
    EnteredFunction,
    EntryPoint,
    PythonForm,
    UserFunction,
    check_callable,
    enter,
    enter_compiled,
)
from sterna.target.vectorized import Vectorized, batch_entry, vectorized_function
from sterna.types import FloatArray

LIKELIHOOD_GRADIENT = EntryPoint(
    GRADIENT, callback.python_gradient, "likelihood_gradient", callback.GRADIENT, movable=True
)
REFERENCE_GRADIENT = EntryPoint(
    GRADIENT, callback.python_reference_gradient, "reference_gradient", callback.REFERENCE_GRADIENT
)
# No callback: without compiled code for both gradients at once, the engine calls the two functions above.
BOTH_GRADIENTS = EntryPoint(WHOLE_GRADIENT, None, "whole_gradient")


def pullback_of(arguments: tuple[Argument, ...], space: Space, label: str) -> Pullback:
    """Find the variables with respect to which a function with these arguments returns slopes."""
    flat = arguments[0].source == "flat"
    named = [argument.name for argument in arguments if argument.source == "variable"]
    variables = [v for v in space.variables if v.value_type == REAL and (flat or v.name in named)]
    variables.sort(key=lambda v: v.start if flat else named.index(v.name))
    if not variables:
        raise TargetError(f"{label} takes no real variable as a parameter, so there is nothing to differentiate.")
    return Pullback(space, variables, flat)


def likelihood_gradient(
    function: Callable[..., Any] | BatchFunction, inputs: Inputs, vectorized: Vectorized
) -> UserFunction:
    """Read the gradient of the log-likelihood."""
    label = "gradient"
    check_callable(function, label)
    if isinstance(function, BatchFunction):
        return batch_entry(function, label, LIKELIHOOD_GRADIENT)
    arguments = arguments_of(function, label, inputs.space, inputs.data.given)
    pullback = pullback_of(arguments, inputs.space, label)

    def store(values: object, x: FloatArray, out: FloatArray, space: Space, fitted: FittedMap | None) -> None:
        pullback.store(values, space.prepared(x), out, label)
        if fitted is not None:
            fitted.pull_back(x, out)

    def read(inputs: Inputs, values: Any, points: FloatArray) -> FloatArray:
        out = np.zeros_like(points)
        parts = pullback.rows(values, len(points), label)
        for k, x in enumerate(points):
            slopes = tuple(part[k] for part in parts)
            store(slopes[0] if pullback.is_alone else slopes, x, out[k], inputs.space, inputs.fitted)
        return out

    if vectorized:
        return vectorized_function(function, arguments, read, label, LIKELIHOOD_GRADIENT, vectorized)

    def compile(inputs: Inputs) -> object:
        lines = [] if inputs.fitted is None else inputs.fitted.pullback
        return compile_gradient(EntryCode(function, arguments, inputs), pullback, lines, label)

    def python_form(inputs: Inputs) -> PythonForm:
        call, space, fitted = python_caller(function, arguments, inputs), inputs.space, inputs.fitted

        def write(x: FloatArray, out: FloatArray) -> None:
            store(call(x), x, out, space, fitted)

        return write

    return UserFunction(label, LIKELIHOOD_GRADIENT, compile, python_form, given=function, arguments=arguments)


def reference_gradient(function: Callable[..., Any] | BatchFunction, inputs: Inputs) -> UserFunction:
    """Read the gradient of a joint reference's log-density, to which the slope of the sticks' Jacobian is added."""
    label = "the reference's gradient"
    check_callable(function, label)
    if isinstance(function, BatchFunction):
        return batch_entry(function, label, REFERENCE_GRADIENT)
    arguments = arguments_of(function, label, inputs.space, inputs.data.given)
    pullback = pullback_of(arguments, inputs.space, label)

    def compile(inputs: Inputs) -> object:
        lines = [f"add_stick_jacobian_slope(x[{a}:{b}], out[{a}:{b}])" for a, b in inputs.sticks]
        return compile_gradient(EntryCode(function, arguments, inputs), pullback, lines, label)

    def python_form(inputs: Inputs) -> PythonForm:
        call, sticks = python_caller(function, arguments, inputs), inputs.sticks

        def write(x: FloatArray, out: FloatArray) -> None:
            pullback.store(call(x), x, out, label)
            for a, b in sticks:
                add_stick_jacobian_slope(x[a:b], out[a:b])

        return write

    return UserFunction(label, REFERENCE_GRADIENT, compile, python_form, given=function, arguments=arguments)


def compile_gradient(code: EntryCode, pullback: Pullback, last_lines: list[str], label: str) -> object:
    """Compile an entry that stores what the user's gradient returns, and then runs some more lines."""
    body = [
        f"out = carray(as_pointer(gradient, float64), {pullback.space.dimension})",
        "out[:] = 0.0",
        f"values = {code.call()}",
        *pullback.checks(code, label),
        *pullback.lines(code),
        *last_lines,
        "return 0",
    ]
    return code.compile("def entry(state, gradient, data):", body, GRADIENT)


def both_gradients(function: Bridged) -> UserFunction:
    """Read one function for log-reference + beta * log-likelihood, which another library compiles."""

    def compile(inputs: Inputs) -> object:
        code = EntryCode(function, (Argument("flat", "x"),), inputs)
        lines = [
            f"out = carray(as_pointer(gradient, float64), {inputs.space.dimension})",
            f"copy_into(out, {code.call(last=('beta',))})",
            "return 0",
        ]
        return code.compile("def entry(state, beta, gradient, data):", lines, WHOLE_GRADIENT)

    def python_form(_: Inputs) -> PythonForm:
        raise NotImplementedError("without compiled code each gradient has its own function")

    return UserFunction("gradient", BOTH_GRADIENTS, compile, python_form)


class Gradients:
    """The gradients of a target's log-densities, made ready once, when an explorer first asks for one."""

    def __init__(self, given: object, functions: list[UserFunction], inputs: Inputs, compile: bool) -> None:
        """`functions` are all that are known; `given`, the user's, may know how to compile both of them at once."""
        self.functions, self._inputs, self._compile = functions, inputs, compile
        self._whole = given.whole if isinstance(given, Bridged) else None
        self._lock = threading.Lock()
        self._entered: list[EnteredFunction] | None = None

    def knows(self, entry_point: EntryPoint) -> bool:
        """Whether there is a gradient of this kind."""
        return any(function.entry_point is entry_point for function in self.functions)

    def entered(self) -> list[EnteredFunction]:
        """Return the gradients, compiled if possible; threads that ask at the same time wait for the first."""
        with self._lock:
            if self._entered is None:
                self._entered = self._enter_both() or [
                    enter(function, self._inputs, self._compile) for function in self.functions
                ]
            return self._entered

    def _enter_both(self) -> list[EnteredFunction]:
        if self._whole is None:
            return []
        try:
            return [enter_compiled(both_gradients(self._whole), self._inputs)]
        except CannotCompile:
            return []
