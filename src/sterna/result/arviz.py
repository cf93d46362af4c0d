"""A result as ArviZ holds it: an `InferenceData` below ArviZ 1.0, an xarray `DataTree` from there on."""

import importlib
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sterna.reference.space import coordinates_of, dims_of

if TYPE_CHECKING:
    import xarray

    from sterna.result.result import Result

LEAD = ("chain", "draw")


def to_arviz(result: "Result", log_likelihood: bool = True) -> Any:
    """Return posterior, sample statistics, and what the model knows of its data; copies are chains.

    `lp` is the log-density of the draws up to the evidence, and `log_likelihood_sum` that of the data. Models of other
    libraries have pointwise log-likelihoods, from which `arviz.loo` and `arviz.compare` work.

    Examples
    --------
    >>> import sterna
    >>> result = sterna.sample(sterna.models.normal(2), n_chains=4, n_rounds=6, progress=False)
    >>> tree = result.to_arviz()
    >>> tree["posterior"]["x"].dims
    ('chain', 'draw', 'x_dim_0')
    """
    arviz = _import_arviz()
    groups = {"posterior": posterior_of(result), "sample_stats": sample_stats_of(result)}
    view = result.target.view
    if view is not None:
        for group, values in view.groups(result.states, log_likelihood).items():
            if values:
                groups[group] = _dataset(result, values, LEAD if group == "log_likelihood" else ())
    if int(arviz.__version__.partition(".")[0]) < 1:
        return arviz.InferenceData(**groups)
    import xarray

    return xarray.DataTree.from_dict(groups)


def _import_arviz() -> ModuleType:
    """Import ArviZ without the announcement of version 1 that 0.23 makes once per day: both versions work here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\s*ArviZ is undergoing a major refactor", FutureWarning, "arviz")
        return importlib.import_module("arviz")


def posterior_of(result: "Result") -> "xarray.Dataset":
    """Return the posterior with ArviZ's names of the leading dimensions, and the evidence among its attributes."""
    evidence = result.log_evidence
    found = result.posterior.rename({"copy": "chain"})
    return found.assign_attrs(log_evidence=evidence.value, log_evidence_error=evidence.error)


def sample_stats_of(result: "Result") -> "xarray.Dataset":
    """Return the log-densities of the draws."""
    states = result.states
    flat = states.reshape(-1, states.shape[-1])
    reference = np.array([result.target.log_densities(state)[0] for state in flat]).reshape(states.shape[:2])
    likelihood = result.log_likelihood
    values = {"lp": reference + likelihood, "log_likelihood_sum": likelihood}
    return _dataset(result, values, LEAD)


def _dataset(result: "Result", values: Mapping[str, NDArray[Any]], lead: tuple[str, ...]) -> "xarray.Dataset":
    import xarray

    view = result.target.view
    variables = {
        name: ((*lead, *dims_of(name, np.ndim(value) - len(lead), view)), value) for name, value in values.items()
    }
    coordinates = coordinates_of(variables, view)
    coordinates |= {
        name: np.arange(size) for name, size in zip(lead, result.states.shape, strict=False) if name in lead
    }
    return xarray.Dataset(variables, coords=coordinates, attrs={"sampler": "sterna"})
