"""How sterna compiles: cached machine code, and calls through a function's address.

The engine is compiled once and kept on disk. What differs between targets (the likelihood, an explorer)
is compiled on its own and enters the engine as an address, which costs about a nanosecond a call and
lets exceptions through. A plain Python function enters in the same way, through a callback.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import extending, njit, types
from numba.core import cgutils

from sterna.types import FloatPointer, IntPointer

Function = TypeVar("Function", bound=Callable[..., Any])

# Hot functions take bare pointers, one word each and indexed like arrays; an array is seven words.
FLOATS = types.CPointer(types.float64)
INTEGERS = types.CPointer(types.int64)
WORDS = types.CPointer(types.uint64)


def _stamp_of_package() -> str:
    """A fingerprint of all of sterna's sources, as one cached function contains others."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


_STAMP = _stamp_of_package()


def compiled(function: Function) -> Function:
    """Compile to machine code at the first call and keep it on disk until any source of sterna changes.

    Such a function counts no references to arrays, which would cost it more than its arithmetic. So it must not
    make an array or a string; one that must is `compiled_with_memory`.
    """
    return _compile(function, nogil=True, _nrt=False, forceinline=False)


def inlined(function: Function) -> Function:
    """Compile like `compiled`, but always as part of the caller, so that what it passes as a constant is one."""
    return _compile(function, nogil=True, _nrt=False, forceinline=True)


def compiled_with_memory(function: Function) -> Function:
    """Compile like `compiled` a function that makes arrays."""
    return _compile(function, nogil=True, _nrt=True, forceinline=False)


def compiled_callback(function: Function) -> Function:
    """Compile like `compiled_with_memory` a function that goes back to Python, for which it takes the lock itself."""
    return _compile(function, nogil=False, _nrt=True, forceinline=False)


def _compile(function: Any, **options: bool) -> Any:
    """Compile with all options said aloud, as a function compiled on behalf of another inherits those left out."""
    try:
        dispatcher = njit(cache=True, error_model="numpy", **options)(function)
    except RuntimeError:
        # there is no place on this machine where compiled code may be kept
        return njit(error_model="numpy", **options)(function)
    # Numba watches only the file of the function itself and would miss a change in what it inlines.
    index = getattr(dispatcher._cache, "_cache_file", None)
    if index is not None:
        index._source_stamp = _STAMP
    return dispatcher


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for compiled code that generates its own LLVM code; its first argument is the typing context."""
    return extending.intrinsic(function)


def lowered(*argument_types: Any) -> Callable[[Function], Function]:
    """Register the LLVM code of a call of an object, by the types of the object and of its arguments."""
    return extending.lower_builtin(*argument_types)


def overload(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """Let compiled code call, instead of `function`, the implementation that is chosen by the types of the arguments.

    The implementation becomes part of its caller. Its signature is not compared with that of the choosing function,
    because Numba would compare annotations too.
    """
    options = {"nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True}
    return extending.overload(function, jit_options=options, strict=False)


def compiled_in_callers(function: Function) -> Function:
    """Make a function part of the compiled functions that call it, and so of their cached machine code.

    For functions that are made when a module is imported, which Numba cannot cache.
    """
    overload(function)(lambda *arguments: function)
    return function


def address_of(function: Any, signature: Any) -> int:
    """Compile `function` for `signature` and return the address of its machine code.

    The caller must keep `function` alive for as long as the address is in use.
    """
    function.compile(signature.args)
    result = function.overloads[signature.args]
    returned = types.unliteral(result.signature.return_type)
    if returned != signature.return_type:
        raise TypeError(f"{function} returns {returned}, not {signature.return_type}")
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def caller(signature: Any) -> Any:
    """Make `call(address, (argument, ...))` for compiled functions of one signature."""
    result_type, argument_types = signature.return_type, signature.args

    @intrinsic
    def call(typing_context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
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
def as_pointer(typing_context: Any, address: Any, dtype: Any) -> Any:
    """Turn an address into a typed pointer, which can be indexed like an array."""
    pointer_type = types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(pointer_type))

    return pointer_type(types.int64, dtype), generate


@intrinsic
def as_address(typing_context: Any, pointer: Any) -> Any:
    """Turn a pointer back into an address."""

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        return builder.ptrtoint(values[0], context.get_value_type(types.int64))

    return types.int64(pointer), generate


@intrinsic
def row(typing_context: Any, array: Any, index: Any) -> Any:
    """Pointer to a row of a C-contiguous matrix."""
    pointer_type = types.CPointer(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        matrix = context.make_array(array)(context, builder, values[0])
        columns = builder.extract_value(matrix.shape, 1)
        place = builder.mul(values[1], columns)
        return builder.gep(matrix.data, [place])

    return pointer_type(array, types.int64), generate


@inlined
def offset_pointer(pointer: FloatPointer, entries: int) -> FloatPointer:
    """Return the pointer to a later entry."""
    return as_pointer(as_address(pointer) + 8 * entries, types.float64)


@inlined
def float_pointer(address: int) -> FloatPointer:
    """Return the pointer to float64 numbers at an address."""
    return as_pointer(address, types.float64)


@inlined
def int_pointer(address: int) -> IntPointer:
    """Return the pointer to int64 numbers at an address."""
    return as_pointer(address, types.int64)
