"""PyTensor graphs of one flat state as functions that the engine can call.

PyTensor's Numba mode keeps its machine code on disk. So it is called by its address: to compile it into a function of
sterna's would mean to optimise all of it again, for seconds, at every start.
"""

import inspect
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.imputils import impl_ret_borrowed

from sterna.ground.compilation import address_of, as_pointer, caller, intrinsic
from sterna.ground.user_function import Bridged, CannotCompile
from sterna.types import FloatArray

OBJECT_MODE = "Numba will use object mode"

# What a compiled gradient does with its values, and returns where there is no density.
OF_A_GRADIENT = (["return values"], "np.full(state.size, np.nan)")


@intrinsic
def _thawed(typing_context: Any, array: Any) -> Any:
    """The same array without the mark that it is read-only, for PyTensor, which writes into no input of its own."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, values[0])

    return array.copy(readonly=False)(array), generate


def bridged_density(compile_graph: Callable[[Any], Any]) -> Bridged:
    """Return the function of a scalar graph: `compile_graph(mode)` makes PyTensor's function of the flat state.

    It raises `CannotCompile` for the mode "NUMBA" where that mode must not be used.

    Where it is no finite number, or a matrix cannot be factorised, the density is zero. An unconstrained value so large
    that its exponential overflows is common, and no mistake of the model's; PyMC's own samplers step back from it too.
    """
    plain = _in_turn(compile_graph)

    def value(state: FloatArray) -> float:
        try:
            found = float(plain(state))
        except np.linalg.LinAlgError:
            return -np.inf
        return found if found < np.inf else -np.inf

    lines = ["found = values[()]", "return found if found < np.inf else -np.inf"]
    return Bridged(value, lambda: _compiled(compile_graph, lines, "-np.inf"))


def bridged_gradient(compile_graph: Callable[[Any], Any]) -> Bridged:
    """Return the function of a graph that is a vector as long as the state; NaN where there is no density."""
    plain = _in_turn(compile_graph)

    def value(state: FloatArray) -> Any:
        try:
            return plain(state)
        except np.linalg.LinAlgError:
            return np.full(state.size, np.nan)

    return Bridged(value, lambda: _compiled(compile_graph, *OF_A_GRADIENT))


def with_whole_gradient(gradient: Bridged, compile_graph: Callable[[Any], Any]) -> Bridged:
    """Add the graph of the annealed log-density's gradient, of state and beta, to a likelihood's gradient.

    It finds once what the prior and the likelihood share, and calls once.
    """
    return replace(gradient, compile_whole=lambda: _compiled(compile_graph, *OF_A_GRADIENT, ["beta"]))


def machine_mode() -> Any:
    """Return PyTensor's mode of C, or of Python where there is no compiler, in which every model runs."""
    from pytensor import config
    from pytensor.compile.mode import Mode

    return Mode(linker="cvm" if config.cxx else "vm", optimizer="fast_run")


def array_mode() -> Any:
    """Return a mode that compiles nothing, for graphs that are called seldom or on many states at once."""
    from pytensor.compile.mode import Mode, get_mode

    # fused operations are of use to compilers alone
    rewrites = get_mode("FAST_RUN").provided_optimizer.excluding("fusion", "cxx_only", "BlasOpt")
    return Mode(linker=get_mode("FAST_COMPILE").linker, optimizer=rewrites)


def _in_turn(compile_graph: Callable[[Any], Any]) -> Callable[[FloatArray], Any]:
    """Call PyTensor's own function, compiled when first asked for, by one thread at a time, as it has one storage."""
    made: list[Any] = []
    lock = threading.Lock()

    def call(state: FloatArray) -> Any:
        with lock:
            if not made:
                made.append(compile_graph(machine_mode()))
            return made[0](state)[0]

    return call


def _compiled(
    compile_graph: Callable[[Any], Any], last_lines: list[str], failed: str, numbers: Sequence[str] = ()
) -> Any:
    """Compile a graph by PyTensor's Numba mode, as a compiled function of a read-only flat state, and of numbers.

    What a factorisation raises (`failed` is returned then) Numba cannot tell from other exceptions; those of a graph
    without linear algebra pass through.
    """
    with no_object_mode():
        made = compile_graph("NUMBA")
        values = [container.storage[0] for container in made.input_storage]
        n_given = 1 + len(numbers)
        values[:n_given] = [np.zeros(one.type.shape) for one in made.maker.fgraph.inputs[:n_given]]
        # examples of what is given, and copies of data
        inputs = [np.array(value, order="C") for value in values]
        kinds = [numba.typeof(value) for value in inputs]
        address, signature, first, kept_alive = numba_address(made, kinds)
    scope: dict[str, Any] = {"np": np, "carray": numba.carray, "as_pointer": as_pointer, "thawed": _thawed}
    # addresses are in use for as long as the function is
    scope |= {"address": address, "call": caller(signature), "kept_alive": (kept_alive, inputs)}
    lines, names = [], ["thawed(state)", *(f"np.asarray({name})" for name in numbers)]
    for place, (value, kind) in enumerate(zip(inputs[n_given:], kinds[n_given:], strict=True)):
        scope |= {f"place_{place}": value.ctypes.data, f"type_{place}": kind.dtype}
        shape = value.shape or (1,)
        end = "" if value.shape else ".reshape(())"
        lines.append(f"    input_{place} = carray(as_pointer(place_{place}, type_{place}), {shape}){end}")
        names.append(f"input_{place}")
    given = f"({', '.join(names)},)"
    if isinstance(signature.args[0], types.BaseTuple):
        given = f"({given},)"
    body = [f"values = call(address, {given}){first}", *last_lines]
    nodes = [node for one in graphs_of(made.maker.fgraph) for node in one.toposort()]
    if any("linalg" in type(getattr(node.op, "core_op", node.op)).__module__ for node in nodes):
        body = ["try:", *[f"    {one}" for one in body], "except Exception:", f"    return {failed}"]
    lines += [f"    {one}" for one in body]
    exec("\n".join([f"def function({', '.join(['state', *numbers])}):", *lines]), scope)
    return numba.njit(nogil=True, error_model="numpy")(scope["function"])


def numba_address(made: Any, kinds: list[Any]) -> tuple[int, Any, str, Any]:
    """Return the address and signature of a PyTensor function of inputs of given types, and how to read its output.

    The last entry is to be kept alive. A signature may have one tuple for all inputs.
    """
    function = made.vm.jit_fn
    # functions that PyTensor can keep on disk take *inputs
    parameters = inspect.signature(function.py_func).parameters.values()
    as_tuple = any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters)
    arguments = (types.Tuple(kinds),) if as_tuple else tuple(kinds)
    function.compile(arguments)
    returned = function.overloads[arguments].signature.return_type
    signature = returned(*arguments)
    return address_of(function, signature), signature, "[0]" if isinstance(returned, types.BaseTuple) else "", function


def graphs_of(fgraph: Any) -> list[Any]:
    """Return a graph and the graphs inside of its operations."""
    found = [fgraph]
    for node in fgraph.toposort():
        for operation in (node.op, getattr(node.op, "core_op", None)):
            if (inner := getattr(operation, "fgraph", None)) is not None:
                found += graphs_of(inner)
    return found


@contextmanager
def no_object_mode() -> Iterator[None]:
    """Turn what PyTensor or Numba cannot compile into the reason."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except CannotCompile:
            raise
        except Exception as error:  # what Numba does not support raises all sorts of errors
            raise CannotCompile(f"PyTensor's Numba mode failed with {_first_line(error)}") from error
    for warning in caught:
        message = str(warning.message)
        if message.startswith(OBJECT_MODE):
            name = re.search(r"to run (.*)'s perform|argument.* to `(.*)`", message)
            culprit = next(filter(None, name.groups())) if name else message
            raise CannotCompile(f"PyTensor has no compiled form of {culprit}")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:150] if lines else ''}"
