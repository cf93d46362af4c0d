"""Which of a user's functions raised an exception, and what Python says about it."""

import traceback
from collections.abc import Sequence

import numpy as np

from sterna.engine.callback import failed_handle
from sterna.ground.user_function import source_places
from sterna.target.data import Inputs
from sterna.target.density import LIKELIHOOD, REFERENCE
from sterna.target.gradient import LIKELIHOOD_GRADIENT, REFERENCE_GRADIENT
from sterna.target.user_function import EnteredFunction
from sterna.types import FloatArray

# These depend on the state alone, so they can be called again where they failed.
OF_STATE, WITH_OUTPUT = (LIKELIHOOD, REFERENCE), (LIKELIHOOD_GRADIENT, REFERENCE_GRADIENT)


def find_failure(
    error: Exception, functions: Sequence[EnteredFunction], state: FloatArray, inputs: Inputs
) -> tuple[str, Exception]:
    """Return the name of the function that raised an exception, and the exception as Python raises it.

    A function that runs as Python is known by its handle. A compiled one is known by the place in the source that Numba
    adds to the traceback, or because it raises the same again as Python, whose message says more.
    """
    for one in functions:
        if one.entry.handle != 0 and one.entry.handle == failed_handle(error):
            return one.function.label, error
    compiled = [one for one in functions if one.python_form is None]
    frames = {(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)}
    found = [one for one in compiled if frames & source_places(one.function.given)] or compiled
    others = []
    for one in found:
        if one.function.entry_point not in OF_STATE + WITH_OUTPUT:
            others.append(one)
            continue
        again = _raised_again(one, state, inputs)
        if type(again) is type(error):
            return one.function.label, again
    labels = dict.fromkeys(one.function.label.replace("The", "the", 1) for one in others or found)
    return " or ".join(labels) or "the target", error


def _raised_again(one: EnteredFunction, state: FloatArray, inputs: Inputs) -> Exception | None:
    """Call the Python form of a compiled function at the state where something failed."""
    output = (np.zeros(inputs.space.dimension),) if one.function.entry_point in WITH_OUTPUT else ()
    try:
        one.function.python_form(inputs)(state, *output)
    except Exception as again:
        return again
    return None
