"""How sterna compiles: cached machine code, and calls by address.

The engine is compiled once and kept on disk. What differs between targets (the likelihood, an explorer) is compiled
separately and called by its address, which costs about a nanosecond per call and lets exceptions pass. A plain Python
function is called in the same way, through a callback.
"""

import hashlib
import itertools
import os
import secrets
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from numba import extending, njit, typeof, types
from numba.core import cgutils, config
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from sterna.errors import Error
from sterna.ground.code_cache import CodeCache
from sterna.ground.fingerprint import Key, digest_of, is_persistent, key_of
from sterna.ground.lazy_library import LazyCompiler
from sterna.types import FloatPointer, IntPointer

Function = TypeVar("Function", bound=Callable[..., Any])

if config.DISABLE_JIT:
    raise Error(
        "NUMBA_DISABLE_JIT is set, and sterna's engine exists as compiled code only: unset it. To run your own "
        "function as Python, for example in a debugger, use sterna.Target(..., compile=False)."
    )


def number_functions_anew() -> None:
    """Let Numba's numbers of functions, which are part of names in machine code, be those of no other process.

    Numba counts from 1 in each process, and links code by names. So a part of code from disk could be taken for another
    part with the same name and number, such as the sum over another axis.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))


number_functions_anew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=number_functions_anew)


# Kernels take bare pointers, which are one word each and indexed like arrays; an array is seven words.
FLOATS = types.CPointer(types.float64)
INTEGERS = types.CPointer(types.int64)
WORDS = types.CPointer(types.uint64)

# Of a function that only compiled code calls. Wrappers for callers in Python and C take long to compile.
NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


# Folders without compiled functions: their sources are in no machine code (checked by a test).
UNCOMPILED = ("command_line", "paper", "particles", "result", "run", "search", "target/checks", "tuning", "workers")


def _stamp_of_sources() -> str:
    """Return a hash of all sources that can be part of compiled functions, because one contains others."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(tuple(f"{folder}/" for folder in UNCOMPILED)):
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()


_STAMP = _stamp_of_sources()


def compiled(function: Function) -> Function:
    """Compile to machine code at the first call, and keep that on disk until a source of compiled code changes.

    Such a function does not count references to arrays, which could cost more than its arithmetic. So it must not make
    an array or a string; use `compiled_with_memory` for one that does.
    """
    return _compile(function, nogil=True, _nrt=False, forceinline=False)


def inlined(function: Function) -> Function:
    """Compile like `compiled`, but always as part of the caller, so that constants it passes remain constants."""
    return _compile(function, nogil=True, _nrt=False, forceinline=True)


def compiled_with_memory(function: Function) -> Function:
    """Compile a function that makes arrays; otherwise like `compiled`."""
    return _compile(function, nogil=True, _nrt=True, forceinline=False)


def compiled_callback(function: Function) -> Function:
    """Compile a function that calls Python and acquires the lock itself; otherwise like `compiled_with_memory`."""
    return _compile(function, nogil=False, _nrt=True, forceinline=False)


class Compiled(CPUDispatcher):  # type: ignore[misc] # Numba has no types
    """A function for compiled code, as part of it or by address; a second form, with a wrapper, serves Python."""

    @cached_property
    def for_python(self) -> Any:
        """The form that Python calls."""
        return _dispatcher(CPUDispatcher, self.py_func, {**self.targetoptions, "no_cpython_wrapper": False})

    def __call__(self, *arguments: object) -> Any:
        """Call it from Python."""
        return self.for_python(*arguments)


def _compile(function: Any, **options: bool) -> Any:
    """Compile with all options given, because a function that is compiled for another inherits the others."""
    return _dispatcher(Compiled, function, {"nopython": True, "error_model": "numpy", **NO_WRAPPERS, **options})


def _dispatcher(kind: Any, function: Any, options: dict[str, Any]) -> Any:
    dispatcher = kind(function, targetoptions=options, pipeline_class=LazyCompiler)
    if function.__module__.partition(".")[0] == "sterna":
        # its source is part of the stamp
        key = function.__module__, function.__qualname__, sorted(options.items()), _STAMP
        dispatcher._cache = CodeCache(repr(key))
    return dispatcher


def generated_function(function: Any, source: Key, captured: dict[str, object]) -> Any:
    """Compile a function of generated source, which is called by its address; keep it on disk if that is possible.

    `captured` are the objects that it uses, besides those of sterna. Its name holds its content, because Numba finds
    machine code by names.
    """
    parts = tuple((name, key_of(value, name)) for name, value in sorted(captured.items()))
    key = (*source, parts, _STAMP)
    function.__qualname__ = function.__name__
    dispatcher = njit(nogil=True, error_model="numpy", pipeline_class=LazyCompiler, **NO_WRAPPERS)(function)
    if is_persistent(key):
        function.__qualname__ = f"{function.__name__}_{digest_of(key)[:24]}"
        dispatcher._cache = CodeCache(digest_of(key))
    return dispatcher


def intrinsic(function: Callable[..., object]) -> Callable[..., Any]:
    """Make a function that generates its own LLVM code; it is called without its first argument, the context."""
    return extending.intrinsic(function)


def lowered(*argument_types: object) -> Callable[[Function], Function]:
    """Register the LLVM code that calls an object, by the types of the object and of its arguments."""
    return extending.lower_builtin(*argument_types)


def overload(function: Callable[..., object]) -> Callable[[Function], Function]:
    """Let compiled code call, instead of `function`, an implementation that is chosen by the types of the arguments.

    The implementation becomes part of its caller. Its signature is not compared with that of the decorated function,
    because Numba would compare annotations too.
    """
    options = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}
    return extending.overload(function, jit_options=options, strict=False)


def compiled_in_callers(function: Function) -> Function:
    """Make a function part of the compiled functions that call it, and so of their cached machine code.

    For functions that are made when a module is imported, whose names say nothing of their content.
    """
    overload(function)(lambda *arguments: function)
    return function


def compile_for(function: Any, *arguments: object) -> None:
    """Compile a function for a call from Python with such arguments, without calling it."""
    function.for_python.compile(tuple(typeof(argument) for argument in arguments))


def address_of(function: Any, signature: Any) -> int:
    """Compile `function` for `signature` and return the address of its machine code.

    The caller must keep `function` alive as long as the address is in use.
    """
    with global_compiler_lock:
        function.compile(signature.args)
        result = function.overloads[signature.args]
        returned = types.unliteral(result.signature.return_type)
        if returned != signature.return_type:
            raise TypeError(f"{function} returns {returned}, not {signature.return_type}")
        address = int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))
        if address == 0:
            raise RuntimeError(f"Numba made no machine code of {function}")
        if isinstance(function._cache, CodeCache):
            # now there is machine code
            function._cache.save_overload(signature.args, result)
        return address


def caller(signature: Any) -> Callable[..., Any]:
    """Return `call(address, (argument, ...))` for compiled functions of one signature."""
    result_type, argument_types = signature.return_type, signature.args

    @intrinsic
    def call(typing_context: object, address: object, arguments: object) -> object:
        def generate(context: Any, builder: Any, _: object, values: Any) -> object:
            function_type = context.call_conv.get_function_type(result_type, argument_types)
            pointer = builder.inttoptr(values[0], function_type.as_pointer())
            status, result = context.call_conv.call_function(
                builder,
                pointer,
                result_type,
                argument_types,
                cgutils.unpack_tuple(builder, values[1]),
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return result_type(types.int64, types.Tuple(argument_types)), generate

    return call


@intrinsic
def as_pointer(typing_context: object, address: object, dtype: Any) -> object:
    """Return the typed pointer to an address, which can be indexed like an array."""
    pointer_type = types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        return builder.inttoptr(values[0], context.get_value_type(pointer_type))

    return pointer_type(types.int64, dtype), generate


@intrinsic
def as_address(typing_context: object, pointer: object) -> object:
    """Return the address of a pointer."""

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        return builder.ptrtoint(values[0], context.get_value_type(types.int64))

    return types.int64(pointer), generate


@intrinsic
def row(typing_context: object, array: Any, index: object) -> object:
    """Return the pointer to a row of a C-contiguous matrix."""
    pointer_type = types.CPointer(array.dtype)

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        matrix = context.make_array(array)(context, builder, values[0])
        columns = builder.extract_value(matrix.shape, 1)
        first = builder.mul(values[1], columns)
        return builder.gep(matrix.data, [first])

    return pointer_type(array, types.int64), generate


@inlined
def offset_pointer(pointer: FloatPointer, entries: int) -> FloatPointer:
    """Return the pointer to the entry that is so many entries further."""
    return as_pointer(as_address(pointer) + 8 * entries, types.float64)


@inlined
def float_pointer(address: int) -> FloatPointer:
    """Return the pointer to float64 numbers at an address."""
    return as_pointer(address, types.float64)


@inlined
def int_pointer(address: int) -> IntPointer:
    """Return the pointer to int64 numbers at an address."""
    return as_pointer(address, types.int64)


@intrinsic
def floats_on_stack(typing_context: object, count: object) -> object:
    """Return the pointer to so many float64 numbers, which last until the function that is called by address returns.

    Only for such functions: one that becomes part of a loop of its caller would take more memory in every turn.
    """

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        return builder.alloca(context.get_value_type(types.float64), size=values[0])

    return FLOATS(types.int64), generate
