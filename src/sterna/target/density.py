"""A log-density: the likelihood's, or that of a joint reference."""

from collections.abc import Callable
from typing import Any

from sterna.engine import callback
from sterna.engine.failures import guarded_log_likelihood, guarded_log_reference
from sterna.engine.program import LOG_DENSITY
from sterna.reference.sticks import stick_log_jacobian
from sterna.target.arguments import (
    arguments_of,
    note_on_flat_vector,
    note_on_unused_variables,
    python_caller,
    remark_on_flat_vector,
)
from sterna.target.batch_function import BatchFunction
from sterna.target.code import EntryCode, log_value
from sterna.target.data import Inputs
from sterna.target.returned import as_number, as_numbers
from sterna.target.user_function import EntryPoint, PythonForm, UserFunction, check_callable
from sterna.target.vectorized import Vectorized, batch_entry, vectorized_function
from sterna.types import FloatArray

LIKELIHOOD = EntryPoint(
    LOG_DENSITY,
    callback.python_log_likelihood,
    "log_likelihood",
    callback.LIKELIHOOD,
    movable=True,
    guard=guarded_log_likelihood,
    guarded_slot=callback.GUARDED_LIKELIHOOD,
)
REFERENCE = EntryPoint(
    LOG_DENSITY,
    callback.python_log_reference,
    "log_reference",
    callback.REFERENCE,
    guard=guarded_log_reference,
    guarded_slot=callback.GUARDED_REFERENCE,
)


def likelihood(
    function: Callable[..., Any] | BatchFunction, inputs: Inputs, vectorized: Vectorized, independent: bool
) -> UserFunction:
    """Read a log-likelihood; under a reference of independent variables, note those that it does not take."""
    label, space = "log_likelihood", inputs.space
    check_callable(function, label)
    if isinstance(function, BatchFunction):
        return batch_entry(function, label, LIKELIHOOD)
    arguments = arguments_of(function, label, space, inputs.data.given)
    notes = note_on_flat_vector(arguments, label, space)
    if independent:
        notes += note_on_unused_variables(arguments, label, space)
    if vectorized:
        return vectorized_function(function, arguments, read_log_likelihoods, label, LIKELIHOOD, vectorized, notes)

    def compile(inputs: Inputs) -> object:
        code = EntryCode(function, arguments, inputs)
        code.scope["log_value"] = log_value
        terms = [f"log_value({code.call()})"]
        if inputs.fitted is not None:
            terms.append(inputs.fitted.term)
        return code.compile("def entry(state, data):", [f"return {' + '.join(terms)}"], LOG_DENSITY)

    def python_form(inputs: Inputs) -> PythonForm:
        call, fitted = python_caller(function, arguments, inputs), inputs.fitted

        def evaluate(x: FloatArray) -> float:
            value = as_number(call(x), label)
            return value if fitted is None else value + fitted.log_term(x)

        return evaluate

    remark = remark_on_flat_vector(arguments, label, space)
    return UserFunction(label, LIKELIHOOD, compile, python_form, tuple(notes), function, arguments, remark)


def read_log_likelihoods(inputs: Inputs, values: object, points: FloatArray) -> FloatArray:
    """Check the values of a vectorised log-likelihood, and add the term of a fitted reference."""
    found, fitted = as_numbers(values, points, "log_likelihood"), inputs.fitted
    return found if fitted is None else found + [fitted.log_term(x) for x in points]


def reference_density(function: Callable[..., Any] | BatchFunction, inputs: Inputs) -> UserFunction:
    """Read the log-density of a joint reference; it is stored by fractions of sticks, whose Jacobian is added."""
    label = "the reference's log_density"
    check_callable(function, label)
    if isinstance(function, BatchFunction):
        return batch_entry(function, label, REFERENCE)
    arguments = arguments_of(function, label, inputs.space, inputs.data.given)

    def compile(inputs: Inputs) -> object:
        code = EntryCode(function, arguments, inputs)
        code.scope["log_value"] = log_value
        terms = [f"log_value({code.call()})", *(f"stick_log_jacobian(x[{a}:{b}])" for a, b in inputs.sticks)]
        return code.compile("def entry(state, data):", [f"return {' + '.join(terms)}"], LOG_DENSITY)

    def python_form(inputs: Inputs) -> PythonForm:
        call, sticks = python_caller(function, arguments, inputs), inputs.sticks

        def evaluate(x: FloatArray) -> float:
            return as_number(call(x), label) + sum(stick_log_jacobian(x[a:b]) for a, b in sticks)

        return evaluate

    notes = note_on_flat_vector(arguments, label, inputs.space)
    remark = remark_on_flat_vector(arguments, label, inputs.space)
    return UserFunction(label, REFERENCE, compile, python_form, tuple(notes), function, arguments, remark)
