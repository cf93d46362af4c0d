"""Exact draws of a PyMC model's free variables from their prior, by PyMC's own forward sampling."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.bridges.pytensor_numba import machine_mode
from sterna.engine.streams import new_generator
from sterna.errors import TargetError

# A draw without an unconstrained value is drawn again, so often at most.
TRIES = 1000

# Draws by which a prior is checked beforehand.
EXAMPLES = 100


class PriorDraw:
    """Draws the values of all free variables, unconstrained, as one flat vector of a generator's bits alone.

    Every random operation of the model has a generator of its own, which starts at words from the one given: the order
    in which PyTensor runs them is of no effect. One thread draws at a time, as PyTensor's function has one storage.
    """

    def __init__(self, model: Any) -> None:
        from pymc.pytensorf import compile as compile_graph
        from pymc.pytensorf import find_rng_nodes
        from pytensor import In
        from pytensor.graph.replace import clone_replace

        self.names = [rv.name for rv in model.free_RVs]
        outputs = unconstrained_draws(model)
        shared = find_rng_nodes(outputs)
        inputs = [one.type() for one in shared]
        # a generator is advanced in place, as a copy would cost more than the draw
        given = [In(one, mutable=True) for one in inputs]
        with model:
            self.function = compile_graph(
                given, clone_replace(outputs, dict(zip(shared, inputs, strict=True))), mode=machine_mode()
            )
        self.function.trust_input = True
        self.streams = [new_generator() for _ in inputs]
        self.lock = threading.Lock()

    def values(self, generator: np.random.Generator) -> list[NDArray[Any]]:
        """Draw the unconstrained value of every free variable once."""
        raw = generator.bit_generator.random_raw(3 * len(self.streams))
        with self.lock:
            for place, (words, _) in enumerate(self.streams):
                words[:3] = raw[3 * place : 3 * place + 3]
                words[3:] = 1, 0
            drawn: list[NDArray[Any]] = self.function(*[own for _, own in self.streams])
            return drawn

    def __call__(self, generator: np.random.Generator) -> NDArray[np.float64]:
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
