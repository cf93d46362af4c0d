"""Binding: from a user's function of named arguments to one that the engine can call by address.

The engine passes a state and a block of data addresses. A small generated function takes them apart, hands the user's
function its arguments by name, and is compiled with it. Data are never part of the compiled code, so new data
of the same types need no new compilation.
"""

import array as plain_arrays
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError, NumbaWarning
from numba.core.imputils import impl_ret_borrowed
from numpy.typing import NDArray

from sterna.engine import callback
from sterna.engine.moves import generator_on, log_density_on
from sterna.errors import TargetError
from sterna.ground.compilation import as_pointer, intrinsic
from sterna.ground.user_function import Bridged, CannotCompile, short_reason
from sterna.ground.values import REAL
from sterna.reference.affine import affine
from sterna.reference.space import Space, Variable
from sterna.reference.sticks import break_stick, stick, stick_log_jacobian
from sterna.types import FloatArray, IntArray

NO_NUMBERS = "not an array of numbers"
# Types of data that are arrays to every function; not those derived of them, such as named tuples.
LIKE_ARRAYS = (np.ndarray, np.memmap, list, tuple, range, plain_arrays.array)


@dataclass(frozen=True)
class Argument:
    """Where an argument of the user's function comes from: the "flat" vector, a "variable" or "data"."""

    source: str
    name: str
    keyword: bool = False
    """Whether it must be passed by keyword, as a parameter before it keeps its default."""


@intrinsic
def frozen(typing_context: Any, array: Any) -> Any:
    """The same array, read-only: what writes into its arguments does not compile, and gets copies in Python."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, values[0])

    return array.copy(readonly=True)(array), generate


def arguments_of(
    function: Callable[..., Any], what: str, space: Space, data: Mapping[str, Any], leading: int = 0
) -> tuple[Argument, ...]:
    """Match a function's parameters with variables and data, or with the one flat vector.

    The first `leading` parameters (a generator, say) are passed by position whatever their names.
    """
    try:
        parameters = list(inspect.signature(getattr(function, "py_func", function)).parameters.values())
    except (TypeError, ValueError):
        return (Argument("flat", "x"),)
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TargetError(
                f"{what} takes {parameter}; sterna passes arguments by name, so list the variables and data by name."
            )
    if len(parameters) < leading:
        raise TargetError(f"{what} has {len(parameters)} parameters; its first {leading} are passed by position.")
    known = {*space.names, *data}
    # A parameter with a default that matches nothing keeps its default.
    wanted = [p for p in parameters[leading:] if p.default is p.empty or p.name in known]
    names = [p.name for p in wanted]
    if leading == 0 and isinstance(function, Bridged):
        return (Argument("flat", "x"),)
    flat = leading == 0 and [name for name in names if name not in data] == names[:1] != []
    arguments = []
    for place, parameter in enumerate(wanted):
        name = parameter.name
        keyword = parameter.kind == parameter.KEYWORD_ONLY or parameter != parameters[leading + place]
        if name in space.names:
            arguments.append(Argument("variable", name, keyword))
        elif name in data:
            arguments.append(Argument("data", name, keyword))
        elif flat and place == 0 and not get_close_matches(name, space.names, cutoff=0.7):
            arguments.append(Argument("flat", name, keyword))
        else:
            raise TargetError(
                f"{what} has a parameter {name!r}, which is neither a variable ({', '.join(space.names)}) "
                f"nor an entry of data ({', '.join(data) or 'none given'}). "
                "Name parameters after variables and data, or take one flat vector."
            )
    return tuple(arguments)


def not_taken(arguments: tuple[Argument, ...], what: str, space: Space) -> list[str]:
    """Note the variables that a function of variables by name does not take: the name may be misspelt on one side."""
    taken = {argument.name for argument in arguments if argument.source == "variable"}
    others = [name for name in space.names if name not in taken]
    if not others or any(argument.source == "flat" for argument in arguments):
        return []
    it = f"{others[0]} keeps its prior" if len(others) == 1 else "they keep their priors"
    return [f"{what} does not take {', '.join(others)} of the reference: {it}."]


@dataclass(frozen=True)
class Data:
    """Observed data: as given for Python functions, and as typed arrays in memory for compiled ones."""

    given: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    reasons: Mapping[str, str]
    """Why an entry cannot be passed to compiled code."""
    places: Mapping[str, int]
    """Where an entry's address and shape begin in the block."""


def read_data(data: Mapping[str, Any] | None, space: Space) -> tuple[Data, IntArray]:
    """Lay data out in a block of addresses and shapes, behind the head that `callback` reads."""
    if data is not None and not isinstance(data, Mapping):
        raise TargetError(f"data= is {_describe(data)}: give a dict of arrays and numbers by name.")
    given = dict(data or {})
    for variable in space.variables:
        if variable.name in given:
            raise TargetError(
                f"{variable.name!r} is both a variable of the reference and an entry of data: rename one."
            )
        if variable.affine is not None:
            offset, matrix = variable.affine
            given[f"{variable.name}__offset"], given[f"{variable.name}__matrix"] = offset, matrix
    own = {} if space.map is None else space.map.data
    arrays, reasons, places = {}, {}, {}
    block: list[int] = [0] * callback.DIMENSION + [space.dimension]
    for name, value in {**given, **own}.items():
        try:
            # a copy, so that the target does not change when the user's array does
            array = value if name in own else _array_of(value)
        except (TypeError, ValueError, NumbaError) as error:
            reasons[name] = f"data[{name!r}] is {_describe(value)}, {error if type(error) is TypeError else NO_NUMBERS}"
            if isinstance(value, np.ndarray):
                given[name] = _frozen(value.copy())
            continue
        arrays[name] = array
        if type(value) in LIKE_ARRAYS and name in given:
            # compiled or not, a function gets the same
            given[name] = _frozen(array)
        places[name] = len(block)
        block += [array.ctypes.data, *array.shape]
    return Data(given, arrays, reasons, places), np.array(block, dtype=np.int64)


def _array_of(value: Any) -> NDArray[Any]:
    """Return an array of numbers as compiled code reads it, if a function cannot tell it from what was given."""
    from_jax = type(value).__module__.partition(".")[0] in ("jax", "jaxlib")
    if type(value) not in LIKE_ARRAYS and not isinstance(value, (bool, int, float, np.generic)) and not from_jax:
        if hasattr(value, "__array__"):
            raise TypeError(
                "which may do otherwise than an array (a Series has indices, a masked array its mask): give "
                "numpy.asarray of it if an array will do"
            )
        raise TypeError(NO_NUMBERS)
    array = np.array(value, order="C")
    numba.from_dtype(array.dtype)
    if array.dtype.kind not in "biuf":
        raise TypeError(NO_NUMBERS)
    return array


def not_numbers(data: Data) -> list[str]:
    """Say which data hold NaN, or are lists that hold no numbers: what errors of a target are often about."""
    odd = [f"data[{name!r}] contains NaN" for name, array in data.arrays.items() if np.isnan(array).any()]
    return odd + [reason for name, reason in data.reasons.items() if type(data.given[name]) in (list, tuple)]


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written to: with other data at every call there would be no law to sample."""
    view = array.view()
    view.flags.writeable = False
    return view


def _describe(value: Any) -> str:
    return f"of type {type(value).__name__}"


def source_of(arguments: tuple[Argument, ...], space: Space, data: Data) -> tuple[list[str], list[str], dict[str, Any]]:
    """Lines that take a state and a data block apart, the names of the arguments, and the types they need."""
    coordinates = "x" if space.map is None else "u"
    lines = [
        f"    {coordinates} = carray(as_pointer(state, float64), {space.dimension})",
        f"    block = carray(as_pointer(data, int64), {callback.HEAD + 8 * (len(data.places) + 1)})",
    ]
    needed: dict[str, Any] = {}
    if space.map is not None:
        own, names_of_map = space.map.lines(lambda name: datum(name, data, needed))
        lines += [f"    {line}" for line in own]
        needed |= names_of_map
    names = []
    for place, argument in enumerate(arguments):
        name = f"a{place}"
        names.append(f"{argument.name}={name}" if argument.keyword else name)
        if argument.source == "data":
            if argument.name in data.reasons:
                raise CannotCompile(data.reasons[argument.name])
            expression = datum(argument.name, data, needed)
        elif argument.source == "flat":
            expression = _flat(space, data, needed)
        else:
            variable = next(v for v in space.variables if v.name == argument.name)
            expression = _variable(variable, data, needed)
        lines.append(f"    {name} = {expression}")
    return lines, names, needed


def datum(name: str, data: Data, needed: dict[str, Any]) -> str:
    """Return the expression of an entry of data."""
    array, place = data.arrays[name], data.places[name]
    needed[f"type_{place}"] = numba.from_dtype(array.dtype)
    pointer = f"as_pointer(block[{place}], type_{place})"
    if array.ndim == 0:
        return f"carray({pointer}, 1)[0]"
    shape = ", ".join(f"block[{place + 1 + axis}]" for axis in range(array.ndim))
    return f"frozen(carray({pointer}, ({shape},)))"


def _variable(variable: Variable, data: Data, needed: dict[str, Any]) -> str:
    part = f"x[{variable.start}:{variable.stop}]"
    if variable.transform == "simplex":
        return f"frozen(stick({part}))"
    if variable.affine is not None:
        offset, matrix = (datum(f"{variable.name}__{end}", data, needed) for end in ("offset", "matrix"))
        value = f"affine({part}, {offset}, {matrix})"
        if len(variable.shape) != 1:
            return f"{value}[0]" if variable.shape == () else f"frozen({value}.reshape({variable.shape}))"
        return f"frozen({value})"
    if variable.shape == ():
        return f"x[{variable.start}]" if variable.value_type == REAL else f"int64(x[{variable.start}])"
    if variable.value_type != REAL:
        part = f"{part}.astype(np.int64)"
    return f"frozen({part})" if len(variable.shape) == 1 else f"frozen({part}.reshape({variable.shape}))"


def _flat(space: Space, data: Data, needed: dict[str, Any]) -> str:
    if not space.transformed:
        return "frozen(x)"
    vectors = [replace(v, shape=(v.natural_size,)) for v in space.variables]
    parts = [_variable(v, data, needed) if v.transform != "none" else f"x[{v.start}:{v.stop}]" for v in vectors]
    return f"frozen(np.concatenate(({', '.join(parts)},)))"


def compile_entry(
    function: Any,
    header: str,
    lines: list[str],
    body: list[str],
    needed: dict[str, Any],
    signature: Any,
) -> Any:
    """Compile a generated entry around a user's compiled function, once for each layout and set of types."""
    source = "\n".join([header, *lines, *body])
    try:
        return _entry_once(function, source, tuple(sorted(needed.items(), key=lambda item: item[0])), signature)
    except CannotCompile:
        raise
    except Exception as error:  # Numba raises all sorts of errors for what it does not support
        raise CannotCompile(short_reason(error)) from error


@lru_cache(maxsize=128)
def _entry_once(function: Any, source: str, needed: tuple[tuple[str, Any], ...], signature: Any) -> Any:
    scope: dict[str, Any] = {
        "function": function, "carray": numba.carray, "as_pointer": as_pointer, "np": np, "stick": stick,
        "break_stick": break_stick, "stick_log_jacobian": stick_log_jacobian, "affine": affine,
        "frozen": frozen, "generator_on": generator_on, "log_density_on": log_density_on,
        "float64": types.float64, "int64": types.int64, **dict(needed),
    }  # fmt: skip
    exec(source, scope)
    entry = numba.njit(nogil=True, error_model="numpy")(scope["entry"])
    with warnings.catch_warnings():
        # what Numba has to say about the speed of a user's function is no reason to fail
        warnings.simplefilter("ignore", NumbaWarning)
        entry.compile(signature.args)
    returned = types.unliteral(entry.overloads[signature.args].signature.return_type)
    if returned != signature.return_type:
        wanted = "nothing" if signature.return_type == types.none else "a number"
        raise CannotCompile(f"it returns {returned}, not {wanted}")
    return entry


def python_arguments(
    arguments: tuple[Argument, ...], space: Space, data: Data
) -> Callable[[Any], tuple[list[Any], dict[str, Any]]]:
    """Return how a Python function's arguments follow from a state, which they never share memory with."""
    placed = [_getter(argument, space, data) for argument in arguments if not argument.keyword]
    named = {argument.name: _getter(argument, space, data) for argument in arguments if argument.keyword}

    def take(state: FloatArray) -> tuple[list[Any], dict[str, Any]]:
        x = space.prepared(state)
        return [get(x) for get in placed], {name: get(x) for name, get in named.items()}

    return take


def _getter(argument: Argument, space: Space, data: Data) -> Callable[[FloatArray], Any]:
    """Return what makes one argument from a state."""
    if argument.source == "data":
        value = data.given[argument.name]
        return lambda x: value
    if argument.source == "flat":
        return lambda x: space.flat(x.copy())
    variable = next(v for v in space.variables if v.name == argument.name)
    if variable.shape == () and variable.transform != "none":
        return lambda x: variable.value(x).item()
    if variable.shape == () and variable.value_type == REAL:
        return lambda x: x.item(variable.start)
    if variable.shape == ():
        return lambda x: int(x.item(variable.start))
    return lambda x: variable.value(x.copy())


def as_number(value: Any, what: str) -> float:
    """Check that a Python function returned one number."""
    if type(value) is float:
        return value
    if isinstance(value, (tuple, list)):
        kind = type(value).__name__
        raise TargetError(
            f"{what} returned a {kind} of {len(value)}; it must return one number, and nothing beside it."
        )
    if np.ndim(value) != 0:
        raise TargetError(
            f"{what} returned an array of shape {np.shape(value)}; it must return one number (did you forget a sum?)."
        )
    try:
        if np.iscomplexobj(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TargetError(f"{what} returned {value!r}; it must return one number.") from None
