"""sterna: non-reversible parallel tempering for Python."""

from typing import Any

from sterna import models, theory
from sterna.distributions import (
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
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    LogNormal,
    LogUniform,
    MultivariateNormal,
    Normal,
    Poisson,
    Spin,
    StudentT,
    Uniform,
)
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
from sterna.reference import Reference
from sterna.result import Result
from sterna.rounds import Round
from sterna.sampling import sample
from sterna.space import Binary, Integer, Real, Simplex
from sterna.target import Target
from sterna.tuning.batches import Estimate

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
    "Gamma",
    "Geometric",
    "Gibbs",
    "HalfCauchy",
    "HalfNormal",
    "Independence",
    "InitialStateError",
    "Integer",
    "InverseGamma",
    "LogNormal",
    "LogUniform",
    "Metropolis",
    "Mix",
    "Move",
    "MultivariateNormal",
    "Normal",
    "OptionError",
    "Poisson",
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
    "Uniform",
    "__version__",
    "from_pymc",
    "models",
    "sample",
    "theory",
]


def __getattr__(name: str) -> Any:
    """Load bridges to other libraries when they are first asked for."""
    if name == "from_pymc":
        from sterna.bridges.pymc_model import from_pymc

        return from_pymc
    raise AttributeError(f"module 'sterna' has no attribute {name!r}")
