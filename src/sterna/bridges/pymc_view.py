"""How a PyMC model shows states: its variables by name, with their dimensions and coordinates."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.bridges.pymc_space import is_angle
from sterna.bridges.pytensor_numba import array_mode
from sterna.reference.space import ANGLE
from sterna.types import FloatArray

if TYPE_CHECKING:
    from pymc import Model
    from pytensor.graph.basic import Variable

    from sterna.bridges.pymc_model import Graphs

# States whose variables are computed in one call: enough to hide its overhead, few enough to fit into memory.
BATCH_SIZE = 250

OfMany = Callable[[FloatArray], list[NDArray[Any]]]


class PymcView:
    """Variables, dimensions, coordinates and pointwise log-likelihoods of a model at states."""

    def __init__(self, model: "Model", graphs: "Graphs") -> None:
        from pymc.backends.arviz import coords_and_dims_for_inferencedata, find_constants, find_observations

        self.model, self.graphs = model, graphs
        self.variables = [*model.free_RVs, *model.deterministics]
        self.shown: Sequence[str] = [rv.name for rv in self.variables]
        self.coords, self.dims = coords_and_dims_for_inferencedata(model)
        self.circles: Mapping[str, FloatArray] = {rv.name: ANGLE for rv in model.free_RVs if is_angle(model, rv)}
        # as they are now, because the user may add to a model that is not frozen
        self.observed_variables = list(model.observed_RVs)
        self.observed, self.constants = find_observations(model), find_constants(model)

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """Free variables and deterministics by name, from states of shape (..., dimension)."""
        return dict(zip(self.shown, _apply(self._values, states), strict=True))

    def groups(self, states: FloatArray, log_likelihood: bool) -> "dict[str, dict[str, NDArray[Any]]]":
        """Further groups for ArviZ, by group and name; log-likelihoods have the states' leading axes."""
        groups = {"observed_data": self.observed, "constant_data": self.constants}
        if log_likelihood:
            names = [rv.name for rv in self.observed_variables]
            groups["log_likelihood"] = dict(zip(names, _apply(self._log_likelihood, states), strict=True))
        return groups

    @cached_property
    def _values(self) -> OfMany:
        return self._of_many(self.model.replace_rvs_by_values(self.variables))

    @cached_property
    def _log_likelihood(self) -> OfMany:
        return self._of_many(self.model.logp(vars=self.observed_variables, sum=False))

    def _of_many(self, graphs: "list[Variable]") -> OfMany:
        """Compile graphs of one state as a function of a matrix of states."""
        import pytensor.tensor as pt
        from pymc.pytensorf import compile as compile_graph
        from pytensor.graph.replace import vectorize_graph

        states = pt.matrix("states", shape=(None, self.graphs.state.type.shape[0]), dtype="float64")
        outputs = vectorize_graph(self.graphs.of_state(graphs), {self.graphs.state: states})
        # values that do not depend on the state are repeated
        lead = states.shape[:1]
        outputs = [
            out if out.ndim > graph.ndim else pt.broadcast_to(out, (*lead, *out.shape))
            for out, graph in zip(outputs, graphs, strict=True)
        ]
        with self.model:
            return compile_graph([states], outputs, mode=array_mode(), on_unused_input="ignore")


def _apply(function: OfMany, states: FloatArray) -> list[NDArray[Any]]:
    lead = states.shape[:-1]
    flat = np.ascontiguousarray(states.reshape(-1, states.shape[-1]))
    parts = [function(flat[k : k + BATCH_SIZE]) for k in range(0, len(flat), BATCH_SIZE)]
    values = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return [value.reshape(lead + value.shape[1:]) for value in values]
