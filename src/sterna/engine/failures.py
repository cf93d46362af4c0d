"""Log-densities that are no number below +inf: what kind of failure a value is, and calls that turn errors into values.

With `on_error="reject"` a function that raises returns `RAISED`, a NaN that nothing else makes, and the engine counts
any NaN or +inf as a density of zero. So finite values need no more work, and every way of evaluating a function, in
compiled code, threads, processes or batches, reports a failure by the value alone.
"""

import struct
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import callconv, cgutils

from sterna.engine.callback import GUARDED_LIKELIHOOD, GUARDED_REFERENCE, HEAD
from sterna.ground.compilation import as_pointer, compiled, compiled_callback, intrinsic
from sterna.ground.rows import fields, size_of

# The bits of a quiet NaN, with letters that no arithmetic writes.
RAISED_BITS = 0x7FF8_5354_4552_4E41
RAISED: float = struct.unpack("<d", struct.pack("<Q", RAISED_BITS))[0]
"""What a guarded function returns instead of raising; only its bits tell it from another NaN."""


@fields
class Kind:
    """The kinds of failures, and the order in which they are counted."""

    nan = 1
    infinite = 1
    raised = 1


N_KINDS = size_of(Kind)


@intrinsic
def bits_of(typing_context: object, value: object) -> object:
    """Return the bits of a float64 number as an integer."""

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        return builder.bitcast(values[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@compiled
def kind_of(value: float) -> int:
    """Return which kind of failure a NaN or +inf is."""
    if value == value:
        return Kind.infinite
    return Kind.raised if bits_of(value) == RAISED_BITS else Kind.nan


@intrinsic
def call_guarded(typing_context: object, address: object, state: object, data: object) -> object:
    """Call a log-density by its address; return `RAISED` if it raises an `Exception`.

    Anything else that Python raises, such as an interrupt, is raised here as well.
    """
    result_type, argument_types = types.float64, (types.int64, types.int64)

    def generate(context: Any, builder: Any, _: object, values: Any) -> object:
        function_type = context.call_conv.get_function_type(result_type, argument_types)
        pointer = builder.inttoptr(values[0], function_type.as_pointer())
        status, result = context.call_conv.call_function(builder, pointer, result_type, argument_types, values[1:])
        found = cgutils.alloca_once_value(builder, result)
        with cgutils.if_unlikely(builder, status.is_error):
            python = context.get_python_api(builder)
            lock = python.gil_ensure()
            with builder.if_else(_has_arguments(builder, status)) as (of_compiled_code, of_any_code):
                with of_compiled_code:
                    _free(context, builder, python, status)
                with of_any_code:
                    _clear(context, builder, python, status, lock)
            python.gil_release(lock)
            builder.store(builder.bitcast(ir.IntType(64)(RAISED_BITS), ir.DoubleType()), found)
        return builder.load(found)

    return result_type(types.int64, types.int64, types.int64), generate


def _has_arguments(builder: Any, status: Any) -> Any:
    """Whether compiled code has raised an exception with arguments that it computed, which then are in new memory."""
    found = cgutils.alloca_once_value(builder, cgutils.false_bit)
    with builder.if_then(status.is_user_exc):
        number = builder.extract_value(builder.load(status.excinfoptr), callconv.ALLOC_FLAG_IDX)
        builder.store(builder.icmp_signed(">", number, number.type(0)), found)
    return builder.load(found)


def _free(context: Any, builder: Any, python: Any, status: Any) -> None:
    """Free an exception with arguments; to turn it into Python's would take 15 microseconds and leak 500 bytes.

    What still leaks are the references that Numba itself keeps to the arguments, 30 bytes for each number.
    """
    found = builder.load(status.excinfoptr)
    arguments = builder.extract_value(found, callconv.HASH_BUF_IDX)
    # returns a tuple, and frees the memory of the arguments
    unwrap_type = ir.FunctionType(python.pyobj, [arguments.type])
    unwrap = builder.bitcast(builder.extract_value(found, callconv.UNWRAP_FUNC_IDX), unwrap_type.as_pointer())
    unwrapped = builder.call(unwrap, [arguments])
    with cgutils.if_likely(builder, cgutils.is_not_null(builder, unwrapped)):
        python.decref(unwrapped)
    python.err_clear()
    context.nrt.free(builder, builder.bitcast(status.excinfoptr, cgutils.voidptr_t))


def _clear(context: Any, builder: Any, python: Any, status: Any, lock: Any) -> None:
    """Clear an exception that is Python's, or is made Python's here; if it is no `Exception`, raise it."""
    context.call_conv.raise_error(builder, python, status)
    matches_type = ir.FunctionType(ir.IntType(32), [python.pyobj])
    is_failure = builder.call(
        python._get_function(matches_type, "PyErr_ExceptionMatches"), [python.get_c_object("PyExc_Exception")]
    )
    with builder.if_then(builder.icmp_signed("==", is_failure, is_failure.type(0)), likely=False):
        python.gil_release(lock)
        context.call_conv.return_exc(builder)
    python.err_clear()


@compiled_callback
def guarded_log_likelihood(state: int, data: int) -> float:
    """Evaluate a compiled log-likelihood, whose address is in the data block, without raising."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    return call_guarded(block[GUARDED_LIKELIHOOD], state, data)


@compiled_callback
def guarded_log_reference(state: int, data: int) -> float:
    """Evaluate a compiled log-density of the reference, whose address is in the data block, without raising."""
    block = numba.carray(as_pointer(data, types.int64), HEAD)
    return call_guarded(block[GUARDED_REFERENCE], state, data)
