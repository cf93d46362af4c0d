"""The conditional distributions of `sterna.Gibbs`, given by a user."""

from collections.abc import Callable
from typing import Any

from sterna.engine import callback
from sterna.engine.program import CONDITIONAL
from sterna.errors import TargetError
from sterna.ground.numbers import float_array
from sterna.target.arguments import arguments_of, python_caller
from sterna.target.code import EntryCode
from sterna.target.data import Inputs
from sterna.target.user_function import EntryPoint, PythonForm, UserFunction, check_callable
from sterna.types import FloatArray

ENTRY_POINT = EntryPoint(CONDITIONAL, callback.python_conditional)


def conditional_distribution(function: Callable[..., Any], inputs: Inputs) -> UserFunction:
    """Read `conditional(i, beta, ...)`; its Python form writes the log-probabilities into its last argument."""
    label = "conditional"
    check_callable(function, label)
    arguments = arguments_of(function, label, inputs.space, inputs.data.given, leading=2)

    def compile(inputs: Inputs) -> object:
        code = EntryCode(function, arguments, inputs)
        code.scope["TargetError"] = TargetError
        body = [
            f"values = {code.call('index', 'beta')}",
            "if values.size != count:",
            "    raise TargetError('conditional returned another number of log-probabilities than of values.')",
            "copy_into(carray(as_pointer(weights, float64), count), values)",
            "return 0",
        ]
        return code.compile("def entry(state, index, beta, weights, count, data, handle):", body, CONDITIONAL)

    def python_form(inputs: Inputs) -> PythonForm:
        call = python_caller(function, arguments, inputs)

        def evaluate(x: FloatArray, index: int, beta: float, out: FloatArray) -> None:
            returned = call(x, index, beta)
            values = float_array(returned)
            if values is None:
                raise TargetError(
                    f"{label} returned {returned!r}; it must return the log-probabilities of all {out.size} values of "
                    "the coordinate."
                )
            if values.shape != out.shape:
                raise TargetError(
                    f"{label} returned an array of shape {values.shape}; it must return the log-probabilities of all "
                    f"{out.size} values of the coordinate."
                )
            out[:] = values

        return evaluate

    return UserFunction(label, ENTRY_POINT, compile, python_form, given=function, arguments=arguments)
