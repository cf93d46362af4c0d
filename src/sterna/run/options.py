"""The options of a call: what a user gave, checked and filled in."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from sterna.engine.schemes import find_scheme
from sterna.errors import OptionError, TargetError
from sterna.explorers.automala import AutoMALA
from sterna.explorers.base import Explorer
from sterna.explorers.composition import Blocks
from sterna.explorers.elliptical import Elliptical
from sterna.explorers.evolution import Evolution
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.fitted import Fitted
from sterna.explorers.gibbs import Gibbs
from sterna.explorers.hamiltonian import HMC, MALA
from sterna.explorers.independence import Independence
from sterna.explorers.metropolis import Metropolis
from sterna.explorers.move import as_move
from sterna.explorers.slice import Slice
from sterna.result.settings import Settings
from sterna.target.target import Target
from sterna.tuning.chains import FIRST

EXPLORERS: dict[str, Callable[[], Explorer]] = {
    "slice": Slice,
    "metropolis": Metropolis,
    "evolution": Evolution,
    "independence": Independence,
    "fitted": Fitted,
    "elliptical": Elliptical,
    "hmc": HMC,
    "mala": MALA,
    "automala": AutoMALA,
    "gibbs": Gibbs,
}


def as_target(target: Any, reference: Any, data: Mapping[str, Any] | None, vectorized: bool | str = False) -> Target:
    """Read what a user gave as the target."""
    if isinstance(target, Target):
        if reference is not None or data is not None or vectorized:
            raise OptionError(
                "A sterna.Target has its reference and data already: leave out reference=, data= and vectorized=."
            )
        return target
    if is_pymc(target):
        from sterna.bridges.pymc_model import from_pymc

        if reference is not None or data is not None or vectorized:
            raise OptionError(
                "A PyMC model has its prior and data already: leave out reference=, data= and vectorized=."
            )
        return from_pymc(target)
    if not callable(target):
        raise TargetError(
            f"sample() got {_named(target)}: give a log-likelihood function with reference=..., a sterna.Target, "
            "a PyMC model, or a built-in model such as sterna.models.ising()."
        )
    if reference is None:
        raise TargetError(
            f"sample() got {_named(target)} without a reference. A log-likelihood needs one to temper from, usually "
            'the prior: reference={"mu": sterna.Normal(0, 10), ...}. Without a prior, see sterna.FittedReference. '
            "Of a function that builds a PyMC model or a target give what it returns; "
            "of a NumPyro model sterna.from_numpyro(model, ...)."
        )
    return Target(target, reference, data, vectorized=vectorized)


def is_pymc(target: Any) -> bool:
    """Whether it is a PyMC model, without an import of PyMC."""
    return "pymc" in sys.modules and isinstance(target, sys.modules["pymc"].Model)


def _named(target: Any) -> str:
    """Name what was given, in a few words however long it would print."""
    if callable(target) and hasattr(target, "__name__"):
        return f"{'the class' if isinstance(target, type) else 'the function'} {target.__name__}"
    text = repr(target)
    short = len(text) < 60 and "\n" not in text and " at 0x" not in text
    return f"the {type(target).__name__} {text}" if short else f"an object of type {type(target).__name__}"


def as_explorer(explorer: Any, target: ExplorableTarget) -> Explorer:
    """Read what a user gave as the explorer."""
    if isinstance(explorer, str):
        own = target.explorer
        if own is not None and own.name == explorer:
            return own
        if explorer.lower() not in EXPLORERS:
            names = sorted({*EXPLORERS, *([own.name] if own else [])})
            raise OptionError(f"explorer={explorer!r} is not known; for this target there are: {', '.join(names)}.")
        return EXPLORERS[explorer.lower()]()
    if isinstance(explorer, Mapping):
        return Blocks(explorer)
    chosen = as_move(explorer)
    if isinstance(chosen, type) or not hasattr(chosen, "bind"):
        raise OptionError(f"explorer={explorer!r}: give an explorer such as sterna.Slice(passes=3), or its name.")
    return cast(Explorer, chosen)


def make_settings(
    n_chains: Any,
    n_rounds: Any,
    n_scans: Any,
    n_copies: Any,
    explorations: Any,
    scheme: str,
    schedule: Any,
    keep: str,
    thin: Any,
    keep_energies: bool,
    seed: Any,
    workers: Any,
) -> Settings:
    """Check every option, and fill in those left open."""
    rounds = _whole("n_rounds", n_rounds, 0, "round r has 2**r scans", 40)
    automatic = isinstance(n_chains, str) and n_chains == "auto"
    if automatic and schedule is not None:
        n_chains, automatic = len(schedule) if hasattr(schedule, "__len__") else 0, False
    if automatic and rounds == 0:
        raise OptionError(
            'n_chains="auto" learns the number of chains while tuning, and n_rounds=0 does not tune: give it.'
        )
    why = 'give a number of chains, both ends included, or "auto"'
    chains = _whole("n_chains", FIRST if automatic else n_chains, 2, why, 32767)
    default = max(2 ** (rounds + 1) - 2, 1)
    scans = _whole("n_scans", default if n_scans is None else n_scans, 1, "sampling takes at least one scan")
    if n_scans is None and rounds == 0:
        raise OptionError("n_rounds=0 leaves nothing from which n_scans could follow: give n_scans.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    why = "give a number of threads (of processes, if the target runs as Python), an executor, or a pool with a map"
    own = workers is None or hasattr(workers, "submit") or hasattr(workers, "map")
    threads = _whole("workers", cores if own else workers, 1, why)
    # more copies than workers would cost time
    wanted = threads if isinstance(n_copies, str) and n_copies == "auto" else n_copies
    copies = _whole("n_copies", wanted, 1, 'give the number of independent copies, or "auto" for one a worker')
    find_scheme(scheme)
    if keep not in ("target", "all"):
        raise OptionError(
            f'keep={keep!r} is not known: "target" keeps the target chain\'s draws, "all" every chain\'s.'
        )
    tuned = isinstance(explorations, str) and explorations == "auto"
    why = 'give how often a scan explores every chain, or "auto"'
    repeats = _whole("explorations", 1 if tuned else explorations, 1, why)
    step = _whole("thin", thin, 1, "every thin-th scan is kept")
    if step > scans:
        raise OptionError(f"thin={step} is more than the {scans} sampling scans: no draw would be kept.")
    key = _whole("seed", seed, 0, "give an integer from 0 up", 2**63 - 1)
    return Settings(
        chains, rounds, scans, copies, scheme, keep, step, key, threads,
        repeats, tuned, automatic, bool(keep_energies),
    )  # fmt: skip


def _whole(name: str, value: Any, least: int, why: str, most: int | None = None) -> int:
    """Check that an option is a whole number in its range."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise OptionError(f"{name}={value!r} is not a whole number, as it must be: {why}.")
    if value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise OptionError(f"{name}={value} must be {bounds}: {why}.")
    return int(value)
