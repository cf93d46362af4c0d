"""A local change: how much a log-density changes when one coordinate does."""

from collections.abc import Callable
from typing import Any

from sterna.engine import callback
from sterna.engine.program import CHANGE
from sterna.target.arguments import arguments_of, python_caller
from sterna.target.code import EntryCode, log_value
from sterna.target.data import Inputs
from sterna.target.returned import as_number
from sterna.target.user_function import EntryPoint, PythonForm, UserFunction, check_callable
from sterna.types import FloatArray

LIKELIHOOD_CHANGE = EntryPoint(CHANGE, callback.python_change, "likelihood_change", callback.CHANGE, movable=True)
REFERENCE_CHANGE = EntryPoint(CHANGE, callback.python_reference_change, "reference_change", callback.REFERENCE_CHANGE)


def local_change(function: Callable[..., Any], label: str, entry_point: EntryPoint, inputs: Inputs) -> UserFunction:
    """Read `local_change(x, i, new, ...)`, which takes the stored coordinates."""
    check_callable(function, label)
    arguments = arguments_of(function, label, inputs.space, inputs.data.given, leading=3)

    def compile(inputs: Inputs) -> object:
        code = EntryCode(function, arguments, inputs)
        code.scope["log_value"] = log_value
        body = [f"return log_value({code.call('frozen(x)', 'coordinate', 'new')})"]
        return code.compile("def entry(state, coordinate, new, data):", body, CHANGE)

    def python_form(inputs: Inputs) -> PythonForm:
        call = python_caller(function, arguments, inputs)

        def evaluate(x: FloatArray, coordinate: int, new: float) -> float:
            return as_number(call(x, x.copy(), coordinate, new), label)

        return evaluate

    return UserFunction(label, entry_point, compile, python_form, given=function, arguments=arguments)
