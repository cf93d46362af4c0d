"""Generated code: from a state and a block of data addresses to a call of a user's function.

The engine passes a state and a data block. A small generated function, the entry, takes them apart, passes the user's
function its arguments, and is compiled with it. Data are never part of the compiled code, so that new data of the same
types need no new compilation.
"""

import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaWarning, TypingError
from numba.core.imputils import impl_ret_borrowed

from sterna.engine import callback
from sterna.engine.moves import log_density_on
from sterna.ground.compilation import as_pointer, compiled_with_memory, generated_function, intrinsic, overload
from sterna.ground.plain_reason import in_plain_words
from sterna.ground.streams import generator_on
from sterna.ground.user_function import Bridged, CannotCompile, compile_user_function, short_reason
from sterna.ground.values import REAL
from sterna.reference.affine import affine
from sterna.reference.space import Variable
from sterna.reference.sticks import break_stick, stick, stick_log_jacobian
from sterna.target.arguments import Argument
from sterna.target.data import AFFINE, Inputs, own_name

# Words of the data block that one entry takes at most: its address and its shape.
MAX_WORDS_PER_ENTRY = 8

# Where captured numbers are passed to the user's function.
CAPTURED = "<captured>"

# `warnings.catch_warnings` changes the filters of all threads.
_compiling = threading.RLock()


@intrinsic
def frozen(typing_context: Any, array: Any) -> Any:
    """The same array, read-only: a function that writes into its arguments does not compile, and runs as Python."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, values[0])

    return array.copy(readonly=True)(array), generate


@compiled_with_memory
def copy_into(out: Any, values: Any) -> None:
    """Copy a vector of the same length; Numba compiles an assignment of arrays for seconds, because of its messages."""
    for k in range(len(out)):
        out[k] = values[k]


def log_value(value: float) -> float:
    """Return the value of a log-density in compiled code, which refuses a truth value when it is compiled."""
    return value


@overload(log_value)
def _log_value(value: object) -> object:
    if isinstance(value, (types.Boolean, types.BooleanLiteral)):
        raise TypingError("it returns a truth value")
    return lambda value: types.float64(value)


# What generated code may use.
SCOPE: dict[str, object] = {
    "carray": numba.carray, "as_pointer": as_pointer, "np": np, "stick": stick, "break_stick": break_stick,
    "stick_log_jacobian": stick_log_jacobian, "affine": affine, "frozen": frozen, "generator_on": generator_on,
    "log_density_on": log_density_on, "float64": types.float64, "int64": types.int64, "copy_into": copy_into,
}  # fmt: skip


class EntryCode:
    """The code of an entry: lines that make a function's arguments, to which each kind of function adds its own."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Argument, ...], inputs: Inputs) -> None:
        self._function, self._inputs = function, inputs
        self.scope: dict[str, object] = {}
        """Names that the code uses besides those of `SCOPE`."""
        space, data = inputs.space, inputs.data
        coordinates = "x" if space.map is None else "u"
        self._lines = [
            f"{coordinates} = carray(as_pointer(state, float64), {space.dimension})",
            f"block = carray(as_pointer(data, int64), {callback.HEAD + MAX_WORDS_PER_ENTRY * (len(data.slots) + 1)})",
        ]
        if space.map is not None:
            lines, scope = space.map.lines(lambda name: self.datum(own_name("the reference", name)))
            self._lines += lines
            self.scope |= scope
        self._arguments = []
        for position, argument in enumerate(arguments):
            name = f"a{position}"
            self._lines.append(f"{name} = {self._expression(argument)}")
            self._arguments.append(f"{argument.name}={name}" if argument.keyword else name)
        self._captured = {name: self.datum(entry) for name, entry in inputs.captured.get(id(function), {}).items()}

    def call(self, *leading: str, last: tuple[str, ...] = ()) -> str:
        """Return the call of the user's function, with other arguments before and behind its own."""
        return f"function({CAPTURED}{', '.join([*leading, *self._arguments, *last])})"

    def datum(self, name: str) -> str:
        """Return the expression of an entry of data."""
        array, slot = self._inputs.data.arrays[name], self._inputs.data.slots[name]
        self.scope[f"type_{slot}"] = numba.from_dtype(array.dtype)
        pointer = f"as_pointer(block[{slot}], type_{slot})"
        if array.ndim == 0:
            return f"carray({pointer}, 1)[0]"
        shape = ", ".join(f"block[{slot + 1 + axis}]" for axis in range(array.ndim))
        return f"frozen(carray({pointer}, ({shape},)))"

    def compile(self, header: str, body: list[str], signature: object) -> object:
        """Compile the entry; with captured numbers as data, or frozen if they must be known to compile the function."""
        lines = [*self._lines, *body]
        if self._captured:
            try:
                function = compile_user_function(self._function, tuple(self._captured))
                passed = [line.replace(CAPTURED, ", ".join(self._captured.values()) + ", ") for line in lines]
                return compile_entry(function, header, passed, self.scope, signature)
            except CannotCompile:
                if isinstance(self._function, Bridged):
                    raise
        function = compile_user_function(self._function)
        frozen = [line.replace(CAPTURED, "") for line in lines]
        return compile_entry(function, header, frozen, self.scope, signature)

    def _expression(self, argument: Argument) -> str:
        if argument.source == "data":
            if argument.name in self._inputs.data.reasons:
                raise CannotCompile(self._inputs.data.reasons[argument.name])
            return self.datum(argument.name)
        if argument.source == "flat":
            return self._flat_vector()
        return self._variable(next(v for v in self._inputs.space.variables if v.name == argument.name))

    def _variable(self, variable: Variable) -> str:
        part = f"x[{variable.start}:{variable.stop}]"
        if variable.transform == "simplex":
            return f"frozen(stick({part}))"
        if variable.affine is not None:
            offset, matrix = (self.datum(own_name(variable.name, end)) for end in AFFINE)
            value = f"affine({part}, {offset}, {matrix})"
            if len(variable.shape) != 1:
                return f"{value}[0]" if variable.shape == () else f"frozen({value}.reshape({variable.shape}))"
            return f"frozen({value})"
        if variable.shape == ():
            return f"x[{variable.start}]" if variable.value_type == REAL else f"int64(x[{variable.start}])"
        if variable.value_type != REAL:
            part = f"{part}.astype(np.int64)"
        return f"frozen({part})" if len(variable.shape) == 1 else f"frozen({part}.reshape({variable.shape}))"

    def _flat_vector(self) -> str:
        space = self._inputs.space
        if not space.transformed:
            return "frozen(x)"
        vectors = [replace(v, shape=(v.natural_size,)) for v in space.variables]
        parts = [self._variable(v) if v.transform != "none" else f"x[{v.start}:{v.stop}]" for v in vectors]
        return f"frozen(np.concatenate(({', '.join(parts)},)))"


def compile_entry(
    function: object, header: str, lines: list[str], scope: dict[str, object], signature: object
) -> object:
    """Compile a generated entry around a user's compiled function, once for each layout and set of types."""
    source = "\n    ".join([header, *lines])
    try:
        with _compiling:
            return compile_entry_once(function, source, tuple(sorted(scope.items())), signature)
    except CannotCompile:
        raise
    except Exception as error:  # Numba raises many kinds of errors for code that it does not support
        raise CannotCompile(short_reason(error)) from error


@cache
def compile_entry_once(function: object, source: str, scope: tuple[tuple[str, object], ...], signature: Any) -> object:
    """Compile the source of an entry, or load it from disk, and check its type."""
    names: dict[str, Any] = {**SCOPE, "function": function, **dict(scope), "__name__": __name__}
    exec(source, names)
    entry = generated_function(names["entry"], ("entry", source), {"function": function, **dict(scope)})
    with warnings.catch_warnings():
        # a remark of Numba's on the speed of a user's function is no reason to fail
        warnings.simplefilter("ignore", NumbaWarning)
        entry.compile(signature.args)
    returned = types.unliteral(entry.overloads[signature.args].signature.return_type)
    if returned != signature.return_type:
        wanted = "nothing" if signature.return_type == types.none else "a number"
        raise CannotCompile(in_plain_words(f"it returns {returned}, not {wanted}"))
    compiled_entry: object = entry
    return compiled_entry
