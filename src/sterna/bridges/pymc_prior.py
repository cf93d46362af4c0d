"""Exact draws of a PyMC model's free variables from their prior, by PyMC's own forward sampling."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sterna.bridges.pytensor_numba import array_mode
from sterna.engine.streams import new_generator
from sterna.errors import TargetError

# A draw that rounds to the edge of its support has no unconstrained value and is drawn again, so often at most.
TRIES = 20


class PriorDraw:
    """Draws the values of all free variables, unconstrained, as one flat vector of a generator's bits alone.

    Every random operation of the model has a generator of its own, which starts at words from the one given: the order
    in which PyTensor runs them is of no effect. One thread draws at a time, as PyTensor's function has one storage.
    """

    def __init__(self, model: Any) -> None:
        from pymc.pytensorf import compile as compile_graph
        from pymc.pytensorf import find_rng_nodes, replace_rng_nodes

        self.names = [rv.name for rv in model.free_RVs]
        outputs = replace_rng_nodes(unconstrained_draws(model))
        self.generators = find_rng_nodes(outputs)
        self.streams = [new_generator() for _ in self.generators]
        with model:
            self.function = compile_graph([], outputs, mode=array_mode())
        self.function.trust_input = True
        self.lock = threading.Lock()

    def values(self, generator: np.random.Generator) -> list[NDArray[Any]]:
        """Draw the unconstrained value of every free variable once."""
        raw = generator.bit_generator.random_raw(3 * len(self.streams))  # type: ignore[attr-defined]
        with self.lock:
            for place, (shared, (words, own)) in enumerate(zip(self.generators, self.streams, strict=True)):
                words[:3] = raw[3 * place : 3 * place + 3]
                words[3:] = 1, 0
                shared.set_value(own, borrow=True)
            drawn: list[NDArray[Any]] = self.function()
            return drawn

    def __call__(self, generator: np.random.Generator) -> NDArray[np.float64]:
        """Draw a flat state."""
        for _ in range(TRIES):
            values = self.values(generator)
            flat = np.concatenate([np.ravel(value) for value in values], dtype=np.float64)
            if np.isfinite(flat).all():
                return flat
        bad = [name for name, value in zip(self.names, values, strict=True) if not np.isfinite(value).all()]
        raise TargetError(
            f"The prior of {', '.join(bad)} draws numbers that round to the edge of its support, or none at all, so "
            "that they have no unconstrained value: give it a prior that floating-point numbers can follow."
        )


def unconstrained_draws(model: Any) -> list[Any]:
    """Return graphs of the free variables' draws after PyMC's transforms, given what is observed."""
    from pytensor.graph.replace import clone_replace

    draws = []
    for rv in model.free_RVs:
        transform = model.rvs_to_transforms[rv]
        draws.append(rv if transform is None else transform.forward(rv, *rv.owner.inputs))
    observed = {rv: model.rvs_to_values[rv] for rv in model.observed_RVs}
    replaced: list[Any] = clone_replace(draws, {rv: value.astype(rv.dtype) for rv, value in observed.items()})
    return replaced
