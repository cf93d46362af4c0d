"""sterna: non-reversible parallel tempering for Python."""

from typing import TYPE_CHECKING, Any

from sterna import distributions
from sterna import models as models
from sterna import theory as theory
from sterna.distributions import *  # noqa: F403 (each file of distributions lists its own)
from sterna.errors import Error as Error
from sterna.errors import EvaluationError as EvaluationError
from sterna.errors import InitialStateError as InitialStateError
from sterna.errors import OptionError as OptionError
from sterna.errors import TargetError as TargetError
from sterna.explorers.automala import AutoMALA as AutoMALA
from sterna.explorers.best import Best as Best
from sterna.explorers.composition import Cycle as Cycle
from sterna.explorers.composition import Mix as Mix
from sterna.explorers.elliptical import Elliptical as Elliptical
from sterna.explorers.evolution import Evolution as Evolution
from sterna.explorers.fitted import Fitted as Fitted
from sterna.explorers.gibbs import Gibbs as Gibbs
from sterna.explorers.hamiltonian import HMC as HMC
from sterna.explorers.independence import Independence as Independence
from sterna.explorers.mala import MALA as MALA
from sterna.explorers.metropolis import Metropolis as Metropolis
from sterna.explorers.move import Move as Move
from sterna.explorers.slice import Slice as Slice
from sterna.reference.fitted_reference import FittedReference as FittedReference
from sterna.reference.prior_transform import PriorTransform as PriorTransform
from sterna.reference.reference import Reference as Reference
from sterna.reference.space import Binary as Binary
from sterna.reference.space import Integer as Integer
from sterna.reference.space import Real as Real
from sterna.reference.space import Simplex as Simplex
from sterna.result.result import Result as Result
from sterna.run.sample import sample as sample
from sterna.target.log_prior import from_log_prior as from_log_prior
from sterna.target.target import Target as Target
from sterna.tuning.batches import Estimate as Estimate
from sterna.tuning.rounds import Round as Round

if TYPE_CHECKING:
    from sterna.bridges.jax_target import JaxTarget as JaxTarget
    from sterna.bridges.numpyro_model import from_numpyro as from_numpyro
    from sterna.bridges.numpyro_model import numpyro_samples as numpyro_samples
    from sterna.bridges.pymc_model import from_pymc as from_pymc

from sterna.version import __version__ as __version__

# Type checkers cannot evaluate this list; they take `X as X` and star imports to be public.
if not TYPE_CHECKING:
    __all__ = [
        "HMC",
        "MALA",
        "AutoMALA",
        "Best",
        "Binary",
        "Cycle",
        "Elliptical",
        "Error",
        "Estimate",
        "EvaluationError",
        "Evolution",
        "Fitted",
        "FittedReference",
        "Gibbs",
        "Independence",
        "InitialStateError",
        "Integer",
        "JaxTarget",
        "Metropolis",
        "Mix",
        "Move",
        "OptionError",
        "PriorTransform",
        "Real",
        "Reference",
        "Result",
        "Round",
        "Simplex",
        "Slice",
        "Target",
        "TargetError",
        "__version__",
        "from_log_prior",
        "from_numpyro",
        "from_pymc",
        "models",
        "numpyro_samples",
        "sample",
        "theory",
        *distributions.__all__,
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
