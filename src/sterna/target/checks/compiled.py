"""Compiled log-densities compared with the same functions as Python.

Compiled integers have 64 bits, so that 2**-1 is 0, products overflow and 1//0 raises nothing; and compiled code keeps
the values that a function captured when the target was made.
"""

import dis
import inspect
import math
import time
from collections.abc import Sequence
from types import FunctionType, TracebackType
from typing import NoReturn

import numpy as np
from numba.core.dispatcher import Dispatcher

from sterna.engine.interrupts import interruptible
from sterna.errors import Error, EvaluationError, TargetError, describe
from sterna.ground.fingerprint import captured_values, names_of
from sterna.target.checks.agreement import differ_for
from sterna.target.density import LIKELIHOOD, REFERENCE
from sterna.target.prepared import PreparedTarget
from sterna.target.user_function import EnteredFunction, PythonForm
from sterna.types import FloatArray

# A function is called at one point, and at the others until so many seconds have passed: Python may be a thousand times
# slower than compiled code.
MAX_SECONDS = 0.05

# Rounding errors of the argument, by which a function that amplifies them is recognised.
PERTURBATION, PERTURBED_POINTS = 1e-15, 4

# What Python and NumPy say of integers that compiled code computes otherwise.
INTEGER_MESSAGES = ("int too large", "integer division result too large", "Integers to negative integer powers")
INTEGER_DIVISIONS = ("//", "//=", "%", "%=")

ADVICE = (
    "Compiled integers have 64 bits: n**-1 is 0, large products overflow and 1//0 raises nothing, so compute with "
    "floats (write 2.0, or give data as floats). Compiled code also keeps defaults, globals and values of modules as "
    "they were when the target was made: make it again after a change, or pass them as data. sterna.Target(..., "
    "compile=False) runs functions as Python."
)


def check_compiled(
    target: PreparedTarget,
    functions: Sequence[EnteredFunction],
    states: FloatArray,
    log_densities: FloatArray,
    max_seconds: float = MAX_SECONDS,
) -> None:
    """Compare compiled log-densities, known at some states as (log-reference, log-likelihood), with Python's."""
    for one in functions:
        column = 0 if one.function.entry_point is REFERENCE else 1
        _compare(target, one, column, states, log_densities[:, column], max_seconds)


def comparable_functions(target: PreparedTarget) -> list[EnteredFunction]:
    """Return the log-densities that can be compared."""
    densities = [one for one in target.functions if one.function.entry_point in (REFERENCE, LIKELIHOOD)]
    return [one for one in densities if is_comparable(one)]


def is_comparable(entered: EnteredFunction) -> bool:
    """Return whether a function is compiled, and means the same as Python.

    Functions of sterna itself and those that their user compiles mean what they are when compiled; random numbers
    differ, and Python code inside compiled code has its own rules.
    """
    given = entered.function.given
    return entered.python_form is None and inspect.isfunction(given) and _is_plain(given)


def _is_plain(function: FunctionType, within: tuple[object, ...] = ()) -> bool:
    root = str(function.__globals__.get("__name__")).partition(".")[0]
    if root in ("sterna", "numba") or names_of(function.__code__) & {"random", "objmode"}:
        return False
    captured = captured_values(function).values()
    if any(isinstance(value, Dispatcher) for value in captured):
        return False
    inner = (*within, function)
    helpers = [value for value in captured if inspect.isfunction(value) and value not in inner]
    return all(_is_plain(helper, inner) for helper in helpers if not _is_of_library(helper))


def _is_of_library(function: FunctionType) -> bool:
    return str(function.__globals__.get("__name__")).partition(".")[0] in ("numpy", "scipy", "math")


def _compare(
    target: PreparedTarget,
    entered: EnteredFunction,
    column: int,
    states: FloatArray,
    values: FloatArray,
    max_seconds: float,
) -> None:
    form, began = entered.function.python_form(target.inputs), time.perf_counter()
    for state, value in zip(states, values, strict=True):
        try:
            plain = python_value(form, state)
        except Error as error:
            raise type(error)(f"{error} This happened at {target.describe_point(state)}.") from None
        except ArithmeticError as error:
            _raise(target, entered, state, f"raises {describe(error)}", float(value))
        if target.rejects and plain is not None and not plain < math.inf:
            plain = -math.inf
        if plain is not None and differ_for(target, float(value), plain):
            if not _amplifies_rounding(target, column, state, float(value), abs(plain - float(value))):
                _raise(target, entered, state, f"returns {plain!r}", float(value))
        if time.perf_counter() - began > max_seconds:
            return


def python_value(form: PythonForm, state: FloatArray) -> float | None:
    """Return what a function returns as Python; None if its error may mean that it is made for compiled code alone.

    Compiled code continues with infinities and NaN where Python's own floats raise, which is no fault. An error that
    shows integers which compiled code computes otherwise is raised as an ArithmeticError.
    """
    try:
        with np.errstate(all="ignore"):
            return float(interruptible(form, state.copy()))
    except Error:
        raise
    except Exception as error:
        if any(message in str(error) for message in INTEGER_MESSAGES):
            raise ArithmeticError(str(error)) from error
        if isinstance(error, ZeroDivisionError) and _operator_at(error.__traceback__) in INTEGER_DIVISIONS:
            raise
        return None


def _operator_at(traceback: TracebackType | None) -> str:
    """Return the operator that raised an exception."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return ""
    found = [one for one in dis.get_instructions(traceback.tb_frame.f_code) if one.offset == traceback.tb_lasti]
    return found[0].argrepr if found else ""


def _amplifies_rounding(
    target: PreparedTarget, column: int, state: FloatArray, value: float, difference: float
) -> bool:
    """Return whether a function changes as much if its argument changes by a rounding error, as in chaotic models."""
    signs: Sequence[float] = [(-1.0) ** k * (1 + k // 2) for k in range(PERTURBED_POINTS)]
    for sign in signs:
        other = np.where(target.program.value_type == 0, state * (1.0 + sign * PERTURBATION), state)
        try:
            found = target.log_densities(other)[column]
        except EvaluationError:
            return True
        if not abs(found - value) < 0.01 * difference:
            return True
    return False


def _raise(target: PreparedTarget, entered: EnteredFunction, state: FloatArray, plain: str, value: float) -> NoReturn:
    label = entered.function.label
    raise TargetError(
        f"{label[0].upper() if label.startswith('the ') else label[0]}{label[1:]} returns {value!r} when compiled, and "
        f"as Python it {plain}, at {target.describe_point(state)}. {ADVICE}"
    )
