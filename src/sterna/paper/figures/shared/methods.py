"""Parallel tempering and its rivals on one target: what each method drew, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sterna.paper.adaptive_reversible import run_mmv
from sterna.paper.figure import Table, table
from sterna.paper.single_chain import ChainResult, single_chain
from sterna.paper.study import Study, display_of
from sterna.particles.result import ParticleResult
from sterna.particles.runtime import own_explorer
from sterna.particles.smc import ais, smc
from sterna.result.result import Result
from sterna.run.display import Display
from sterna.run.sample import sample
from sterna.target.target import Target
from sterna.types import FloatArray

Outcome = Result | ChainResult | ParticleResult


@dataclass(frozen=True)
class Method:
    """A method with its budget."""

    name: str
    run: Callable[[Target, int, Display], Outcome]
    """Called with the target, the seed, and the display of progress."""


@dataclass(frozen=True)
class Drawn:
    """What a method drew."""

    method: str
    values: dict[str, FloatArray]
    """The target's variables, one row for each draw."""
    log_likelihood: FloatArray
    summary: tuple[object, ...]
    """The row of the table of methods."""


METHODS = (
    "method",
    "chains",
    "draws",
    "explorations",
    "evaluations",
    "seconds",
    "restarts",
    "acceptance",
    "worst_pair",
)


def nrpt(n_chains: int, n_rounds: int, n_scans: int, name: str = "NRPT") -> Method:
    """Return non-reversible parallel tempering with the rivals' explorer."""

    def run(target: Target, seed: int, display: Display) -> Result:
        return sample(
            target,
            n_chains=n_chains,
            n_rounds=n_rounds,
            n_scans=n_scans,
            explorer=own_explorer(target),
            explorations=1,
            path="prior",
            seed=seed,
            progress=display,
        )

    return Method(name, run)


def chain_alone(n_rounds: int, n_scans: int) -> Method:
    """Return the explorer alone at the target."""
    return Method(
        "single chain", lambda target, seed, _: single_chain(target, n_scans=n_scans, n_rounds=n_rounds, seed=seed)
    )


def mmv(n_scans: int, max_steps: int, scheme: str = "seo") -> Method:
    """Return parallel tempering with the ladder of Miasojedow, Moulines and Vihola, and as long a burn-in."""

    def run(target: Target, seed: int, _: Display) -> Result:
        found = run_mmv(target, n_scans=n_scans, n_burn_in=n_scans, scheme=scheme, seed=seed, max_steps=max_steps)
        return found.result

    return Method("MMV" if scheme == "seo" else "MMV-DEO", run)


def annealed_importance(n_particles: int, threshold: float) -> Method:
    """Return annealed importance sampling that adapts its steps on the way, as in the paper."""
    return Method(
        "AIS",
        lambda target, seed, display: ais(
            target, n_particles=n_particles, threshold=threshold, n_pilot=0, seed=seed, progress=display
        ),
    )


def sequential(n_particles: int, threshold: float, rejuvenations: int, name: str) -> Method:
    """Return sequential Monte Carlo with adaptive steps, whose final particles are explored some times."""
    return Method(
        name,
        lambda target, seed, display: smc(
            target,
            n_particles=n_particles,
            threshold=threshold,
            rejuvenations=rejuvenations,
            n_pilot=0,
            seed=seed,
            progress=display,
        ),
    )


def run_methods(study: Study, model: str, target: Target, methods: Sequence[Method]) -> list[Drawn]:
    """Run all methods on one target, one after the other."""
    found = []
    for number, method in enumerate(methods, 1):
        study.say(f"method {number} of {len(methods)} on {model}: {method.name}")
        outcome = method.run(target, study.seed, display_of(not study.quick))
        found.append(drawn(method.name, outcome))
        seconds = outcome.timing["tuning"] + outcome.timing["sampling"]
        study.note(
            label=f"{model}, {method.name}",
            model=model,
            method=method.name,
            n_chains=chains_of(outcome),
            n_copies=1,
            tuning_scans=tuning_scans_of(outcome),
            n_scans=len(found[-1].log_likelihood),
            seconds=seconds,
            notes=target.notes,
        )
    return found


def chains_of(outcome: Outcome) -> int:
    """Return the number of chains; 0 stands for particles."""
    if isinstance(outcome, Result):
        return outcome.settings.n_chains
    return 1 if isinstance(outcome, ChainResult) else 0


def tuning_scans_of(outcome: Outcome) -> int:
    """Return how many scans, or steps, came before the draws."""
    if isinstance(outcome, Result):
        return sum(one.n_scans for one in outcome.rounds[:-1])
    return 2 ** (outcome.n_rounds + 1) - 2 if isinstance(outcome, ChainResult) else outcome.n_steps


def explorations_of(outcome: Outcome) -> int:
    """Return how often one chain or particle was explored, ladders not counted."""
    if isinstance(outcome, ParticleResult):
        settings = outcome.settings
        return int(settings.n_particles * (outcome.n_steps * settings.explorations + settings.rejuvenations))
    return int(chains_of(outcome) * (tuning_scans_of(outcome) + outcome.log_likelihood.shape[1]))


def drawn(name: str, outcome: Outcome) -> Drawn:
    """Return what a method drew, with its row of the table of methods."""
    values = {key: np.asarray(value)[0] for key, value in outcome.values.items()}
    acceptance = 1.0 - outcome.rejection if isinstance(outcome, Result) else np.array([np.nan])
    summary = (
        name,
        chains_of(outcome),
        outcome.log_likelihood.shape[1],
        explorations_of(outcome),
        outcome.evaluations,
        outcome.timing["tuning"] + outcome.timing["sampling"],
        outcome.restarts if isinstance(outcome, Result) else 0,
        float(acceptance.mean()),
        float(acceptance.min()),
    )
    return Drawn(name, values, outcome.log_likelihood[0], summary)


def methods_table(found: Sequence[Drawn]) -> Table:
    """Return what the methods cost."""
    return table(METHODS, [one.summary for one in found])


def thinned(count: int, most: int) -> FloatArray:
    """Return the indices of at most so many draws, at equal distances."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
