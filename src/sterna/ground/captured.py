"""Numbers that a function captures from an enclosing function, passed as arguments instead of frozen into its code.

Numba freezes captured values into machine code, which it cannot free. So a loop over data sets that makes a new
function for each would compile each of them, and keep it. As arguments, their values are data.
"""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba.core import ir, ir_utils
from numba.core.compiler import DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.untyped_passes import TranslateByteCode

from sterna.ground.fingerprint import can_be_copied, closure_of
from sterna.ground.lazy_library import LazyCompiler


def captured_numbers(function: Any) -> dict[str, Any]:
    """Return the numbers and arrays of numbers that a function captures from functions around it, by name.

    The function is plain, or one that the user compiles and that is compiled again as a copy. Truth values are not
    among them, because the types in a function may depend on them.
    """
    plain = function.py_func if isinstance(function, Dispatcher) and can_be_copied(function) else function
    if not inspect.isfunction(plain):
        return {}
    return {
        name: value
        for name, value in closure_of(plain).items()
        if _is_number(value) or (type(value) is np.ndarray and value.dtype.kind in "iuf" and value.size > 0)
    }


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def taking_captured(function: FunctionType, names: tuple[str, ...]) -> Callable[[], None]:
    """Return a function with captured values as additional first parameters, for `CapturingCompiler` alone."""
    signature = inspect.signature(function)
    # those of a function with a / in its signature begin with parameters that have no names
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    kind = kinds[0] if kinds else inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in parameter_names(names)]

    def takes_captured() -> None:
        raise NotImplementedError("exists in compiled code only")

    takes_captured.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*parameters, *signature.parameters.values()]
    )
    takes_captured.original, takes_captured.captured = function, names  # type: ignore[attr-defined]
    return takes_captured


def parameter_names(names: tuple[str, ...]) -> list[str]:
    """Return names that a user would hardly give to a parameter."""
    return [f"captured__{name}" for name in names]


@register_pass(mutates_CFG=False, analysis_only=False)
class CapturedBecomeArguments(FunctionPass):  # type: ignore[misc] # Numba has no types
    """Replace reads of captured variables by reads of additional first arguments."""

    _name = "captured_become_arguments"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Change the function's representation."""
        names, function_ir = state.captured, state.func_ir
        parameters = parameter_names(names)
        for block in function_ir.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                value = assignment.value
                if isinstance(value, ir.Arg):
                    assignment.value = ir.Arg(value.name, value.index + len(names), value.loc)
                elif isinstance(value, ir.FreeVar) and value.name in names:
                    index = names.index(value.name)
                    assignment.value = ir.Arg(parameters[index], index, value.loc)
        function_ir.arg_names = [*parameters, *function_ir.arg_names]
        function_ir.arg_count += len(names)
        function_ir._definitions = ir_utils.build_definitions(function_ir.blocks)
        return True


class CapturingCompiler(LazyCompiler):
    """Compiles what `taking_captured` returns."""

    def compile_extra(self, func: Any) -> Any:
        """Compile the original function."""
        self.state.captured = func.captured
        return super().compile_extra(func.original)

    def define_pipelines(self) -> list[Any]:
        """Add the pass to Numba's."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(CapturedBecomeArguments, TranslateByteCode)
        passes.finalize()
        return [passes]
