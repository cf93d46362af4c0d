"""sterna: non-reversible parallel tempering for Python."""

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
from sterna.explorers.composition import Cycle, Mix
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
    "Bernoulli",
    "Beta",
    "Binary",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Cycle",
    "Dirichlet",
    "DiscreteUniform",
    "Error",
    "Estimate",
    "EvaluationError",
    "Exponential",
    "Gamma",
    "Geometric",
    "HalfCauchy",
    "HalfNormal",
    "InitialStateError",
    "Integer",
    "InverseGamma",
    "LogNormal",
    "LogUniform",
    "Mix",
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
    "models",
    "sample",
    "theory",
]
