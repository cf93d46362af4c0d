"""What the machine code of a user's function depends on, as a key: functions with equal keys have equal code.

Numba freezes the values that a function captures into machine code, and compiles the functions that it calls with it.
So the key holds the bytecode of all of them, and what they capture, by content. What cannot be known by its content,
such as an object of another library, is known by its identity: then the key is valid in this process only.
"""

import dis
import hashlib
import inspect
import sys
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

# Numba copies captured arrays into machine code, which takes too long if they have more elements than this.
MAX_CAPTURE = 100_000

# Packages whose functions are known by their names, because the key of all code on disk holds their versions.
_KNOWN_BY_NAME = ("builtins", "cmath", "llvmlite", "math", "numba", "numpy", "operator", "scipy", "sterna")

Key = tuple[Any, ...]


class TooLarge(Exception):  # noqa: N818
    """An array is too large to be part of machine code; never shown to the user as an error."""


class Identity:
    """An object as a part of a key that is compared by identity, and kept alive."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        raise TypeError("a key that is valid in this process only has no digest")


def key_of_function(function: FunctionType, within: tuple[object, ...] = (), as_arguments: tuple[str, ...] = ()) -> Key:
    """Return the key of a function: its bytecode, its defaults, and what it captures.

    `within` are its callers. Captured values that it receives `as_arguments` are not part of its code.
    """
    inner = (*within, function)
    captured = {name: value for name, value in captured_values(function).items() if name not in as_arguments}
    code = key_of_code(function.__code__)
    parts = [(name, key_of(value, name, inner)) for name, value in sorted(captured.items())]
    defaults = [key_of(value, "default", inner) for value in function.__defaults__ or ()]
    named = sorted((function.__kwdefaults__ or {}).items())
    keywords = [(name, key_of(value, name, inner)) for name, value in named]
    return "function", code, tuple(parts), tuple(defaults), tuple(keywords), as_arguments


def key_of(value: Any, name: str, within: tuple[object, ...] = (), as_arguments: tuple[str, ...] = ()) -> Key:
    """Return a key that changes with a captured value; a `name` with a dot is an attribute of a module.

    A function that receives captured values `as_arguments` is copied; see `key_of_function`.
    """
    if as_arguments:
        return *_key_of_options(value), key_of_function(getattr(value, "py_func", value), within, as_arguments)
    if type(value) is int:
        return "int", hex(value)  # of any length
    if value is None or type(value) in (bool, float, complex, str, bytes):
        return type(value).__name__, repr(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _key_of_array(value, name)
    if isinstance(value, tuple):
        kind = () if type(value) is tuple else (Identity(type(value)),)
        return "tuple", *kind, *(key_of(part, name, within) for part in value)
    if isinstance(value, ModuleType):
        return "module", value.__name__
    plain = getattr(value, "py_func", value)
    if any(plain is outer for outer in within):
        return "recursive", next(k for k, outer in enumerate(within) if plain is outer)
    if isinstance(value, Dispatcher):
        return _key_of_dispatcher(value, name, within)
    if is_known_by_name(value):
        return "named", str(value.__module__), str(getattr(value, "__qualname__", ""))
    if isinstance(value, types.Type) and "0x" not in str(value):
        return "type", str(value)
    if inspect.isfunction(value):
        return key_of_function(value, within)
    if isinstance(value, np.ufunc) and getattr(np, repr(value)[8:-2], None) is value:
        return ("ufunc", repr(value))
    return ("identity", Identity(value))


def _key_of_dispatcher(value: Any, name: str, within: tuple[object, ...]) -> Key:
    """Return the key of a compiled function: sterna's has its own, and a user's is known only if it is copied.

    One that is not copied may hold code that was compiled when values which it captures were others.
    """
    if hasattr(value, "content_key"):
        key: Key = value.content_key
        return key
    if is_known_by_name(value.py_func):
        return "compiled", value.py_func.__module__, value.py_func.__qualname__
    if "." in name or not can_be_copied(value):
        return ("identity", Identity(value))
    return *_key_of_options(value), key_of(value.py_func, name, within)


def _key_of_options(value: Any) -> Key:
    """Return with what options a user compiles a function, if so."""
    if not isinstance(value, Dispatcher):
        return ("plain",)
    return "compiled", tuple(sorted((option, repr(chosen)) for option, chosen in value.targetoptions.items()))


def can_be_copied(function: Any) -> bool:
    """Return whether a function that the user compiles is of the common type, so that a copy does the same."""
    common = type(function) is CPUDispatcher and function._compiler.pipeline_class is Compiler
    return common and function._can_compile and not function.locals and not function.targetoptions.get("parallel")


def is_persistent(key: Key) -> bool:
    """Return whether a key means the same in another process."""
    return not any(isinstance(part, Identity) or (isinstance(part, tuple) and not is_persistent(part)) for part in key)


def digest_of(key: Key) -> str:
    """Return a short form of a key that is valid in all processes."""
    return hashlib.sha256(repr(key).encode()).hexdigest()


def key_of_code(code: CodeType) -> Key:
    """Return the key of a code object, without its place in a file.

    An inner function is compiled under a name that Numba counts anew in each process, so that code of two processes
    could be taken for one another: its key is valid in this process only.
    """
    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            comprehension = constant.co_name in ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>")
            constants.append(key_of_code(constant) if comprehension else ("identity", Identity(constant)))
        else:
            # the order of a set is another in each process
            ordered = sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant
            constants.append((type(constant).__qualname__, repr(ordered)))
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    return "code", code.co_code, code.co_exceptiontable, tuple(constants), names, counts


def captured_values(function: FunctionType) -> dict[str, Any]:
    """Return the values that a function reads from outside, also in comprehensions, inner functions and modules."""
    around, used = function.__globals__, _globals_of(function.__code__)
    values = {**{name: around[name] for name in used if name in around}, **closure_of(function)}
    names = names_of(function.__code__)
    for module_name, module in list(values.items()):
        if isinstance(module, ModuleType):
            values.update(_values_in_module(module_name, module, names, (module,)))
    return values


def closure_of(function: FunctionType) -> dict[str, Any]:
    """Return the values of variables of enclosing functions, without those that are not assigned yet."""
    cells, empty = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True), CellType()
    return {name: cell.cell_contents for name, cell in cells if cell != empty}


def _values_in_module(path: str, module: ModuleType, names: set[str], within: tuple[ModuleType, ...]) -> dict[str, Any]:
    """Return what a function reads from a module, and from modules in it."""
    if _root(module.__name__) in _KNOWN_BY_NAME:
        return {}
    values: dict[str, Any] = {}
    for name in names:
        value = getattr(module, name, values)  # which no module has
        if isinstance(value, ModuleType):
            if value not in within:
                values.update(_values_in_module(f"{path}.{name}", value, names, (*within, value)))
        elif value is not values:
            values[f"{path}.{name}"] = value
    return values


def names_of(code: CodeType) -> set[str]:
    """Return the names of globals and attributes that code uses, also in inner functions."""
    inner = [names_of(constant) for constant in code.co_consts if inspect.iscode(constant)]
    return set(code.co_names).union(*inner)


def _globals_of(code: CodeType) -> set[str]:
    inner = [_globals_of(constant) for constant in code.co_consts if inspect.iscode(constant)]
    own = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*inner)


def _key_of_array(value: Any, name: str) -> Key:
    if value.size > MAX_CAPTURE:
        raise TooLarge(f"it captures the array {name!r} of {value.size} elements; pass it as data={{{name!r}: {name}}}")
    if value.dtype.hasobject:
        return ("identity", Identity(value))
    kind: tuple[object, ...] = () if type(value) in (np.ndarray, value.dtype.type) else (Identity(type(value)),)
    # an array in a module cannot be copied, and may change before the function is compiled for other types
    kind += (Identity(value),) if "." in name and isinstance(value, np.ndarray) else ()
    layout = (value.flags.c_contiguous, value.flags.f_contiguous) if isinstance(value, np.ndarray) else ()
    content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return "array", *kind, type(value).__name__, repr(value.dtype), value.shape, layout, content


def is_known_by_name(value: object) -> bool:
    """Return whether a package whose version is known has this function or class under its own name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or _root(module) not in _KNOWN_BY_NAME:
        return False
    # a wrapper may bear the name of what it wraps
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value or getattr(found, "py_func", None) is value


def _root(module: str) -> str:
    return module.partition(".")[0]
