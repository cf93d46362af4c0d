"""A NumPyro model's own view of states: its sites by name, with plates as dimensions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.bridges.device import import_jax, in_64_bits
from sterna.bridges.numpyro_sites import log_prob_of, scale_of
from sterna.types import FloatArray

if TYPE_CHECKING:
    from sterna.bridges.numpyro_model import Model


# States whose sites are computed together.
ROWS = 256


class NumpyroView:
    """Sites, deterministic ones among them, and pointwise log-likelihoods of a model, from states."""

    def __init__(self, model: "Model") -> None:
        self.model = model
        self.dims: Mapping[str, Sequence[str | None]] = {
            name: [plates.get(axis) for axis in range(max(plates) + 1)]
            for name, plates in model.layout.plates.items()
            if plates
        }
        self.coords: Mapping[str, Any] = {}
        self.shown: Sequence[str] = list(model.layout.plates)
        self._values = self._of_many(self._values_at)
        self._log_likelihoods = self._of_many(self._log_likelihoods_at)

    def values(self, states: FloatArray) -> dict[str, NDArray[Any]]:
        """The model's own variables and deterministic sites, by name."""
        found = _apply(self._values, states)
        # JAX sorts dicts by their keys
        names = [*self.model.sites, *(name for name in found if name not in self.model.sites)]
        return {name: found[name] for name in names}

    def groups(self, states: FloatArray, log_likelihood: bool) -> dict[str, dict[str, NDArray[Any]]]:
        """What ArviZ holds beside the posterior, by group and name; log-likelihoods have the states' leading axes."""
        trace = in_64_bits(self.model.at)(np.zeros(states.shape[-1]), self.model.arrays)[1]
        groups = {"observed_data": {name: np.asarray(site["value"]) for name, site in _observed(trace)}}
        if log_likelihood:
            groups["log_likelihood"] = _apply(self._log_likelihoods, states)
        return groups

    def _values_at(self, state: Any) -> dict[str, Any]:
        _, trace = self.model.at(state, self.model.arrays)
        shown = {name: found["value"] for name, found in trace.items() if found["type"] == "deterministic"}
        return {name: trace[name]["value"] for name in self.model.sites} | shown

    def _log_likelihoods_at(self, state: Any) -> dict[str, Any]:
        _, trace = self.model.at(state, self.model.arrays)
        return {name: scale_of(site) * log_prob_of(site) for name, site in _observed(trace)}

    @staticmethod
    def _of_many(function: Any) -> Any:
        jax = import_jax()
        return in_64_bits(jax.jit(lambda states: jax.lax.map(function, states, batch_size=ROWS)))


def _observed(trace: Any) -> list[tuple[str, Any]]:
    """Observed sites; factors are no observations."""
    from numpyro.distributions import Unit

    sites = [(name, site) for name, site in trace.items() if site["type"] == "sample" and site["is_observed"]]
    return [(name, site) for name, site in sites if not isinstance(site["fn"], Unit)]


def _apply(function: Any, states: FloatArray) -> dict[str, NDArray[Any]]:
    rows = np.ascontiguousarray(states.reshape(-1, states.shape[-1]))
    return {name: np.asarray(part).reshape(states.shape[:-1] + part.shape[1:]) for name, part in function(rows).items()}
