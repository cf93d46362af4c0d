"""A user's own move, the function of `sterna.Move`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sterna.engine import moves
from sterna.errors import TargetError
from sterna.target.arguments import arguments_of, python_caller, signature_of
from sterna.target.code import EntryCode
from sterna.target.data import Inputs
from sterna.target.user_function import EntryPoint, PythonForm, UserFunction
from sterna.types import FloatArray, WordArray

ENTRY_POINT = EntryPoint(moves.MOVE, moves.python_move)


def own_move(function: Callable[..., Any], label: str, count: int, inputs: Inputs) -> UserFunction:
    """Read `move(x, log_density, rng, ...)` of `count` coordinates; `beta` may be among its further parameters."""
    inputs_by_name = {*inputs.space.names, *inputs.data.given}
    second, third = list(signature_of(function).parameters)[1:3]
    if {second, third} & inputs_by_name:
        raise TargetError(
            f"{label} takes {second} and {third} in the places of the log-density and the generator: begin with "
            "(x, log_density, rng), whatever their names, and list variables and data after them."
        )
    matched = arguments_of(function, label, inputs.space, {**inputs.data.given, "beta": None}, leading=3)
    takes_beta = "beta" not in inputs_by_name and any(argument.name == "beta" for argument in matched)
    # by name, because beta may stand anywhere between them
    arguments = tuple(replace(argument, keyword=True) for argument in matched if argument.name in inputs_by_name)

    def compile(inputs: Inputs) -> object:
        code = EntryCode(function, arguments, inputs)
        call = code.call("own", "log_density", "generator", last=("beta=beta",) if takes_beta else ())
        body = [*(line.strip() for line in moves.argument_lines(count)), f"return {call}"]
        return code.compile("def entry(state, record, beta, data, handle):", body, moves.MOVE)

    def python_form(inputs: Inputs) -> PythonForm:
        call = python_caller(function, arguments, inputs)

        def run(state: FloatArray, x: FloatArray, stream: WordArray, record: int, beta: float) -> None:
            keywords = {"beta": beta} if takes_beta else {}
            moves.run_python_move(partial(call, state, **keywords), label, x, stream, record)

        return run

    return UserFunction(label, ENTRY_POINT, compile, python_form, given=function, arguments=arguments)
