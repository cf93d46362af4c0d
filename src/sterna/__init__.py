"""sterna: non-reversible parallel tempering for Python."""

from typing import TYPE_CHECKING

from sterna.version import __version__ as __version__

if TYPE_CHECKING:
    # what type checkers and editors read; at run time a name is imported when it is first used
    from sterna import models as models
    from sterna import theory as theory
    from sterna.bridges.jax_target import JaxTarget as JaxTarget
    from sterna.bridges.numpyro_model import from_numpyro as from_numpyro
    from sterna.bridges.numpyro_model import numpyro_samples as numpyro_samples
    from sterna.bridges.pymc_model import from_pymc as from_pymc
    from sterna.distributions import *  # noqa: F403 (each file of distributions lists its own)
    from sterna.errors import Error as Error
    from sterna.errors import EvaluationError as EvaluationError
    from sterna.errors import InitialStateError as InitialStateError
    from sterna.errors import MissingLibraryError as MissingLibraryError
    from sterna.errors import OptionError as OptionError
    from sterna.errors import StorageError as StorageError
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
    from sterna.explorers.leaps import Leaps as Leaps
    from sterna.explorers.mala import MALA as MALA
    from sterna.explorers.metropolis import Metropolis as Metropolis
    from sterna.explorers.move import Move as Move
    from sterna.explorers.slice import Slice as Slice
    from sterna.particles.result import ParticleResult as ParticleResult
    from sterna.particles.smc import ais as ais
    from sterna.particles.smc import smc as smc
    from sterna.reference.fitted_reference import FittedReference as FittedReference
    from sterna.reference.prior_transform import PriorTransform as PriorTransform
    from sterna.reference.reference import Reference as Reference
    from sterna.reference.space import Angle as Angle
    from sterna.reference.space import Binary as Binary
    from sterna.reference.space import Integer as Integer
    from sterna.reference.space import Real as Real
    from sterna.reference.space import Simplex as Simplex
    from sterna.result.result import Result as Result
    from sterna.run.check.check import check as check
    from sterna.run.load import load as load
    from sterna.run.resume import resume as resume
    from sterna.run.sample import sample as sample
    from sterna.target.log_prior import from_log_prior as from_log_prior
    from sterna.target.target import Target as Target
    from sterna.tuning.estimate import Estimate as Estimate
    from sterna.tuning.rounds import Round as Round
else:
    import sys as _sys
    from importlib.util import find_spec as _find_spec

    from sterna.ground.whole_import import import_whole as _import_whole

    # Public names by the modules that define them; distributions have their own list. A test compares both tables.
    _NAMES = {
        "bridges.jax_target": "JaxTarget",
        "bridges.numpyro_model": "from_numpyro numpyro_samples",
        "bridges.pymc_model": "from_pymc",
        "errors": "Error EvaluationError InitialStateError MissingLibraryError OptionError StorageError TargetError",
        "explorers.automala": "AutoMALA",
        "explorers.best": "Best",
        "explorers.composition": "Cycle Mix",
        "explorers.elliptical": "Elliptical",
        "explorers.evolution": "Evolution",
        "explorers.fitted": "Fitted",
        "explorers.gibbs": "Gibbs",
        "explorers.hamiltonian": "HMC",
        "explorers.independence": "Independence",
        "explorers.leaps": "Leaps",
        "explorers.mala": "MALA",
        "explorers.metropolis": "Metropolis",
        "explorers.move": "Move",
        "explorers.slice": "Slice",
        "particles.result": "ParticleResult",
        "particles.smc": "ais smc",
        "reference.fitted_reference": "FittedReference",
        "reference.prior_transform": "PriorTransform",
        "reference.reference": "Reference",
        "reference.space": "Angle Binary Integer Real Simplex",
        "result.result": "Result",
        "run.check.check": "check",
        "run.load": "load",
        "run.resume": "resume",
        "run.sample": "sample",
        "target.log_prior": "from_log_prior",
        "target.target": "Target",
        "tuning.estimate": "Estimate",
        "tuning.rounds": "Round",
    }
    _MODULES = {name: f"sterna.{module}" for module, names in _NAMES.items() for name in names.split()}
    _FOLDERS = ("models", "theory")

    def _public():
        return sorted({*_MODULES, *_FOLDERS, "__version__", *_import_whole("sterna.distributions").__all__})

    def __dir__():
        """List the public names, and not the modules that happen to be imported."""
        return sorted({*_public(), *(name for name in globals() if name.startswith("__"))})

    def __getattr__(name):
        """Import a name when it is first used, since importing everything takes about a second."""
        if name == "__all__":
            return _public()
        if name in _MODULES:
            value = getattr(_import_whole(_MODULES[name]), name)
        elif name.startswith("_") or not name.isidentifier():
            value = None
        elif _find_spec(f"sterna.{name}") is not None:
            value = _import_whole(f"sterna.{name}")
        else:
            distributions = _import_whole("sterna.distributions")
            value = getattr(distributions, name) if name in distributions.__all__ else None
        if value is None:
            hint = _import_whole("sterna.ground.other_names").OTHER_NAMES.get(name.lower())
            message = f"module 'sterna' has no attribute {name!r}"
            if hint:
                raise AttributeError(f"{message}: {hint}.")
            # with its object, Python suggests a similar name
            raise AttributeError(message, name=name, obj=_sys.modules[__name__])
        globals()[name] = value
        return value
