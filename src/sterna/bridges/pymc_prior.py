"""Exact draws of a PyMC model's free variables from their prior, by PyMC's own forward sampling."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from sterna.bridges.pytensor_numba import (
    address_line,
    graphs_of,
    key_of_signature,
    machine_mode,
    no_object_mode,
    numba_address,
)
from sterna.errors import TargetError
from sterna.ground.compilation import caller
from sterna.ground.streams import GENERATOR, drawing_functions, generator_on, new_generator
from sterna.ground.user_function import BridgedCode, CannotCompile
from sterna.types import FloatArray

if TYPE_CHECKING:
    from pymc import Model
    from pytensor.compile.function.types import Function
    from pytensor.compile.mode import Mode
    from pytensor.graph.basic import Variable
    from pytensor.graph.fg import FunctionGraph

# A draw without an unconstrained value is repeated at most so often.
MAX_DRAWS = 1000

# Draws by which a prior is checked before the run.
N_EXAMPLES = 100

# Half a word. A stream starts from three random words and a counter (NumPy's SFC64). Its first number is a sum of two
# of them, so that all of their 64 bits must be random.
HALF_WORD = 2**32

# Distributions whose compiled draws are tested against NumPy's (tests/bridges/test_pymc_prior.py). PyTensor compiles
# others too, of which some are wrong: its Cauchy draws divide by the scale instead of multiplying.
CHECKED_DISTRIBUTIONS = {
    "BernoulliRV", "BetaRV", "BinomialRV", "CategoricalRV", "DirichletRV", "ExponentialRV", "GammaRV", "GeometricRV",
    "GumbelRV", "HalfNormalRV", "IntegersRV", "InvGammaRV", "LaplaceRV", "LogNormalRV", "LogisticRV", "MvNormalRV",
    "NegBinomialRV", "NormalRV", "PoissonRV", "StudentTRV", "UniformRV", "WeibullRV",
}  # fmt: skip


class PriorDraw:
    """Draws the values of all free variables, unconstrained, as one flat vector, from the bits of one generator.

    Every random operation of the model has its own generator, which starts from words of the given one, so that the
    order in which PyTensor runs them has no effect. In Python one thread draws at a time, because PyTensor's function
    has only one storage.
    """

    def __init__(self, model: "Model") -> None:
        from pymc.pytensorf import find_rng_nodes
        from pytensor.graph.replace import clone_replace

        self.model = model
        self.names = [rv.name for rv in model.free_RVs]
        outputs = unconstrained_draws(model)
        shared = find_rng_nodes(outputs)
        self.inputs = [one.type() for one in shared]
        self.outputs = clone_replace(outputs, dict(zip(shared, self.inputs, strict=True)))
        self.function = self._function(self.outputs, machine_mode())
        self.streams = [new_generator() for _ in self.inputs]
        self.lock = threading.Lock()

    def _function(self, outputs: "list[Variable]", mode: "Mode | str") -> "Function":
        from pymc.pytensorf import compile as compile_graph
        from pytensor import In

        # generators are advanced in place, because a copy would cost more than the draw
        given = [In(one, mutable=True) for one in self.inputs]
        with self.model:
            function = compile_graph(given, outputs, mode=mode, on_unused_input="ignore")
        function.trust_input = True
        return function

    def values(self, generator: np.random.Generator) -> list[NDArray[Any]]:
        """Draw the unconstrained value of every free variable once."""
        halves = generator.integers(0, HALF_WORD, (3 * len(self.streams), 2)).astype(np.uint64)
        raw = halves[:, 0] * np.uint64(HALF_WORD) + halves[:, 1]
        # a draw outside the domain of a transform is not finite, and is repeated
        with self.lock, np.errstate(invalid="ignore", divide="ignore"):
            for k, (words, _) in enumerate(self.streams):
                words[:3] = raw[3 * k : 3 * k + 3]
                words[3:] = 1, 0
            drawn: list[NDArray[Any]] = self.function(*[rng for _, rng in self.streams])
            return drawn

    def __call__(self, generator: np.random.Generator) -> FloatArray:
        """Draw a flat state; repeat it if it is outside the domain of a transform.

        So a distribution that a transform restricts (an ordered vector of normal variables) is drawn exactly, by
        rejection.
        """
        for _ in range(MAX_DRAWS):
            values = self.values(generator)
            flat = np.concatenate([np.ravel(value) for value in values], dtype=np.float64)
            if np.isfinite(flat).all():
                return flat
        raise TargetError(
            f"{MAX_DRAWS} draws from the prior of {self._named(values, np.isfinite)} were all outside the domain of "
            "its transform: give it a prior with more mass there."
        )

    def compiled(self) -> BridgedCode:
        """Compile the draw, if it consists of distributions whose compiled draws are tested."""
        import pytensor.tensor as pt

        flat = pt.concatenate([one.ravel().astype("float64") for one in with_checked_distributions(self.outputs)])
        try:
            with no_object_mode():
                made = self._function([flat], "NUMBA")
                if not random_operations(made.maker.fgraph) <= CHECKED_DISTRIBUTIONS or has_loop(made.maker.fgraph):
                    raise CannotCompile
                address, signature, first, kept_alive = numba_address(made, [GENERATOR] * len(self.inputs))
        except CannotCompile:
            # one draw per scan is no reason for a note
            raise CannotCompile("") from None
        addresses, n_streams = [address, *drawing_functions()], len(self.inputs)
        drawing = "addresses[1], addresses[2], addresses[3]"
        streams = [f"generator_on(begin + {40 * k}, {drawing})" for k in range(n_streams)]
        given = f"({', '.join(streams)},)"
        if isinstance(signature.args[0], types.BaseTuple):
            given = f"({given},)"
        lines = [
            "def function(words, rng, /):",
            f"    {address_line(addresses)}",
            f"    state = np.empty(({n_streams}, 5), np.uint64)",
            "    begin = state.ctypes.data",
            f"    for attempt in range({MAX_DRAWS}):",
            f"        for k in range({n_streams}):",
            "            for w in range(3):",
            f"                high = np.uint64(rng.integers(0, {HALF_WORD}))",
            f"                state[k, w] = high * np.uint64({HALF_WORD}) + np.uint64(rng.integers(0, {HALF_WORD}))",
            "            state[k, 3] = 1",
            "            state[k, 4] = 0",
            f"        found = call(addresses[0], {given}){first}",
            "        if np.isfinite(found).all():",
            "            break",
            "    return found",
        ]
        scope = {"call": caller(signature), "generator_on": generator_on}
        return BridgedCode("\n".join(lines), scope, key_of_signature(signature), addresses, kept_alive)

    def checked_example(self) -> list[NDArray[Any]]:
        """Return an example; refuse a prior without draws, or with draws that round to the edge of its support."""
        generator = np.random.Generator(np.random.SFC64(0))
        try:
            draws = [self.values(generator) for _ in range(N_EXAMPLES)]
        except Exception as error:
            raise TargetError(
                f"The model's prior cannot be drawn from ({str(error).splitlines()[0]}), as parallel tempering must do "
                "at every scan. A pm.CustomDist needs random= or dist=."
            ) from error
        for values in draws:
            if edge := self._named(values, lambda value: ~np.isinf(value)):
                raise TargetError(
                    f"The prior of {edge} draws numbers that round to the edge of its support, where they have no "
                    "unconstrained value: give it a prior with less mass there, or a prior of its logarithm."
                )
        return draws[0]

    def _named(self, values: list[NDArray[Any]], good: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> str:
        """Return the names of the variables with a value that is not good."""
        bad = [name for name, value in zip(self.names, values, strict=True) if not np.all(good(value))]
        return ", ".join(map(repr, bad))


def unconstrained_draws(model: "Model") -> "list[Variable]":
    """Return graphs of the free variables' draws after PyMC's transforms, given the observed variables."""
    from pytensor.graph.replace import clone_replace

    draws = []
    for rv in model.free_RVs:
        transform = model.rvs_to_transforms[rv]
        draws.append(rv if transform is None else transform.forward(rv, *rv.owner.inputs))
    observed = {rv: model.rvs_to_values[rv].astype(rv.dtype) for rv in model.observed_RVs}
    replaced: list[Variable] = clone_replace(draws, observed)
    return replaced


def with_checked_distributions(outputs: "list[Variable]") -> "list[Variable]":
    """Return graphs in which distributions that PyTensor does not compile correctly are written with others."""
    from pytensor.graph.fg import FunctionGraph

    graph = FunctionGraph(outputs=outputs, clone=False)
    for node in graph.toposort():
        if (rewrite := REWRITTEN.get(type(node.op).__name__)) is not None:
            written = rewrite(*node.inputs).astype(node.outputs[1].dtype)
            graph.replace(node.outputs[1], written, import_missing=True)
    rewritten: list[Variable] = graph.outputs
    return rewritten


def _cauchy(rng: "Variable", size: "Variable", location: "Variable", scale: "Variable") -> "Variable":
    import pytensor.tensor as pt

    turn = pt.random.uniform(pt.zeros_like(location), pt.ones_like(scale), size=size, rng=rng)
    return location + scale * pt.tan(np.pi * (turn - 0.5))


def _half_cauchy(rng: "Variable", size: "Variable", scale: "Variable") -> "Variable":
    import pytensor.tensor as pt

    turn = pt.random.uniform(pt.zeros_like(scale), pt.ones_like(scale), size=size, rng=rng)
    return scale * pt.tan(np.pi / 2 * turn)


def _discrete_uniform(rng: "Variable", size: "Variable", lower: "Variable", upper: "Variable") -> "Variable":
    import pytensor.tensor as pt

    return pt.random.integers(lower.astype("int64"), upper.astype("int64") + 1, size=size, rng=rng)


REWRITTEN: dict[str, Callable[..., Any]] = {
    "CauchyRV": _cauchy,
    "HalfCauchyRV": _half_cauchy,
    "DiscreteUniformRV": _discrete_uniform,
}


def has_loop(fgraph: "FunctionGraph") -> bool:
    """Whether a graph draws in a loop (`pm.AR`), for which PyTensor copies generators, and cannot copy these."""
    return any(type(node.op).__name__ == "Scan" for one in graphs_of(fgraph) for node in one.toposort())


def random_operations(fgraph: "FunctionGraph") -> set[str]:
    """Return the names of a graph's random operations, also of those inside other operations."""
    names = set()
    for one in graphs_of(fgraph):
        for node in one.toposort():
            if hasattr(node.op, "rng_fn") or hasattr(node.op, "rng_param"):
                names.add(type(node.op).__name__)
    return names
