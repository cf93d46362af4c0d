"""PyTensor graphs of one flat state as functions that the engine can call.

PyTensor's Numba mode keeps its machine code on disk. So it is called by its address: if it were compiled into one of
sterna's functions, all of it would be optimised again, for seconds, at every start.
"""

import inspect
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types
from numba.core import typing
from numba.core.imputils import impl_ret_borrowed

from sterna.ground.compilation import address_of, caller, intrinsic
from sterna.ground.fingerprint import Identity, Key
from sterna.ground.user_function import Bridged, BridgedCode, CannotCompile
from sterna.types import FloatArray

if TYPE_CHECKING:
    from pytensor.compile.function.types import Function
    from pytensor.compile.mode import Mode
    from pytensor.graph.fg import FunctionGraph

# Makes PyTensor's function of a graph, in a mode.
CompileGraph = Callable[["Mode | str"], "Function"]

OBJECT_MODE = "Numba will use object mode"

# The last lines of a compiled gradient, and what it returns where the density is zero.
GRADIENT_LINES = (["return values"], "np.full(state.size, np.nan)")


@intrinsic
def _thawed(typing_context: object, array: types.Array) -> tuple[Any, Callable[..., Any]]:
    """Return the same array, typed as writable, for PyTensor, which does not write into its inputs."""

    def generate(context: object, builder: object, signature: typing.Signature, values: Sequence[object]) -> object:
        return impl_ret_borrowed(context, builder, signature.return_type, values[0])

    return array.copy(readonly=False)(array), generate


def bridged_density(compile_graph: CompileGraph) -> Bridged:
    """Return the function of a scalar graph: `compile_graph(mode)` makes PyTensor's function of the flat state.

    `compile_graph` raises `CannotCompile` if the mode "NUMBA" must not be used. If the value is NaN or +inf, or a
    matrix cannot be factorised, the density is taken to be zero: unconstrained values whose exponential overflows are
    common and no mistake of the model, and PyMC's own samplers reject them too.
    """
    plain = _in_turn(compile_graph)

    def value(state: FloatArray) -> float:
        try:
            density = float(plain(state))
        except np.linalg.LinAlgError:
            return -np.inf
        return density if density < np.inf else -np.inf

    lines = ["density = values[()]", "return density if density < np.inf else -np.inf"]
    return Bridged(value, lambda: _compiled(compile_graph, lines, "-np.inf"))


def bridged_gradient(compile_graph: CompileGraph) -> Bridged:
    """Return the function of a vector graph, as long as the state; it returns NaN where the density is zero."""
    plain = _in_turn(compile_graph)

    def value(state: FloatArray) -> Any:
        try:
            return plain(state)
        except np.linalg.LinAlgError:
            return np.full(state.size, np.nan)

    return Bridged(value, lambda: _compiled(compile_graph, *GRADIENT_LINES))


def with_whole_gradient(gradient: Bridged, compile_graph: CompileGraph) -> Bridged:
    """Add the gradient of the annealed log-density, a graph of state and beta, to the gradient of a likelihood.

    It is one call, and computes only once what the prior and the likelihood share.
    """

    def unused(_: object) -> None:
        raise NotImplementedError("without compiled code each gradient has its own function")

    return replace(gradient, whole=Bridged(unused, lambda: _compiled(compile_graph, *GRADIENT_LINES, ["beta"])))


def machine_mode() -> "Mode":
    """Return PyTensor's C mode, or its Python mode if there is no compiler; every model runs in them."""
    from pytensor import config
    from pytensor.compile.mode import Mode

    return Mode(linker="cvm" if config.cxx else "vm", optimizer="fast_run")


def array_mode() -> "Mode":
    """Return a mode that compiles nothing, for graphs that are called rarely or on many states at once."""
    from pytensor.compile.mode import Mode, get_mode

    # fused operations only help compilers
    rewrites = get_mode("FAST_RUN").provided_optimizer.excluding("fusion", "cxx_only", "BlasOpt")
    return Mode(linker=get_mode("FAST_COMPILE").linker, optimizer=rewrites)


def _in_turn(compile_graph: CompileGraph) -> Callable[[FloatArray], Any]:
    """Call PyTensor's own function, compiled at its first call, by one thread at a time: it has only one storage."""
    made: list[Function] = []
    lock = threading.Lock()

    def call(state: FloatArray) -> Any:
        with lock:
            if not made:
                made.append(compile_graph(machine_mode()))
            return made[0](state)[0]

    return call


def _compiled(
    compile_graph: CompileGraph, last_lines: list[str], failed: str, scalars: Sequence[str] = ()
) -> BridgedCode:
    """Compile a graph by PyTensor's Numba mode, as a compiled function of a read-only flat state and of `scalars`.

    `failed` is returned if a factorisation raises. Numba cannot tell that from other exceptions, so a graph with linear
    algebra raises none; those of other graphs pass through.
    """
    with no_object_mode():
        made = compile_graph("NUMBA")
        values = [container.storage[0] for container in made.input_storage]
        n_given = 1 + len(scalars)
        values[:n_given] = [np.zeros(one.type.shape) for one in made.maker.fgraph.inputs[:n_given]]
        # examples of the arguments, and copies of data
        inputs = [np.array(value, order="C") for value in values]
        kinds = [numba.typeof(value) for value in inputs]
        address, signature, first, kept_alive = numba_address(made, kinds)
    scope: dict[str, Any] = {"thawed": _thawed, "call": caller(signature)}
    addresses = [address, *(value.ctypes.data for value in inputs[n_given:])]
    lines, names = [f"    {address_line(addresses)}"], ["thawed(state)", *(f"np.asarray({name})" for name in scalars)]
    for k, (value, kind) in enumerate(zip(inputs[n_given:], kinds[n_given:], strict=True)):
        scope[f"type_{k}"] = kind.dtype
        shape = value.shape or (1,)
        end = "" if value.shape else ".reshape(())"
        lines.append(f"    input_{k} = carray(as_pointer(addresses[{k + 1}], type_{k}), {shape}){end}")
        names.append(f"input_{k}")
    given = f"({', '.join(names)},)"
    if isinstance(signature.args[0], types.BaseTuple):
        given = f"({given},)"
    body = [f"values = call(addresses[0], {given}){first}", *last_lines]
    nodes = [node for one in graphs_of(made.maker.fgraph) for node in one.toposort()]
    if any("linalg" in type(getattr(node.op, "core_op", node.op)).__module__ for node in nodes):
        body = ["try:", *[f"    {one}" for one in body], "except Exception:", f"    return {failed}"]
    lines += [f"    {one}" for one in body]
    source = "\n".join([f"def function({', '.join(['words', 'state', *scalars])}):", *lines])
    return BridgedCode(source, scope, key_of_signature(signature), addresses, (kept_alive, inputs))


def address_line(addresses: list[int]) -> str:
    """Return the line of code that makes the array of addresses."""
    return f"addresses = carray(as_pointer(words[0], int64), {len(addresses)})"


def key_of_signature(signature: Any) -> Key:
    """Return what code that calls a function of this signature depends on."""
    return ("identity", Identity(signature)) if " at 0x" in str(signature) else ("signature", str(signature))


def numba_address(made: "Function", kinds: list[types.Type]) -> tuple[int, Any, str, Any]:
    """Return the address and signature of a PyTensor function for given types of inputs, and how to read its output.

    The last entry must be kept alive. A signature may have one tuple for all inputs.
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


def graphs_of(fgraph: "FunctionGraph") -> "list[FunctionGraph]":
    """Return a graph and the graphs inside its operations."""
    graphs = [fgraph]
    for node in fgraph.toposort():
        for operation in (node.op, getattr(node.op, "core_op", None)):
            if (inner := getattr(operation, "fgraph", None)) is not None:
                graphs += graphs_of(inner)
    return graphs


@contextmanager
def no_object_mode() -> Iterator[None]:
    """Raise `CannotCompile` with the reason if PyTensor or Numba cannot compile something."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except CannotCompile:
            raise
        except Exception as error:  # Numba raises many kinds of errors for what it does not support
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
