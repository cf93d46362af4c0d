"""How a NumPyro model shows states: its sites by name, with plates as dimensions."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.bridges.jax_batches import import_jax, in_64_bits
from sterna.bridges.numpyro_sites import Message, log_prob_of, scale_of
from sterna.reference.space import ANGLE
from sterna.types import FloatArray

if TYPE_CHECKING:
    from jax import Array

    from sterna.bridges.numpyro_model import Model

# States whose sites are computed in one batch.
BATCH_SIZE = 256

# What a compiled function of many states returns, by site.
BySite = dict[str, "Array"]


class NumpyroView:
    """Sites, deterministic ones included, and pointwise log-likelihoods of a model at states."""

    def __init__(self, model: "Model") -> None:
        self.model = model
        self.dims: Mapping[str, Sequence[str | None]] = {
            name: [plates.get(axis) for axis in range(max(plates) + 1)]
            for name, plates in model.layout.plates.items()
            if plates
        }
        self.coords: Mapping[str, Any] = {}
        angles = [site.name for site in model.sites.values() if site.kind.periodic]
        self.circles: Mapping[str, FloatArray] = dict.fromkeys(angles, ANGLE)
        self.shown: Sequence[str] = list(model.layout.plates)
        self._values = self._of_many(self._values_at)
        self._log_likelihoods = self._of_many(self._log_likelihoods_at)

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """The model's unobserved and deterministic sites by name."""
        found = _apply(self._values, states)
        # JAX sorts dicts by their keys
        names = [*self.model.sites, *(name for name in found if name not in self.model.sites)]
        return {name: found[name] for name in names}

    def groups(self, states: FloatArray, log_likelihood: bool) -> dict[str, dict[str, NDArray[Any]]]:
        """Further groups for ArviZ, by group and name; log-likelihoods have the states' leading axes."""
        trace = in_64_bits(self.model.at)(np.zeros(states.shape[-1]), self.model.arrays)[1]
        groups = {"observed_data": {name: np.asarray(site["value"]) for name, site in _observed(trace)}}
        if log_likelihood:
            groups["log_likelihood"] = _apply(self._log_likelihoods, states)
        return groups

    def _values_at(self, state: "Array") -> BySite:
        _, trace = self.model.at(state, self.model.arrays)
        fixed = {name: site["value"] for name, site in trace.items() if site["type"] == "deterministic"}
        return {name: trace[name]["value"] for name in self.model.sites} | fixed

    def _log_likelihoods_at(self, state: "Array") -> BySite:
        _, trace = self.model.at(state, self.model.arrays)
        return {name: scale_of(site) * log_prob_of(site) for name, site in _observed(trace)}

    @staticmethod
    def _of_many(function: "Callable[[Array], BySite]") -> Callable[[FloatArray], BySite]:
        """Compile a function of one state for many of them."""
        jax = import_jax()
        return in_64_bits(jax.jit(lambda states: jax.lax.map(function, states, batch_size=BATCH_SIZE)))


def _observed(trace: Mapping[str, Message]) -> list[tuple[str, Message]]:
    """Return the observed sites, without factors."""
    from numpyro.distributions import Unit

    sites = [(name, site) for name, site in trace.items() if site["type"] == "sample" and site["is_observed"]]
    return [(name, site) for name, site in sites if not isinstance(site["fn"], Unit)]


def _apply(function: Callable[[FloatArray], BySite], states: FloatArray) -> dict[str, NDArray[Any]]:
    rows = np.ascontiguousarray(states.reshape(-1, states.shape[-1]))
    return {name: np.asarray(part).reshape(states.shape[:-1] + part.shape[1:]) for name, part in function(rows).items()}
