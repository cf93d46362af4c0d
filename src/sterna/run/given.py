"""What a user gave as the target and as the explorer, read."""

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from sterna.errors import OptionError, TargetError
from sterna.explorers.base import Explorer
from sterna.explorers.composition import Blocks
from sterna.explorers.explorable import ExplorableTarget
from sterna.explorers.move import as_move
from sterna.explorers.table import EXPLORERS, GRADIENT_EXPLORERS
from sterna.reference.reference import given_reference
from sterna.target.target import Target

if TYPE_CHECKING:
    import pymc

# Names of samplers in other libraries, and the explorer that is nearest.
KNOWN_ELSEWHERE = {
    "nuts": "hmc", "hamiltonian": "hmc", "langevin": "mala", "stretch": "evolution", "demetropolis": "evolution",
    "mh": "metropolis", "rwm": "metropolis", "rwmh": "metropolis", "random_walk": "metropolis", "ess": "elliptical",
    "ellipticalslice": "elliptical", "elliptical_slice": "elliptical", "heatbath": "heat_bath",
}  # fmt: skip


def as_target(
    target: object,
    reference: object,
    data: Mapping[str, Any] | None,
    vectorized: bool | str = False,
    prior: object = None,
    caller: str = "sample",
) -> Target:
    """Read what a user gave as the target of the function `caller`."""
    reference = given_reference(reference, prior)
    if isinstance(target, Target):
        _refuse_parts("sterna.Target has its reference", reference, data, vectorized)
        return target
    if is_pymc(target):
        from sterna.bridges.pymc_model import from_pymc

        _refuse_parts("PyMC model has its prior", reference, data, vectorized)
        return from_pymc(target)
    if not callable(target):
        raise TargetError(
            f"{caller}() got {_named(target)}: give a log-likelihood function with reference=..., a sterna.Target, "
            "a PyMC model, or a built-in model such as sterna.models.ising()."
        )
    if reference is None:
        raise TargetError(
            f"{caller}() got {_named(target)} without a reference. A log-likelihood needs one to temper from, usually "
            'the prior: reference={"mu": sterna.Normal(0, 10), ...}. Without a prior, see sterna.FittedReference. '
            "For a function that builds a PyMC model or a target, give what it returns; "
            "for a NumPyro model, sterna.from_numpyro(model, ...)."
        )
    return Target(target, reference, data, vectorized=vectorized)


def _refuse_parts(what: str, reference: object, data: object, vectorized: bool | str) -> None:
    """Refuse a reference or data beside a target that has its own."""
    if reference is not None or data is not None or vectorized:
        raise OptionError(f"A {what} and data already: leave out reference= (or prior=), data= and vectorized=.")


def is_pymc(target: object) -> "TypeGuard[pymc.Model]":
    """Return whether an object is a PyMC model, without importing PyMC."""
    return "pymc" in sys.modules and isinstance(target, sys.modules["pymc"].Model)


def _named(target: object) -> str:
    """Describe what was given in a few words, however long its repr is."""
    if callable(target) and hasattr(target, "__name__"):
        return f"{'the class' if isinstance(target, type) else 'the function'} {target.__name__}"
    text = repr(target)
    short = len(text) < 60 and "\n" not in text and " at 0x" not in text
    return f"the {type(target).__name__} {text}" if short else f"an object of type {type(target).__name__}"


def as_explorer(explorer: object, target: ExplorableTarget) -> Explorer:
    """Read what a user gave as the explorer."""
    if isinstance(explorer, str):
        own = target.explorer
        if own is not None and own.name == explorer:
            return own
        if explorer.lower() not in EXPLORERS:
            raise OptionError(_unknown_explorer(explorer, target))
        return EXPLORERS[explorer.lower()]()
    if isinstance(explorer, Mapping):
        return Blocks(explorer)
    if isinstance(explorer, type) and hasattr(explorer, "bind"):
        raise OptionError(f"explorer={explorer!r} is a class: give an explorer, sterna.{explorer.__name__}().")
    if isinstance(explorer, (list, tuple)):
        raise OptionError(
            f"explorer={explorer!r}: give several explorers as sterna.Cycle(...), which runs all in every scan, "
            "sterna.Mix(...), which draws one, or sterna.Best(...), which finds the best of them."
        )
    chosen = as_move(explorer)
    if isinstance(chosen, type) or not hasattr(chosen, "bind"):
        raise OptionError(f"explorer={explorer!r}: give an explorer such as sterna.Slice(passes=3), or its name.")
    return cast(Explorer, chosen)


def _unknown_explorer(name: str, target: ExplorableTarget) -> str:
    """Say that there is no explorer of a name, and which ones the target can use."""
    own = [target.explorer.name] if target.explorer else []
    usable = sorted({*own, *(known for known in EXPLORERS if target.has_gradient or known not in GRADIENT_EXPLORERS)})
    meant = [KNOWN_ELSEWHERE[name.lower()]] if name.lower() in KNOWN_ELSEWHERE else get_close_matches(name, usable, 1)
    question = f'did you mean "{meant[0]}"? For' if meant and meant[0] in usable else "for"
    without = "" if target.has_gradient else " without a gradient"
    return f"explorer={name!r} is not known; {question} this target{without} there are: {', '.join(usable)}."
