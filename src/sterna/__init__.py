"""sterna: non-reversible parallel tempering for Python."""

from typing import TYPE_CHECKING, Any

from sterna import models, theory
from sterna.errors import Error, EvaluationError, InitialStateError, OptionError, TargetError
from sterna.explorers.automala import AutoMALA
from sterna.explorers.best import Best
from sterna.explorers.composition import Cycle, Mix
from sterna.explorers.elliptical import Elliptical
from sterna.explorers.evolution import Evolution
from sterna.explorers.fitted import Fitted
from sterna.explorers.gibbs import Gibbs
from sterna.explorers.hamiltonian import HMC, MALA
from sterna.explorers.independence import Independence
from sterna.explorers.metropolis import Metropolis
from sterna.explorers.move import Move
from sterna.explorers.slice import Slice
from sterna.reference.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Cauchy,
    Dirichlet,
    DiscreteUniform,
    Exponential,
    Gamma,
    Geometric,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    HalfStudentT,
    InverseGamma,
    Laplace,
    Logistic,
    LogNormal,
    LogUniform,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Pareto,
    Poisson,
    Spin,
    StudentT,
    TruncatedNormal,
    Uniform,
    Weibull,
)
from sterna.reference.fitted_reference import FittedReference
from sterna.reference.prior_transform import PriorTransform
from sterna.reference.reference import Reference
from sterna.reference.space import Binary, Integer, Real, Simplex
from sterna.result.result import Result
from sterna.run.sample import sample
from sterna.target.log_prior import from_log_prior
from sterna.target.target import Target
from sterna.tuning.batches import Estimate
from sterna.tuning.rounds import Round

if TYPE_CHECKING:
    from sterna.bridges.jax_target import JaxTarget
    from sterna.bridges.numpyro_model import from_numpyro, numpyro_samples
    from sterna.bridges.pymc_model import from_pymc

__version__ = "0.1.0"

__all__ = [
    "HMC",
    "MALA",
    "AutoMALA",
    "Bernoulli",
    "Best",
    "Beta",
    "Binary",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Cycle",
    "Dirichlet",
    "DiscreteUniform",
    "Elliptical",
    "Error",
    "Estimate",
    "EvaluationError",
    "Evolution",
    "Exponential",
    "Fitted",
    "FittedReference",
    "Gamma",
    "Geometric",
    "Gibbs",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "HalfStudentT",
    "Independence",
    "InitialStateError",
    "Integer",
    "InverseGamma",
    "JaxTarget",
    "Laplace",
    "LogNormal",
    "LogUniform",
    "Logistic",
    "Metropolis",
    "Mix",
    "Move",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OptionError",
    "Pareto",
    "Poisson",
    "PriorTransform",
    "Real",
    "Reference",
    "Result",
    "Round",
    "Simplex",
    "Slice",
    "Spin",
    "StudentT",
    "Target",
    "TargetError",
    "TruncatedNormal",
    "Uniform",
    "Weibull",
    "__version__",
    "from_log_prior",
    "from_numpyro",
    "from_pymc",
    "models",
    "numpyro_samples",
    "sample",
    "theory",
]

# Names that need optional libraries, and the modules that define them.
_BRIDGES = {
    "JaxTarget": "sterna.bridges.jax_target",
    "from_numpyro": "sterna.bridges.numpyro_model",
    "from_pymc": "sterna.bridges.pymc_model",
    "numpyro_samples": "sterna.bridges.numpyro_model",
}


def __getattr__(name: str) -> Any:
    """Import a bridge when it is first used."""
    if name not in _BRIDGES:
        raise AttributeError(f"module 'sterna' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_BRIDGES[name]), name)
