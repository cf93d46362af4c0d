"""Exact draws of a PyMC model's free variables from their prior, by PyMC's own forward sampling."""

import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from sterna.bridges.pytensor_numba import graphs_of, machine_mode, no_object_mode, numba_address
from sterna.engine.moves import drawing_functions, generator_on
from sterna.engine.program import GENERATOR
from sterna.errors import TargetError
from sterna.ground.compilation import caller
from sterna.ground.streams import new_generator
from sterna.ground.user_function import CannotCompile
from sterna.types import FloatArray

# A draw without an unconstrained value is drawn again, so often at most.
TRIES = 1000

# Draws by which a prior is checked beforehand.
EXAMPLES = 100

# Half a word. A stream starts at three random words and a counter (NumPy's SFC64); its first number is a sum of two of
# them, so that all 64 bits of these must be random.
HALF = 2**32

# Laws whose compiled draws are checked against NumPy's (tests/bridges/test_pymc_prior.py). PyTensor compiles others, of
# which some are wrong: its Cauchy numbers have one over their scale.
CHECKED = {
    "BernoulliRV", "BetaRV", "BinomialRV", "CategoricalRV", "DirichletRV", "ExponentialRV", "GammaRV", "GeometricRV",
    "GumbelRV", "HalfNormalRV", "IntegersRV", "InvGammaRV", "LaplaceRV", "LogNormalRV", "LogisticRV", "MvNormalRV",
    "NegBinomialRV", "NormalRV", "PoissonRV", "StudentTRV", "UniformRV", "WeibullRV",
}  # fmt: skip


class PriorDraw:
    """Draws the values of all free variables, unconstrained, as one flat vector of a generator's bits alone.

    Every random operation of the model has a generator of its own, which starts at words from the one given: the order
    in which PyTensor runs them is of no effect. As Python one thread draws at a time, as PyTensor's function has one
    storage.
    """

    def __init__(self, model: Any) -> None:
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

    def _function(self, outputs: list[Any], mode: Any) -> Any:
        from pymc.pytensorf import compile as compile_graph
        from pytensor import In

        # a generator is advanced in place, as a copy would cost more than the draw
        given = [In(one, mutable=True) for one in self.inputs]
        with self.model:
            function = compile_graph(given, outputs, mode=mode, on_unused_input="ignore")
        function.trust_input = True
        return function

    def values(self, generator: np.random.Generator) -> list[NDArray[Any]]:
        """Draw the unconstrained value of every free variable once."""
        halves = generator.integers(0, HALF, (3 * len(self.streams), 2)).astype(np.uint64)
        raw = halves[:, 0] * np.uint64(HALF) + halves[:, 1]
        # what a transform does not take is not finite, and is drawn again
        with self.lock, np.errstate(invalid="ignore", divide="ignore"):
            for place, (words, _) in enumerate(self.streams):
                words[:3] = raw[3 * place : 3 * place + 3]
                words[3:] = 1, 0
            drawn: list[NDArray[Any]] = self.function(*[own for _, own in self.streams])
            return drawn

    def __call__(self, generator: np.random.Generator) -> FloatArray:
        """Draw a flat state, again where a transform does not take it.

        So a law that a transform confines (an ordered vector of normal numbers) is drawn exactly, by rejection.
        """
        for _ in range(TRIES):
            values = self.values(generator)
            flat = np.concatenate([np.ravel(value) for value in values], dtype=np.float64)
            if np.isfinite(flat).all():
                return flat
        raise TargetError(
            f"{TRIES} draws from the prior of {self._named(values, np.isfinite)} were all outside of what its "
            "transform takes: give it a prior that its transform confines less."
        )

    def compiled(self) -> Any:
        """Compile the draw, if it consists of laws whose compiled draws were checked."""
        import pytensor.tensor as pt

        flat = pt.concatenate([one.ravel().astype("float64") for one in with_standard_laws(self.outputs)])
        try:
            with no_object_mode():
                made = self._function([flat], "NUMBA")
                if not random_laws(made.maker.fgraph) <= CHECKED or has_loop(made.maker.fgraph):
                    raise CannotCompile
                address, signature, first, kept_alive = numba_address(made, [GENERATOR] * len(self.inputs))
        except CannotCompile:
            # a draw a scan is no reason for a note
            raise CannotCompile("") from None
        scope: dict[str, Any] = {"np": np, "address": address, "call": caller(signature), "kept_alive": kept_alive}
        scope |= dict(zip(("next_64", "next_32", "next_double"), drawing_functions(), strict=True))
        scope |= {"generator_on": generator_on, "many": len(self.inputs)}
        streams = [f"generator_on(begin + {40 * k}, next_64, next_32, next_double)" for k in range(len(self.inputs))]
        given = f"({', '.join(streams)},)"
        if isinstance(signature.args[0], types.BaseTuple):
            given = f"({given},)"
        lines = [
            "def draw(rng, /):",
            "    words = np.empty((many, 5), np.uint64)",
            "    begin = words.ctypes.data",
            f"    for attempt in range({TRIES}):",
            "        for k in range(many):",
            "            for w in range(3):",
            f"                high = np.uint64(rng.integers(0, {HALF}))",
            f"                words[k, w] = high * np.uint64({HALF}) + np.uint64(rng.integers(0, {HALF}))",
            "            words[k, 3] = 1",
            "            words[k, 4] = 0",
            f"        found = call(address, {given}){first}",
            "        if np.isfinite(found).all():",
            "            break",
            "    return found",
        ]
        exec("\n".join(lines), scope)
        return numba.njit(nogil=True, error_model="numpy")(scope["draw"])

    def checked_example(self) -> list[NDArray[Any]]:
        """Draw an example, and refuse a prior that cannot be drawn, or draws what rounds to the edge of its support."""
        generator = np.random.Generator(np.random.SFC64(0))
        try:
            draws = [self.values(generator) for _ in range(EXAMPLES)]
        except Exception as error:
            raise TargetError(
                f"The model's prior cannot be drawn ({str(error).splitlines()[0]}), which parallel tempering does at "
                "every scan. A pm.CustomDist needs random= or dist=."
            ) from error
        for values in draws:
            if edge := self._named(values, lambda value: ~np.isinf(value)):
                raise TargetError(
                    f"The prior of {edge} draws numbers that round to the edge of its support, where they have no "
                    "unconstrained value: give it a prior with less mass there, or in the logarithm of the variable."
                )
        return draws[0]

    def _named(self, values: list[NDArray[Any]], good: Callable[[Any], Any]) -> str:
        """Name the variables some of whose values are not good."""
        bad = [name for name, value in zip(self.names, values, strict=True) if not np.all(good(value))]
        return ", ".join(map(repr, bad))


def unconstrained_draws(model: Any) -> list[Any]:
    """Return graphs of the free variables' draws after PyMC's transforms, given what is observed."""
    from pytensor.graph.replace import clone_replace

    draws = []
    for rv in model.free_RVs:
        transform = model.rvs_to_transforms[rv]
        draws.append(rv if transform is None else transform.forward(rv, *rv.owner.inputs))
    known = {rv: model.rvs_to_values[rv].astype(rv.dtype) for rv in model.observed_RVs}
    replaced: list[Any] = clone_replace(draws, known)
    return replaced


def with_standard_laws(outputs: list[Any]) -> list[Any]:
    """Return graphs in which laws that PyTensor compiles not, or not rightly, are written by others."""
    from pytensor.graph.fg import FunctionGraph

    graph = FunctionGraph(outputs=outputs, clone=False)
    for node in graph.toposort():
        if (write := STANDARD.get(type(node.op).__name__)) is not None:
            written = write(*node.inputs).astype(node.outputs[1].dtype)
            graph.replace(node.outputs[1], written, import_missing=True)
    found: list[Any] = graph.outputs
    return found


def _cauchy(rng: Any, size: Any, location: Any, scale: Any) -> Any:
    import pytensor.tensor as pt

    turn = pt.random.uniform(pt.zeros_like(location), pt.ones_like(scale), size=size, rng=rng)
    return location + scale * pt.tan(np.pi * (turn - 0.5))


def _half_cauchy(rng: Any, size: Any, scale: Any) -> Any:
    import pytensor.tensor as pt

    turn = pt.random.uniform(pt.zeros_like(scale), pt.ones_like(scale), size=size, rng=rng)
    return scale * pt.tan(np.pi / 2 * turn)


def _discrete_uniform(rng: Any, size: Any, lower: Any, upper: Any) -> Any:
    import pytensor.tensor as pt

    return pt.random.integers(lower.astype("int64"), upper.astype("int64") + 1, size=size, rng=rng)


STANDARD: dict[str, Callable[..., Any]] = {
    "CauchyRV": _cauchy,
    "HalfCauchyRV": _half_cauchy,
    "DiscreteUniformRV": _discrete_uniform,
}


def has_loop(fgraph: Any) -> bool:
    """Whether a graph draws in a loop (`pm.AR`), for which PyTensor copies generators that are not its own."""
    return any(type(node.op).__name__ == "Scan" for one in graphs_of(fgraph) for node in one.toposort())


def random_laws(fgraph: Any) -> set[str]:
    """Name the random laws of a graph, also those inside of other operations."""
    names = set()
    for one in graphs_of(fgraph):
        for node in one.toposort():
            if hasattr(node.op, "rng_fn") or hasattr(node.op, "rng_param"):
                names.add(type(node.op).__name__)
    return names
