"""A result for ArviZ: an `InferenceData` before ArviZ 1.0, an xarray `DataTree` from 1.0 on."""

import importlib
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sterna.errors import MissingLibraryError
from sterna.reference.space import coordinates_of, dims_of
from sterna.result.attributes import Attributes, attributes_of
from sterna.result.sampled_target import SampledTarget
from sterna.types import FloatArray

if TYPE_CHECKING:
    import xarray

    from sterna.result.result import Result

LEADING = ("chain", "draw")


class Drawn(Protocol):
    """Draws, as all results have them."""

    @property
    def target(self) -> SampledTarget:
        """What was sampled."""
        ...

    @property
    def states(self) -> FloatArray:
        """States: (copies, draws, dimension)."""
        ...

    @property
    def log_likelihood(self) -> FloatArray:
        """Log-likelihoods: (copies, draws)."""
        ...

    @property
    def posterior(self) -> "xarray.Dataset":
        """The variables."""
        ...


def to_arviz(result: "Result", log_likelihood: bool = True) -> Any:
    """Return posterior, sample statistics, and the data of PyMC and NumPyro models; copies become chains.

    The posterior has the run's settings, evidence, schedule, restarts, warnings and notes as attributes, in types that
    netCDF files can hold. `lp` is the unnormalised log-density of the draws, and `log_likelihood_sum` the
    log-likelihood of all data. PyMC and NumPyro models have pointwise log-likelihoods too, which `arviz.loo` and
    `arviz.compare` need.

    Examples
    --------
    >>> import sterna
    >>> result = sterna.sample(sterna.models.normal(2), n_chains=4, n_rounds=6, progress=False)
    >>> tree = result.to_arviz()
    >>> tree["posterior"]["x"].dims
    ('chain', 'draw', 'x_dim_0')
    """
    return with_attributes(result, attributes_of(result), log_likelihood)


def with_attributes(result: Drawn, attributes: Attributes, log_likelihood: bool) -> Any:
    """Return the draws of a result with what is known of its run as attributes of the posterior."""
    arviz = _import_arviz()
    posterior = result.posterior.rename({"copy": "chain"}).assign_attrs(attributes)
    groups = {"posterior": posterior, "sample_stats": sample_stats_of(result)}
    view = result.target.view
    if view is not None:
        for group, values in view.groups(result.states, log_likelihood).items():
            if values:
                groups[group] = _dataset(result, values, LEADING if group == "log_likelihood" else ())
    if int(arviz.__version__.partition(".")[0]) < 1:
        return arviz.InferenceData(**groups)
    import xarray

    return xarray.DataTree.from_dict(groups)


def _import_arviz() -> ModuleType:
    """Import ArviZ without the announcement of version 1 that 0.23 makes once per day: both versions work here."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\s*ArviZ is undergoing a major refactor", FutureWarning, "arviz")
            return importlib.import_module("arviz")
    except ModuleNotFoundError as error:
        if error.name != "arviz":
            raise
        raise MissingLibraryError(
            "result.to_arviz() needs ArviZ, which is not installed: pip install 'sterna[arviz]'. Without it, "
            'result.posterior is an xarray.Dataset, and result.posterior.rename(copy="chain") is what ArviZ reads.',
            name="arviz",
        ) from error


def sample_stats_of(result: Drawn) -> "xarray.Dataset":
    """Return the log-densities of the draws."""
    likelihood = result.log_likelihood
    values = {"lp": result.target.log_reference(result.states) + likelihood, "log_likelihood_sum": likelihood}
    return _dataset(result, values, LEADING)


def _dataset(result: Drawn, values: Mapping[str, NDArray[Any]], leading: tuple[str, ...]) -> "xarray.Dataset":
    import xarray

    view = result.target.view
    variables = {
        name: ((*leading, *dims_of(name, np.ndim(value) - len(leading), view, values)), value)
        for name, value in values.items()
    }
    coordinates = coordinates_of(variables, view)
    coordinates |= {name: np.arange(size) for name, size in zip(leading, result.states.shape, strict=False)}
    return xarray.Dataset(variables, coords=coordinates, attrs={"sampler": "sterna"})
