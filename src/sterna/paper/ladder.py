"""A ladder of chains that are added one by one from the target downwards, as in the paper's rivals ARR and MMV.

A step explores the last chain and the one being added, and proposes their swap, whose acceptance moves the beta of the
added one (`sterna.engine.added_chain`). A chain is done when the 90 % interval of its acceptance lies near 23 %. Once
its beta is small, it is tried at the reference, where the ladder ends if the same is true there. A chain that takes too
many steps is moved to the reference as it is.
"""

import time
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sterna.engine.added_chain import (
    ADDED,
    ARR,
    FIRST_RHO,
    MMV,
    REFERENCE,
    TARGET_ACCEPTANCE,
    TOLERANCE,
    UPPER,
    WINDOW,
    Adaptation,
    Progress,
    beta_below,
    end_step,
    is_on_target,
    mean_acceptance,
    new_adaptation,
    new_pair,
    run_steps,
)
from sterna.engine.interrupts import check_interrupts
from sterna.engine.program import EVALUATIONS, GRADIENTS, LARGEST_REFERENCE
from sterna.engine.round import Copy, Plan, explore_some, new_copy
from sterna.ground.compilation import compile_for
from sterna.run.blocks import SHARED_SCAN_SECONDS
from sterna.run.runtime import Runtime
from sterna.run.state import RunState
from sterna.types import FloatArray
from sterna.workers.point_errors import errors_at_point

RULES = {"arr": ARR, "mmv": MMV}

# A chain that is not done after so many steps ends the ladder.
MAX_STEPS = 100_000

# Below this beta a chain is tried at the reference.
NEARLY_REFERENCE = 0.1

# The copy number of the two replicas of a step; no copy of parallel tempering and no population has it.
PAIR = 1 << 42


@dataclass(frozen=True)
class Rung:
    """A chain that was added."""

    beta: float
    steps: int
    """Steps until it was done, without those at the reference."""
    acceptance: float
    """Mean acceptance probability of swaps with the chain above, over its last steps, at most `WINDOW`."""
    rho: float
    done: bool
    """Whether its acceptance was near the one desired; if not, it was moved to the reference."""
    tried: int = 0
    """Steps at the reference, where it was tried if its beta was small."""


@dataclass(frozen=True)
class Ladder:
    """Chains below the target, in the order in which they were added."""

    rungs: tuple[Rung, ...]

    @property
    def schedule(self) -> FloatArray:
        """Betas from 0 to 1."""
        return np.array([*(rung.beta for rung in reversed(self.rungs)), 1.0])

    @property
    def n_chains(self) -> int:
        """Number of chains, both ends included."""
        return len(self.rungs) + 1

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps of each added chain, without those at the reference."""
        return tuple(rung.steps for rung in self.rungs)

    @property
    def n_steps(self) -> int:
        """Number of all steps, one after the other; each explores two chains."""
        return sum(rung.steps + rung.tried for rung in self.rungs)

    @property
    def acceptance(self) -> tuple[float, ...]:
        """Acceptance probability of each added chain with the one above, while it was added."""
        return tuple(rung.acceptance for rung in self.rungs)

    @property
    def rho(self) -> tuple[float, ...]:
        """Last value of rho of each added chain."""
        return tuple(rung.rho for rung in self.rungs)

    @property
    def failed(self) -> bool:
        """Whether the last chain was moved to the reference though it was not even done at its own beta.

        A last chain that swaps too often, however small its beta is, was moved there for good reason.
        """
        last = self.rungs[-1]
        return not last.done and last.acceptance < TARGET_ACCEPTANCE - TOLERANCE

    @property
    def note(self) -> str:
        """What a result says of the ladder."""
        steps = f"The {self.n_chains} chains of the ladder took {self.n_steps} steps."
        if self.rungs[-1].done:
            return steps
        last = self.rungs[-1]
        return (
            f"{steps} The last was not done after {last.steps} (acceptance {last.acceptance:.2f}): its beta is now 0."
        )


@dataclass
class Grower:
    """Two replicas of the engine, at the last chain and at the one being added, and what has been left behind."""

    runtime: Runtime
    state: RunState
    """Settings, and the copy of two chains whose replica 1 is where the target's chain begins."""
    rule: int
    max_steps: int
    pair: Copy = field(init=False)
    schedule: FloatArray = field(init=False)
    parameters: FloatArray = field(init=False)
    statistics: FloatArray = field(init=False)
    number: int = 0
    """Of the chain being added."""
    finished: list[tuple[FloatArray, FloatArray, FloatArray]] = field(default_factory=list)
    """States, log-densities and explorer's parameters of the chains that are finished, from the target downwards."""
    shared: bool = field(init=False)
    """Whether threads share the two replicas."""

    def __post_init__(self) -> None:
        start, bound = self.state.copies[0], self.runtime.bound
        self.pair = new_pair(start.states.shape[1])
        move(start, 1, self.pair, 1)
        self.schedule = np.array([0.0, 0.5, 1.0])
        self.parameters = np.ascontiguousarray(self.state.tuned.parameters[[1, 1, 1]])
        self.statistics = np.zeros((3, bound.n_row))
        self.shared = self.runtime.evaluates_elsewhere

    def load(self) -> None:
        """Compile what a step calls, or load it from disk."""
        plan, adaptation, stream = self._plan(), new_adaptation(), self.runtime.streams[0]
        compile_for(end_step, plan, self.rule, ADDED, PAIR, self.pair, adaptation, 1)
        compile_for(explore_some, plan, self.statistics, 1, PAIR, self.pair, 0, 2, stream)
        compile_for(run_steps, plan, self.rule, ADDED, PAIR, self.pair, self.statistics, adaptation, 1, 1, stream)

    def add_chain(self) -> Rung:
        """Add a chain below the last one, which is at `schedule[UPPER]`."""
        self.number += 1
        upper = float(self.schedule[UPPER])
        self.schedule[ADDED] = beta_below(self.rule, upper, FIRST_RHO)
        self.parameters[ADDED] = self.parameters[UPPER]
        move(self.pair, self._replica(UPPER), self.pair, self._replica(ADDED))
        adaptation = new_adaptation()
        self._adapt(adaptation)
        progress = adaptation.progress
        done = bool(progress[Progress.done])
        beta = float(self.schedule[ADDED]) if done else 0.0
        rung = Rung(
            beta, int(progress[Progress.steps]), mean_acceptance(adaptation), float(progress[Progress.rho]), done
        )
        if done and beta < NEARLY_REFERENCE:
            tried = self._try_at_reference()
            rung = replace(rung, tried=WINDOW)
            if is_on_target(tried):
                rung = replace(rung, beta=0.0, acceptance=mean_acceptance(tried))
        self.schedule[ADDED] = rung.beta
        return rung

    def go_down(self) -> None:
        """Leave the upper chain behind: the added one is now the last."""
        self._finish(UPPER)
        move(self.pair, self._replica(ADDED), self.pair, self._replica(UPPER))
        self.schedule[UPPER], self.parameters[UPPER] = self.schedule[ADDED], self.parameters[ADDED]

    def copy_of_ladder(self) -> tuple[Copy, FloatArray]:
        """Return a copy of parallel tempering with the states of all chains, and the explorer's parameters."""
        self._finish(UPPER)
        self._finish(ADDED)
        copy = new_copy(len(self.finished), self.pair.states.shape[1])
        for chain, (state, log_densities, _) in enumerate(reversed(self.finished)):
            copy.states[chain], copy.log_densities[chain] = state, log_densities
        copy.log_densities[:, [EVALUATIONS, GRADIENTS]] = 0.0
        return copy, np.stack([row for _, _, row in reversed(self.finished)])

    @property
    def evaluations(self) -> tuple[int, int]:
        """Numbers of evaluations and of gradients so far."""
        counts = self.pair.log_densities[:, [EVALUATIONS, GRADIENTS]].sum(axis=0)
        return int(counts[0]), int(counts[1])

    def _replica(self, chain: int) -> int:
        return int(self.pair.replica_of[chain])

    def _finish(self, chain: int) -> None:
        replica = self._replica(chain)
        found = self.pair.states[replica], self.pair.log_densities[replica], self.parameters[chain]
        self.finished.append((found[0].copy(), found[1].copy(), found[2].copy()))

    def _adapt(self, adaptation: Adaptation) -> None:
        """Run steps until the chain is done; after 2, 4, 8, ... of them the explorer is tuned, as by rounds."""
        first, block = 1, 2
        while first <= self.max_steps:
            last = min(first + block - 1, self.max_steps)
            self.statistics[:] = 0.0
            self._run(ADDED, adaptation, first, last)
            check_interrupts()
            if adaptation.progress[Progress.done]:
                return
            bound = self.runtime.bound
            self.parameters = np.ascontiguousarray(
                bound.tune(self.parameters, bound.merge([self.statistics[:, : bound.n_statistics]]))
            )
            first, block = last + 1, 2 * block

    def _try_at_reference(self) -> Adaptation:
        """Run the steps of a window with the added chain at the reference; nothing has moved unless it stays there."""
        pair, tried = self.pair, new_adaptation()
        before = [array.copy() for array in (pair.states, pair.log_densities, pair.chain_of, pair.replica_of)]
        replica = self._replica(ADDED)
        pair.replica_of[REFERENCE], pair.chain_of[replica] = replica, REFERENCE
        self._run(REFERENCE, tried, self.max_steps + 1, self.max_steps + WINDOW)
        if is_on_target(tried):
            pair.replica_of[ADDED] = pair.replica_of[REFERENCE]
            return tried
        counts = pair.log_densities[:, [EVALUATIONS, GRADIENTS]].copy()
        for array, old in zip((pair.states, pair.log_densities, pair.chain_of, pair.replica_of), before, strict=True):
            array[:] = old
        pair.log_densities[:, [EVALUATIONS, GRADIENTS]] = counts
        return tried

    def _run(self, lower: int, adaptation: Adaptation, first: int, last: int) -> None:
        """Run steps, by the team of the run if it is worth it."""
        runtime, plan, pair, began = self.runtime, self._plan(), self.pair, time.perf_counter()
        if not self.shared:
            with errors_at_point(runtime.target, pair):
                stream, statistics = runtime.streams[0], self.statistics
                run_steps(plan, self.rule, lower, PAIR, pair, statistics, adaptation, first, last, stream)
            seconds = time.perf_counter() - began
            has_team = runtime.teams.teams[0] is not None
            self.shared = has_team and seconds > SHARED_SCAN_SECONDS * (last - first + 1)
            return
        for step in range(first, last + 1):
            runtime.on_replicas(0, pair, partial(explore_some, plan, self.statistics, step, PAIR))
            end_step(plan, self.rule, lower, PAIR, pair, adaptation, step)
            if adaptation.progress[Progress.done]:
                return

    def _plan(self) -> Plan:
        plan = self.runtime.plan(self.state)
        return plan._replace(schedule=self.schedule, parameters=self.parameters, round_number=self.number)


def move(source: Copy, replica: int, copy: Copy, other: int) -> None:
    """Copy the state of a replica to another one, which keeps its counts of evaluations."""
    copy.states[other] = source.states[replica]
    for columns in (slice(0, EVALUATIONS), slice(LARGEST_REFERENCE, None)):
        copy.log_densities[other, columns] = source.log_densities[replica, columns]


def grow_ladder(grower: Grower) -> Ladder:
    """Add chains until one is at the reference."""
    rungs = [grower.add_chain()]
    while rungs[-1].beta > 0.0:
        grower.go_down()
        rungs.append(grower.add_chain())
    return Ladder(tuple(rungs))
