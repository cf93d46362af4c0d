"""The paper's single chain: the explorer alone at the target, without tempering."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sterna.engine.interrupts import check_interrupts, holds_interrupts, interruptible
from sterna.engine.program import EVALUATIONS, GRADIENTS, LARGEST_REFERENCE, LOG_LIKELIHOOD, N_LOG_DENSITIES
from sterna.engine.round import Copy, Plan, explore_some, new_at_work
from sterna.ground.compilation import compile_for
from sterna.particles.runtime import explorer_of
from sterna.result.dataset import dataset_of
from sterna.result.sampled_target import SampledTarget, Values, sampled_target
from sterna.result.scalars import scalars_of
from sterna.result.summary import Summary, rows_of
from sterna.run.given import as_target
from sterna.run.options import Options
from sterna.run.running import started
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.run.tune import total_evaluations
from sterna.theory.checks import check_whole
from sterna.types import FloatArray
from sterna.workers.point_errors import errors_at_point

if TYPE_CHECKING:
    import xarray

# The copy number of the chain; no copy of parallel tempering, no population and no ladder has it.
CHAIN = 1 << 43


@dataclass(frozen=True)
class ChainResult:
    """Draws of a chain that explored the target alone. Fields that `sterna.Result` has, too, mean the same.

    Errors are those of the series, which does not know of modes where the chain has not been.
    """

    target: SampledTarget
    explorer: str
    n_rounds: int
    """Rounds of 2, 4, 8, ... scans before the first draw."""
    seed: int
    states: FloatArray = field(repr=False)
    """(1, draws, dimension)"""
    log_likelihood: FloatArray = field(repr=False)
    """(1, draws)"""
    evaluations: int
    gradient_evaluations: int
    timing: dict[str, float]
    """Seconds for compilation, tuning (the rounds) and sampling."""

    @property
    def n_scans(self) -> int:
        """Number of draws."""
        return len(self.log_likelihood[0])

    @cached_property
    def values(self) -> Values:
        """The variables by name, as arrays of shape (1, draws, ...)."""
        return self.target.values(self.states)

    @cached_property
    def posterior(self) -> xarray.Dataset:
        """Draws, with dimensions (copy, draw, ...)."""
        return dataset_of(self.target, self.values, self.states.shape[:2], ("copy", "draw"), self.seed)

    @cached_property
    def summary(self) -> Summary:
        """Mean, its standard error, quantiles and modes of every scalar."""
        # each draw is a journey, so that errors are those of the series
        journeys, rows = np.arange(self.n_scans)[None], Summary()
        for names, draws, circles in scalars_of(self.values, self.target):
            ordered = names[0].partition("[")[0] not in self.target.unordered
            rows.update(zip(names, rows_of(draws, journeys, circles, ordered), strict=True))
        return rows

    def __getstate__(self) -> dict[str, Any]:
        """Give pickle and deepcopy the fields without the target's functions; properties are computed again."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"target": self.target.stored([self.states])}


@holds_interrupts
def single_chain(
    target: object,
    *,
    n_scans: int,
    n_rounds: int = 10,
    explorer: object = None,
    explorations: int = 1,
    start: str = "reference",
    seed: int = 1,
    workers: object = None,
) -> ChainResult:
    """Explore the target alone: rounds of 2, 4, 8, ... scans tune the explorer, then each scan is a draw.

    Options are those of `sterna.sample`.
    """
    rounds = check_whole("n_rounds", n_rounds, 0, "round r has 2**r scans")
    options = Options(
        n_chains=2,
        n_rounds=0,
        n_scans=n_scans,
        explorations=explorations,
        seed=seed,
        path="prior",
        start=start,
        workers=workers,
    )
    read = interruptible(partial(as_target, target, None, None))
    with started(read, options, explorer=explorer_of(explorer, read)) as (runtime, state):
        return _run(runtime, state, rounds)


def _run(runtime: Runtime, state: RunState, n_rounds: int) -> ChainResult:
    copy, seconds = copy_of_chain(state), dict(vars(state.seconds))
    began = time.perf_counter()
    load(runtime, state, copy)
    loaded = time.perf_counter()
    parameters = state.tuned.parameters
    for number in range(1, n_rounds + 1):
        statistics = _explore(runtime, plan_of(runtime, state, parameters, number), copy, 2**number)[0]
        parameters = runtime.bound.tune(parameters, runtime.bound.merge([statistics]))
    tuned = time.perf_counter()
    plan = plan_of(runtime, state, parameters, n_rounds + 1)
    _, states, log_likelihood = _explore(runtime, plan, copy, state.settings.n_scans)
    before, own = total_evaluations(state), copy.log_densities[0, [EVALUATIONS, GRADIENTS]]
    return ChainResult(
        target=sampled_target(runtime.target),
        explorer=runtime.bound.chosen(parameters) or runtime.explorer.name,
        n_rounds=n_rounds,
        seed=state.settings.seed,
        states=states[None],
        log_likelihood=log_likelihood[None],
        evaluations=before[0] + int(own[0]),
        gradient_evaluations=before[1] + int(own[1]),
        timing={
            "compile": seconds["compile"] + loaded - began,
            "tuning": seconds["tuning"] + tuned - loaded,
            "sampling": time.perf_counter() - tuned,
        },
    )


def copy_of_chain(state: RunState) -> Copy:
    """Return one replica, at chain 1, which begins where the target's chain of a run begins."""
    start = state.copies[0]
    log_densities = np.zeros((1, N_LOG_DENSITIES))
    for columns in (slice(0, EVALUATIONS), slice(LARGEST_REFERENCE, None)):
        log_densities[0, columns] = start.log_densities[1, columns]
    return start._replace(
        states=start.states[1:].copy(),
        log_densities=log_densities,
        chain_of=np.ones(1, dtype=np.int64),
        at_work=new_at_work(),
    )


def plan_of(runtime: Runtime, state: RunState, parameters: FloatArray, number: int) -> Plan:
    """Return the plan of a round."""
    return runtime.plan(state)._replace(parameters=np.ascontiguousarray(parameters), round_number=number)


def load(runtime: Runtime, state: RunState, copy: Copy) -> None:
    """Compile what a scan calls, or load it from disk."""
    plan, statistics = runtime.plan(state), np.zeros((2, runtime.bound.n_row))
    compile_for(explore_some, plan, statistics, 1, CHAIN, copy, 0, 1, runtime.streams[0])


def _explore(runtime: Runtime, plan: Plan, copy: Copy, n_scans: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Run the scans of a round; return what the explorer has summed, the states, and their log-likelihoods."""
    statistics = np.zeros((2, runtime.bound.n_row))
    states, log_likelihood = np.empty((n_scans, copy.states.shape[1])), np.empty(n_scans)
    for scan in range(1, n_scans + 1):
        if runtime.evaluates_elsewhere:
            runtime.on_replicas(0, copy, partial(explore_some, plan, statistics, scan, CHAIN))
        else:
            with errors_at_point(runtime.target, copy):
                explore_some(plan, statistics, scan, CHAIN, copy, 0, 1, runtime.streams[0])
        states[scan - 1], log_likelihood[scan - 1] = copy.states[0], copy.log_densities[0, LOG_LIKELIHOOD]
        check_interrupts()
    return statistics[:, : runtime.bound.n_statistics], states, log_likelihood
